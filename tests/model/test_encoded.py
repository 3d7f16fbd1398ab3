import re
from typing import Any

import pytest

from actum.base.errors import InvalidValue, ProviderError, TranscriptError
from actum.base.value import Verbatim
from actum.messages.message import assistant, system, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.model.aliases import AliasRule
from actum.model.encoded import draft_of, groups_of
from actum.model.projection import Fate
from actum.model.request import ModelRequest, ToolChoice, ToolDefinition

RULE = AliasRule(id=re.compile(r"[a-z0-9_]{1,8}", re.ASCII))
TOOL = ToolDefinition(name="fs.read", input_schema={})


def test_a_drafts_end_is_the_body_and_the_report() -> None:
    draft = draft_of(ModelRequest(model="m", messages=(user("hi"),)), RULE)
    draft.projecting.left_out("nothing to see", 0, 0)
    made = draft.encoded("acme", {"model": "m", "input": Verbatim(b'{ "n":1.50 }'), "image": b"\x00\xff"})
    assert made.data == b'{"model":"m","input":{ "n":1.50 },"image":"AP8="}'
    assert made.or_refused() is made
    assert (made.report.provider, made.report.model) == ("acme", "m")
    assert made.projections == made.report.projections
    draft.projecting.refused("no", 0)
    with pytest.raises(ProviderError, match="message 0: no"):
        draft.encoded("acme", {}).or_refused()


def test_aliases_are_reported_where_they_stand_and_not_in_the_response() -> None:
    results = user(ToolResultPart(tool_use_id="ID 1"), ToolResultPart(tool_use_id="ok_2"))
    uses = assistant("x", tool_use("ID 1", "fs.read", {}), tool_use("ok_2", "plain", {}))
    draft = draft_of(ModelRequest(model="m", messages=(user("hi"), uses, results), tools=(TOOL,)), RULE)
    made = draft.encoded("acme", {})
    assert [(each.message_index, each.part_index) for each in made.report.of(Fate.ALIASED)] == [
        (1, 1),
        (1, 1),
        (2, 0),
        (None, None),
    ]
    assert made.projections == ()


@pytest.mark.parametrize(
    "more, rule",
    [
        ({"tools": (TOOL, TOOL)}, "two tools have one name"),
        ({"tool_choice": ToolChoice(mode="any")}, "none is offered"),
        ({"tools": (TOOL,), "tool_choice": ToolChoice(mode="tool", name="x")}, "'x' is asked for and not offered"),
    ],
)
def test_what_no_provider_takes_is_refused_here(more: dict[str, Any], rule: str) -> None:
    draft = draft_of(ModelRequest(model="m", messages=(user("hi"),), **more), RULE)
    assert rule in draft.encoded("acme", {}).report.of(Fate.REFUSED)[0].rule


def test_a_choice_is_one_that_can_be_made() -> None:
    def choice(chosen: ToolChoice, *tools: ToolDefinition) -> ToolChoice | None:
        return draft_of(ModelRequest(model="m", messages=(user("hi"),), tools=tools, tool_choice=chosen), RULE).choice

    assert choice(ToolChoice(mode="none")) is None
    assert choice(ToolChoice(mode="none"), TOOL) == ToolChoice(mode="none")
    assert choice(ToolChoice(mode="tool", name="fs.read"), TOOL) is not None
    assert choice(ToolChoice(mode="tool", name="x"), TOOL) is None


def test_a_malformed_request_and_a_lawless_transcript_are_refused() -> None:
    with pytest.raises(InvalidValue):
        draft_of(ModelRequest(model="m", messages=(user("\ud800"),)), RULE)
    with pytest.raises(TranscriptError):
        draft_of(ModelRequest(model="m", messages=(user("hi"), system("late"))), RULE)


def test_only_assistants_whose_calls_wait_become_one() -> None:
    call = assistant(tool_use("t", "a", {}))
    said = assistant("x")
    answered = user(ToolResultPart(tool_use_id="t"))
    assert list(groups_of([user("a"), user("b"), said, said, call, answered])) == [[0], [1], [2], [3], [4], [5]]
    assert list(groups_of([user("a"), said, call, said, answered, said])) == [[0], [1, 2, 3], [4], [5]]
    assert list(groups_of([])) == []
