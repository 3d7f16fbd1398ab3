"""Starting runs: what a start stores, what an ended session makes of it, and which starts are refused."""

import pytest

from actum.base.errors import (
    Conflict,
    ContinuationRefused,
    InvalidValue,
    OwnerMismatch,
    RecordConflict,
    RunConflict,
    RunNotFound,
    SessionNotFound,
    SessionPurged,
)
from actum.base.value import replace
from actum.lifecycle.states import RunStatus, SessionStatus, StartOutcome
from actum.records import makers
from actum.records.kinds import Cancellation
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused, unchanged

_ABSENT = (RunNotFound, ContinuationRefused)


class StartPromises:
    """A start stores the run and the record that proves it, once."""

    async def test_a_start_stores_the_run_and_its_proof(self, store: OwnedStore) -> None:
        await scenes.session(store)
        started = await store.start_root_run(samples.root("r1", labels={"kind": "chat"}))
        assert (started.outcome, started.canceled, started.linked) == (StartOutcome.PROCEED, None, None)
        assert started.started.inserted
        assert started.started.session_status is SessionStatus.ACTIVE
        run = await store.load_run("r1")
        assert run == started.run
        assert (run.run_id, run.agent_id, run.session_id) == ("r1", samples.AGENT, "s1")
        assert (run.status, run.start_outcome, run.chain_id) == (RunStatus.RUNNING, StartOutcome.PROCEED, "r1")
        assert (run.started_at, run.updated_at, run.ended_at) == (samples.T0, samples.T0, None)
        assert (run.labels, run.cancellation_reason, run.owner) == ({"kind": "chat"}, None, None)
        assert await scenes.kept_keys(store, run) == ["start"]

    async def test_records_beside_a_start_follow_its_start_record_in_order(self, store: OwnedStore) -> None:
        await scenes.session(store)
        start = samples.root("r1")
        started = await store.start_root_run(scenes.with_records(start, *samples.notes(start, "b", "a", "c")))
        assert await scenes.kept_keys(store, start) == ["start", "b", "a", "c"]
        assert [each.inserted for each in started.records] == [True, True, True]
        await scenes.sound(store)

    async def test_a_one_shot_run_creates_and_joins_no_session(self, store: OwnedStore) -> None:
        started = await store.start_one_shot_run(samples.one_shot("o1"))
        assert started.run.session_id is None
        assert started.started.session_status is None
        assert (await store.list_sessions()).items == ()
        page = await store.list_scope_records("o1")
        assert [each.event_key for each in page.items] == ["start"]

    async def test_a_session_that_is_not_there_starts_nothing(self, store: OwnedStore) -> None:
        async with refused(store, SessionNotFound) as caught:
            await store.start_root_run(samples.root("r1", "nowhere"))
        assert caught.value.session_id == "nowhere"

    async def test_a_purged_session_starts_nothing(self, store: OwnedStore) -> None:
        await scenes.over(store)
        await store.purge_session("s1")
        async with refused(store, SessionPurged):
            await store.start_root_run(samples.root("r1"))

    async def test_run_ids_share_one_name_space(self, store: OwnedStore) -> None:
        await scenes.running(store, "r1", "s1")
        await scenes.session(store, "s2")
        async with refused(store, RunConflict):
            await store.start_root_run(samples.root("r1", "s2"))
        async with refused(store, RunConflict):
            await store.start_one_shot_run(samples.one_shot("r1"))
        await scenes.one_shot(store, "o1")
        async with refused(store, RunConflict):
            await store.start_root_run(samples.root("o1", "s1"))

    async def test_the_owner_of_a_new_run_is_nobody(self, store: OwnedStore) -> None:
        assert (await scenes.running(store)).owner is None


class StopPromises:
    """A start in an ended session is stored, and stops at once."""

    async def test_a_start_in_an_ended_session_is_stored_canceled(self, store: OwnedStore) -> None:
        await scenes.over(store)
        start = samples.root("r1")
        started = await store.start_root_run(scenes.with_records(start, *samples.notes(start, "a")))
        assert started.outcome is StartOutcome.STOP
        assert started.started.session_status is SessionStatus.ENDED
        assert started.canceled is not None
        assert started.records == ()
        run = started.run
        assert (run.status, run.start_outcome) == (RunStatus.CANCELED, StartOutcome.STOP)
        assert run.cancellation_reason == "session_ended"
        assert (run.ended_at, run.end_record_id) == (samples.T0, started.canceled.id)
        assert await scenes.kept_keys(store, run) == ["start", "stop"]
        await scenes.sound(store)

    async def test_a_stop_is_repeated_as_a_stop(self, store: OwnedStore) -> None:
        await scenes.over(store)
        start = samples.root("r1")
        first = await store.start_root_run(start)
        async with unchanged(store):
            again = await store.start_root_run(start)
        assert again.outcome is StartOutcome.STOP
        assert scenes.same_answer(first, again)

    async def test_a_stop_repeated_with_records_that_it_left_out_is_still_the_same_stop(
        self, store: OwnedStore
    ) -> None:
        await scenes.over(store)
        start = samples.root("r1")
        command = scenes.with_records(start, *samples.notes(start, "a"))
        first = await store.start_root_run(command)
        async with unchanged(store):
            again = await store.start_root_run(command)
        assert scenes.same_answer(first, again)

    async def test_the_first_outcome_is_told_also_after_the_session_and_the_run_have_ended(
        self, store: OwnedStore
    ) -> None:
        await scenes.session(store)
        start = samples.root("r1")
        first = await store.start_root_run(start)
        await store.record_run_terminal(samples.completed(start))
        await store.end_session("s1", samples.at(60))
        async with unchanged(store):
            again = await store.start_root_run(start)
        assert again.outcome is StartOutcome.PROCEED
        assert again.run.status is RunStatus.COMPLETED
        assert again.started.session_status is SessionStatus.ENDED
        assert scenes.same_answer(first, again)

    async def test_a_stop_moves_no_head_and_takes_no_slot(self, store: OwnedStore) -> None:
        head = await scenes.end(store, await scenes.head(store), RunStatus.SUSPENDED)
        await store.end_session("s1", samples.at(60))
        stopped = await store.start_root_run(samples.continuation("r2", head))
        superseding = await store.start_root_run(samples.following("r3", head, supersede=True))
        late = await store.start_root_run(samples.following("r4", None))
        assert {stopped.outcome, superseding.outcome, late.outcome} == {StartOutcome.STOP}
        assert (await store.load_run("h1")).successor_run_id is None
        assert await scenes.head_of(store) == "h1"
        await scenes.sound(store)

    async def test_a_stopped_continuation_still_needs_its_predecessor(self, store: OwnedStore) -> None:
        run = await scenes.suspended(store)
        elsewhere = await scenes.suspended(store, "r9", "s2")
        await store.end_session("s1", samples.at(60))
        for wrong in (replace(run, run_id="nobody"), replace(elsewhere, session_id="s1"), replace(run, agent_id="b")):
            async with refused(store, *_ABSENT):
                await store.start_root_run(samples.continuation("r2", wrong))


