"""Ends that are certain: cancellation from any process down the whole tree, and runs that get the end they lack."""

import asyncio
from collections.abc import Sequence

import pytest

from actum.base.errors import CancellationConflict, RunCorrupt, RunNotFound, RunNotReady, RunNotRunning
from actum.engines.contract import RecoveryPolicy
from actum.lifecycle.states import RunStatus
from actum.loop import keys
from actum.messages.message import user
from actum.records.kinds import ChildRunLinked, RunCompleted, payload_of
from actum.records.types import RecordType
from actum.runtime.children import child_run_id
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing import samples
from actum.testing.samples import at
from tests.support.frail import MortalBackend, settled, until_dead
from tests.support.runlogs import proven
from tests.support.scenario import RUN, SESSION, Cast, Gate, Worker, asks, begun, playing, uses

CHILD = child_run_id(RUN, "sub")
DEEP = child_run_id(CHILD, "deep")
GO = [user("go")]


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


def family(gate: Gate) -> Cast:
    """A root that asks a child, which asks a grandchild, which waits at the gate in a tool."""
    deep = Cast(uses("w"), "deep", agent_id="deep").returns("w", gate)
    sub = Cast(asks("deep"), "sub", agent_id="sub").asking(deep)
    return Cast(asks("sub"), "done").asking(sub)


async def reasons(store: OwnedStore, run_ids: Sequence[str] = (RUN, CHILD, DEEP)) -> list[str | None]:
    return [(await store.load_run(each)).cancellation_reason for each in run_ids]


async def test_another_process_stores_the_reason_on_the_whole_tree_before_any_loop_hears_of_it(
    store: OwnedStore,
) -> None:
    gate = Gate()
    cast = family(gate)
    async with playing(store, cast) as worker, playing(store, cast) as other:
        await worker.start()
        await gate.reached.wait()
        await other.runtime.cancel_run(RUN, "user_stop", by="ada")
        await settled()
        assert [(await store.load_run(each)).status for each in (RUN, CHILD, DEEP)] == [RunStatus.RUNNING] * 3
        assert await reasons(store) == ["user_stop"] * 3
        worker.waits.look()
        out = await worker.runtime.output(RUN)
    assert out.cancellation == "user_stop"
    for run_id in (RUN, CHILD, DEEP):
        log = await proven(store, run_id)
        assert log.run.status is RunStatus.CANCELED
        intents = [each for each in log.records if each.type == RecordType.CANCELLATION_INTENT]
        assert len(intents) == 1


async def test_a_child_with_a_reason_of_its_own_keeps_it(store: OwnedStore) -> None:
    gate = Gate()
    cast = family(gate)
    async with playing(store, cast) as worker, playing(store, cast) as other:
        await worker.start()
        await gate.reached.wait()
        await other.runtime.cancel_run(DEEP, "not_that")
        await other.runtime.cancel_run(RUN, "user_stop")
        await other.runtime.cancel_run(RUN, "user_stop")
        with pytest.raises(CancellationConflict):
            await other.runtime.cancel_run(RUN, "else")
        assert await reasons(store) == ["user_stop", "user_stop", "not_that"]
        worker.waits.look()
        await worker.runtime.output(RUN)
    assert await reasons(store) == ["user_stop", "user_stop", "not_that"]


@pytest.mark.parametrize("died_at", range(1, 9))
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_canceler_that_dies_leaves_a_tree_that_still_ends_as_it_was_asked_to(
    died_at: int, *, after: bool
) -> None:
    store = await begun(backend := MemoryBackend())
    gate = Gate()
    cast = family(gate)
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
        mortal = MortalBackend(backend, dies_at=died_at, after=after)
        other = Worker(LocalStore(mortal), cast)
        await until_dead(mortal, other.runtime.cancel_run(RUN, "user_stop"))
        await other.runtime.close()
    asked = (await store.load_run(RUN)).cancellation_reason
    gate.opened.set()
    async with playing(store, cast) as second:
        await second.runtime.recover()
        out = await second.runtime.output(RUN)
        for run_id in (CHILD, DEEP):
            await second.runtime.output(run_id)
    assert out.cancellation == asked
    assert (out.status is RunStatus.CANCELED) == (asked is not None)
    for run_id in (RUN, CHILD, DEEP):
        log = await proven(store, run_id)
        assert (log.run.cancellation_reason or asked) == asked


