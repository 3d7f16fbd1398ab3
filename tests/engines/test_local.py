"""The engine of this process: owners, trouble with the store, parking, and taking up again."""

import asyncio

import pytest

from actum.base.errors import NotFound, RunNotFound, RunNotReady, StoreUnavailable
from actum.engines.context import RETRIES
from actum.engines.local import LocalEngine
from actum.lifecycle.states import RunStatus
from actum.messages.message import user
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing import samples
from tests.support.frail import AwayBackend, HeldBackend, MortalBackend, settled
from tests.support.runlogs import proven
from tests.support.scenario import RUN, SESSION, Cast, Gate, Worker, begun, playing, request, uses
from tests.support.worker_store import WorkerStore


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


async def test_a_run_has_an_owner_that_lives_as_long_as_its_engine(store: OwnedStore) -> None:
    gate = Gate()
    async with playing(store, Cast(uses("a")).returns("a", gate)) as worker:
        await worker.start()
        await gate.reached.wait()
        owner = (await store.load_run(RUN)).owner
        assert owner is not None
        assert await store.owner_alive(owner)
    assert not await store.owner_alive(owner)


async def test_over_a_store_without_owners_runs_go_on_and_nothing_is_recovered(store: OwnedStore) -> None:
    distant = WorkerStore(store)
    gate = Gate()
    cast = Cast(uses("a"), "done").returns("a", gate)
    async with playing(distant, cast) as worker:
        await worker.start()
        await gate.reached.wait()
    async with playing(distant, cast) as worker:
        assert await worker.runtime.recover() == ()
        gate.opened.set()
        assert (await worker.client.run(SESSION, [user("else")], run_id="run-2")).text == "done"
    assert (await store.load_run("run-2")).owner is None


async def test_a_store_that_is_away_for_a_while_is_asked_again() -> None:
    away = AwayBackend(inner := MemoryBackend())
    store = await begun(inner)
    gate = Gate()
    async with playing(LocalStore(away), Cast(uses("a"), "done").returns("a", gate)) as worker:
        await worker.start()
        await gate.reached.wait()
        away.away = RETRIES
        gate.opened.set()
        assert (await worker.runtime.output(RUN)).text == "done"
    assert worker.waits.pauses[:RETRIES] == sorted(worker.waits.pauses[:RETRIES])
    assert max(worker.waits.pauses) <= 1.0
    await proven(store, RUN)


async def test_a_store_that_stays_away_is_told_to_who_waits_and_the_run_stays_running() -> None:
    away = AwayBackend(inner := MemoryBackend())
    store = await begun(inner)
    gate = Gate("its work")
    cast = Cast(uses("a"), "done").returns("a", gate)
    async with playing(LocalStore(away), cast) as worker:
        await worker.start()
        await gate.reached.wait()
        waiting = asyncio.ensure_future(worker.runtime.output(RUN))
        away.away = 10_000
        gate.opened.set()
        with pytest.raises(StoreUnavailable):
            await waiting
        away.away = 0
        # Whoever asks later hears the same; the process itself may take its run up again, and nobody else.
        with pytest.raises(StoreUnavailable):
            await worker.runtime.output(RUN)
        assert (await store.load_run(RUN)).status is RunStatus.RUNNING
        async with playing(store, cast) as other:
            assert await other.runtime.recover() == ()
        assert await worker.runtime.recover() == (RUN,)
        assert (await worker.runtime.output(RUN)).text == "done"
    log = await proven(store, RUN)
    assert log.results["a"].content["error"] == "outcome_unknown"
    assert cast.ran == {"a": 1}


async def test_an_exact_repeat_of_the_start_takes_a_run_up_that_nobody_drives_any_more() -> None:
    away = AwayBackend(inner := MemoryBackend())
    store = await begun(inner)
    gate = Gate()
    cast = Cast(uses("a"), "done").returns("a", gate)
    async with playing(LocalStore(away), cast) as worker:
        await worker.start()
        await gate.reached.wait()
        away.away = 10_000
        gate.opened.set()
        with pytest.raises(StoreUnavailable):
            await worker.runtime.output(RUN)
        away.away = 0
        for _ in range(2):
            await worker.start()
            assert (await worker.runtime.output(RUN)).text == "done"
    await proven(store, RUN)
    assert cast.ran == {"a": 1}


async def test_a_run_with_no_owner_yet_is_taken_by_one_and_driven_by_one() -> None:
    held = HeldBackend(inner := MemoryBackend())
    store = await begun(inner)
    cast = Cast(uses("a"), "done").returns("a")
    async with playing(WorkerStore(LocalStore(inner)), Cast(lambda _: Gate().passed())) as ownerless:
        await ownerless.start()
    async with playing(LocalStore(held), cast) as starter, playing(store, cast) as other:
        # The start was stored by one who knows no owners; who repeats it has not made itself the owner yet.
        taking = held.hold_write(1)
        starting = asyncio.ensure_future(starter.play())
        await taking.reached.wait()
        assert await other.runtime.recover() == (RUN,)
        taking.opened.set()
        await starting
        assert (await starter.runtime.output(RUN)).text == "done"
    await proven(store, RUN)
    assert cast.ran == {"a": 1}
    assert cast.planned == {0: 1, 1: 1}


