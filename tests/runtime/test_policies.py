"""What bounds a run: limits, budgets, timeouts."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from actum.base.errors import InvalidValue
from actum.lifecycle.states import RunStatus
from actum.loop.limits import terms_of
from actum.messages.message import Message, assistant
from actum.model.response import Usage
from actum.planning.planner import ModelUsage, PlanInput, PlanResult, PlanResumeInput, Unfinished
from actum.planning.policy import FixedCall, OnLimit, RunPolicy, Terms, ToolRestriction
from actum.records.failures import FailureKind, Recovery, ToolFailureKind
from actum.records.kinds import RunCompleted, RunRequested
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore
from actum.storage.memory import MemoryBackend
from actum.testing.samples import T0
from actum.testing.script import ManualClock
from actum.tools.define import tool
from actum.tools.failures import ToolError
from tests.support.frail import Gate
from tests.support.runlogs import RunLog, decisions, failures, log_of, proven
from tests.support.scenario import RUN, SESSION, Cast, begun, playing, uses


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


async def _played(store: OwnedStore, cast: Cast, *, policy: RunPolicy | None = None, **options: Any) -> RunLog:
    async with playing(store, cast, **options) as worker:
        await worker.play(policy=policy)
    return await proven(store, RUN)


async def again_and_again(plan_input: PlanInput) -> Message | str:
    return "enough" if plan_input.finalize else uses(f"c{plan_input.run.step}=a")


async def test_after_the_last_call_comes_one_last_plan(store: OwnedStore) -> None:
    cast = Cast(again_and_again).returns("a")
    log = await _played(store, cast, policy=RunPolicy(max_tool_calls=2))
    assert cast.ran == {"c0": 1, "c1": 1}
    last = cast.inputs[-1]
    assert (last.finalize, last.limit, last.tools) == (True, "max_tool_calls", ())
    assert decisions(log) == [("max_tool_calls", "last_plan")]
    assert log.messages[-1].text == "enough"


async def test_a_run_without_calls_is_asked_once(store: OwnedStore) -> None:
    cast = Cast(again_and_again).returns("a")
    await _played(store, cast, policy=RunPolicy(max_tool_calls=0))
    assert cast.planned == {0: 1}
    assert cast.inputs[0].finalize
    assert not isinstance(cast.inputs[0], PlanResumeInput)


async def test_a_batch_above_the_remaining_calls_runs_nothing_and_each_call_gets_its_result(store: OwnedStore) -> None:
    cast = Cast(uses("c1=a"), uses("c2=a", "c3=note", "c4=a"), "enough").returns("a").returns("note", bookkeeping=True)
    log = await _played(store, cast, policy=RunPolicy(max_tool_calls=2))
    assert cast.ran == {"c1": 1}
    denied = ToolFailureKind.DENIED
    assert failures(log) == {"c1": None, "c2": denied, "c3": denied, "c4": denied}
    assert decisions(log) == [("max_tool_calls", "refused"), ("max_tool_calls", "last_plan")]
    assert cast.inputs[-1].finalize


async def test_tools_for_bookkeeping_do_not_count(store: OwnedStore) -> None:
    cast = Cast(uses("n1=note", "c1=a"), uses("n2=note"), uses("c2=a"), "done").returns("a")
    log = await _played(store, cast.returns("note", bookkeeping=True), policy=RunPolicy(max_tool_calls=2))
    assert cast.ran == {"n1": 1, "c1": 1, "n2": 1, "c2": 1}
    assert decisions(log) == [("max_tool_calls", "last_plan")]


async def test_a_call_of_a_tool_that_is_not_there_counts(store: OwnedStore) -> None:
    cast = Cast(uses("c1=nobody"), "enough").returns("a")
    await _played(store, cast, policy=RunPolicy(max_tool_calls=1))
    assert cast.inputs[-1].limit == "max_tool_calls"


NO = ToolError(ToolFailureKind.DOMAIN_REJECTION, "no")


async def test_failures_in_a_row_lead_to_one_last_plan(store: OwnedStore) -> None:
    cast = Cast(again_and_again).returns("a", NO)
    log = await _played(store, cast, policy=RunPolicy(max_recovery_turns=2))
    assert [each.finalize for each in cast.inputs] == [False, False, False, True]
    assert decisions(log) == [("max_recovery_turns", "last_plan")]


async def test_a_success_between_failures_begins_the_count_anew(store: OwnedStore) -> None:
    cast = Cast(uses("c1=bad"), uses("c2=a"), uses("c3=bad"), uses("c4=a"), "done").returns("a").returns("bad", NO)
    log = await _played(store, cast, policy=RunPolicy(max_recovery_turns=1))
    assert decisions(log) == []
    assert log.messages[-1].text == "done"


async def test_a_failed_tool_for_bookkeeping_is_no_recovery(store: OwnedStore) -> None:
    cast = Cast(uses("c1=note"), "done").returns("note", NO, bookkeeping=True)
    log = await _played(store, cast, policy=RunPolicy(max_recovery_turns=0))
    assert (decisions(log), cast.inputs[1].finalize) == ([], False)


async def test_wrong_arguments_come_back_with_the_fields_of_the_tools_own_schema(store: OwnedStore) -> None:
    def weather(city: str, days: int = 1) -> str:
        """Tell the weather."""
        return f"fine in {city} for {days}"

    async def corrects(plan_input: PlanInput) -> Message | str:
        if isinstance(plan_input, PlanResumeInput) and plan_input.recovery is Recovery.CORRECT_CALL:
            return "corrected"
        return uses("c1=weather")

    cast = Cast(corrects).takes(weather)
    log = await _played(store, cast, policy=RunPolicy(max_recovery_turns=1))
    content = log.results["c1"].content
    assert content["error"] == "invalid_call"
    assert [issue["path"] for issue in content["issues"]] == ["city"]
    assert log.messages[-1].text == "corrected"


def takes(clock: ManualClock, seconds: float) -> Callable[[], Awaitable[object]]:
    """A tool for which so much time of the story passes."""

    async def act() -> object:
        clock.advance(seconds)
        return "ok"

    return act


async def test_when_the_time_is_used_up_one_last_plan_is_asked_for(store: OwnedStore) -> None:
    clock = ManualClock(T0)
    cast = Cast(again_and_again).does("a", takes(clock, 60))
    log = await _played(store, cast, policy=RunPolicy(time_budget=100), clock=clock)
    assert cast.ran == {"c0": 1, "c1": 1}
    assert decisions(log) == [("time_budget", "last_plan")]
    assert (cast.inputs[-1].limit, log.messages[-1].text) == ("time_budget", "enough")


async def test_a_call_that_finds_no_time_left_is_not_run(store: OwnedStore) -> None:
    clock = ManualClock(T0)

    async def thinks(plan_input: PlanInput) -> Message | str:
        clock.advance(60)
        return await again_and_again(plan_input)

    cast = Cast(thinks).returns("a")
    log = await _played(store, cast, policy=RunPolicy(time_budget=60), clock=clock)
    assert (failures(log), cast.ran) == ({"c0": ToolFailureKind.TIMEOUT}, {})
    assert log.messages[-1].text == "enough"


async def stuck(_: PlanInput) -> object:
    await asyncio.Event().wait()
    return "never"


async def test_a_plan_that_takes_the_rest_of_the_time_is_stopped_for_a_last_one(store: OwnedStore) -> None:
    async def thinks(plan_input: PlanInput) -> object:
        return "in short" if plan_input.finalize else await stuck(plan_input)

    log = await _played(store, Cast(thinks), policy=RunPolicy(time_budget=0.01))
    assert decisions(log) == [("time_budget", "last_plan")]
    assert log.messages[-1].text == "in short"


async def test_a_plan_that_takes_too_long_ends_the_run(store: OwnedStore) -> None:
    log = await _played(store, Cast(stuck), policy=RunPolicy(plan_timeout=0.01))
    assert log.run.status is RunStatus.FAILED
    ended = log.payloads(RecordType.RUN_COMPLETED)[0]
    assert isinstance(ended, RunCompleted)
    assert ended.failure is not None
    assert ended.failure.kind is FailureKind.TIMEOUT


async def test_what_was_answered_before_a_plan_was_stopped_is_kept_and_marked(store: OwnedStore) -> None:
    async def begins(plan_input: PlanInput) -> object:
        usage = (ModelUsage(model="m", usage=Usage(input=25)),)
        plan_input.keep(Unfinished(remainder=assistant("Let me"), usage=usage, response_id="r1"))
        return await stuck(plan_input)

    log = await _played(store, Cast(begins), policy=RunPolicy(plan_timeout=0.01))
    assert (log.messages[-1].text, log.messages[-1].meta) == ("Let me", {"partial": True})
    assert log.types[RecordType.USAGE] == 1


async def test_what_a_plan_cost_that_the_budget_stopped_is_counted(store: OwnedStore) -> None:
    used = ModelUsage(model="m", usage=Usage(input=25))

    async def begins(plan_input: PlanInput) -> object:
        if plan_input.finalize:
            return PlanResult.final("in short", usage=(used,))
        plan_input.keep(Unfinished(remainder=assistant("Let me"), usage=(used,)))
        return await stuck(plan_input)

    log = await _played(store, Cast(begins), policy=RunPolicy(time_budget=0.01))
    assert log.types[RecordType.USAGE] == 2
    assert [message.text for message in log.messages] == ["go", "in short"]


@pytest.mark.parametrize("policy", [RunPolicy(tool_timeout=0.01), RunPolicy(time_budget=0.01)])
async def test_a_tool_that_takes_too_long_is_stopped(store: OwnedStore, policy: RunPolicy) -> None:
    cast = Cast(uses("c1=a"), "done").returns("a", Gate())
    log = await _played(store, cast, policy=policy)
    assert failures(log) == {"c1": ToolFailureKind.TIMEOUT}
    assert log.messages[-1].text == "done"


FIXED = OnLimit(max_tool_calls=FixedCall(tool="hand_over", arguments={"why": "limit"}))


def handing_over(cast: Cast, answer: object = "a person takes over") -> Cast:
    def hand_over(why: str) -> object:
        """Hand over to a person."""
        if isinstance(answer, BaseException):
            raise answer
        return f"{answer}: {why}"

    return cast.takes(tool(terminal=True)(hand_over))


async def test_at_a_limit_the_fixed_call_ends_the_run_in_place_of_a_plan(store: OwnedStore) -> None:
    cast = handing_over(Cast(again_and_again).returns("a"))
    log = await _played(store, cast, policy=RunPolicy(max_tool_calls=1, on_limit=FIXED))
    assert cast.planned == {0: 1}
    assert decisions(log) == [("max_tool_calls", "fixed_call")]
    assert log.run.status is RunStatus.COMPLETED
    assert log.messages[-1].tool_results[0].content == "a person takes over: limit"


async def test_a_batch_that_was_refused_leads_to_the_fixed_call_too(store: OwnedStore) -> None:
    cast = handing_over(Cast(uses("c1=a", "c2=a")).returns("a"))
    log = await _played(store, cast, policy=RunPolicy(max_tool_calls=1, on_limit=FIXED))
    assert (cast.ran, cast.planned) == ({}, {0: 1})
    assert decisions(log) == [("max_tool_calls", "refused"), ("max_tool_calls", "fixed_call")]


async def test_the_fixed_call_runs_though_the_time_is_used_up(store: OwnedStore) -> None:
    clock = ManualClock(T0)
    cast = handing_over(Cast(again_and_again).does("a", takes(clock, 60)))
    fixed = OnLimit(time_budget=FixedCall(tool="hand_over", arguments={"why": "time"}))
    log = await _played(store, cast, policy=RunPolicy(time_budget=30, on_limit=fixed), clock=clock)
    assert log.messages[-1].tool_results[0].content == "a person takes over: time"


async def test_a_fixed_call_that_fails_gives_way_to_a_last_plan(store: OwnedStore) -> None:
    cast = handing_over(Cast(again_and_again).returns("a"), ToolError("unavailable", "nobody is there"))
    log = await _played(store, cast, policy=RunPolicy(max_tool_calls=1, on_limit=FIXED))
    assert decisions(log) == [("max_tool_calls", "fixed_call"), ("max_tool_calls", "last_plan")]
    assert log.messages[-1].text == "enough"


@pytest.mark.parametrize(
    "fixed",
    [
        FixedCall(tool="a"),
        FixedCall(tool="nobody"),
        FixedCall(tool="hand_over"),
        FixedCall(tool="hand_over", arguments={"why": 7}),
    ],
    ids=["not terminal", "unknown", "no arguments", "wrong arguments"],
)
async def test_a_fixed_call_that_could_not_be_made_is_refused_before_the_run(
    store: OwnedStore, fixed: FixedCall
) -> None:
    cast = handing_over(Cast("hi").returns("a"))
    async with playing(store, cast) as worker:
        with pytest.raises(InvalidValue):
            await worker.start(policy=RunPolicy(on_limit=OnLimit(time_budget=fixed)))
    assert (await store.list_runs(SESSION)).items == ()


@pytest.mark.parametrize("bounds", [{"max_tool_calls": -1}, {"time_budget": float("nan")}, {"plan_timeout": "soon"}])
async def test_a_bound_that_is_none_is_refused(store: OwnedStore, bounds: dict[str, Any]) -> None:
    async with playing(store, Cast("hi")) as worker:
        with pytest.raises(InvalidValue):
            await worker.start(policy=RunPolicy(**bounds))


async def test_a_continuation_has_what_was_left_and_no_time_passes_while_a_person_thinks(store: OwnedStore) -> None:
    clock = ManualClock(T0)

    async def plan(plan_input: PlanInput) -> Message | str:
        if plan_input.finalize:
            return "enough"
        return uses(f"c{plan_input.run.step}=a") if isinstance(plan_input, PlanResumeInput) else uses("first=a", "pay")

    cast = Cast(plan).does("a", takes(clock, 10)).returns("pay", confirm=True)
    policy = RunPolicy(max_tool_calls=3, time_budget=100, tool_timeout=30)
    async with playing(store, cast, clock=clock) as worker:
        await worker.play(policy=policy, restrict=ToolRestriction(tools=("a", "pay")))
        clock.advance(hours=9)
        (item,) = await worker.runtime.pending(SESSION)
        out = await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ann")
    log = await log_of(store, out.run_id)
    requested = log.payloads(RecordType.RUN_REQUESTED)[0]
    assert isinstance(requested, RunRequested)
    left = RunPolicy(max_tool_calls=1, time_budget=90.0, tool_timeout=30.0)
    assert terms_of(requested.options) == Terms(policy=left, restrictions=(ToolRestriction(tools=("a", "pay")),))
    assert cast.ran == {"first": 1, "pay": 1, "c0": 1}
    assert decisions(log) == [("max_tool_calls", "last_plan")]
    assert out.text == "enough"
