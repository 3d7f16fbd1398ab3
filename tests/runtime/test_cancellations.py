"""Cancellation and the session's end, wherever they come from and whenever; what the records then say."""

import asyncio
import contextlib

import pytest

from actum.base.errors import (
    CancellationConflict,
    InvalidValue,
    RunNotFound,
    RunNotReady,
    RunNotRunning,
    SessionEnded,
    TooLarge,
)
from actum.lifecycle.states import RunStatus, StartOutcome
from actum.loop.world import RunRequest
from actum.messages.message import user
from actum.planning.planner import PlanInput
from actum.records.kinds import CancellationIntent, RunCompleted
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore
from actum.storage.memory import MemoryBackend
from actum.testing.samples import at
from tests.support.frail import settled
from tests.support.runlogs import RunLog, proven
from tests.support.scenario import RUN, SESSION, Cast, Gate, begun, playing, uses

GO = [user("go")]


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


def _provenance(log: RunLog) -> tuple[str | None, str | None, str | None]:
    """The three places where a reason stands: the run, its intent record, its end record."""
    intents = log.payloads(RecordType.CANCELLATION_INTENT)
    intent = intents[0] if intents else None
    end = log.payloads(RecordType.RUN_COMPLETED)[0]
    assert intent is None or isinstance(intent, CancellationIntent)
    assert isinstance(end, RunCompleted)
    canceled = end.cancellation
    return log.run.cancellation_reason, intent.reason if intent else None, canceled.reason if canceled else None


async def test_the_tools_that_answered_keep_their_results(store: OwnedStore) -> None:
    gate = Gate()
    cast = Cast(uses("c1=fs.edit", "c2=fs.edit", "c3=fs.wait"), "never").returns("fs.edit", "edited")
    cast.returns("fs.wait", gate)
    async with playing(store, cast) as worker:
        handle = await worker.client.start(SESSION, GO, run_id=RUN)
        await gate.reached.wait()
        await settled()
        await handle.cancel("user_stop")
        out = await handle.wait()
    log = await proven(store, RUN)
    assert (out.status, out.cancellation) == (RunStatus.CANCELED, "user_stop")
    assert _provenance(log) == ("user_stop", "user_stop", "user_stop")
    assert [log.results[each].content for each in ("c1", "c2")] == ["edited", "edited"]
    assert log.results["c3"].is_error
    assert log.results["c3"].content["error"] == "canceled"
    assert cast.planned == {0: 1}


async def test_no_task_of_a_canceled_run_is_left_running(store: OwnedStore) -> None:
    gate = Gate()
    cast = Cast(uses("a"), "never").returns("a", gate)
    before = asyncio.all_tasks()
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
        await worker.runtime.cancel_run(RUN, "user_stop")
        await worker.runtime.output(RUN)
        await settled()
        assert asyncio.all_tasks() == before


async def test_a_planner_is_stopped_in_the_middle_of_its_thought(store: OwnedStore) -> None:
    gate, stopped = Gate(), asyncio.Event()

    async def thinks(_: PlanInput) -> object:
        try:
            return await gate.passed()
        except asyncio.CancelledError:
            stopped.set()
            raise

    async with playing(store, Cast(thinks)) as worker:
        await worker.start()
        await gate.reached.wait()
        await worker.runtime.cancel_run(RUN)
        out = await worker.runtime.output(RUN)
    log = await proven(store, RUN)
    assert stopped.is_set()
    assert out.cancellation == "user_requested"
    assert [message.role for message in log.messages] == ["user"]


async def test_a_planner_that_will_not_stop_may_still_answer(store: OwnedStore) -> None:
    gate = Gate()

    async def stubborn(_: PlanInput) -> object:
        with contextlib.suppress(asyncio.CancelledError):
            await gate.passed()
        return "done all the same"

    async with playing(store, Cast(stubborn)) as worker:
        await worker.start()
        await gate.reached.wait()
        await worker.runtime.cancel_run(RUN)
        out = await worker.runtime.output(RUN)
    log = await proven(store, RUN)
    assert (out.status, log.run.cancellation_reason) in {
        (RunStatus.COMPLETED, "user_requested"),
        (RunStatus.CANCELED, "user_requested"),
    }


