"""Rows and changes for tests of backends, which know no rules: a test says only what it is about."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from actum.lifecycle.change import Change, Placed, RunRow, Scope, SessionRow
from actum.lifecycle.states import Run, RunStatus, Session, SessionStatus, StartOutcome
from actum.records.record import HistoryRef, NewRecord

NOON = datetime(2025, 6, 5, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def session_row(
    session_id: str = "s1",
    *,
    tenant: str | None = None,
    status: SessionStatus = SessionStatus.ACTIVE,
    created_at: datetime = NOON,
    metadata: Mapping[str, str] | None = None,
    head: str | None = None,
) -> SessionRow:
    session = Session(
        session_id=session_id,
        tenant=tenant,
        status=status,
        created_at=created_at,
        metadata=dict(metadata or {}),
        head_run_id=head,
    )
    return SessionRow(session, "digest")


def run_row(
    run_id: str = "r1",
    *,
    session_id: str | None = "s1",
    root: str | None = None,
    agent_id: str = "helper",
    tenant: str | None = None,
    status: RunStatus = RunStatus.RUNNING,
    started_at: datetime = NOON,
    labels: Mapping[str, str] | None = None,
    awaiting: tuple[str, ...] = (),
    parent: str | None = None,
    history: HistoryRef | None = None,
    end_position: int | None = None,
) -> RunRow:
    scope = Scope(session_id, root)
    run = Run(
        run_id=run_id,
        agent_id=agent_id,
        session_id=session_id,
        tenant=tenant,
        parent_run_id=parent,
        chain_id=run_id,
        history=history,
        status=status,
        start_outcome=StartOutcome.PROCEED,
        started_at=started_at,
        ended_at=None if end_position is None else at(60),
        end_record_id=None if end_position is None else scope.record_id(end_position),
        updated_at=started_at,
        labels=dict(labels or {}),
    )
    return RunRow(run, root, "start", awaiting=awaiting)


def chained(count: int, each: int = 1) -> list[RunRow]:
    """Runs that go on one from the other, each with as many records as told."""
    places = [(i + 1) * each for i in range(count)]
    ends = [HistoryRef(run_id=f"h{i}", through=Scope("s1").record_id(place)) for i, place in enumerate(places)]
    return [
        run_row(f"h{i}", history=ends[i - 1] if i else None, started_at=at(i), end_position=place)
        for i, place in enumerate(places)
    ]


def new_record(
    run_id: str = "r1",
    key: str = "k1",
    *,
    session_id: str | None = "s1",
    agent_id: str = "helper",
    type: str = "x.note",
    payload: bytes = b"{}",
    turn_id: str | None = None,
    timestamp: datetime = NOON,
) -> NewRecord:
    return NewRecord(
        event_key=key,
        run_id=run_id,
        agent_id=agent_id,
        session_id=session_id,
        turn_id=turn_id,
        type=type,
        payload=payload,
        timestamp=timestamp,
    )


def started(session: SessionRow, *runs: RunRow) -> Change:
    """A session with runs, as one change."""
    return Change(None, scope=Scope(session.session.session_id), session=session, runs=runs)


def appended(records: Iterable[NewRecord], *, after: int = 0, scope: Scope | None = None) -> Change:
    """Records at the positions that follow `after`."""
    placed = tuple(Placed(after + i, record) for i, record in enumerate(records, 1))
    return Change(None, scope=scope or Scope("s1"), records=placed)
