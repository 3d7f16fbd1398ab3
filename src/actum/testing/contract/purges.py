"""Purges: everything of a scope goes or nothing does, and what is gone never comes back."""

import asyncio

import pytest

from actum.base.errors import (
    InvalidValue,
    NotFound,
    RunBusy,
    RunNotFound,
    RunPurged,
    SessionActive,
    SessionBusy,
    SessionPurged,
)
from actum.base.value import replace
from actum.lifecycle import commands as c
from actum.lifecycle.states import RunStatus
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused, unchanged
from actum.testing.history import outcome, read_everything


class PurgePromises:
    """Erasing a session."""

    async def test_only_an_ended_session_is_purged(self, store: OwnedStore) -> None:
        await scenes.ended(store)
        async with refused(store, SessionActive) as caught:
            await store.purge_session("s1")
        assert caught.value.session_id == "s1"

    async def test_a_running_run_holds_its_session(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        await store.end_session("s1", samples.at(60))
        async with refused(store, SessionBusy) as caught:
            await store.purge_session("s1")
        assert (caught.value.session_id, caught.value.run_id) == ("s1", "r1")
        await scenes.end(store, run)
        await store.purge_session("s1")

    async def test_a_suspended_run_does_not_hold_it(self, store: OwnedStore) -> None:
        await scenes.suspended(store)
        await scenes.over(store)
        await store.purge_session("s1")

    async def test_everything_of_the_session_goes_and_nothing_else(self, store: OwnedStore) -> None:
        for session_id in ("s2", "s1"):
            await _crowd(store, session_id)
        before = await read_everything(store)
        await store.end_session("s1", samples.at(60))
        await store.purge_session("s1")
        after = await read_everything(store)
        assert after.sessions == tuple(each for each in before.sessions if each.session_id == "s2")
        assert after.runs == tuple(each for each in before.runs if each.session_id == "s2")
        assert after.records == {"session s2": before.records["session s2"]}
        assert set(after.checkpoints) == {run.run_id for run in after.runs if run.status is RunStatus.SUSPENDED}

    async def test_a_purged_session_is_gone_and_its_runs_are_unknown(self, store: OwnedStore) -> None:
        run = await scenes.suspended(store)
        await scenes.over(store)
        await store.purge_session("s1")
        of_session = (
            lambda: store.load_session("s1"),
            lambda: store.load_session_status("s1"),
            lambda: store.end_session("s1", samples.T0),
            lambda: store.set_session_metadata("s1", {}),
            lambda: store.list_session_run_records("s1"),
            lambda: store.list_runs("s1"),
        )
        of_run = (
            lambda: store.load_run("r1"),
            lambda: store.load_run_suspension("r1"),
            lambda: store.load_run_record("r1", "start"),
            lambda: store.list_run_records("r1"),
            lambda: store.read_transcript("r1"),
            lambda: store.read_messages("r1"),
            lambda: store.record_run_terminal(samples.completed(run)),
            lambda: store.take_run("r1", "owner"),
        )
        for calls, error in ((of_session, SessionPurged), (of_run, RunNotFound)):
            for call in calls:
                async with refused(store, error):
                    await call()

    async def test_purging_again_succeeds(self, store: OwnedStore) -> None:
        await scenes.ended(store)
        await scenes.over(store)
        await store.purge_session("s1")
        async with unchanged(store):
            await store.purge_session("s1")
            await store.purge_session("s1")

    async def test_a_late_retry_brings_nothing_back(self, store: OwnedStore) -> None:
        start = samples.root("r1")
        await scenes.session(store)
        await store.start_root_run(start)
        await store.record_run_terminal(samples.completed(start))
        await store.end_session("s1", samples.at(60))
        await store.purge_session("s1")
        async with refused(store, SessionPurged):
            await store.start_root_run(start)
        async with refused(store, RunNotFound):
            await store.append_run_record(samples.note(start, "late"))
        async with refused(store, SessionPurged):
            await store.create_session("s1", samples.T0)

    async def test_an_empty_session_is_purged_too(self, store: OwnedStore) -> None:
        await scenes.over(store)
        await store.purge_session("s1")
        assert (await store.list_sessions()).items == ()

    async def test_a_purge_races_with_a_start(self, store: OwnedStore) -> None:
        for n in range(30):
            session_id, start = f"s{n}", samples.root(f"r{n}", f"s{n}")
            await scenes.over(store, session_id)
            await asyncio.gather(outcome(store.purge_session(session_id)), outcome(store.start_root_run(start)))
            await store.purge_session(session_id)
        kept = await read_everything(store)
        assert (kept.sessions, kept.runs, kept.records) == ((), (), {})


class OneShotPurgePromises:
    """Erasing a one-shot tree."""

    async def test_a_running_run_holds_its_tree(self, store: OwnedStore) -> None:
        root = await scenes.one_shot(store, "o1")
        child = await store.start_one_shot_child_run(samples.one_shot_child("o2", root))
        await scenes.end(store, root)
        async with refused(store, RunBusy) as caught:
            await store.purge_one_shot("o1")
        assert caught.value.run_id == "o2"
        await scenes.end(store, child.run)
        await store.purge_one_shot("o1")

    async def test_every_id_of_the_tree_is_refused_for_ever(self, store: OwnedStore) -> None:
        root = await scenes.one_shot(store, "o1")
        child = await store.start_one_shot_child_run(samples.one_shot_child("o2", root))
        await scenes.end(store, child.run)
        await scenes.end(store, root)
        await store.purge_one_shot("o1")
        await scenes.session(store)
        for run_id in ("o1", "o2"):
            calls = (
                lambda run_id=run_id: store.load_run(run_id),
                lambda run_id=run_id: store.list_run_records(run_id),
                lambda run_id=run_id: store.list_scope_records(run_id),
                lambda run_id=run_id: store.load_run_record(run_id, "start"),
                lambda run_id=run_id: store.load_run_suspension(run_id),
                lambda run_id=run_id: store.read_transcript(run_id),
                lambda run_id=run_id: store.read_messages(run_id),
                lambda run_id=run_id: store.take_run(run_id, "owner"),
                lambda run_id=run_id: store.start_one_shot_run(samples.one_shot(run_id)),
                lambda run_id=run_id: store.start_root_run(samples.root(run_id)),
                lambda run_id=run_id: store.record_run_terminal(samples.completed(replace(root, run_id=run_id))),
            )
            for call in calls:
                async with refused(store, RunPurged) as caught:
                    await call()
                assert caught.value.run_id == run_id

    async def test_purging_again_succeeds(self, store: OwnedStore) -> None:
        await scenes.end(store, await scenes.one_shot(store, "o1"))
        await store.purge_one_shot("o1")
        async with unchanged(store):
            await store.purge_one_shot("o1")

    async def test_other_trees_stay(self, store: OwnedStore) -> None:
        for run_id in ("o1", "o2"):
            run = await scenes.one_shot(store, run_id)
            await store.append_run_records(samples.notes(run, "a", "b"))
            await scenes.end(store, run)
        await store.purge_one_shot("o1")
        kept = await read_everything(store)
        assert [run.run_id for run in kept.runs] == ["o2"]
        assert list(kept.records) == ["run o2"]
        await scenes.sound(store)

    async def test_only_the_root_of_a_tree_names_it(self, store: OwnedStore) -> None:
        root = await scenes.one_shot(store, "o1")
        child = await store.start_one_shot_child_run(samples.one_shot_child("o2", root))
        await scenes.end(store, child.run)
        await scenes.end(store, root)
        await scenes.ended(store, "r1")
        for run_id in ("o2", "r1"):
            async with refused(store, InvalidValue, NotFound):
                await store.purge_one_shot(run_id)
        async with refused(store, RunNotFound):
            await store.purge_one_shot("nobody")

    @pytest.mark.parametrize("times", [1, 5])
    async def test_a_purge_at_once_with_its_own_repeat(self, store: OwnedStore, times: int) -> None:
        await scenes.end(store, await scenes.one_shot(store, "o1"))
        answers = await asyncio.gather(*(outcome(store.purge_one_shot("o1")) for _ in range(times)))
        assert set(answers) == {None}


async def _crowd(store: OwnedStore, session_id: str) -> None:
    """Thirty runs with records, children, checkpoints, successors and a head."""
    await scenes.session(store, session_id)
    for n in range(30):
        start = samples.root(f"{session_id}/r{n}", session_id, labels={"n": str(n)}, seconds=n)
        run = (await store.start_root_run(start)).run
        await store.append_run_records(samples.notes(run, "a", "b", "c"))
        if n % 3 == 0:
            child = await store.start_child_run(samples.child(f"{session_id}/c{n}", run, seconds=n + 1))
            await store.record_run_terminal(samples.completed(child, seconds=99))
        waits = n % 5 == 0
        status = RunStatus.SUSPENDED if waits else RunStatus.COMPLETED
        run = (await _stop(store, run, status)).run
        if n % 10 == 0:
            on = await store.start_root_run(samples.continuation(f"{session_id}/n{n}", run, seconds=200))
            await _stop(store, on.run, RunStatus.COMPLETED)
    await _stop(store, await scenes.head(store, f"{session_id}/h", session_id), RunStatus.COMPLETED)


async def _stop(store: OwnedStore, run: samples.AnyRun, status: RunStatus) -> c.Changed:
    if status is RunStatus.SUSPENDED:
        return await store.record_run_suspension(samples.suspension(run, seconds=300))
    return await store.record_run_terminal(samples.completed(run, seconds=300))
