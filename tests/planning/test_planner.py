from collections.abc import Callable
from typing import Any

import pytest

from actum.base.errors import InvalidValue
from actum.base.value import dump, load
from actum.messages.message import Message, assistant, user
from actum.messages.parts import ThinkingPart, ToolResultPart, tool_use
from actum.model.client import ModelClient
from actum.model.response import Chunk, TextDelta, Usage
from actum.planning.planner import (
    AwaitInput,
    ModelUsage,
    PlanInput,
    Planner,
    PlanResult,
    PlanResumeInput,
    Question,
    RunInfo,
    questions_of,
)
from actum.records.failures import Failure, FailureKind
from actum.records.kinds import PendingKind, UsageCounted
from actum.testing.script import ScriptedModel, ScriptedPlanner
from actum.tools.call import ToolOutcome

USE = tool_use("t1", "a.x", {"n": 1})
FAILURE = Failure(kind=FailureKind.TOOL, message="x")


def test_each_decision_has_its_kind_and_its_message() -> None:
    thought = assistant(ThinkingPart(text="hm", signature="s"), "Let me see.", USE)
    assert (PlanResult.calls(thought).kind, PlanResult.calls(thought).message) == ("tool_calls", thought)
    assert PlanResult.calls(USE, tool_use("t2", "b", {})).message == assistant(USE, tool_use("t2", "b", {}))
    assert (PlanResult.final("bye").kind, PlanResult.final("bye").message) == ("final_response", assistant("bye"))
    result = PlanResult.tool_result(ToolOutcome(content=1))
    assert (result.kind, result.message) == ("final_tool_result", None)
    waiting = PlanResult.awaiting(AwaitInput(kind=PendingKind.CLARIFICATION, prompt="Which?"))
    assert (waiting.kind, waiting.message) == ("await_input", None)
    failed = PlanResult.failed(FailureKind.LENGTH, "x" * 9000, remainder=assistant("half"))
    assert (failed.kind, failed.message) == (None, assistant("half"))
    assert failed.failure is not None
    assert failed.failure.message.endswith("[cut]")
    for each in (PlanResult.calls(thought), result, waiting, failed):
        assert load(PlanResult, dump(each)) == each


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"tool_calls": assistant(USE), "final_response": assistant("x")},
        {"final_response": assistant("x"), "failure": FAILURE},
        {"tool_calls": assistant("no call")},
        {"tool_calls": user("x")},
        {"tool_calls": assistant(USE, USE)},
        {"tool_calls": assistant(tool_use("", "a", {}))},
        {"final_response": assistant()},
        {"final_response": assistant("x", USE)},
        {"final_response": user("x")},
        {"final_response": assistant(ToolResultPart(tool_use_id="t1"))},
        {"failure": FAILURE, "remainder": assistant("x", USE)},
        {"final_response": assistant("x"), "remainder": assistant("y")},
        {"final_response": assistant("x"), "synthesize_after_tools": True},
    ],
)
def test_a_plan_is_exactly_one_thing(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        PlanResult(**fields)


def test_calls_are_one_message_or_tool_uses() -> None:
    with pytest.raises(InvalidValue):
        PlanResult.calls(assistant(USE), USE)
    with pytest.raises(InvalidValue):
        PlanResult.calls()


def test_usage_becomes_a_record_payload() -> None:
    used = ModelUsage(model="m", usage=Usage(input=1, output=2, cache_read=3))
    assert used.counted(4) == UsageCounted(model="m", input=1, output=2, cache_read=3, step=4)


def test_anything_with_both_verbs_is_a_planner() -> None:
    assert isinstance(ScriptedPlanner(), Planner)
    assert not isinstance(ScriptedModel(), Planner)


async def test_an_input_gives_messages_models_and_an_ear() -> None:
    client = ScriptedModel()
    heard: list[Chunk] = []

    async def prepare() -> tuple[Message, ...]:
        return (user("hi"),)

    def models(name: str) -> ModelClient:
        assert name == "scripted"
        return client

    run = RunInfo(run_id="r", agent_id="a")
    quiet = PlanInput(run=run, prepare=prepare, models=models)
    assert await quiet.prepare_messages() == (user("hi"),)
    assert quiet.model("scripted") is client
    assert not quiet.listened_to
    quiet.emit(TextDelta(index=0, text="x"))
    loud = PlanResumeInput(run=run, prepare=prepare, models=models, sink=heard.append, results=())
    loud.emit(TextDelta(index=0, text="x"))
    assert loud.listened_to
    assert heard == [TextDelta(index=0, text="x")]


TWICE = (Question(id="a", text="?", options=("x",)), Question(id="a", text="?", options=("y",)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: AwaitInput(kind=PendingKind.CONFIRMATION),
        lambda: AwaitInput(kind=PendingKind.EXTERNAL_TOOLS),
        lambda: AwaitInput(kind=PendingKind.QUESTIONS),
        lambda: AwaitInput(kind=PendingKind.QUESTIONS, data={"questions": []}),
        lambda: AwaitInput(kind=PendingKind.QUESTIONS, data={"questions": [{"id": "a"}]}),
        AwaitInput.questions,
        lambda: AwaitInput.questions(*TWICE),
        lambda: AwaitInput.questions(Question(id="a", text="?", options=())),
    ],
)
def test_a_planner_asks_in_words_or_by_a_form_that_can_be_filled(make: Callable[[], AwaitInput]) -> None:
    with pytest.raises(InvalidValue):
        make()


def test_a_form_is_read_back_as_it_was_asked() -> None:
    asked = (
        Question(id="a", text="Which?", options=("x", "y")),
        Question(id="b", text="?", options=("z",), multiple=True),
    )
    form = AwaitInput.questions(*asked, prompt="Please")
    assert (form.kind, form.prompt) == (PendingKind.QUESTIONS, "Please")
    assert questions_of(form.data) == asked
    assert load(AwaitInput, dump(form)) == form
