"""Moments between a look and a write: whatever happens there is seen, or collides."""

import asyncio

import pytest

from actum.base.limits import MIB
from actum.lifecycle.states import RunStatus
from actum.messages.message import assistant
from actum.messages.parts import tool_use
from actum.planning.planner import PlanInput
from actum.records.types import RecordType
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing.samples import at
from actum.tools.call import RESULT_BYTES
from tests.support.frail import HeldBackend, settled
from tests.support.runlogs import proven
from tests.support.scenario import RUN, SESSION, Cast, Gate, Worker, begun, playing, request, uses
from tests.support.worker_store import WorkerStore

# The writes of a worker: its start, the first plan, and then the start of the first call.
CALL_STARTED = 3


@pytest.mark.parametrize("who", ["caller", "host"])
async def test_a_tool_is_not_run_when_the_run_was_stopped_just_before(who: str) -> None:
    store = await begun(backend := MemoryBackend())
    held = HeldBackend(backend)
    cast = Cast(uses("a"), "never").returns("a")
    async with playing(LocalStore(held), cast) as worker, playing(store, cast) as other:
        starting = held.hold_write(CALL_STARTED)
        await worker.start()
        await starting.reached.wait()
        if who == "host":
            await store.end_session(SESSION, at(5))
        else:
            await other.runtime.cancel_run(RUN, "user_stop")
        starting.opened.set()
        out = await worker.runtime.output(RUN)
    log = await proven(store, RUN)
    assert out.status is RunStatus.CANCELED
    assert out.cancellation == ("session_ended" if who == "host" else "user_stop")
    assert cast.ran == {}
    # In an ended session the record is taken, and its answer is what stops the tool; a cancellation refuses it.
    assert log.types[RecordType.TOOL_CALL_STARTED] == (1 if who == "host" else 0)
    assert log.results["a"].content["error"] == "canceled"


async def test_a_call_that_another_worker_starts_before_an_end_is_told_as_started() -> None:
    store = await begun(backend := MemoryBackend())
    gate, held = Gate(), HeldBackend(backend)
    cast = Cast(uses("a"), "never").returns("a", gate)
    second = Worker(WorkerStore(LocalStore(held)), cast)
    slow = HeldBackend(backend)
    first = Worker(WorkerStore(LocalStore(slow)), cast)
    # The first worker is about to start the call; the second one saw the session's end and has read the journal.
    starting, its_own_end = slow.hold_write(3), slow.hold_write(4)
    await first.engine.accept(request())
    await starting.reached.wait()
    await store.end_session(SESSION, at(5))
    intent = held.hold_write(2)
    await second.engine.accept(request())
    await intent.reached.wait()
    starting.opened.set()
    await settled()
    intent.opened.set()
    await second.runtime.output(RUN)
    its_own_end.opened.set()
    await first.runtime.output(RUN)
    log = await proven(store, RUN)
    assert log.types[RecordType.TOOL_CALL_STARTED] == 1
    assert "was not started" not in log.results["a"].content["message"]
    for worker in (first, second):
        await worker.runtime.close()


async def test_one_engine_that_recovers_twice_at_once_drives_a_run_once() -> None:
    store = await begun(backend := MemoryBackend())
    gate = Gate()
    cast = Cast(uses("a"), "done").returns("a", gate, idempotent=True)
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
    gate.opened.set()
    held = HeldBackend(backend)
    async with playing(LocalStore(held), cast) as second:
        taking = held.hold_write(1)
        first = asyncio.ensure_future(second.runtime.recover())
        await taking.reached.wait()
        # This one is quicker, and stands at its first step; then the other one's answer comes.
        step = held.hold_write(3)
        assert await second.runtime.recover() == (RUN,)
        await step.reached.wait()
        taking.opened.set()
        assert await first == ()
        step.opened.set()
        await second.runtime.output(RUN)
    await proven(store, RUN)
    assert cast.ran == {"a": 2}


async def test_an_attempt_that_is_made_after_a_recovery_is_of_the_living() -> None:
    store = await begun(backend := MemoryBackend())
    parked, gate = Gate(), Gate("late")

    async def thinks(_: PlanInput) -> object:
        if not parked.reached.is_set():
            await parked.passed()
        return uses("a")

    cast = Cast(thinks, "done").returns("a", gate)
    async with playing(store, cast) as worker:
        await worker.engine.accept(request())
        await parked.reached.wait()
    held = HeldBackend(backend)
    living = Worker(WorkerStore(store), cast)
    async with playing(LocalStore(held), cast) as recovering:
        starting = held.hold_write(3)
        assert await recovering.runtime.recover() == (RUN,)
        await starting.reached.wait()
        await living.engine.accept(request())
        await gate.reached.wait()
        starting.opened.set()
        await settled()
        gate.opened.set()
        await recovering.runtime.output(RUN)
        await living.runtime.close()
    log = await proven(store, RUN)
    assert log.results["a"].content == "late"
    assert cast.ran == {"a": 1}


@pytest.mark.parametrize("calls", [2, 64])
async def test_results_that_do_not_fit_together_are_refused_one_by_one(calls: int) -> None:
    store = await begun(MemoryBackend())
    cast = Cast(assistant(*[tool_use(f"{n:0300}", "a", {}) for n in range(calls)]), "done")
    cast.returns("a", "x" * (RESULT_BYTES // calls - 2))
    async with playing(store, cast) as worker:
        await worker.play()
    log = await proven(store, RUN)
    assert log.messages[-1].text == "done"
    assert {part.content["error"] for part in log.results.values()} == {"malformed_result"}
    assert sum(len(record.payload) for record in log.records) < MIB
