"""Answers in their exact form: who says the same says it in the same bytes, and what is no answer is refused."""

from collections.abc import Mapping

import pytest

from actum.base.errors import InvalidValue
from actum.base.value import dump, replace
from actum.records.failures import ToolFailure, ToolFailureKind
from actum.runtime.given import Approval, GivenAnswer, PreparedRun, given_answers, said_digest
from actum.runtime.openings import approval_of
from actum.testing.samples import T0, at
from actum.tools.call import ToolOutcome

FAILURE = ToolFailure(kind=ToolFailureKind.UNAVAILABLE, message="away")


def given(answer: object) -> GivenAnswer:
    """The one answer."""
    (made,) = given_answers({"i": answer}, "ada", T0)
    return made


def test_an_answer_is_json_or_the_outcome_of_a_tool() -> None:
    assert given({"a": [None, False]}).answer == {"a": [None, False]}
    assert given(FAILURE).outcome == ToolOutcome(failure=FAILURE)
    assert given(ToolOutcome(content=3)).outcome == ToolOutcome(content=3)
    assert given(Approval(approved=True, reason="fine")).answer == {"approved": True, "reason": "fine"}


NO_ANSWERS: list[object] = [{}, None, [], "x", {"": 1}, {"i": object()}, {"i": float("inf")}, {"i": "\ud800"}]


@pytest.mark.parametrize("answers", NO_ANSWERS, ids=range(len(NO_ANSWERS)))
def test_what_is_no_answer_is_refused(answers: Mapping[str, object]) -> None:
    with pytest.raises(InvalidValue):
        given_answers(answers, "ada", T0)


def test_the_same_words_are_the_same_request_whenever_and_in_whatever_order() -> None:
    def digest(answers: Mapping[str, object], by: str | None = "ada", minute: int = 0, turn: str | None = None) -> str:
        return said_digest("chain", given_answers(answers, by, at(60 * minute)), turn)

    first = digest({"a": 1, "b": 2})
    assert digest({"b": 2, "a": 1}, minute=5) == first
    others = [
        digest({"a": 1, "b": 3}),
        digest({"a": 1}),
        digest({"a": 1, "b": 2}, by="bob"),
        digest({"a": 1, "b": 2}, by=None),
        digest({"a": 1, "b": 2}, turn="t"),
        digest({"a": 2, "b": 1}),
        digest({"a": True, "b": 2}),
    ]
    assert len({first, *others}) == len(others) + 1


@pytest.mark.parametrize("answer", [True, False])
def test_a_yes_and_a_no_are_approvals(answer: bool) -> None:  # noqa: FBT001 - the answer itself
    assert approval_of(given(answer)) == Approval(approved=answer)


PREPARED = PreparedRun(
    run_id="run-1",
    chain_id="chain",
    session_id="s",
    agent_id="a",
    answers=given_answers({"i": True}, "ada", T0),
    request_digest="d",
)


def test_a_prepared_run_comes_back_as_it_was_kept() -> None:
    kept = PREPARED.to_bytes()
    back = PreparedRun.from_bytes(kept)
    assert replace(back, digest="") == PREPARED
    assert back.to_bytes() == kept


CHANGED: list[bytes] = [
    dump(PREPARED),
    PREPARED.to_bytes().replace(b'"ada"', b'"eve"'),
    replace(PREPARED, version=2).to_bytes(),
    PREPARED.to_bytes()[:-1],
    PREPARED.to_bytes()[:-1] + b',"more":1}',
    b"null",
]


@pytest.mark.parametrize("kept", CHANGED, ids=range(len(CHANGED)))
def test_bytes_that_are_no_prepared_run_are_refused(kept: bytes) -> None:
    with pytest.raises(InvalidValue):
        PreparedRun.from_bytes(kept)
