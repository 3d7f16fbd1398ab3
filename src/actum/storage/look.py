"""Which facts a command is shown: the references of `Keys`, followed over the few look-ups that rows answer."""

from typing import Protocol

from actum.lifecycle.change import Found, FoundRun, Keys, RunRow, Scope, Seen, SessionRow
from actum.lifecycle.states import Suspension
from actum.records.record import Record


class Facts(Protocol):
    """Single rows, as one transaction sees them."""

    def run(self, run_id: str) -> FoundRun | None:
        """The run's row, or its tombstone."""
        ...

    def session(self, session_id: str) -> Found | None:
        """The session's row, or its tombstone."""
        ...

    def position(self, scope: Scope) -> int:
        """The scope's last position; 0 for a scope that is not there."""
        ...

    def record(self, run_id: str, event_key: str) -> Record | None:
        """The record stored under this key."""
        ...

    def suspension(self, run_id: str) -> Suspension | None:
        """The run's checkpoint."""
        ...

    def running(self, scope: Scope) -> str | None:
        """The first running run of the scope."""
        ...

    def advanced(self, consumer: str, scope: Scope) -> int:
        """The position that the consumer has handled; 0 when it has handled nothing."""
        ...


def look(facts: Facts, keys: Keys) -> Seen:
    """What `keys` asks for. Rows that are absent are absent from the answer."""
    runs: dict[str, FoundRun] = {}
    scope = keys.scope
    if scope is None and keys.scope_of is not None and isinstance(row := _take(facts, keys.scope_of, runs), RunRow):
        scope = row.scope
    sessions: dict[str, Found] = {}
    if scope is not None and scope.session_id is not None:
        session = facts.session(scope.session_id)
        if session is not None:
            sessions[scope.session_id] = session
        if isinstance(session, SessionRow) and session.session.head_run_id is not None:
            _take(facts, session.session.head_run_id, runs)
    for run_id in keys.runs:
        if run_id not in runs:
            _take(facts, run_id, runs)
    for run_id in keys.parents_of:
        row = _take(facts, run_id, runs)
        if isinstance(row, RunRow) and row.run.parent_run_id is not None:
            _take(facts, row.run.parent_run_id, runs)
    records: dict[tuple[str, str], Record] = {}
    for run_id, event_key in keys.records:
        record = facts.record(run_id, event_key)
        if record is not None:
            records[run_id, event_key] = record
    return Seen(
        scope=scope,
        position=0 if scope is None else facts.position(scope),
        sessions=sessions,
        runs=runs,
        records=records,
        suspension=None if keys.suspension_of is None else facts.suspension(keys.suspension_of),
        running_run_id=facts.running(scope) if keys.running and scope is not None else None,
        advanced=facts.advanced(keys.consumer, scope) if keys.consumer is not None and scope is not None else 0,
    )


def _take(facts: Facts, run_id: str, runs: dict[str, FoundRun]) -> FoundRun | None:
    """The run's row, which then stands among `runs`; it is asked for once."""
    found = runs.get(run_id) or facts.run(run_id)
    if found is not None:
        runs[run_id] = found
    return found
