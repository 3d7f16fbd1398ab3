import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.base.errors import InvalidValue
from actum.base.limits import FAILURE_MESSAGE_BYTES
from actum.base.value import dump, dump_json, load
from actum.records.failures import (
    Failure,
    FailureKind,
    Issue,
    Recovery,
    ToolFailure,
    ToolFailureKind,
    cut_message,
    failure_message,
)
from tests.support.samples import TOOL_FAILURE


@given(st.text(max_size=50) | st.text("ж🔥x\ud800", min_size=1000, max_size=6000))
def test_a_cut_message_fits_and_is_a_beginning(text: str) -> None:
    cut = cut_message(text)
    assert failure_message("message", cut) == cut
    whole = text.encode("utf-8", "replace").decode()
    assert cut == whole or (cut.endswith("… [cut]") and whole.startswith(cut.removesuffix("… [cut]")))


def test_a_message_is_cut_at_a_character_and_as_late_as_can_be() -> None:
    cut = cut_message("🔥" * 5000)
    assert FAILURE_MESSAGE_BYTES - 4 < len(cut.encode()) <= FAILURE_MESSAGE_BYTES
    assert cut_message("x" * FAILURE_MESSAGE_BYTES) == "x" * FAILURE_MESSAGE_BYTES


@pytest.mark.parametrize("message", ["x" * 4097, "ж" * 2049, "\ud800", None, b"x"])
def test_a_message_beyond_its_bound_is_refused_where_the_failure_is_made(message: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        Failure(kind=FailureKind.PROVIDER, message=message)
    assert refused.value.field == "message"
    with pytest.raises(InvalidValue):
        ToolFailure(kind=ToolFailureKind.INTERNAL, message=message)


def test_the_model_reads_the_kind_the_message_and_the_issues() -> None:
    assert TOOL_FAILURE.content == {
        "error": "invalid_call",
        "message": "The path is missing.",
        "issues": [{"path": "path", "rule": "is required"}],
    }
    plain = ToolFailure(kind=ToolFailureKind.TIMEOUT, message="5 s")
    assert plain.content == {"error": "timeout", "message": "5 s"}
    assert dump_json(plain.content)


def test_a_failure_comes_back_as_it_was() -> None:
    assert load(ToolFailure, dump(TOOL_FAILURE)) == TOOL_FAILURE
    assert TOOL_FAILURE.issues == (Issue(path="path", rule="is required"),)
    assert ToolFailure(kind=ToolFailureKind.DENIED, message="").recovery is Recovery.REPLAN


def test_the_kinds_are_those_of_the_contract() -> None:
    kinds = "refusal content_filter length limit timeout planner provider model_request tool recovery internal"
    assert " ".join(FailureKind) == kinds
    assert " ".join(ToolFailureKind) == (
        "invalid_call domain_rejection unavailable rate_limited timeout malformed_result internal canceled denied "
        "outcome_unknown"
    )
    assert " ".join(Recovery) == "finish correct_call replan"