class StartProofPromises:
    """Both candidate records of a start are checked, also the one that is not used."""

    async def test_the_unused_candidate_is_checked_too(self, store: OwnedStore) -> None:
        await scenes.session(store)
        start = samples.root("r1")
        broken = (
            replace(start.canceled, payload=b"{}"),
            replace(start.canceled, payload=makers.run_completed(status="completed")),
            replace(
                start.canceled,
                payload=makers.run_completed(status="canceled", cancellation=Cancellation(reason="bored")),
            ),
            replace(start.canceled, type=samples.NOTE),
            replace(start.canceled, timestamp=samples.at(5)),
            replace(start.canceled, event_key=start.started.event_key),
            replace(start.canceled, run_id="r2"),
            replace(start.canceled, agent_id="somebody"),
            replace(start.canceled, session_id="s2"),
        )
        for canceled in broken:
            async with refused(store, InvalidValue, OwnerMismatch):
                await store.start_root_run(replace(start, canceled=canceled))

    async def test_the_unused_candidate_is_not_compared_on_a_retry(self, store: OwnedStore) -> None:
        await scenes.session(store)
        start = samples.root("r1")
        first = await store.start_root_run(start)
        other = replace(start, canceled=replace(start.canceled, event_key="another-stop", turn_id="t1"))
        async with unchanged(store):
            assert scenes.same_answer(first, await store.start_root_run(other))
        await store.end_session("s1", samples.at(60))
        late = samples.root("r2")
        stopped = await store.start_root_run(late)
        again = replace(late, canceled=replace(late.canceled, turn_id="t1"))
        async with refused(store, Conflict):
            await store.start_root_run(again)
        assert scenes.same_answer(stopped, await store.start_root_run(late))

    async def test_the_start_record_says_what_the_command_says(self, store: OwnedStore) -> None:
        await scenes.session(store)
        start = samples.root("r1", labels={"kind": "chat"})
        broken = (
            replace(start.started, payload=makers.run_started(labels={"kind": "mail"})),
            replace(start.started, payload=makers.run_started(parent_run_id="r0", labels={"kind": "chat"})),
            replace(start.started, payload=makers.run_started(predecessor_run_id="r0", labels={"kind": "chat"})),
            replace(start.started, type=samples.NOTE),
            replace(start.started, timestamp=samples.at(1)),
            replace(start.started, run_id="r2"),
            replace(start.started, agent_id="somebody"),
            replace(start.started, session_id=None),
        )
        for record in broken:
            async with refused(store, InvalidValue, OwnerMismatch):
                await store.start_root_run(replace(start, started=record))

    async def test_records_beside_a_start_are_ordinary_records_of_that_run(self, store: OwnedStore) -> None:
        other = await scenes.running(store, "r0")
        start = samples.root("r1")
        wrong = (
            samples.note(other, "a"),
            replace(samples.note(start, "a"), agent_id="somebody"),
            replace(samples.note(start, "a"), event_key="start"),
            samples.started_record(start.run, "again"),
        )
        for record in wrong:
            async with refused(store, InvalidValue, OwnerMismatch):
                await store.start_root_run(scenes.with_records(start, record))

    async def test_a_session_start_names_a_session_and_a_one_shot_names_none(self, store: OwnedStore) -> None:
        await scenes.session(store)
        start, single = samples.root("r1"), samples.one_shot("o1")
        parentless = samples.child("c1", start)
        async with refused(store, InvalidValue):
            await store.start_root_run(replace(start, run=replace(start.run, session_id=None)))
        async with refused(store, InvalidValue):
            await store.start_one_shot_run(replace(single, run=replace(single.run, session_id="s1")))
        async with refused(store, InvalidValue):
            await store.start_child_run(replace(parentless, run=replace(parentless.run, parent_run_id=None)))
        async with refused(store, InvalidValue):
            await store.start_root_run(replace(start, run=replace(start.run, parent_run_id="r0")))

    @pytest.mark.parametrize("key", ["start", "a"])
    async def test_a_key_that_another_record_holds_conflicts(self, store: OwnedStore, key: str) -> None:
        start = samples.root("r1")
        await scenes.session(store)
        await store.start_root_run(start)
        await store.append_run_record(samples.note(start, "a"))
        other = replace(start, started=replace(start.started, event_key=key, turn_id="t1"))
        async with refused(store, RunConflict, RecordConflict):
            await store.start_root_run(other)
