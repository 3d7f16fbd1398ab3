"""Rules for ordinary records: a batch may mix stored and new ones; only what is new needs a running run."""

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
        for name in ("agent_id", "session_id"):
            stored, given = getattr(run, name), getattr(record, name)
            if stored != given:
                raise OwnerMismatch(run_id=run.run_id, field=name, stored=stored, given=given)


def append(command: c.AppendRunRecords, seen: Seen) -> Change:
    """The records that are not stored yet, all or none; it goes on in an ended session while the run still runs."""
    row = run_row(seen, command.records[0].run_id)
    owned(row.run, *command.records)
    answers, placed = settle(command.records, row, seen)
    if not placed:
        return Change(result=answers)
    return Change(result=answers, scope=row.scope, records=placed)


def settle(
    records: tuple[NewRecord, ...], row: RunRow, seen: Seen, *last: NewRecord
) -> tuple[tuple[c.Appended, ...], tuple[Placed, ...]]:
    """An answer for each of `records` and `last`, in order, and those that are new, at their positions.

    Raises RecordConflict for a stored record that differs, then RunNotRunning or CancellationRequested for what is new.
    """
    run, status = row.run, session_status(seen, row.run.session_id)
    stored = [stored_equal(seen, record) for record in records] + [None] * len(last)
    every = (*records, *last)
    new = [record for record, found in zip(every, stored, strict=True) if found is None]
    if new and run.status is not RunStatus.RUNNING:
        raise RunNotRunning(run_id=run.run_id, status=run.status)
    if run.cancellation_reason is not None and any(record.type == RecordType.TOOL_CALL_STARTED for record in new):
        raise CancellationRequested(run_id=run.run_id, reason=run.cancellation_reason)
    placed = place(seen, *new)
    waiting = iter(placed)
    answers = tuple(
        old_answer(found, run, status) if found is not None else new_answer(row.scope, next(waiting), run, status)
        for found in stored
    )
    return answers, placed
