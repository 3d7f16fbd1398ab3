"""The loop against a scripted world: what it asks, in which order, and how it ends."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeVar

import pytest

from actum.base.errors import CancellationRequested, RunCorrupt, SessionNotFound, StoreUnavailable, TooLarge
from actum.base.limits import LOOP_STEPS, PARALLEL_TOOLS
from actum.lifecycle.states import RunStatus
from actum.loop import keys
from actum.loop.drive import drive, drive_child, resume
from actum.loop.world import (
    Begun,
    Called,
    CallStep,
    ChildStep,
    Collected,
    CollectStep,
    Finished,
    FinishStep,
    Opened,
    OpenStep,
    Planned,
    PlanStep,
    RunRequest,
    Stop,
    Suspended,
    SuspendStep,
)
from actum.messages.message import user
from actum.records.failures import FailureKind, Recovery
from actum.testing.samples import T0
from tests.support.frail import Gate

T = TypeVar("T")

COMPLETED = Planned(ended=RunStatus.COMPLETED)
STOP = Stop(reason="user_stop")


class ScriptedWorld:
    """A world whose answers a test wrote; `asked` are the steps in their order."""

    def __init__(self, *plans: Planned | BaseException) -> None:
        self.plans = list(plans)
        self.begun = Begun()
        self.opened = Opened()
        self.opened_with: list[OpenStep] = []
        self.child_begun: Begun | BaseException = Begun()
        self.running_children: tuple[str, ...] = ()
        self.calls: Callable[[CallStep], Awaitable[Called]] = self._called
        self.collected: Callable[[CollectStep], Collected] = lambda _: Collected()
        self.stop: asyncio.Future[Stop] = asyncio.get_running_loop().create_future()
        self.asked: list[Any] = []
        self.at_once = 0
        self.most_at_once = 0

    def now(self) -> datetime:
        return T0

    async def begin(self, step: RunRequest) -> Begun:
        self.asked.append(step)
        return self.begun

    async def plan(self, step: PlanStep) -> Planned:
        self.asked.append(step)
        plan = self.plans.pop(0) if len(self.plans) > 1 else self.plans[0]
        if isinstance(plan, BaseException):
            raise plan
        return plan

    async def call(self, step: CallStep) -> Called:
        self.asked.append(step)
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            return await self.calls(step)
        finally:
            self.at_once -= 1

    async def open(self, step: OpenStep) -> Opened:
        self.opened_with.append(step)
        return self.opened

    async def suspend(self, step: SuspendStep) -> Suspended:
        self.asked.append(step)
        return Suspended(ended=RunStatus.SUSPENDED)

    async def begin_child(self, step: ChildStep) -> Begun:
        self.asked.append(step)
        if isinstance(self.child_begun, BaseException):
            raise self.child_begun
        return self.child_begun

    async def start_child(self, step: ChildStep) -> None:
        self.asked.append(step)

    async def end_children(self, run_ids: tuple[str, ...]) -> None:
        self.asked.append(run_ids)
        self.running_children = ()

    async def collect(self, step: CollectStep) -> Collected:
        self.asked.append(step)
        return self.collected(step)

    async def finish(self, step: FinishStep) -> Finished:
        self.asked.append(step)
        if self.running_children:
            return Finished(status=RunStatus.RUNNING, children=self.running_children)
        return Finished(status=RunStatus(step.status))

    async def cancel_requested(self) -> Stop:
        return await asyncio.shield(self.stop)

    async def shielded(self, work: Awaitable[T]) -> T:
        return await asyncio.shield(work)

    async def _called(self, _: CallStep) -> Called:
        await asyncio.sleep(0)
        return Called()

    def of(self, kind: type[T]) -> list[T]:
        return [step for step in self.asked if isinstance(step, kind)]


def _calls(*ids: str, **more: Any) -> Planned:
    return Planned(call_ids=ids, **more)


REQUEST = RunRequest(
    run_id="r1", agent_id="a", agent_version="1", messages=(user("go"),), requested_at=T0, request_digest="d"
)


async def test_plans_calls_and_collects_until_a_plan_ends_the_run() -> None:
    world = ScriptedWorld(_calls("a", "b"), _calls("c"), COMPLETED)
    assert await drive(world, REQUEST) is RunStatus.COMPLETED
    kinds = [type(step).__name__ for step in world.asked]
    asked = ["CallStep", "CallStep", "CollectStep"]
    assert kinds == ["RunRequest", "PlanStep", *asked, "PlanStep", *asked[1:], "PlanStep"]
    assert [step.step for step in world.of(PlanStep)] == [0, 1, 2]
    assert not any(step.finalize for step in world.of(PlanStep))


async def test_a_start_that_has_ended_asks_for_nothing_more() -> None:
    world = ScriptedWorld(COMPLETED)
    world.begun = Begun(ended=RunStatus.CANCELED)
    assert await drive(world, REQUEST) is RunStatus.CANCELED
    assert world.asked == [REQUEST]


async def test_a_start_that_is_told_to_stop_plans_nothing() -> None:
    world = ScriptedWorld(COMPLETED)
    world.begun = Begun(stop=STOP)
    assert await drive(world, REQUEST) is RunStatus.CANCELED
    assert world.of(PlanStep) == []


async def test_a_refused_start_ends_no_run() -> None:
    world = ScriptedWorld(COMPLETED)

    async def refuse(step: RunRequest) -> Begun:
        raise SessionNotFound(session_id=step.session_id or "s")

    world.begin = refuse  # type: ignore[method-assign] # a world that refuses
    with pytest.raises(SessionNotFound):
        await drive(world, REQUEST)
    assert world.of(FinishStep) == []


@pytest.mark.parametrize("where", ["plan", "call", "call ended", "collect", "collect ended"])
async def test_a_stop_that_a_step_tells_ends_the_run_canceled(where: str) -> None:
    world = ScriptedWorld(_calls("a", stop=STOP if where == "plan" else None))

    async def called(_: CallStep) -> Called:
        return Called(stop=STOP if where == "call" else None, ended=where == "call ended")

    world.calls = called
    world.collected = lambda _: Collected(stop=STOP if where == "collect" else None, ended=where == "collect ended")
    assert await resume(world, "r1") is RunStatus.CANCELED
    assert len(world.of(PlanStep)) == 1
    assert bool(world.of(CallStep)) is (where != "plan")
    assert [step.status for step in world.of(FinishStep)] == ["canceled"]


async def test_a_stop_from_outside_ends_the_step_and_waits_for_it() -> None:
    world = ScriptedWorld(_calls("a", "b"))
    gate, ended = Gate(), []

    async def called(step: CallStep) -> Called:
        try:
            await gate.passed()
        finally:
            ended.append(step.call_id)
        return Called()

    world.calls = called
    running = asyncio.ensure_future(resume(world, "r1"))
    await gate.reached.wait()
    world.stop.set_result(STOP)
    assert await running is RunStatus.CANCELED
    assert ended == ["a", "b"]


async def test_a_question_about_stopping_that_broke_is_no_stop() -> None:
    world = ScriptedWorld(_calls("a"))
    gate = Gate()

    async def called(_: CallStep) -> Called:
        await gate.passed()
        return Called()

    world.calls = called
    running = asyncio.ensure_future(resume(world, "r1"))
    await gate.reached.wait()
    world.stop.set_exception(StoreUnavailable(reason="gone"))
    with pytest.raises(StoreUnavailable):
        await running
    assert world.of(FinishStep) == []


async def test_cancelling_the_task_parks_the_run() -> None:
    world = ScriptedWorld(_calls("a"))
    gate = Gate()

    async def called(_: CallStep) -> Called:
        await gate.passed()
        return Called()

    world.calls = called
    running = asyncio.ensure_future(resume(world, "r1"))
    await gate.reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert world.of(FinishStep) == []
    assert world.at_once == 0


@pytest.mark.parametrize("error", [StoreUnavailable(reason="gone"), RunCorrupt(run_id="r1", reason="odd")])
async def test_trouble_that_may_pass_leaves_the_run_as_it_is(error: Exception) -> None:
    world = ScriptedWorld(error)
    with pytest.raises(type(error)):
        await resume(world, "r1")
    assert world.of(FinishStep) == []


async def test_one_error_among_calls_ends_the_others_first() -> None:
    world = ScriptedWorld(_calls("a", "b"))
    gate, ended = Gate(), []

    async def called(step: CallStep) -> Called:
        if step.call_id == "b":
            await gate.reached.wait()
            raise StoreUnavailable(reason="gone")
        try:
            await gate.passed()
        finally:
            ended.append(step.call_id)
        return Called()

    world.calls = called
    with pytest.raises(StoreUnavailable):
        await resume(world, "r1")
    assert ended == ["a"]


async def test_a_step_that_is_refused_for_good_ends_the_run_failed() -> None:
    world = ScriptedWorld(_calls("a"))

    def collected(_: CollectStep) -> Collected:
        raise TooLarge(field="payload", size=2, limit=1)

    world.collected = collected
    assert await resume(world, "r1", presumed_dead=True) is RunStatus.FAILED
    (ending,) = world.of(FinishStep)
    assert ending.failure is not None
    assert (ending.failure.kind, ending.failure.code) == (FailureKind.INTERNAL, "too_large")
    assert ending.presumed_dead


@pytest.mark.parametrize(
    "plan, collected, last",
    [
        (_calls("a"), Collected(), False),
        (_calls("a", synthesize_after_tools=True), Collected(), True),
        (_calls("a"), Collected(recovery=Recovery.FINISH), True),
        (_calls("a"), Collected(recovery=Recovery.CORRECT_CALL), False),
    ],
)
async def test_a_last_plan_is_asked_for_when_it_is_time(plan: Planned, collected: Collected, *, last: bool) -> None:
    world = ScriptedWorld(plan, COMPLETED)
    world.collected = lambda _: collected
    await resume(world, "r1")
    assert [step.finalize for step in world.of(PlanStep)] == [False, last]


async def test_a_terminal_result_ends_the_run_completed() -> None:
    world = ScriptedWorld(_calls("a"))
    world.collected = lambda _: Collected(terminal=True)
    assert await resume(world, "r1") is RunStatus.COMPLETED
    assert len(world.of(PlanStep)) == 1


async def test_a_planner_without_end_comes_to_one_at_the_bound() -> None:
    world = ScriptedWorld(_calls("a"))
    assert await resume(world, "r1") is RunStatus.FAILED
    (ending,) = world.of(FinishStep)
    assert ending.failure is not None
    assert ending.failure.kind is FailureKind.LIMIT
    assert len(world.of(PlanStep)) == LOOP_STEPS
    assert [step.finalize for step in world.of(PlanStep)][-2:] == [False, True]


async def test_so_many_calls_run_side_by_side_and_no_more() -> None:
    ids = [f"c{n}" for n in range(2 * PARALLEL_TOOLS + 5)]
    world = ScriptedWorld(_calls(*ids), COMPLETED)
    await resume(world, "r1")
    assert [step.call_id for step in world.of(CallStep)] == ids
    assert world.most_at_once == PARALLEL_TOOLS


CHILD = ChildStep(run_id="run-1", call_id="c1", child_run_id="child-1")


async def test_a_call_that_a_child_answers_is_asked_again_once_the_child_has_ended() -> None:
    world = ScriptedWorld(Planned(call_ids=("c1",)), COMPLETED)
    answers = [Called(child="child-1"), Called(child="child-1"), Called()]

    async def answer(_: CallStep) -> Called:
        return answers.pop(0)

    world.calls = answer
    assert await resume(world, "run-1") is RunStatus.COMPLETED
    call = CallStep(run_id="run-1", call_id="c1")
    assert world.asked[1:6] == [call, CHILD, call, CHILD, call]


async def test_a_child_that_waits_suspends_its_parent_after_all_other_calls() -> None:
    world = ScriptedWorld(Planned(call_ids=("c1", "c2")), COMPLETED)

    async def answer(step: CallStep) -> Called:
        return Called(waiting=step.call_id == "c1")

    world.calls = answer
    assert await resume(world, "run-1") is RunStatus.SUSPENDED
    assert world.asked[-1] == SuspendStep(run_id="run-1", step=0)
    assert sum(isinstance(each, CallStep) for each in world.asked) == 2


async def test_an_end_waits_for_the_ends_of_children() -> None:
    world = ScriptedWorld(COMPLETED)
    world.running_children = ("child-1", "child-2")
    assert await resume(world, "run-1", stop=STOP) is RunStatus.CANCELED
    end = FinishStep(run_id="run-1", status="canceled")
    assert world.asked == [end, ("child-1", "child-2"), end]


async def test_a_child_begins_plans_and_ends_like_any_run() -> None:
    world = ScriptedWorld(COMPLETED)
    assert await drive_child(world, CHILD) is RunStatus.COMPLETED
    assert world.asked[0] == CHILD
    assert world.asked[1] == PlanStep(run_id="child-1", step=0)


async def test_a_child_that_has_ended_is_not_planned_again() -> None:
    world = ScriptedWorld(COMPLETED)
    world.child_begun = Begun(ended=RunStatus.FAILED)
    assert await drive_child(world, CHILD) is RunStatus.FAILED
    assert world.asked == [CHILD]


async def test_under_a_parent_that_shall_stop_no_child_begins() -> None:
    world = ScriptedWorld(COMPLETED)
    world.child_begun = CancellationRequested(run_id="run-1", reason="user_stop")
    assert await drive_child(world, CHILD) is RunStatus.CANCELED
    assert world.asked == [CHILD]


async def test_inherited_calls_are_answered_before_the_first_plan() -> None:
    world = ScriptedWorld(COMPLETED)
    world.opened = Opened(inherited=True, call_ids=("c1",))
    assert await resume(world, "run-1") is RunStatus.COMPLETED
    assert world.asked == [
        CallStep(run_id="run-1", call_id="c1"),
        CollectStep(run_id="run-1", step=keys.INHERITED),
        PlanStep(run_id="run-1", step=0),
    ]


async def test_inherited_calls_that_still_wait_suspend_the_run_again() -> None:
    world = ScriptedWorld(COMPLETED)
    world.opened = Opened(inherited=True, call_ids=("c1",), waiting=True)
    assert await resume(world, "run-1") is RunStatus.SUSPENDED
    assert world.asked[-1] == SuspendStep(run_id="run-1", step=keys.INHERITED)
