"""Rules for ordinary records: a batch may mix stored and new ones; only what is new needs a running run."""

from collections.abc import Iterable

from actum.base.errors import CancellationRequested, OwnerMismatch, RunNotRunning
from actum.lifecycle import commands as c
from actum.lifecycle.change import Change, Placed, RunRow, Seen
from actum.lifecycle.repeats import new_answer, old_answer, place, session_status, stored_equal
from actum.lifecycle.rows import run_row
from actum.lifecycle.states import Run, RunStatus
from actum.records.record import NewRecord
from actum.records.types import RecordType


def owned(run: Run, *records: NewRecord) -> None:
    """Raises OwnerMismatch for a record whose agent or session is not the run's."""
    for record in records:
        if record.agent_id != run.agent_id:
            raise _mismatch(run, "agent_id", record)
        if record.session_id != run.session_id:
            raise _mismatch(run, "session_id", record)


def _mismatch(run: Run, name: str, record: NewRecord) -> OwnerMismatch:
    return OwnerMismatch(run_id=run.run_id, field=name, stored=getattr(run, name), given=getattr(record, name))


def append(command: c.AppendRunRecords, seen: Seen) -> Change:
    """The records that are not stored yet, all or none; it goes on in an ended session while the run still runs."""
    row = run_row(seen, command.records[0].run_id)
    owned(row.run, *command.records)
    answers, placed = settle(command.records, row, seen)
    if not placed:
        return Change(result=answers)
    return Change(result=answers, scope=seen.scope, records=placed)


def settle(
    records: tuple[NewRecord, ...], row: RunRow, seen: Seen, *last: NewRecord
) -> tuple[tuple[c.Appended, ...], tuple[Placed, ...]]:
    """An answer for each of `records` and `last`, in order, and those that are new, at their positions.

    Raises RecordConflict for a stored record that differs, then RunNotRunning or CancellationRequested for what is new.
    """
    run = row.run
    # Nearly always nothing is stored yet under any of their keys.
    new = _unstored(records, seen) if seen.records else records
    if (new or last) and run.status is not RunStatus.RUNNING:
        raise RunNotRunning(run_id=run.run_id, status=run.status)
    if run.cancellation_reason is not None and RecordType.TOOL_CALL_STARTED in {record.type for record in new}:
        raise CancellationRequested(run_id=run.run_id, reason=run.cancellation_reason)
    placed = place(seen, *new, *last)
    scope, status = row.scope, session_status(seen, run.session_id)
    answers = []
    for each in placed:
        answers.append(new_answer(scope, each, run, status))  # noqa: PERF401 - quicker for one record, the common case
    if len(new) < len(records):
        for i, record in enumerate(records):
            stored = stored_equal(seen, record)
            if stored is not None:
                answers.insert(i, old_answer(stored, run, status))
    return tuple(answers), placed


def _unstored(records: Iterable[NewRecord], seen: Seen) -> tuple[NewRecord, ...]:
    return tuple([record for record in records if stored_equal(seen, record) is None])