@pytest.mark.parametrize("during", ["plan", "tool"])
async def test_a_stop_from_another_process_is_heard_at_the_next_look(store: OwnedStore, during: str) -> None:
    gate = Gate()

    async def thinks(_: PlanInput) -> object:
        return await gate.passed()

    cast = Cast(thinks) if during == "plan" else Cast(uses("a"), "never").returns("a", gate)
    async with playing(store, cast) as worker, playing(store, cast) as other:
        await worker.start()
        await gate.reached.wait()
        await worker.waits.watching.wait()
        await other.runtime.cancel_run(RUN, "user_stop")
        await settled()
        assert (await store.load_run(RUN)).status is RunStatus.RUNNING
        worker.waits.look()
        await worker.runtime.output(RUN)
    assert _provenance(await proven(store, RUN)) == ("user_stop",) * 3


async def test_a_session_that_ends_elsewhere_is_heard_at_the_next_look(store: OwnedStore) -> None:
    gate = Gate()
    async with playing(store, Cast(uses("a"), "never").returns("a", gate)) as worker:
        await worker.start()
        await gate.reached.wait()
        await store.end_session(SESSION, at(5))
        worker.waits.look()
        out = await worker.runtime.output(RUN)
    log = await proven(store, RUN)
    assert out.cancellation == "session_ended"
    assert _provenance(log) == ("session_ended",) * 3
    assert log.results["a"].content["error"] == "canceled"


async def test_a_session_that_ends_inside_a_tool_stops_the_run_at_its_next_write(store: OwnedStore) -> None:
    async def ends() -> str:
        await store.end_session(SESSION, at(5))
        return "ended it"

    cast = Cast(uses("a"), "never").does("a", ends)
    async with playing(store, cast) as worker:
        await worker.play()
    log = await proven(store, RUN)
    assert _provenance(log) == ("session_ended",) * 3
    assert log.results["a"].content == "ended it"
    assert cast.planned == {0: 1}


async def test_a_session_that_ends_while_the_planner_thinks_starts_no_tool(store: OwnedStore) -> None:
    async def thinks(_: PlanInput) -> object:
        await store.end_session(SESSION, at(5))
        return uses("a")

    cast = Cast(thinks).returns("a")
    async with playing(store, cast) as worker:
        await worker.play()
    log = await proven(store, RUN)
    assert _provenance(log) == ("session_ended",) * 3
    assert log.types[RecordType.TOOL_CALL_STARTED] == 0
    assert cast.ran == {}


async def test_an_earlier_reason_stays_when_the_session_ends_too(store: OwnedStore) -> None:
    gate = Gate()
    async with playing(store, Cast(uses("a")).returns("a", gate)) as worker, playing(store, Cast()) as other:
        await worker.start()
        await gate.reached.wait()
        await other.runtime.cancel_run(RUN, "user_stop")
        await store.end_session(SESSION, at(5))
        worker.waits.look()
        await worker.runtime.output(RUN)
    assert _provenance(await proven(store, RUN)) == ("user_stop",) * 3


async def test_a_start_that_meets_the_end_of_its_session_plans_nothing(store: OwnedStore) -> None:
    cast = Cast("never")
    async with playing(store, cast) as worker:
        real = worker.engine.accept

        async def accept_late(request: RunRequest) -> None:
            await store.end_session(SESSION, at(5))
            await real(request)

        worker.engine.accept = accept_late  # type: ignore[method-assign] # the moment between the check and the start
        out = await worker.client.run(SESSION, GO, run_id=RUN)
    log = await proven(store, RUN)
    assert (out.status, out.cancellation) == (RunStatus.CANCELED, "session_ended")
    assert _provenance(log) == ("session_ended", None, "session_ended")
    assert log.run.start_outcome is StartOutcome.STOP
    assert log.messages == ()
    assert cast.planned == {}


async def test_an_engine_that_stops_a_run_by_itself_says_so(store: OwnedStore) -> None:
    gate = Gate()
    async with playing(store, Cast(uses("a")).returns("a", gate)) as worker:
        await worker.start()
        await gate.reached.wait()
        await worker.engine.cancel(RUN, "shutdown")
        out = await worker.runtime.output(RUN)
    assert out.cancellation == "engine_canceled"
    assert _provenance(await proven(store, RUN)) == (None, None, "engine_canceled")


