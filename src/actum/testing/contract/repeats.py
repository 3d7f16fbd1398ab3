"""Exact retry, for every operation: the same answer for the same command, a conflict for any other, for ever."""

import asyncio

import pytest

from actum.base.errors import (
    Conflict,
    ContractError,
    InvalidValue,
    RecordConflict,
    RunConflict,
    RunNotFound,
    RunNotRunning,
    RunPurged,
    SessionPurged,
    SuspensionConflict,
    TerminalConflict,
)
from actum.base.value import replace
from actum.lifecycle import commands as c
from actum.storage.contract import OwnedStore
from actum.testing import changes, samples
from actum.testing.changes import Proved
from actum.testing.contract import scenes, variations
from actum.testing.contract.scenes import execute, refused, unchanged
from actum.testing.contract.variations import PROVED
from actum.testing.history import outcome, read_everything

each_operation = pytest.mark.parametrize("operation", PROVED)


async def _stored(store: OwnedStore, operation: str) -> tuple[Proved, c.Result]:
    command = await PROVED[operation](store)
    return command, await execute(store, command)


async def _end_all(store: OwnedStore, command: Proved) -> None:
    for run in (await store.find_runs()).items:
        await variations.finished(store, run.run_id)
    run = await store.load_run(variations.subject(command))
    if run.session_id is not None:
        await store.end_session(run.session_id, samples.at(60))


class RepeatPromises:
    """Rule one: what was stored under these keys with these bytes is the answer."""

    @each_operation
    async def test_the_first_time_everything_is_inserted(self, store: OwnedStore, operation: str) -> None:
        _, first = await _stored(store, operation)
        assert scenes.appended(first)
        assert all(each.inserted for each in scenes.appended(first))
        await scenes.sound(store)

    @each_operation
    async def test_an_exact_repeat_is_answered_again_and_again(self, store: OwnedStore, operation: str) -> None:
        command, first = await _stored(store, operation)
        async with unchanged(store):
            for _ in range(3):
                assert scenes.same_answer(first, await execute(store, command))

    @each_operation
    async def test_an_exact_repeat_is_answered_after_everything_ended(self, store: OwnedStore, operation: str) -> None:
        command, first = await _stored(store, operation)
        await _end_all(store, command)
        async with unchanged(store):
            assert scenes.same_answer(first, await execute(store, command))

    @each_operation
    async def test_many_repeats_at_once_write_once(self, store: OwnedStore, operation: str) -> None:
        command = await PROVED[operation](store)
        answers = await asyncio.gather(*(execute(store, command) for _ in range(8)))
        ids = {tuple(each.id for each in scenes.appended(answer)) for answer in answers}
        assert len(ids) == 1
        assert sum(scenes.appended(answer)[0].inserted for answer in answers) == 1
        await scenes.sound(store)

    @each_operation
    async def test_a_change_in_any_single_field_is_refused(self, store: OwnedStore, operation: str) -> None:
        command, first = await _stored(store, operation)
        await _changes_are_refused(store, command, first)

    @each_operation
    async def test_a_change_in_any_single_field_is_refused_after_everything_ended(
        self, store: OwnedStore, operation: str
    ) -> None:
        command, first = await _stored(store, operation)
        await _end_all(store, command)
        await _changes_are_refused(store, command, first)

    @each_operation
    async def test_one_more_record_beside_a_known_change_conflicts(self, store: OwnedStore, operation: str) -> None:
        command, _ = await _stored(store, operation)
        more = variations.more_records(command)
        if more is None:
            assert operation in ("append", "cancellation")
        else:
            async with refused(store, RunConflict, SuspensionConflict, TerminalConflict):
                await execute(store, more)

    @each_operation
    async def test_another_key_for_the_same_change_conflicts(self, store: OwnedStore, operation: str) -> None:
        command, _ = await _stored(store, operation)
        other = changes.under_key(command, "another-key")
        if isinstance(command, c.AppendRunRecords):
            assert scenes.appended(await execute(store, other))[0].inserted
        elif isinstance(command, c.RepairRunSuspension | c.RepairRunTerminal):
            async with unchanged(store):
                repaired = await execute(store, other)
            assert isinstance(repaired, c.Repaired)
            assert repaired.result is c.RepairResult.DIFFERENT_TERMINAL
        else:
            async with refused(store, Conflict):
                await execute(store, other)

    @each_operation
    async def test_a_key_that_a_note_holds_is_no_proof(self, store: OwnedStore, operation: str) -> None:
        command = await PROVED[operation](store)
        run = await outcome(store.load_run(variations.subject(command)))
        if isinstance(run, Exception):
            # The run is not there yet, so nothing can hold its keys.
            assert isinstance(run, RunNotFound)
            return
        await store.append_run_record(samples.note(run, "held"))
        async with refused(store, RecordConflict):
            await execute(store, changes.under_key(command, "held"))
        async with refused(store, RecordConflict):
            await execute(store, changes.under_key(command, "start"))

    @each_operation
    async def test_one_key_twice_in_a_command_is_invalid(self, store: OwnedStore, operation: str) -> None:
        command = await PROVED[operation](store)
        more = variations.more_records(command)
        if more is not None:
            async with refused(store, InvalidValue):
                await execute(store, changes.under_key(more, "one-more"))
        elif isinstance(command, c.AppendRunRecords):
            async with refused(store, InvalidValue):
                await execute(store, replace(command, records=command.records * 2))

    @each_operation
    async def test_after_a_purge_nothing_old_comes_back(self, store: OwnedStore, operation: str) -> None:
        command, _ = await _stored(store, operation)
        run = await store.load_run(variations.subject(command))
        await _end_all(store, command)
        if run.session_id is not None:
            await store.purge_session(run.session_id)
        else:
            await store.purge_one_shot("o0" if run.parent_run_id else "o1")
        async with refused(store, SessionPurged, RunPurged, RunNotFound):
            await execute(store, command)

    @each_operation
    async def test_fewer_records_pass_and_changed_ones_conflict(self, store: OwnedStore, operation: str) -> None:
        command, first = await _stored(store, operation)
        inside = command.suspension if isinstance(command, c.RepairRunSuspension) else command
        inside = inside.terminal if isinstance(inside, c.RepairRunTerminal) else inside
        beside = getattr(inside, "records", ())
        for n in range(len(beside)):
            fewer = (*beside[:n], *beside[n + 1 :])
            changed = (*beside[:n], replace(beside[n], payload=b'{"messages":[]}'), *beside[n + 1 :])
            if fewer:
                async with unchanged(store):
                    answer = await execute(store, _with(command, fewer))
                assert not any(each.inserted for each in scenes.appended(answer))
            async with refused(store, RecordConflict):
                await execute(store, _with(command, changed))
        assert scenes.same_answer(first, await execute(store, command))