async def test_recovery_at_once_by_many_goes_on_once(store: OwnedStore) -> None:
    gate = Gate()
    cast = Cast(uses("a"), "done").returns("a", gate)
    runs = [f"run-{n}" for n in range(5)]
    async with playing(store, cast) as first:
        for run_id in runs:
            await first.start(run_id)
        await settled()
    gate.opened.set()
    async with playing(store, cast) as second, playing(store, cast) as third:
        taken = await asyncio.gather(*(each.runtime.recover() for each in (second, second, third, third)))
        for run_id in runs:
            await second.runtime.output(run_id)
    assert sorted(run_id for each in taken for run_id in each) == runs
    assert {(await proven(store, run_id)).run.status for run_id in runs} == {RunStatus.COMPLETED}


async def test_recovery_pages_through_everything_that_runs(store: OwnedStore) -> None:
    gate = Gate()
    cast = Cast(uses("a"), "done").returns("a", gate)
    runs = [f"run-{n:03}" for n in range(130)]
    async with playing(store, cast) as first:
        for run_id in runs:
            await first.start(run_id)
    gate.opened.set()
    async with playing(store, cast) as second:
        assert sorted(await second.recover()) == runs


async def test_what_ends_while_it_is_looked_at_is_nobodys() -> None:
    store = await begun(backend := MemoryBackend())
    gate = Gate()
    cast = Cast(uses("a"), "done").returns("a", gate)
    async with playing(store, cast) as first:
        await first.start()
        await gate.reached.wait()
    held = HeldBackend(backend)
    taking = held.hold_write(1)
    async with playing(LocalStore(held), cast) as slow, playing(store, cast) as quick:
        recovering = asyncio.ensure_future(slow.runtime.recover())
        await taking.reached.wait()
        gate.opened.set()
        assert await quick.recover() == (RUN,)
        taking.opened.set()
        assert await recovering == ()


async def test_what_no_runtime_started_and_what_it_does_not_know_is_left_alone(store: OwnedStore) -> None:
    await store.start_root_run(samples.root("by-hand", SESSION))
    gate = Gate()
    async with playing(store, Cast(uses("a")).returns("a", gate)) as worker:
        await worker.start()
        await gate.reached.wait()
    stranger = Runtime(store, LocalEngine())
    assert await stranger.recover() == ()
    await stranger.close()
    assert (await store.load_run("by-hand")).owner is None


async def test_an_engine_that_is_closed_accepts_nothing(store: OwnedStore) -> None:
    worker = Worker(store, Cast("done"))
    await worker.runtime.close()
    with pytest.raises(RuntimeError):
        await worker.engine.accept(request())
    with pytest.raises(RunNotFound):
        await store.load_run(RUN)


async def test_closing_before_the_first_step_tells_the_starter(store: OwnedStore) -> None:
    worker = Worker(store, Cast("done"))
    starting = asyncio.ensure_future(worker.engine.accept(request()))
    await asyncio.sleep(0)
    await worker.runtime.close()
    with pytest.raises(RunNotReady):
        await starting


async def test_closing_while_the_start_is_on_its_way_leaves_a_run_for_recovery() -> None:
    inner = MemoryBackend()
    store = await begun(inner)
    mortal = MortalBackend(inner)
    worker = Worker(LocalStore(mortal), cast := Cast("done"))
    # The start is stored, and its answer never arrives.
    mortal.die_at(1, after=True)
    starting = asyncio.ensure_future(worker.engine.accept(request()))
    await mortal.died.wait()
    await worker.runtime.close()
    with pytest.raises(RunNotReady):
        await starting
    async with playing(store, cast) as second:
        assert await second.runtime.recover() == (RUN,)
        assert (await second.runtime.output(RUN)).text == "done"


async def test_an_engine_serves_one_runtime(store: OwnedStore) -> None:
    engine = LocalEngine()
    runtime = Runtime(store, engine)
    with pytest.raises(RuntimeError):
        Runtime(store, engine)
    with pytest.raises(RuntimeError):
        await LocalEngine().recover()
    await runtime.close()


async def test_who_waits_elsewhere_hears_of_the_end(store: OwnedStore) -> None:
    gate = Gate()
    cast = Cast(uses("a"), "done").returns("a", gate)
    async with playing(store, cast) as worker, playing(store, cast) as other:
        await worker.start()
        await gate.reached.wait()
        waiting = asyncio.ensure_future(other.runtime.output(RUN))
        await settled()
        gate.opened.set()
        assert (await waiting).text == "done"
        assert other.waits.pauses
        with pytest.raises(NotFound):
            await other.runtime.output("run-2")


async def test_a_watch_that_cannot_read_the_store_looks_again() -> None:
    away = AwayBackend(inner := MemoryBackend())
    store = await begun(inner)
    gate = Gate()
    cast = Cast(uses("a"), "never").returns("a", gate)
    async with playing(LocalStore(away), cast) as worker, playing(store, cast) as other:
        await worker.start()
        await gate.reached.wait()
        await other.runtime.cancel_run(RUN, "user_stop")
        away.away = 3
        worker.waits.look()
        out = await worker.runtime.output(RUN)
    assert out.cancellation == "user_stop"
    assert away.refused == 3
