from datetime import UTC, datetime, timedelta

import pytest

from actum.base.clock import Clock, Ids
from actum.base.errors import InvalidValue
from actum.messages.message import Message, assistant, user
from actum.messages.parts import tool_use
from actum.model.fold import fold
from actum.model.request import ModelRequest
from actum.model.response import ModelResponse, StopChunk, StopReason, TextDelta, Usage
from actum.planning.planner import PlanInput, PlanResult, PlanResumeInput, RunInfo
from actum.testing.script import CountingIds, ManualClock, ModelStep, Plan, PlanStep, ScriptedModel, ScriptedPlanner

REQUEST = ModelRequest(model="m", messages=(user("hi"),))
USE = tool_use("t1", "a.x", {})
WHOLE = ModelResponse(message=assistant("x"), stop=StopReason.LENGTH, usage=Usage(input=1))


async def later(request: ModelRequest) -> str:
    return request.model


@pytest.mark.parametrize(
    "step, message, stop",
    [
        ("hello", assistant("hello"), StopReason.END_TURN),
        (USE, assistant(USE), StopReason.TOOL_USE),
        ([USE, tool_use("t2", "b", {})], assistant(USE, tool_use("t2", "b", {})), StopReason.TOOL_USE),
        (assistant("see", USE), assistant("see", USE), StopReason.TOOL_USE),
        (WHOLE, assistant("x"), StopReason.LENGTH),
        ([TextDelta(index=0, text="x"), StopChunk(stop=StopReason.END_TURN)], assistant("x"), StopReason.END_TURN),
        ([TextDelta(index=0, text="x")], assistant("x", meta={"partial": True}), StopReason.INTERRUPTED),
        (lambda request: request.messages[0].text, assistant("hi"), StopReason.END_TURN),
        (later, assistant("m"), StopReason.END_TURN),
    ],
)
async def test_a_model_answers_from_its_script_whole_or_streamed(
    step: ModelStep, message: Message, stop: StopReason
) -> None:
    model = ScriptedModel([step, step])
    response = await model.complete(REQUEST)
    assert (response.message, response.stop) == (message, stop)
    assert fold([chunk async for chunk in model.stream(REQUEST)]) == response
    assert model.requests == [REQUEST, REQUEST]
    assert model.left == 0


async def test_a_scripted_error_is_raised_where_it_stands() -> None:
    model = ScriptedModel([ValueError("now"), [TextDelta(index=0, text="x"), ValueError("later")]])
    with pytest.raises(ValueError, match="now"):
        await model.complete(REQUEST)
    chunks = model.stream(REQUEST)
    assert await anext(chunks) == TextDelta(index=0, text="x")
    with pytest.raises(ValueError, match="later"):
        await anext(chunks)


async def test_a_script_that_is_over_says_so() -> None:
    model = ScriptedModel(["one"])
    await model.complete(REQUEST)
    with pytest.raises(AssertionError, match="call 2"):
        await model.complete(REQUEST)


async def prepare() -> tuple[Message, ...]:
    return (user("hi"),)


START = PlanInput(run=RunInfo(run_id="r", agent_id="a"), prepare=prepare, models=lambda _: ScriptedModel())
RESUME = PlanResumeInput(run=START.run, prepare=prepare, models=START.models, results=())


async def think(plan_input: PlanInput) -> Plan:
    return (await plan_input.prepare_messages())[0].text


@pytest.mark.parametrize(
    "step, result",
    [
        ("bye", PlanResult.final("bye")),
        (assistant("bye"), PlanResult.final("bye")),
        (USE, PlanResult.calls(USE)),
        (assistant("see", USE), PlanResult.calls(assistant("see", USE))),
        (PlanResult.final("x"), PlanResult.final("x")),
        (think, PlanResult.final("hi")),
    ],
)
async def test_a_planner_plans_from_its_script(step: PlanStep, result: PlanResult) -> None:
    planner = ScriptedPlanner([step, step, ValueError("no")])
    assert await planner.plan_start(START) == result
    assert await planner.plan_resume(RESUME) == result
    with pytest.raises(ValueError, match="no"):
        await planner.plan_resume(RESUME)
    with pytest.raises(AssertionError, match="planner"):
        await planner.plan_start(START)
    assert planner.inputs == [START, RESUME, RESUME, START]
    assert planner.left == 0


async def test_time_stands_still_until_it_is_moved() -> None:
    clock = ManualClock()
    assert clock.now() == datetime(2025, 1, 1, tzinfo=UTC) == clock.now()
    assert clock.advance(1.5, minutes=1) == datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=61.5)
    await clock.wait(2)
    assert clock.monotonic() == 63.5
    assert clock.waits == [2]
    as_clock: Clock = clock
    assert as_clock.now() == clock.now()


def test_a_manual_clock_has_aware_milliseconds() -> None:
    with pytest.raises(InvalidValue):
        ManualClock(datetime(2025, 1, 1))  # noqa: DTZ001 - the naive time is the point
    with pytest.raises(InvalidValue):
        ManualClock().advance(0.0001)


def test_ids_count_each_kind() -> None:
    ids: Ids = CountingIds()
    assert [ids.new("run"), ids.new("session"), ids.new("run")] == ["run-1", "session-1", "run-2"]