async def test_the_same_reason_again_is_a_success_also_after_the_end(store: OwnedStore) -> None:
    gate = Gate()
    async with playing(store, Cast(uses("a")).returns("a", gate)) as worker, playing(store, Cast()) as other:
        await worker.start()
        await gate.reached.wait()
        await worker.runtime.cancel_run(RUN, "first", by="ada")
        await other.runtime.cancel_run(RUN, "first")
        with pytest.raises(CancellationConflict) as caught:
            await other.runtime.cancel_run(RUN, "second")
        await worker.runtime.output(RUN)
        await worker.runtime.cancel_run(RUN, "first")
        with pytest.raises(CancellationConflict):
            await worker.runtime.cancel_run(RUN, "second")
    assert (caught.value.stored, caught.value.given) == ("first", "second")
    assert _provenance(await proven(store, RUN)) == ("first",) * 3


async def test_a_first_reason_after_the_end_is_too_late(store: OwnedStore) -> None:
    async with playing(store, Cast("done")) as worker:
        await worker.play()
        with pytest.raises(RunNotRunning):
            await worker.runtime.cancel_run(RUN)
        with pytest.raises(RunNotFound):
            await worker.runtime.cancel_run("run-2")
    assert (await proven(store, RUN)).run.cancellation_reason is None


@pytest.mark.parametrize("reason", ["session_ended", "engine_canceled", "", "x" * 5000])
async def test_a_callers_reason_is_its_own_and_within_its_bound(store: OwnedStore, reason: str) -> None:
    gate = Gate()
    async with playing(store, Cast(uses("a")).returns("a", gate)) as worker:
        await worker.start()
        await gate.reached.wait()
        with pytest.raises((InvalidValue, TooLarge)):
            await worker.runtime.cancel_run(RUN, reason)
        assert (await store.load_run(RUN)).cancellation_reason is None


async def test_leaving_a_waiting_task_leaves_the_run_alone(store: OwnedStore) -> None:
    gate = Gate("late")
    async with playing(store, Cast(uses("a"), "done").returns("a", gate)) as worker:
        waiting = asyncio.ensure_future(worker.client.run(SESSION, GO, run_id=RUN))
        await gate.reached.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        gate.opened.set()
        out = await worker.runtime.output(RUN)
    assert out.text == "done"
    assert (await proven(store, RUN)).run.cancellation_reason is None


async def test_closing_a_runtime_parks_its_runs_and_tells_who_waits(store: OwnedStore) -> None:
    gate = Gate()
    cast = Cast(uses("a", "b"), "done").returns("a", gate).returns("b", idempotent=True)
    async with playing(store, cast) as worker:
        waiting = asyncio.ensure_future(worker.play())
        await gate.reached.wait()
    with pytest.raises(RunNotReady):
        await waiting
    with pytest.raises(RunNotReady):
        await worker.runtime.output(RUN)
    assert (await store.load_run(RUN)).status is RunStatus.RUNNING
    async with playing(store, cast) as second:
        assert await second.runtime.recover() == (RUN,)
        out = await second.runtime.output(RUN)
    log = await proven(store, RUN)
    assert out.text == "done"
    assert log.results["a"].content["error"] == "outcome_unknown"
    assert log.results["b"].content == "ok"
    assert log.run.cancellation_reason is None


async def test_a_session_that_ended_while_its_run_was_parked_stops_it_before_another_plan(store: OwnedStore) -> None:
    gate = Gate()

    async def thinks(_: PlanInput) -> object:
        return await gate.passed()

    cast = Cast(thinks)
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
    await store.end_session(SESSION, at(5))
    async with playing(store, cast) as second:
        await second.runtime.recover()
        out = await second.runtime.output(RUN)
        with pytest.raises(SessionEnded):
            await second.client.start(SESSION, GO)
    assert out.cancellation == "session_ended"
    assert cast.planned == {0: 1}
    assert _provenance(await proven(store, RUN)) == ("session_ended",) * 3
