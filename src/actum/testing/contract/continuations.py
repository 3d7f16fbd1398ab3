"""Continuations: a suspended run never runs again; one new run takes its chain and its one successor slot."""

import asyncio

from actum.base.errors import (
    CancellationRequested,
    Conflict,
    ContinuationRefused,
    HistoryRefused,
    InvalidValue,
    RunConflict,
    RunNotFound,
    RunNotRunning,
    SuccessorConflict,
)
from actum.base.value import replace
from actum.lifecycle import commands as c
from actum.lifecycle.states import Run, RunStatus
from actum.records.record import Follows
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused, unchanged
from actum.testing.history import outcome


class ContinuationPromises:
    """Who may go on from a suspended root run."""

    async def test_a_continuation_takes_chain_and_slot(self, store: OwnedStore) -> None:
        before = await scenes.suspended(store, "r1")
        started = await store.start_root_run(samples.continuation("r2", before))
        assert (started.run.predecessor_run_id, started.run.chain_id) == ("r1", "r1")
        assert started.run.history == samples.through(before)
        stored = await store.load_run("r1")
        assert (stored.successor_run_id, stored.status) == ("r2", RunStatus.SUSPENDED)
        assert stored.updated_at == before.updated_at
        await scenes.sound(store)

    async def test_a_chain_goes_on_under_its_first_id(self, store: OwnedStore) -> None:
        run = await scenes.suspended(store, "r1")
        for n in range(2, 5):
            started = await store.start_root_run(samples.continuation(f"r{n}", run))
            assert started.run.chain_id == "r1"
            run = await scenes.end(store, started.run, RunStatus.SUSPENDED)
        await scenes.sound(store)

    async def test_only_one_run_takes_the_slot(self, store: OwnedStore) -> None:
        before = await scenes.suspended(store, "r1")
        first = samples.continuation("r2", before)
        started = await store.start_root_run(first)
        async with refused(store, SuccessorConflict) as caught:
            await store.start_root_run(samples.continuation("r3", before))
        assert (caught.value.run_id, caught.value.successor_run_id) == ("r1", "r2")
        async with unchanged(store):
            assert scenes.same_answer(started, await store.start_root_run(first))

    async def test_only_one_of_many_wins_the_slot(self, store: OwnedStore) -> None:
        before = await scenes.suspended(store, "r1")
        starts = [samples.continuation(f"n{n}", before) for n in range(12)]
        answers = await asyncio.gather(*(outcome(store.start_root_run(start)) for start in starts))
        winners = [each.run.run_id for each in answers if isinstance(each, c.Started)]
        assert len(winners) == 1
        assert all(isinstance(each, c.Started | SuccessorConflict) for each in answers)
        assert (await store.load_run("r1")).successor_run_id == winners[0]
        await scenes.sound(store)

    async def test_only_a_suspended_run_is_continued(self, store: OwnedStore) -> None:
        for status in (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED):
            run = await scenes.ended(store, f"r-{status}", status=status)
            async with refused(store, ContinuationRefused) as caught:
                await store.start_root_run(samples.continuation(f"n-{status}", run))
            assert caught.value.run_id == run.run_id
        busy = await scenes.running(store, "busy")
        claim = replace(busy, end_record_id="0123456789abcdef-1")
        async with refused(store, ContinuationRefused):
            await store.start_root_run(samples.continuation("n1", claim))

    async def test_the_predecessor_is_there(self, store: OwnedStore) -> None:
        run = await scenes.suspended(store)
        async with refused(store, RunNotFound, ContinuationRefused):
            await store.start_root_run(samples.continuation("r2", replace(run, run_id="nobody")))

    async def test_session_and_agent_stay(self, store: OwnedStore) -> None:
        run = await scenes.suspended(store)
        await scenes.session(store, "s2")
        async with refused(store, ContinuationRefused):
            await store.start_root_run(samples.continuation("r2", replace(run, agent_id="another")))
        async with refused(store, ContinuationRefused, RunNotFound):
            await store.start_root_run(samples.continuation("r2", replace(run, session_id="s2")))

    async def test_a_continuation_names_its_predecessor_as_history(self, store: OwnedStore) -> None:
        run = await scenes.suspended(store)
        other = await scenes.ended(store, "r9")
        for history in (None, samples.through(other), replace(samples.through(run), through=other.end_record_id)):
            start = samples.root("r2", predecessor="r1", history=history)
            async with refused(store, HistoryRefused, ContinuationRefused, InvalidValue):
                await store.start_root_run(start)

    async def test_a_continuation_follows_nothing_by_itself(self, store: OwnedStore) -> None:
        run = await scenes.end(store, await scenes.head(store), RunStatus.SUSPENDED)
        start = samples.root(
            "r2", predecessor="h1", history=samples.through(run), follows=Follows(run_id="h1", supersede=True)
        )
        async with refused(store, InvalidValue, ContinuationRefused):
            await store.start_root_run(start)

    async def test_a_continuation_of_the_head_becomes_the_head(self, store: OwnedStore) -> None:
        run = await scenes.end(store, await scenes.head(store), RunStatus.SUSPENDED)
        await store.start_root_run(samples.continuation("r2", run))
        assert await scenes.head_of(store) == "r2"

    async def test_a_continuation_of_a_side_run_leaves_the_head(self, store: OwnedStore) -> None:
        await scenes.head(store)
        side = await scenes.suspended(store, "side")
        await store.start_root_run(samples.continuation("side-2", side))
        assert await scenes.head_of(store) == "h1"

    async def test_a_continuation_is_judged_before_the_head(self, store: OwnedStore) -> None:
        head = await scenes.end(store, await scenes.head(store), RunStatus.SUSPENDED)
        await store.start_root_run(samples.continuation("r2", head))
        async with refused(store, SuccessorConflict):
            await store.start_root_run(samples.continuation("r3", head))

    async def test_another_start_of_a_known_continuation_conflicts(self, store: OwnedStore) -> None:
        run = await scenes.suspended(store)
        await store.start_root_run(samples.continuation("r2", run))
        async with refused(store, Conflict):
            await store.start_root_run(samples.continuation("r2", run, seconds=9))
        async with refused(store, RunConflict):
            await store.start_root_run(samples.root("r2"))

    async def test_one_shot_runs_cannot_suspend(self, store: OwnedStore) -> None:
        single = await scenes.one_shot(store)
        async with refused(store, *_REFUSED):
            await store.record_run_suspension(samples.suspension(single))
        assert (await store.load_run("o1")).status is RunStatus.RUNNING

    async def test_one_shot_runs_have_no_predecessor(self, store: OwnedStore) -> None:
        single = await scenes.one_shot(store)
        run = samples.run_start("o2", None, predecessor=single.run_id)
        start = c.OneShotRunStart(run=run, started=samples.started_record(run))
        async with refused(store, *_REFUSED):
            await store.start_one_shot_run(start)


