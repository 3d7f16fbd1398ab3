"""The head of a session, from which its conversation goes on, and the histories that runs may name."""

import asyncio

from actum.base.errors import (
    HeadMoved,
    HistoryRefused,
    InvalidValue,
    RunNotFound,
    SessionBusy,
    SuccessorConflict,
)
from actum.base.value import replace
from actum.lifecycle import commands as c
from actum.lifecycle.states import Run, RunStatus
from actum.records.record import Follows, HistoryRef
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused, unchanged
from actum.testing.history import outcome

ENDS = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED)


class HeadPromises:
    """Only a run that follows the head takes its place."""

    async def test_a_new_session_has_no_head(self, store: OwnedStore) -> None:
        await scenes.session(store)
        assert await scenes.head_of(store) is None

    async def test_a_side_run_never_moves_the_head(self, store: OwnedStore) -> None:
        await scenes.running(store, "side")
        assert await scenes.head_of(store) is None
        await scenes.head(store, "h1")
        await scenes.running(store, "side-2")
        assert await scenes.head_of(store) == "h1"

    async def test_a_child_never_moves_the_head(self, store: OwnedStore) -> None:
        head = await scenes.head(store)
        await store.start_child_run(samples.child("c1", head))
        assert await scenes.head_of(store) == "h1"

    async def test_the_first_to_follow_nothing_is_the_head(self, store: OwnedStore) -> None:
        await scenes.head(store, "h1")
        assert await scenes.head_of(store) == "h1"
        async with refused(store, HeadMoved) as caught:
            await store.start_root_run(samples.following("h2", None))
        assert (caught.value.session_id, caught.value.head_run_id, caught.value.given) == ("s1", "h1", None)

    async def test_a_run_that_follows_the_ended_head_is_the_head(self, store: OwnedStore) -> None:
        head = await scenes.head(store, "h0")
        for n, status in enumerate(ENDS, 1):
            ended = await scenes.end(store, head, status)
            head = (await store.start_root_run(samples.following(f"h{n}", ended))).run
            assert head.chain_id == f"h{n}"
            assert await scenes.head_of(store) == f"h{n}"
            assert (await store.load_run(ended.run_id)).successor_run_id is None
        await scenes.sound(store)

    async def test_a_run_that_follows_an_old_head_is_refused(self, store: OwnedStore) -> None:
        old = await scenes.end(store, await scenes.head(store, "h1"))
        await scenes.end(store, (await store.start_root_run(samples.following("h2", old))).run)
        async with refused(store, HeadMoved) as caught:
            await store.start_root_run(samples.following("h3", old))
        assert (caught.value.head_run_id, caught.value.given) == ("h2", "h1")

    async def test_a_run_that_follows_what_was_never_a_head_is_refused(self, store: OwnedStore) -> None:
        side = await scenes.ended(store, "side")
        async with refused(store, HeadMoved):
            await store.start_root_run(samples.following("h1", side))
        async with refused(store, HeadMoved, RunNotFound):
            await store.start_root_run(samples.root("h1", follows=Follows(run_id="nobody")))

    async def test_a_running_head_holds_the_conversation(self, store: OwnedStore) -> None:
        await scenes.head(store)
        for supersede in (False, True):
            start = samples.root("h2", follows=Follows(run_id="h1", supersede=supersede))
            async with refused(store, SessionBusy) as caught:
                await store.start_root_run(start)
            assert (caught.value.session_id, caught.value.run_id) == ("s1", "h1")

    async def test_a_suspended_head_is_left_only_by_superseding_it(self, store: OwnedStore) -> None:
        head = await scenes.end(store, await scenes.head(store), RunStatus.SUSPENDED)
        async with refused(store, SessionBusy) as caught:
            await store.start_root_run(samples.root("h2", follows=Follows(run_id="h1")))
        assert caught.value.run_id == "h1"
        started = await store.start_root_run(samples.following("h2", head, supersede=True))
        assert (started.run.chain_id, started.run.predecessor_run_id) == ("h2", None)
        assert (await store.load_run("h1")).successor_run_id == "h2"
        assert await scenes.head_of(store) == "h2"
        await scenes.sound(store)

    async def test_a_superseding_turn_may_leave_the_suspended_transcript_behind(self, store: OwnedStore) -> None:
        await scenes.end(store, await scenes.head(store), RunStatus.SUSPENDED)
        start = samples.root("h2", follows=Follows(run_id="h1", supersede=True))
        assert (await store.start_root_run(start)).run.history is None
        assert (await store.load_run("h1")).successor_run_id == "h2"

    async def test_a_head_that_ended_leaves_nothing_to_supersede(self, store: OwnedStore) -> None:
        head = await scenes.end(store, await scenes.head(store))
        await store.start_root_run(samples.following("h2", head, supersede=True))
        assert (await store.load_run("h1")).successor_run_id is None
        assert await scenes.head_of(store) == "h2"
        await scenes.sound(store)

    async def test_a_superseded_run_is_never_continued(self, store: OwnedStore) -> None:
        head = await scenes.end(store, await scenes.head(store), RunStatus.SUSPENDED)
        await store.start_root_run(samples.following("h2", head, supersede=True))
        async with refused(store, SuccessorConflict) as caught:
            await store.start_root_run(samples.continuation("h3", head))
        assert caught.value.successor_run_id == "h2"

    async def test_only_a_sessions_root_run_that_is_no_continuation_follows(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p")
        follows = Follows(run_id=None)
        child = samples.child("c1", parent)
        run = replace(child.run, follows=follows)
        async with refused(store, InvalidValue):
            await store.start_child_run(replace(child, run=run, started=samples.started_record(run)))
        alone = samples.run_start("o1", None, follows=follows)
        async with refused(store, InvalidValue):
            await store.start_one_shot_run(c.OneShotRunStart(run=alone, started=samples.started_record(alone)))

    async def test_an_exact_repeat_of_a_follower_succeeds_after_the_head_moved_on(self, store: OwnedStore) -> None:
        await scenes.session(store)
        start = samples.following("h1", None)
        first = await store.start_root_run(start)
        ended = await scenes.end(store, first.run)
        await store.start_root_run(samples.following("h2", ended))
        async with unchanged(store):
            assert scenes.same_answer(first, await store.start_root_run(start))
        assert await scenes.head_of(store) == "h2"

    async def test_one_of_many_followers_wins(self, store: OwnedStore) -> None:
        head = await scenes.end(store, await scenes.head(store))
        starts = [samples.following(f"n{n}", head) for n in range(12)]
        answers = await asyncio.gather(*(outcome(store.start_root_run(start)) for start in starts))
        winners = [each.run.run_id for each in answers if isinstance(each, c.Started)]
        assert len(winners) == 1
        assert all(isinstance(each, c.Started | HeadMoved | SessionBusy) for each in answers)
        assert await scenes.head_of(store) == winners[0]
        await scenes.sound(store)


class HistoryPromises:
    """A history is a final run of the same scope, whole."""

    async def test_any_final_run_of_the_session_may_be_history(self, store: OwnedStore) -> None:
        for status in ENDS:
            past = await scenes.ended(store, f"past-{status}", status=status)
            start = samples.root(f"r-{status}", history=samples.through(past))
            assert (await store.start_root_run(start)).run.history == samples.through(past)

    async def test_a_stopped_run_may_be_history(self, store: OwnedStore) -> None:
        await scenes.over(store)
        stopped = (await store.start_root_run(samples.root("r1"))).run
        await store.start_root_run(samples.root("r2", history=samples.through(stopped)))
        await scenes.sound(store)

    async def test_a_child_may_name_a_history_of_its_session(self, store: OwnedStore) -> None:
        past, parent = await scenes.ended(store, "past"), await scenes.running(store, "p")
        started = await store.start_child_run(samples.child("c1", parent, history=samples.through(past)))
        assert started.run.history == samples.through(past)

    async def test_a_running_run_is_no_history(self, store: OwnedStore) -> None:
        busy = await scenes.running(store, "busy")
        first = (await store.list_run_records("busy")).items[0].id
        async with refused(store, HistoryRefused) as caught:
            await store.start_root_run(samples.root("r1", history=HistoryRef(run_id=busy.run_id, through=first)))
        assert caught.value.run_id == "busy"

    async def test_a_suspended_run_is_history_only_for_its_successor(self, store: OwnedStore) -> None:
        waiting = await scenes.suspended(store, "r1")
        async with refused(store, HistoryRefused):
            await store.start_root_run(samples.root("r2", history=samples.through(waiting)))
        await store.start_root_run(samples.continuation("r3", waiting))
        async with refused(store, HistoryRefused):
            await store.start_root_run(samples.root("r4", history=samples.through(waiting)))

    async def test_a_run_of_another_scope_is_no_history(self, store: OwnedStore) -> None:
        past = await scenes.ended(store, "past", "s1")
        single = await scenes.one_shot(store, "o1")
        single = await scenes.end(store, single)
        await scenes.session(store, "s2")
        for start in (
            samples.root("r1", "s2", history=samples.through(past)),
            samples.root("r1", "s2", history=samples.through(single)),
        ):
            async with refused(store, HistoryRefused, RunNotFound):
                await store.start_root_run(start)
        async with refused(store, HistoryRefused, RunNotFound, InvalidValue):
            await store.start_one_shot_run(samples.one_shot("o2", history=samples.through(past)))

    async def test_a_run_that_is_not_there_is_no_history(self, store: OwnedStore) -> None:
        await scenes.session(store)
        history = HistoryRef(run_id="nobody", through="0123456789abcdef-1")
        async with refused(store, HistoryRefused, RunNotFound):
            await store.start_root_run(samples.root("r1", history=history))

    async def test_a_history_is_named_whole(self, store: OwnedStore) -> None:
        past = await _noted(store)
        records = (await store.list_run_records(past.run_id)).items
        for through in (records[0].id, records[1].id, "nonsense"):
            async with refused(store, HistoryRefused):
                await store.start_root_run(samples.root("r2", history=HistoryRef(run_id="past", through=through)))


async def _noted(store: OwnedStore) -> Run:
    run = await scenes.running(store, "past")
    await store.append_run_records(samples.notes(run, "a", "b"))
    return await scenes.end(store, run)