async def test_the_three_ways_to_be_canceled_are_told_apart_after_a_crash(store: OwnedStore) -> None:
    gate = Gate()
    cast = Cast(uses("a"), "done").returns("a", gate)
    async with playing(store, cast) as worker:
        for run_id in ("asked", "parked", "stopped"):
            await worker.start(run_id)
        await gate.reached.wait()
        await worker.engine.cancel("stopped", "shutdown")
        await worker.runtime.output("stopped")
        async with playing(store, cast) as other:
            await other.runtime.cancel_run("asked", "user_stop")
    await store.end_session(SESSION, at(5))
    async with playing(store, cast) as second:
        await second.recover()
    found = {}
    for run_id in ("asked", "parked", "stopped"):
        log = await proven(store, run_id)
        end = payload_of(log.records[-1])
        assert isinstance(end, RunCompleted)
        assert end.cancellation is not None
        found[run_id] = (log.run.cancellation_reason, end.cancellation.reason)
    assert found == {
        "asked": ("user_stop", "user_stop"),
        "parked": ("session_ended", "session_ended"),
        "stopped": (None, "engine_canceled"),
    }


async def test_a_run_that_is_driven_is_not_ready_and_one_that_ended_is_told_again(store: OwnedStore) -> None:
    gate = Gate()
    cast = Cast(uses("a"), "done").returns("a", gate)
    async with playing(store, cast) as worker, playing(store, cast) as other:
        await worker.start()
        await gate.reached.wait()
        for each in (worker, other):
            with pytest.raises(RunNotReady):
                await each.runtime.ensure_run_completion(RUN)
            with pytest.raises(RunNotReady):
                await each.runtime.settle(SESSION)
        gate.opened.set()
        out = await worker.runtime.output(RUN)
        assert await other.runtime.ensure_run_completion(RUN) == out
        assert await other.runtime.settle(SESSION) == ()
        with pytest.raises(RunNotFound):
            await other.runtime.ensure_run_completion("nobody")
    await proven(store, RUN)


@pytest.mark.parametrize("policy", ["continue", "fail"])
async def test_a_parked_tree_gets_its_end_by_the_policy(store: OwnedStore, policy: RecoveryPolicy) -> None:
    gate = Gate("late")
    cast = family(gate)
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
    gate.opened.set()
    async with playing(store, cast) as second:
        out = await second.runtime.ensure_run_completion(RUN, recovery=policy)
    logs = [await proven(store, each) for each in (RUN, CHILD, DEEP)]
    if policy == "continue":
        assert out.text == "done"
        assert logs[2].results["w"].content["error"] == "outcome_unknown"
        return
    assert out.failure is not None
    assert out.failure.kind == "recovery"
    assert [log.run.status for log in logs] == [RunStatus.FAILED, RunStatus.CANCELED, RunStatus.CANCELED]
    assert await reasons(store) == [None, "parent_ended", "parent_ended"]


@pytest.mark.parametrize("policy", ["continue", "fail"])
async def test_settling_a_session_ends_all_that_is_open_in_it(store: OwnedStore, policy: RecoveryPolicy) -> None:
    gate = Gate("late")
    cast = family(gate)
    async with playing(store, cast) as worker:
        await worker.start()
        await worker.start("run-2")
        await gate.reached.wait()
    gate.opened.set()
    async with playing(store, cast) as second:
        outs = await second.runtime.settle(SESSION, recovery=policy)
        assert await second.runtime.settle(SESSION) == ()
    assert {RUN, "run-2"} <= {out.run_id for out in outs}
    for run in (await store.list_runs(SESSION)).items:
        await proven(store, run.run_id)


