"""The rows in dictionaries under one lock: the reference backend.

Every change notes how to undo it, so that work which raises leaves nothing. Rows are values; only their labels and
metadata could be changed from outside, so those are copied on the way in and out.
"""

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from actum.base.errors import StoreUnavailable
from actum.base.value import replace
from actum.lifecycle.change import Change, Found, FoundRun, Keys, RunRow, Scope, Seen, SessionRow
from actum.lifecycle.commands import CountBy, ScopeBehind
from actum.lifecycle.states import Suspension
from actum.records.record import Record, position_in
from actum.storage.backend import UNENDED, PayloadSlice, RecordQuery, RunQuery, SessionQuery, Slice, Transaction, View
from actum.storage.look import look
from actum.storage.memory_rows import Place, Rows, own_run, own_session
from actum.storage.owners import Owners, ProcessOwners
from actum.storage.slices import Room

T = TypeVar("T")


class MemoryBackend:
    """A backend in this process, gone with it. Used from any event loop and thread."""

    def __init__(self) -> None:
        self._rows = Rows()
        self._lock = threading.Lock()
        self._owners = ProcessOwners(require_open=self._require_open)
        self._closed = False

    @property
    def owners(self) -> Owners:
        """Who holds owner ids: this process."""
        return self._owners

    async def write(self, work: Callable[[Transaction], T], size: int) -> T:  # noqa: ARG002 - nothing is grouped here
        """`work` in one transaction."""
        with self._lock:
            self._require_open()
            try:
                answer = work(MemoryView(self._rows))
            except BaseException:
                self._rows.undo()
                raise
            self._rows.keep()
            return answer

    async def read(self, work: Callable[[View], T]) -> T:
        """`work` on one state of the rows."""
        with self._lock:
            self._require_open()
            return work(MemoryView(self._rows))

    async def close(self) -> None:
        """Refuses everything from now on."""
        self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise StoreUnavailable(reason="the store is closed")


