"""What is a repeat and what is a conflict: the only comparison of stored and given.

Identity is (run, event key). A record stored with equal bytes and fields is the first answer; a lifecycle change is
repeated when the key and the bytes that proved it are given again. Nothing is overwritten, nothing guessed.
"""

from collections.abc import Callable
from typing import TypeAlias

from actum.base.errors import Conflict, RecordConflict
from actum.lifecycle.change import Placed, Scope, Seen, SessionRow
from actum.lifecycle.commands import Appended
from actum.lifecycle.states import Run, SessionStatus
from actum.records.record import NewRecord, Record

_FIELDS = ("type", "payload", "timestamp", "turn_id", "agent_id", "session_id")

Absent: TypeAlias = Callable[[str], Conflict]


def difference(stored: Record, given: NewRecord) -> str | None:
    """The first field in which a stored record and a given one of the same key differ."""
    return next((name for name in _FIELDS if getattr(stored, name) != getattr(given, name)), None)


def stored_equal(seen: Seen, given: NewRecord) -> Record | None:
    """The record stored under this key when it is equal; None when there is none. Raises RecordConflict."""
    stored = seen.records.get((given.run_id, given.event_key))
    if stored is None:
        return None
    field = difference(stored, given)
    if field is not None:
        raise RecordConflict(run_id=given.run_id, event_key=given.event_key, field=field)
    return stored


def unused(seen: Seen, *given: NewRecord) -> None:
    """Raises RecordConflict when another fact is stored under the key of a record that proves something new."""
    for record in given:
        stored = seen.records.get((record.run_id, record.event_key))
        if stored is not None:
            field = difference(stored, record) or "event_key"
            raise RecordConflict(run_id=record.run_id, event_key=record.event_key, field=field)


def proof(seen: Seen, key: str | None, given: NewRecord) -> Record | None:
    """The stored record when `given` is, under the same key and to the byte, the one that proved a change."""
    stored = seen.records.get((given.run_id, given.event_key)) if key == given.event_key else None
    return stored if stored is not None and difference(stored, given) is None else None


def stored_with(seen: Seen, records: tuple[NewRecord, ...], absent: Absent) -> tuple[Record, ...]:
    """The stored records of a repeated lifecycle change. Different ones are RecordConflict, absent ones `absent`'s."""
    found = []
    for record in records:
        stored = stored_equal(seen, record)
        if stored is None:
            raise absent("records")
        found.append(stored)
    return tuple(found)


def place(seen: Seen, *records: NewRecord) -> tuple[Placed, ...]:
    """New records at the positions that follow the scope's last one."""
    return tuple([Placed(position, record) for position, record in enumerate(records, seen.position + 1)])


def session_status(seen: Seen, session_id: str | None) -> SessionStatus | None:
    """The status of a run's session as this transaction saw it; None for a one-shot run."""
    row = seen.sessions.get(session_id) if session_id is not None else None
    return row.session.status if isinstance(row, SessionRow) else None


def new_answer(scope: Scope, placed: Placed, run: Run, status: SessionStatus | None) -> Appended:
    """The answer for a record that this change stores."""
    return Appended(
        id=scope.record_id(placed.position),
        inserted=True,
        session_status=status,
        cancellation_reason=run.cancellation_reason,
    )


def old_answer(stored: Record, run: Run, status: SessionStatus | None) -> Appended:
    """The answer for a record that was stored before."""
    return Appended(id=stored.id, inserted=False, session_status=status, cancellation_reason=run.cancellation_reason)