class ChildContinuationPromises:
    """A suspended child goes on under its own parent, or under the continuation of its parent's chain."""

    async def test_under_the_same_parent(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p1")
        child = await _suspended_child(store, parent)
        started = await store.start_child_run(_going_on("c2", parent, child))
        assert (started.run.chain_id, started.run.parent_run_id) == ("c1", "p1")
        assert (await store.load_run("c1")).successor_run_id == "c2"
        await scenes.sound(store)

    async def test_under_its_parents_continuation(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p1")
        child = await _suspended_child(store, parent)
        waiting = await scenes.end(store, parent, RunStatus.SUSPENDED)
        parent_on = (await store.start_root_run(samples.continuation("p2", waiting))).run
        started = await store.start_child_run(_going_on("c2", parent_on, child))
        assert (started.run.parent_run_id, started.run.chain_id, started.run.tool_call_id) == ("p2", "c1", "call-1")
        await scenes.sound(store)

    async def test_never_under_its_suspended_parent(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p1")
        child = await _suspended_child(store, parent)
        waiting = await scenes.end(store, parent, RunStatus.SUSPENDED)
        async with refused(store, RunNotRunning, ContinuationRefused):
            await store.start_child_run(_going_on("c2", waiting, child))

    async def test_never_under_a_parent_that_is_being_canceled(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p1")
        child = await _suspended_child(store, parent)
        await store.record_run_cancellation(samples.cancellation(parent))
        async with refused(store, CancellationRequested):
            await store.start_child_run(_going_on("c2", parent, child))

    async def test_never_under_another_chain(self, store: OwnedStore) -> None:
        parent, stranger = await scenes.running(store, "p1"), await scenes.running(store, "q1")
        child = await _suspended_child(store, parent)
        async with refused(store, ContinuationRefused):
            await store.start_child_run(_going_on("c2", stranger, child))

    async def test_never_for_another_call(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p1")
        child = await _suspended_child(store, parent)
        waiting = await scenes.end(store, parent, RunStatus.SUSPENDED)
        parent_on = (await store.start_root_run(samples.continuation("p2", waiting))).run
        async with refused(store, ContinuationRefused):
            await store.start_child_run(_going_on("c2", parent_on, child, call="call-2"))

    async def test_never_as_a_root_run(self, store: OwnedStore) -> None:
        child = await _suspended_child(store, await scenes.running(store, "p1"))
        async with refused(store, ContinuationRefused):
            await store.start_root_run(samples.continuation("c2", child))

    async def test_a_root_run_never_goes_on_as_a_child(self, store: OwnedStore) -> None:
        root, parent = await scenes.suspended(store, "r1"), await scenes.running(store, "p1")
        async with refused(store, ContinuationRefused):
            await store.start_child_run(_going_on("r2", parent, root))


_REFUSED = (ContinuationRefused, InvalidValue)


async def _suspended_child(store: OwnedStore, parent: Run) -> Run:
    child = await store.start_child_run(samples.child("c1", parent))
    return await scenes.end(store, child.run, RunStatus.SUSPENDED)


def _going_on(run_id: str, parent: Run, before: Run, *, call: str = "call-1") -> c.ChildRunStart:
    return samples.child(
        run_id,
        parent,
        agent=before.agent_id,
        predecessor=before.run_id,
        history=samples.through(before),
        call=call,
        seconds=4,
    )