async def test_recovery_may_give_runs_up(store: OwnedStore) -> None:
    gate = Gate()
    cast = Cast(uses("a"), "done").returns("a", gate)
    async with playing(store, cast) as worker:
        await worker.start()
        await worker.start("asked")
        await gate.reached.wait()
        async with playing(store, cast) as other:
            await other.runtime.cancel_run("asked", "user_stop")
    async with playing(store, cast) as second:
        assert sorted(await second.runtime.recover("fail")) == ["asked", RUN]
        out, asked = await second.runtime.output(RUN), await second.runtime.output("asked")
    assert out.failure is not None
    assert (out.failure.kind, asked.cancellation) == ("recovery", "user_stop")
    log = await proven(store, RUN)
    assert log.results["a"].content["error"] == "outcome_unknown"
    await proven(store, "asked")


async def test_a_run_that_no_runtime_started_cannot_be_brought_to_an_end(store: OwnedStore) -> None:
    await store.start_root_run(samples.root("by-hand", SESSION))
    async with playing(store, Cast("done")) as worker:
        with pytest.raises(RunCorrupt):
            await worker.runtime.ensure_run_completion("by-hand")
        assert await worker.runtime.recover() == ()


async def test_a_run_of_an_agent_that_is_not_here_is_not_ready(store: OwnedStore) -> None:
    gate = Gate()
    async with playing(store, Cast(uses("a")).returns("a", gate)) as worker:
        await worker.start()
        await gate.reached.wait()
    async with playing(store, Cast("else", agent_id="else")) as second:
        with pytest.raises(RunNotReady):
            await second.runtime.ensure_run_completion(RUN)


async def test_the_link_to_a_child_is_found_and_a_missing_one_is_corrupt(store: OwnedStore) -> None:
    async with playing(store, Cast(asks("sub"), "done").asking(Cast("hi", agent_id="sub"))) as worker:
        await worker.play()
        record = await worker.runtime.ensure_child_run_link(CHILD)
        with pytest.raises(RunCorrupt):
            await worker.runtime.ensure_child_run_link(RUN)
        with pytest.raises(RunNotFound):
            await worker.runtime.ensure_child_run_link("nobody")
    assert (record.run_id, record.event_key) == (RUN, keys.child("sub"))
    linked = payload_of(record)
    assert isinstance(linked, ChildRunLinked)
    assert linked.child_run_id == CHILD


async def test_a_child_whose_parent_has_ended_does_no_more_work(store: OwnedStore) -> None:
    gate = Gate()
    sub = Cast(uses("w"), "never", agent_id="sub").returns("w", gate)
    cast = Cast(asks("sub"), "done").asking(sub)
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
    await store.record_run_terminal(samples.completed(await store.load_run(RUN)))
    async with playing(store, cast) as second:
        assert await second.runtime.recover() == (CHILD,)
        out = await second.runtime.output(CHILD)
    assert out.cancellation == "parent_ended"
    assert sub.planned == {0: 1}
    await proven(store, CHILD)


async def test_a_first_reason_after_the_end_is_too_late_also_for_a_tree(store: OwnedStore) -> None:
    async with playing(store, Cast(asks("sub"), "done").asking(Cast("hi", agent_id="sub"))) as worker:
        await worker.play()
        with pytest.raises(RunNotRunning):
            await worker.runtime.cancel_run(RUN)
    assert await reasons(store, (RUN, CHILD)) == [None, None]


async def test_a_process_that_takes_a_child_up_alone_is_waited_for_by_its_parents(store: OwnedStore) -> None:
    gate = Gate("it")
    sub = Cast(uses("w"), "found it", agent_id="sub").returns("w", gate, idempotent=True)
    cast = Cast(asks("sub"), "done").asking(sub)
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
    async with playing(store, cast) as left, playing(store, cast) as right:
        ending = asyncio.ensure_future(left.runtime.ensure_run_completion(CHILD))
        await settled()
        ensuring = asyncio.ensure_future(right.runtime.ensure_run_completion(RUN))
        await settled()
        gate.opened.set()
        assert (await ending).text == "found it"
        assert (await ensuring).text == "done"
    assert (await proven(store, RUN)).results["sub"].content == "found it"
