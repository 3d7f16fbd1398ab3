"""Rules for how a run stops: cancellation, suspension, end, and the repair of an end.

A run stops once. The first reason to cancel is kept for ever; a canceled run must repeat it.
"""

from typing import TypeAlias

from actum.base import value
from actum.base.checks import refuse
from actum.base.errors import (
    CancellationConflict,
    CancellationRequested,
    Conflict,
    RunNotRunning,
    SuspensionConflict,
    TerminalConflict,
)
from actum.lifecycle import commands as c
from actum.lifecycle.appends import owned, settle
from actum.lifecycle.change import Change, RunRow, Seen
from actum.lifecycle.repeats import new_answer, old_answer, place, proof, session_status, stored_with, unused
from actum.lifecycle.rows import run_row
from actum.lifecycle.shape import payload
from actum.lifecycle.states import ENGINE_CANCELED, MOVES, SESSION_ENDED, Run, RunStatus, SessionStatus
from actum.records.kinds import RunCompleted, RunSuspended
from actum.records.record import Record

Stop: TypeAlias = c.RunSuspension | c.RunTerminal


def reason_to_stop(cancellation_reason: str | None, session_status: SessionStatus | None) -> str | None:
    """Why a running run shall start nothing more: what it was canceled for, else the end of its session, if either."""
    if cancellation_reason is None and session_status is SessionStatus.ENDED:
        return SESSION_ENDED
    return cancellation_reason


def cancel(command: c.RunCancellation, seen: Seen) -> Change:
    """The first reason and its intent; the run keeps running until it comes to its end."""
    row = run_row(seen, command.run_id)
    run, record = row.run, command.record
    owned(run, record)
    status = session_status(seen, run.session_id)
    if row.cancel_key is not None:
        stored = proof(seen, row.cancel_key, record)
        if stored is None or run.cancellation_reason != command.reason:
            raise CancellationConflict(run_id=run.run_id, stored=run.cancellation_reason, given=command.reason)
        return Change(result=c.Changed(run=run, record=old_answer(stored, run, status)))
    unused(seen, record)
    if run.status is not RunStatus.RUNNING:
        raise RunNotRunning(run_id=run.run_id, status=run.status)
    if command.reason == SESSION_ENDED and status is not SessionStatus.ENDED:
        raise refuse("reason", command.reason, "is a caller's own reason while the session is active")
    run = value.replace(run, cancellation_reason=command.reason, updated_at=record.timestamp)
    placed = place(seen, record)
    return Change(
        result=c.Changed(run=run, record=new_answer(row.scope, placed[0], run, status)),
        scope=row.scope,
        runs=(value.replace(row, run=run, cancel_key=record.event_key),),
        records=placed,
    )


def stop(command: Stop, seen: Seen) -> Change:
    """The run suspends or ends as told, if its history allows that end."""
    row = run_row(seen, command.run_id)
    owned(row.run, command.record, *command.records)
    if row.run.status is RunStatus.RUNNING:
        return _anew(command, row, seen)
    return _again(command, row, seen)


def repair(command: Stop, seen: Seen) -> Change:
    """As `stop`; another end that owns the run is a result."""
    row = run_row(seen, command.run_id)
    owned(row.run, command.record, *command.records)
    if row.run.status is RunStatus.RUNNING:
        change, kind = _anew(command, row, seen), c.RepairResult.STORED
    elif _proof(command, row, seen) is not None:
        change, kind = _again(command, row, seen), c.RepairResult.ALREADY_STORED
    else:
        return Change(result=c.Repaired(result=c.RepairResult.DIFFERENT_TERMINAL, run=row.run))
    done = change.result
    assert isinstance(done, c.Changed)  # noqa: S101 - both halves of a stop answer so
    return value.replace(change, result=c.Repaired(result=kind, run=done.run, record=done.record, records=done.records))


def _again(command: Stop, row: RunRow, seen: Seen) -> Change:
    """The first answer of an exact repeat. Raises the conflict of this kind of stop for anything else."""
    run, target = row.run, _target(command)

    def conflict(field: str) -> Conflict:
        if isinstance(command, c.RunSuspension):
            return SuspensionConflict(run_id=run.run_id, field=field)
        return TerminalConflict(run_id=run.run_id, status=run.status, field=field)

    record = _proof(command, row, seen)
    if record is None:
        raise conflict("status" if run.status is not target else "record")
    records = stored_with(seen, command.records, conflict)
    status = session_status(seen, run.session_id)
    return Change(
        result=c.Changed(
            run=run,
            record=old_answer(record, run, status),
            records=tuple(old_answer(each, run, status) for each in records),
        )
    )


def _proof(command: Stop, row: RunRow, seen: Seen) -> Record | None:
    """The stored end record when exactly this command stopped the run."""
    if row.run.status is not _target(command):
        return None
    if isinstance(command, c.RunSuspension) and seen.suspension != command.suspension:
        return None
    return proof(seen, row.end_key, command.record)


def _anew(command: Stop, row: RunRow, seen: Seen) -> Change:
    run, record, target = row.run, command.record, _target(command)
    unused(seen, record)
    if target not in MOVES[run.status]:
        raise RunNotRunning(run_id=run.run_id, status=run.status)
    if record.timestamp < run.started_at:
        raise refuse("record.timestamp", record.timestamp.isoformat(), "is not before the run's start")
    awaiting: tuple[str, ...] = ()
    if isinstance(command, c.RunSuspension):
        if run.cancellation_reason is not None:
            raise CancellationRequested(run_id=run.run_id, reason=run.cancellation_reason)
        awaiting = tuple(sorted({str(item.kind) for item in payload(record, RunSuspended).pending}))
    else:
        _lawful(payload(record, RunCompleted), run)
    answers, placed = settle(command.records, row, seen, record)
    stopped = value.replace(
        run, status=target, ended_at=record.timestamp, updated_at=record.timestamp, end_record_id=answers[-1].id
    )
    return Change(
        result=c.Changed(run=stopped, record=answers[-1], records=answers[:-1]),
        scope=row.scope,
        runs=(value.replace(row, run=stopped, end_key=record.event_key, awaiting=awaiting),),
        records=placed,
        suspension=(run.run_id, command.suspension) if isinstance(command, c.RunSuspension) else None,
    )


def _lawful(end: RunCompleted, run: Run) -> None:
    """The three lawful cancellation histories, and labels that are the run's own."""
    if end.labels != run.labels:
        raise refuse("record payload.labels", end.labels, "equals the run's labels")
    if end.cancellation is None:
        return
    # No reason is a fact, not a gap: the engine stopped a run that nobody asked to stop.
    lawful = run.cancellation_reason or ENGINE_CANCELED
    if end.cancellation.reason != lawful:
        raise CancellationConflict(run_id=run.run_id, stored=run.cancellation_reason, given=end.cancellation.reason)


def _target(command: Stop) -> RunStatus:
    return RunStatus.SUSPENDED if isinstance(command, c.RunSuspension) else command.status
