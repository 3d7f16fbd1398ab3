"""Cancellation: the first reason stays for ever, and only three histories of it are lawful."""

import asyncio

import pytest

from actum.base.errors import (
    CancellationConflict,
    CancellationRequested,
    Conflict,
    InvalidValue,
    OwnerMismatch,
    RecordConflict,
    RunNotFound,
    RunNotRunning,
    RunPurged,
    TerminalConflict,
)
from actum.base.value import replace
from actum.lifecycle import commands as c
from actum.lifecycle.states import RunStatus
from actum.records import makers
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused, unchanged
from actum.testing.history import outcome

ENDS = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED, RunStatus.SUSPENDED)


class CancellationPromises:
    """Asking a run to stop."""

    async def test_the_first_reason_is_recorded_and_the_run_runs_on(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        changed = await store.record_run_cancellation(samples.cancellation(run, "enough", seconds=7))
        assert changed.record.inserted
        assert changed.record.cancellation_reason == "enough"
        assert (changed.run.status, changed.run.cancellation_reason) == (RunStatus.RUNNING, "enough")
        assert changed.run.updated_at == samples.at(7)
        assert await store.load_run("r1") == changed.run
        assert await scenes.kept_keys(store, run) == ["start", "cancel"]
        await scenes.sound(store)

    async def test_an_exact_repeat_gives_the_first_answer(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        command = samples.cancellation(run)
        first = await store.record_run_cancellation(command)
        async with unchanged(store):
            assert scenes.same_answer(first, await store.record_run_cancellation(command))

    @pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED])
    async def test_an_exact_repeat_succeeds_after_the_end(self, store: OwnedStore, status: RunStatus) -> None:
        run = await scenes.running(store)
        command = samples.cancellation(run)
        first = await store.record_run_cancellation(command)
        await scenes.end(store, first.run, status)
        async with unchanged(store):
            assert scenes.same_answer(first, await store.record_run_cancellation(command))
        async with refused(store, CancellationConflict):
            await store.record_run_cancellation(samples.cancellation(run, "other", key="cancel-2"))

    async def test_another_reason_conflicts(self, store: OwnedStore) -> None:
        run = await scenes.canceling(store, reason="first")
        async with refused(store, CancellationConflict) as caught:
            await store.record_run_cancellation(samples.cancellation(run, "second", key="cancel-2"))
        assert (caught.value.run_id, caught.value.stored, caught.value.given) == ("r1", "first", "second")

    async def test_another_record_for_the_same_reason_conflicts(self, store: OwnedStore) -> None:
        run = await scenes.canceling(store, reason="first")
        async with refused(store, CancellationConflict):
            await store.record_run_cancellation(samples.cancellation(run, "first", key="cancel-2"))
        for other in (
            samples.cancellation(run, "first", by="somebody"),
            samples.cancellation(run, "first", seconds=9),
            samples.cancellation(run, "second"),
        ):
            async with refused(store, Conflict):
                await store.record_run_cancellation(other)

    @pytest.mark.parametrize("status", ENDS)
    async def test_a_final_run_refuses_a_first_reason(self, store: OwnedStore, status: RunStatus) -> None:
        run = await scenes.ended(store, status=status)
        async with refused(store, RunNotRunning) as caught:
            await store.record_run_cancellation(samples.cancellation(run))
        assert (caught.value.run_id, caught.value.status) == ("r1", status)

    async def test_only_one_of_many_reasons_is_first(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        commands = [samples.cancellation(run, f"reason-{n}", key=f"cancel-{n}") for n in range(12)]
        answers = await asyncio.gather(*(outcome(store.record_run_cancellation(each)) for each in commands))
        winners = [each for each in answers if isinstance(each, c.Changed)]
        assert len(winners) == 1
        assert all(isinstance(each, c.Changed | CancellationConflict) for each in answers)
        assert (await store.load_run("r1")).cancellation_reason == winners[0].run.cancellation_reason

    async def test_a_run_that_is_not_there_is_not_canceled(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        async with refused(store, RunNotFound):
            await store.record_run_cancellation(samples.cancellation(replace(run, run_id="nobody")))
        single = await scenes.end(store, await scenes.one_shot(store))
        await store.purge_one_shot("o1")
        async with refused(store, RunPurged):
            await store.record_run_cancellation(samples.cancellation(single))

    async def test_the_intent_says_what_the_command_says(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        command = samples.cancellation(run, "enough")
        broken = (
            replace(command.record, payload=makers.cancellation_intent(reason="other")),
            replace(command.record, payload=b"{}"),
            replace(command.record, type=samples.NOTE),
            replace(command.record, run_id="r2"),
            replace(command.record, agent_id="somebody"),
            replace(command.record, session_id=None),
        )
        for record in broken:
            async with refused(store, InvalidValue, OwnerMismatch):
                await store.record_run_cancellation(replace(command, record=record))

    async def test_a_key_that_another_record_holds_conflicts(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        async with refused(store, RecordConflict):
            await store.record_run_cancellation(samples.cancellation(run, key="start"))
        await store.append_run_record(samples.note(run, "cancel"))
        async with refused(store, RecordConflict):
            await store.record_run_cancellation(samples.cancellation(run))

    async def test_what_a_recorded_cancellation_refuses_and_what_remains(self, store: OwnedStore) -> None:
        run = await scenes.canceling(store, reason="enough")
        async with refused(store, CancellationRequested) as caught:
            await store.record_run_suspension(samples.suspension(run))
        assert (caught.value.run_id, caught.value.reason) == ("r1", "enough")
        async with refused(store, CancellationRequested):
            await store.repair_run_suspension(samples.suspension(run))
        for n, status in enumerate((RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED)):
            other = await scenes.canceling(store, f"n{n}", "enough")
            assert (await scenes.end(store, other, status)).status is status
        await scenes.sound(store)

    async def test_a_cancellation_may_take_a_one_shot_run(self, store: OwnedStore) -> None:
        run = await scenes.one_shot(store)
        changed = await store.record_run_cancellation(samples.cancellation(run))
        assert changed.record.session_status is None
        await scenes.end(store, changed.run, RunStatus.CANCELED)
        await scenes.sound(store)


class CancellationHistoryPromises:
    """Requested, ended before the start, or stopped by the engine: nothing in between."""

    async def test_requested_keeps_its_reason_to_the_end(self, store: OwnedStore) -> None:
        run = await scenes.canceling(store, reason="enough")
        async with refused(store, CancellationConflict, TerminalConflict):
            await store.record_run_terminal(samples.canceled(run, "another"))
        async with refused(store, CancellationConflict, TerminalConflict):
            await store.record_run_terminal(samples.canceled(run, "engine_canceled"))
        ended = await store.record_run_terminal(samples.canceled(run, "enough"))
        assert (ended.run.status, ended.run.cancellation_reason) == (RunStatus.CANCELED, "enough")

    async def test_a_run_that_nobody_asked_to_stop_is_canceled_only_by_its_engine(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        for reason in ("user_requested", "session_ended"):
            async with refused(store, CancellationConflict):
                await store.record_run_terminal(samples.canceled(run, reason))
        ended = await store.record_run_terminal(samples.canceled(run, "engine_canceled"))
        assert (ended.run.status, ended.run.cancellation_reason) == (RunStatus.CANCELED, None)
        assert await scenes.kept_keys(store, run) == ["start", "end"]

    async def test_the_engines_word_is_never_a_reason(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        async with refused(store, InvalidValue):
            await store.record_run_cancellation(samples.cancellation(run, "engine_canceled"))
        await store.end_session("s1", samples.at(60))
        async with refused(store, InvalidValue):
            await store.record_run_cancellation(samples.cancellation(run, "engine_canceled"))

    async def test_the_sessions_end_is_a_reason_only_in_an_ended_session(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        async with refused(store, InvalidValue):
            await store.record_run_cancellation(samples.cancellation(run, "session_ended"))
        await store.end_session("s1", samples.at(60))
        changed = await store.record_run_cancellation(samples.cancellation(run, "session_ended"))
        assert changed.run.cancellation_reason == "session_ended"
        ended = await store.record_run_terminal(samples.canceled(run, "session_ended"))
        assert (ended.run.status, ended.run.start_outcome) == (RunStatus.CANCELED, "proceed")
        await scenes.sound(store)

    async def test_the_sessions_end_is_no_reason_for_a_one_shot_run(self, store: OwnedStore) -> None:
        run = await scenes.one_shot(store)
        async with refused(store, InvalidValue):
            await store.record_run_cancellation(samples.cancellation(run, "session_ended"))

    async def test_an_earlier_reason_outlives_the_sessions_end(self, store: OwnedStore) -> None:
        run = await scenes.canceling(store, reason="enough")
        await store.end_session("s1", samples.at(60))
        async with refused(store, CancellationConflict):
            await store.record_run_cancellation(samples.cancellation(run, "session_ended", key="cancel-2"))
        ended = await store.record_run_terminal(samples.canceled(run, "enough"))
        assert ended.run.cancellation_reason == "enough"

    async def test_a_stop_at_the_start_takes_no_request(self, store: OwnedStore) -> None:
        await scenes.over(store)
        stopped = (await store.start_root_run(samples.root("r1"))).run
        async with refused(store, RunNotRunning, CancellationConflict):
            await store.record_run_cancellation(samples.cancellation(stopped, "session_ended"))
        async with refused(store, TerminalConflict):
            await store.record_run_terminal(samples.canceled(stopped, "session_ended"))