def _with(command: Proved, records: tuple[object, ...]) -> Proved:
    match command:
        case c.RepairRunSuspension():
            return replace(command, suspension=replace(command.suspension, records=records))
        case c.RepairRunTerminal():
            return replace(command, terminal=replace(command.terminal, records=records))
        case _:
            return replace(command, records=records)


async def _changes_are_refused(store: OwnedStore, command: Proved, first: c.Result) -> None:
    before = await read_everything(store)
    tried = 0
    for path, changed in changes.changed_in_one_field(command):
        if _is_news(path, command, before.run(variations.subject(command)).ended_at is None):
            continue
        tried += 1
        answer = await outcome(execute(store, changed))
        if _is_no_change(path, command):
            assert not isinstance(answer, Exception), path
            assert scenes.same_answer(first, answer), path
        elif isinstance(answer, c.Repaired):
            assert answer.result is c.RepairResult.DIFFERENT_TERMINAL, path
        else:
            assert isinstance(answer, Conflict | ContractError), path
            assert not isinstance(answer, RunNotFound) or path.endswith("run_id"), path
            assert not isinstance(answer, RunNotRunning) or path.endswith("event_key"), path
        assert await read_everything(store) == before, path
    assert tried >= 5


def _is_news(path: str, command: Proved, running: bool) -> bool:  # noqa: FBT001 - read from the run, never written out
    """A new key in an append to a running run is simply another record."""
    return isinstance(command, c.AppendRunRecords) and running and path.endswith("event_key")


def _is_no_change(path: str, command: Proved) -> bool:
    """The candidate that a start did not use is checked and not compared."""
    unused = isinstance(command, c.RootRunStart | c.ChildRunStart) and path.startswith("canceled.")
    return unused and path.endswith((".event_key", ".turn_id", ".payload"))