class MemoryView:
    """One transaction: reads, and in a write transaction also `apply`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def see(self, keys: Keys) -> Seen:
        """The facts that `keys` asks for."""
        return look(self, keys)

    def run(self, run_id: str) -> FoundRun | None:
        """The run's row, or its tombstone."""
        row = self._rows.runs.get(run_id)
        return self._rows.tombstone("run", run_id) if row is None else own_run(row)

    def session(self, session_id: str) -> Found | None:
        """The session's row, or its tombstone."""
        row = self._rows.sessions.get(session_id)
        return self._rows.tombstone("session", session_id) if row is None else own_session(row)

    def position(self, scope: Scope) -> int:
        """The scope's last position."""
        return len(self._rows.records.get(scope, ()))

    def record(self, run_id: str, event_key: str) -> Record | None:
        """The record stored under this key."""
        return self._rows.by_key.get((run_id, event_key))

    def suspension(self, run_id: str) -> Suspension | None:
        """The run's checkpoint."""
        return self._rows.checkpoints.get(run_id)

    def running(self, scope: Scope) -> str | None:
        """The first running run of the scope."""
        places = self._rows.run_places.get(scope, [])
        return next((name for _, name in places if self._rows.runs[name].run.status == "running"), None)

    def advanced(self, consumer: str, scope: Scope) -> int:
        """The position that the consumer has handled."""
        return self._rows.consumers.get((consumer, scope), 0)

    def records(self, query: RecordQuery) -> Slice:
        """A slice of one scope's records."""
        stored = self._rows.records.get(query.scope, [])
        asked: Iterable[int] = _between(range(1, len(stored) + 1), query)
        if query.runs is not None:
            theirs = (self._rows.positions.get(each, ()) for each in query.runs if self._in_scope(each, query.scope))
            asked = (position for positions in theirs for position in _between(positions, query))
        found = (stored[position - 1] for position in asked)
        types = query.types
        rows = ((each.payload, each) for each in found if types is None or each.type in types)
        room = Room(query)
        taken = tuple([record for _, record in room.take(rows)])
        return Slice(taken, more=room.full, last=len(stored))

    def payloads(self, query: RecordQuery) -> PayloadSlice:
        """The same, types and payloads alone."""
        found = self.records(query)
        return PayloadSlice(
            [each.type for each in found.records],
            [each.payload for each in found.records],
            more=found.more,
            through=position_in(found.records[-1].id) if found.records else None,
            last=found.last,
        )

    def chain(self, run_id: str) -> tuple[tuple[str, int], ...]:
        """The run and its history chain, newest first, with the positions of their end records."""
        links: list[tuple[str, int]] = []
        row = self._rows.runs.get(run_id)
        while row is not None:
            end = row.run.end_record_id
            links.append((row.run.run_id, UNENDED if end is None else position_in(end)))
            row = None if row.run.history is None else self._rows.runs.get(row.run.history.run_id)
        return tuple(links)

    def sessions(self, query: SessionQuery) -> tuple[SessionRow, ...]:
        """Session rows in list order."""

        def fits(row: SessionRow) -> bool:
            session = row.session
            return (
                query.status in (None, session.status)
                and query.tenant in (None, session.tenant)
                and query.metadata.items() <= session.metadata.items()
            )

        rows = (self._rows.sessions[name] for _, name in _after(self._rows.session_places, query.after))
        return tuple(own_session(row) for row in _first(query.limit, filter(fits, rows)))

    def runs(self, query: RunQuery) -> tuple[RunRow, ...]:
        """Run rows in list order."""

        def fits(row: RunRow) -> bool:
            run = row.run
            return (
                query.tenant in (None, run.tenant)
                and (query.statuses is None or run.status in query.statuses)
                and query.agent_id in (None, run.agent_id)
                and query.labels.items() <= run.labels.items()
                and (query.awaiting is None or query.awaiting in row.awaiting)
                and (query.since is None or run.started_at >= query.since)
            )

        places = self._rows.run_places.get(Scope() if query.session_id is None else Scope(query.session_id), [])
        rows = (self._rows.runs[name] for _, name in _after(places, query.after))
        return tuple(own_run(row) for row in _first(query.limit, filter(fits, rows)))

    def count_runs(self, by: CountBy, tenant: str | None) -> Mapping[str | None, int]:
        """How many runs there are for each value of a field."""
        counts: dict[str | None, int] = {}
        for row in self._rows.runs.values():
            if tenant in (None, row.run.tenant):
                value: str | None = getattr(row.run, by)
                key = None if value is None else str(value)
                counts[key] = counts.get(key, 0) + 1
        return counts

    def behind(self, consumer: str, limit: int, tenant: str | None) -> tuple[ScopeBehind, ...]:
        """Scopes that the consumer has not handled to their end, oldest first."""
        found = (
            ScopeBehind(
                session_id=scope.session_id,
                root_run_id=scope.root_run_id,
                position=self.advanced(consumer, scope),
                last=len(records),
            )
            for scope, records in self._rows.records.items()
            if len(records) > self.advanced(consumer, scope) and tenant in (None, self._rows.tenant_of(scope))
        )
        return tuple(_first(limit, found))

    def apply(self, change: Change) -> None:
        """Writes the change."""
        rows = self._rows
        if change.purge is not None:
            rows.erase(change.purge)
        if change.session is not None:
            rows.put_session(own_session(change.session))
        for row in change.runs:
            rows.put_run(own_run(row))
        if change.scope is not None:
            digest = change.scope.digest if change.records else ""
            for placed in change.records:
                rows.add_record(change.scope, digest, placed)
            if change.advance is not None:
                rows.put(rows.consumers, (change.advance[0], change.scope), change.advance[1])
        if change.suspension is not None:
            rows.put(rows.checkpoints, change.suspension[0], replace(change.suspension[1]))

    def _in_scope(self, run_id: str, scope: Scope) -> bool:
        row = self._rows.runs.get(run_id)
        return row is not None and row.scope == scope


def _between(positions: Sequence[int], query: RecordQuery) -> Sequence[int]:
    """Those of a run's positions that a query asks for, in its order."""
    low = bisect_right(positions, query.after)
    high = len(positions) if query.before is None else bisect_left(positions, query.before)
    return positions[low:high][::-1] if query.backwards else positions[low:high]


def _after(places: list[Place], after: tuple[datetime, str] | None) -> Iterator[Place]:
    start = 0 if after is None else bisect_right(places, after)
    return (places[i] for i in range(start, len(places)))


def _first(limit: int, rows: Iterator[T]) -> Iterator[T]:
    return (row for row, _ in zip(rows, range(limit), strict=False))
