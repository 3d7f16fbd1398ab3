"""Ends: suspended, completed, failed or canceled, once, by the record that proves it."""

import asyncio

import pytest

from actum.base.errors import (
    Conflict,
    ContinuationRefused,
    InvalidValue,
    OwnerMismatch,
    RecordConflict,
    RunNotFound,
    RunNotRunning,
    RunPurged,
    SuspensionConflict,
    SuspensionNotFound,
    TerminalConflict,
)
from actum.base.value import replace
from actum.lifecycle import commands as c
from actum.lifecycle.states import Run, RunStatus, Suspension
from actum.records import makers
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused, unchanged
from actum.testing.history import outcome

TERMINAL = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED)
OTHER_END = (TerminalConflict, SuspensionConflict, RunNotRunning)


def _end(run: Run, status: RunStatus, *, key: str = "end") -> c.RunTerminal:
    reason = "engine_canceled" if status is RunStatus.CANCELED else None
    return samples.ending(run, status, reason=reason, key=key)


class TerminalPromises:
    """The run completes, fails or is canceled."""

    @pytest.mark.parametrize("status", TERMINAL)
    async def test_an_end_is_stored_with_its_records_before_it(self, store: OwnedStore, status: RunStatus) -> None:
        run = await scenes.running(store)
        command = replace(_end(run, status), records=samples.notes(run, "b", "a"))
        changed = await store.record_run_terminal(command)
        assert changed.record.inserted
        assert [each.inserted for each in changed.records] == [True, True]
        assert (changed.run.status, changed.run.end_record_id) == (status, changed.record.id)
        assert (changed.run.ended_at, changed.run.updated_at) == (samples.at(2), samples.at(2))
        assert await store.load_run("r1") == changed.run
        assert await scenes.kept_keys(store, run) == ["start", "b", "a", "end"]
        await scenes.sound(store)

    @pytest.mark.parametrize("status", TERMINAL)
    async def test_an_exact_repeat_gives_the_first_answer(self, store: OwnedStore, status: RunStatus) -> None:
        run = await scenes.running(store)
        command = replace(_end(run, status), records=samples.notes(run, "a"))
        first = await store.record_run_terminal(command)
        for again in (command, replace(command, records=())):
            async with unchanged(store):
                answer = await store.record_run_terminal(again)
            assert (answer.record.id, answer.record.inserted) == (first.record.id, False)

    async def test_a_repeat_with_other_records_conflicts(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        command = replace(samples.completed(run), records=samples.notes(run, "a"))
        await store.record_run_terminal(command)
        async with refused(store, RecordConflict):
            await store.record_run_terminal(replace(command, records=(samples.note(run, "a", "changed"),)))
        async with refused(store, TerminalConflict):
            await store.record_run_terminal(replace(command, records=samples.notes(run, "a", "more")))

    @pytest.mark.parametrize("status", TERMINAL)
    async def test_a_run_ends_once(self, store: OwnedStore, status: RunStatus) -> None:
        run = await scenes.ended(store, status=status)
        for other in TERMINAL:
            async with refused(store, TerminalConflict) as caught:
                await store.record_run_terminal(_end(run, other, key="end-2"))
            assert (caught.value.run_id, caught.value.status) == ("r1", status)
            if other is not status:
                async with refused(store, Conflict):
                    await store.record_run_terminal(_end(run, other))
        async with refused(store, *OTHER_END):
            await store.record_run_suspension(samples.suspension(run))

    async def test_a_suspended_run_never_ends_otherwise(self, store: OwnedStore) -> None:
        run = await scenes.suspended(store)
        for status in TERMINAL:
            async with refused(store, *OTHER_END):
                await store.record_run_terminal(_end(run, status))

    async def test_a_changed_end_record_conflicts(self, store: OwnedStore) -> None:
        run = await scenes.ended(store, status=RunStatus.FAILED)
        command = samples.failed(run)
        for other in (
            samples.ending(run, RunStatus.FAILED, message="something else"),
            samples.failed(run, seconds=9),
            replace(command, record=replace(command.record, turn_id="turn-9")),
        ):
            async with refused(store, Conflict):
                await store.record_run_terminal(other)

    async def test_an_end_is_not_before_its_start(self, store: OwnedStore) -> None:
        await scenes.session(store)
        run = (await store.start_root_run(samples.root("r1", seconds=10))).run
        async with refused(store, InvalidValue):
            await store.record_run_terminal(samples.completed(run, seconds=9.999))
        async with refused(store, InvalidValue):
            await store.record_run_suspension(samples.suspension(run, seconds=9))
        assert (await store.record_run_terminal(samples.completed(run, seconds=10))).run.ended_at == samples.at(10)

    async def test_the_end_record_says_what_the_command_says(self, store: OwnedStore) -> None:
        run = await scenes.running(store, labels={"kind": "chat"})
        command = samples.completed(run)
        broken = (
            replace(command, status=RunStatus.FAILED),
            replace(command, status=RunStatus.RUNNING),
            replace(command, status=RunStatus.SUSPENDED),
            replace(command, record=replace(command.record, payload=makers.run_completed(status="completed"))),
            replace(command, record=samples.ending(run, RunStatus.FAILED).record),
            replace(command, record=samples.suspension(run).record),
            replace(command, record=replace(command.record, run_id="r2")),
            replace(command, record=replace(command.record, agent_id="somebody")),
            replace(command, record=replace(command.record, session_id="s2")),
            replace(command, records=(replace(samples.note(run, "a"), agent_id="somebody"),)),
            replace(command, records=(samples.note(run, "end"),)),
            replace(command, records=(samples.started_record(samples.root("r1").run, "again"),)),
        )
        for wrong in broken:
            async with refused(store, InvalidValue, OwnerMismatch):
                await store.record_run_terminal(wrong)

    async def test_a_key_that_another_record_holds_conflicts(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        await store.append_run_record(samples.note(run, "taken"))
        for key in ("start", "taken"):
            async with refused(store, RecordConflict):
                await store.record_run_terminal(samples.ending(run, key=key))
            async with refused(store, RecordConflict):
                await store.record_run_suspension(samples.suspension(run, key=key))

    async def test_a_changed_record_beside_an_end_keeps_the_run_running(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        await store.append_run_record(samples.note(run, "a"))
        async with refused(store, RecordConflict):
            await store.record_run_terminal(samples.completed(run, records=(samples.note(run, "a", "changed"),)))
        ended = await store.record_run_terminal(samples.completed(run, records=samples.notes(run, "b")))
        assert ended.run.status is RunStatus.COMPLETED

    async def test_a_run_that_is_not_there_does_not_end(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        gone = replace(run, run_id="nobody")
        async with refused(store, RunNotFound):
            await store.record_run_terminal(samples.completed(gone))
        async with refused(store, RunNotFound):
            await store.record_run_suspension(samples.suspension(gone))
        async with refused(store, RunNotFound):
            await store.repair_run_terminal(samples.completed(gone))
        single = await scenes.end(store, await scenes.one_shot(store))
        await store.purge_one_shot("o1")
        async with refused(store, RunPurged):
            await store.record_run_terminal(samples.completed(single))

    async def test_one_of_many_ends_wins(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        ends = [_end(run, TERMINAL[n % 3], key=f"end-{n}") for n in range(12)]
        answers = await asyncio.gather(*(outcome(store.record_run_terminal(each)) for each in ends))
        assert sum(isinstance(each, c.Changed) for each in answers) == 1
        assert all(isinstance(each, c.Changed | TerminalConflict) for each in answers)
        await scenes.sound(store)


class SuspensionPromises:
    """The run stops to wait, and its checkpoint is kept byte for byte."""

    async def test_a_suspension_keeps_its_checkpoint(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        data = bytes(range(256)) * 3
        command = samples.suspension(run, data=data, records=samples.notes(run, "a"))
        changed = await store.record_run_suspension(command)
        assert (changed.run.status, changed.run.end_record_id) == (RunStatus.SUSPENDED, changed.record.id)
        assert changed.run.ended_at == samples.at(2)
        assert await store.load_run_suspension("r1") == Suspension(suspension_id="wait-1", data=data)
        assert await scenes.kept_keys(store, run) == ["start", "a", "suspend"]
        await scenes.sound(store)

    async def test_an_empty_checkpoint_is_one(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        await store.record_run_suspension(samples.suspension(run, data=b""))
        assert (await store.load_run_suspension("r1")).data == b""

    async def test_an_exact_repeat_gives_the_first_answer(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        command = samples.suspension(run, records=samples.notes(run, "a"))
        first = await store.record_run_suspension(command)
        for again in (command, replace(command, records=())):
            async with unchanged(store):
                answer = await store.record_run_suspension(again)
            assert (answer.record.id, answer.record.inserted) == (first.record.id, False)
        await store.start_root_run(samples.continuation("r2", first.run))
        async with unchanged(store):
            assert scenes.same_answer(first, await store.record_run_suspension(command))

    async def test_every_changed_part_conflicts(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        command = samples.suspension(run, records=samples.notes(run, "a"))
        await store.record_run_suspension(command)
        for other in (
            samples.suspension(run, data=b"another checkpoint"),
            samples.suspension(run, key="suspend-2"),
        ):
            async with refused(store, SuspensionConflict) as caught:
                await store.record_run_suspension(other)
            assert caught.value.run_id == "r1"
        for other in (
            samples.suspension(run, suspension_id="wait-2"),
            samples.suspension(run, kinds=("questions",)),
            samples.suspension(run, seconds=9),
        ):
            async with refused(store, Conflict):
                await store.record_run_suspension(other)
        async with refused(store, RecordConflict):
            await store.record_run_suspension(replace(command, records=(samples.note(run, "a", "changed"),)))
        async with refused(store, SuspensionConflict):
            await store.record_run_suspension(replace(command, records=samples.notes(run, "a", "more")))

    async def test_the_suspension_record_says_what_the_command_says(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        command = samples.suspension(run)
        broken = (
            replace(command, suspension=replace(command.suspension, suspension_id="wait-9")),
            replace(command, record=replace(command.record, payload=b"{}")),
            replace(command, record=samples.ending(run).record),
            replace(command, record=replace(command.record, run_id="r2")),
            replace(command, record=replace(command.record, agent_id="somebody")),
            replace(command, records=(samples.note(run, "suspend"),)),
        )
        for wrong in broken:
            async with refused(store, InvalidValue, OwnerMismatch):
                await store.record_run_suspension(wrong)

    async def test_only_a_suspended_run_holds_a_checkpoint(self, store: OwnedStore) -> None:
        await scenes.running(store, "r1")
        await scenes.ended(store, "r2")
        for run_id in ("r1", "r2"):
            with pytest.raises(SuspensionNotFound) as caught:
                await store.load_run_suspension(run_id)
            assert caught.value.run_id == run_id
        with pytest.raises(RunNotFound):
            await store.load_run_suspension("nobody")

    async def test_a_suspended_run_takes_nothing_more(self, store: OwnedStore) -> None:
        run = await scenes.suspended(store)
        async with refused(store, RunNotRunning):
            await store.append_run_record(samples.note(run, "late"))
        async with refused(store, RunNotRunning):
            await store.start_child_run(samples.child("c1", run))


class RepairPromises:
    """A repair finds out who ended the run; another end that owns it is a result, not an error."""

    @pytest.mark.parametrize("status", TERMINAL)
    async def test_stored_then_already_stored(self, store: OwnedStore, status: RunStatus) -> None:
        run = await scenes.running(store)
        command = replace(_end(run, status), records=samples.notes(run, "a"))
        first = await store.repair_run_terminal(command)
        assert (first.result, first.run.status) == (c.RepairResult.STORED, status)
        assert first.record is not None
        assert first.record.inserted
        async with unchanged(store):
            again = await store.repair_run_terminal(command)
        assert again.result is c.RepairResult.ALREADY_STORED
        assert scenes.same_answer(first, again)
        async with unchanged(store):
            plain = await store.record_run_terminal(command)
        assert plain.record.id == first.record.id

    async def test_a_suspension_is_repaired_the_same_way(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        command = samples.suspension(run)
        first = await store.repair_run_suspension(command)
        assert (first.result, first.run.status) == (c.RepairResult.STORED, RunStatus.SUSPENDED)
        async with unchanged(store):
            assert (await store.repair_run_suspension(command)).result is c.RepairResult.ALREADY_STORED

    async def test_another_end_is_a_result(self, store: OwnedStore) -> None:
        done, waiting = await scenes.ended(store, "r1"), await scenes.suspended(store, "r2")
        async with unchanged(store):
            answers = [
                await store.repair_run_terminal(samples.ending(done, RunStatus.FAILED, key="other")),
                await store.repair_run_terminal(samples.ending(done, key="other")),
                await store.repair_run_suspension(samples.suspension(done)),
                await store.repair_run_terminal(samples.completed(waiting)),
                await store.repair_run_suspension(samples.suspension(waiting, data=b"another")),
            ]
        assert {each.result for each in answers} == {c.RepairResult.DIFFERENT_TERMINAL}
        assert {each.record for each in answers} == {None}
        assert [each.run.run_id for each in answers] == ["r1", "r1", "r1", "r2", "r2"]

    async def test_an_invalid_repair_is_still_refused(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        command = samples.completed(run)
        async with refused(store, InvalidValue, OwnerMismatch):
            await store.repair_run_terminal(replace(command, status=RunStatus.FAILED))
        async with refused(store, RecordConflict):
            await store.repair_run_terminal(samples.ending(run, key="start"))

    async def test_a_one_shot_run_is_not_suspended_by_a_repair(self, store: OwnedStore) -> None:
        run = await scenes.one_shot(store)
        async with refused(store, ContinuationRefused, InvalidValue):
            await store.repair_run_suspension(samples.suspension(run))
