"""Dictionaries of rows with their indexes, and the log that undoes what a transaction did to them."""

from bisect import bisect_left, insort
from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias, TypeVar

from actum.base.value import replace
from actum.lifecycle.change import Placed, RunRow, Scope, SessionRow, Tombstone, tombstone_digest
from actum.lifecycle.states import Suspension
from actum.records.record import Record, record_id

K = TypeVar("K")
V = TypeVar("V")

# Where a row stands in a list: its time, then its id.
Place: TypeAlias = tuple[datetime, str]


class Rows:
    """All rows of one store. `run_places` and `session_places` are the orders of lists; `Scope()` is every scope.

    A scope exists as a key of `records`, in the order of creation. A record's position is its index there, plus one.
    """

    def __init__(self) -> None:
        self.sessions: dict[str, SessionRow] = {}
        self.runs: dict[str, RunRow] = {}
        self.records: dict[Scope, list[Record]] = {}
        self.by_key: dict[tuple[str, str], Record] = {}
        self.positions: dict[str, list[int]] = {}
        self.checkpoints: dict[str, Suspension] = {}
        self.consumers: dict[tuple[str, Scope], int] = {}
        self.tombstones: dict[tuple[str, str], Tombstone] = {}
        self.session_places: list[Place] = []
        self.run_places: dict[Scope, list[Place]] = {Scope(): []}
        self._undo: list[Callable[[], object]] = []

    def keep(self) -> None:
        """Ends a transaction: what it did stays."""
        self._undo.clear()

    def undo(self) -> None:
        """Ends a transaction: what it did is taken back, the last first."""
        while self._undo:
            self._undo.pop()()

    def put(self, table: dict[K, V], key: K, value: V) -> None:
        """Sets one entry."""
        if key in table:
            before = table[key]
            self._undo.append(lambda: table.__setitem__(key, before))
        else:
            self._undo.append(lambda: table.pop(key))
        table[key] = value

    def put_session(self, row: SessionRow) -> None:
        """Inserts the row, or puts it in the place of the one with its id."""
        session = row.session
        before = self.sessions.get(session.session_id)
        scope = Scope(session.session_id)
        if scope not in self.records:
            self.put(self.records, scope, [])
        if before is not None:
            self._leave(self.session_places, (before.session.created_at, session.session_id))
        self._stand(self.session_places, (session.created_at, session.session_id))
        self.put(self.sessions, session.session_id, row)

    def put_run(self, row: RunRow) -> None:
        """Inserts the row, or puts it in the place of the one with its id."""
        before = self.runs.get(row.run.run_id)
        scope = row.scope
        if scope not in self.records:
            self.put(self.records, scope, [])
        if before is None:
            self.put(self.positions, row.run.run_id, [])
        for group in (Scope(), scope):
            if group not in self.run_places:
                self.put(self.run_places, group, [])
            if before is not None:
                self._leave(self.run_places[group], (before.run.started_at, row.run.run_id))
            self._stand(self.run_places[group], (row.run.started_at, row.run.run_id))
        self.put(self.runs, row.run.run_id, row)

    def add_record(self, scope: Scope, digest: str, placed: Placed) -> None:
        """Appends the record to its scope."""
        given = placed.record
        record = Record(
            id=record_id(digest, placed.position),
            event_key=given.event_key,
            run_id=given.run_id,
            agent_id=given.agent_id,
            session_id=given.session_id,
            turn_id=given.turn_id,
            type=given.type,
            payload=given.payload,
            timestamp=given.timestamp,
        )
        stored = self.records[scope]
        if placed.position != len(stored) + 1:
            raise ValueError(f"position {placed.position} does not follow {len(stored)}")
        self._append(stored, record)
        self._append(self.positions[given.run_id], placed.position)
        self.put(self.by_key, (given.run_id, given.event_key), record)

    def erase(self, scope: Scope) -> None:
        """Takes everything of the scope away and leaves tombstones."""
        names = [name for _, name in self.run_places.get(scope, [])]
        if scope.session_id is not None:
            session = self._take(self.sessions, scope.session_id)
            if session is not None:
                self._leave(self.session_places, (session.session.created_at, scope.session_id))
                self._bury("session", scope.session_id, session.session.tenant)
        for name in names:
            row = self.runs[name]
            self._leave(self.run_places[Scope()], (row.run.started_at, name))
            if scope.session_id is None:
                self._bury("run", name, row.run.tenant)
            self._take(self.runs, name)
            self._take(self.positions, name)
            self._take(self.checkpoints, name)
        for record in self.records.get(scope, []):
            self._take(self.by_key, (record.run_id, record.event_key))
        self._take(self.run_places, scope)
        if scope in self.records:
            # Scopes stand in the order of their creation, which putting one back at the end would change.
            before = self.records
            self.records = {other: records for other, records in before.items() if other != scope}
            self._undo.append(lambda: setattr(self, "records", before))
        for key in [key for key in self.consumers if key[1] == scope]:
            self._take(self.consumers, key)

    def tombstone(self, kind: str, name: str) -> Tombstone | None:
        """The mark of a purged id."""
        return self.tombstones.get((kind, tombstone_digest(kind, name)))

    def tenant_of(self, scope: Scope) -> str | None:
        """Whose scope it is."""
        if scope.session_id is not None:
            return self.sessions[scope.session_id].session.tenant
        return self.runs[scope.root_run_id or ""].run.tenant

    def _bury(self, kind: str, name: str, tenant: str | None) -> None:
        whose = None if tenant is None else tombstone_digest("tenant", tenant)
        self.put(self.tombstones, (kind, tombstone_digest(kind, name)), Tombstone(whose))

    def _take(self, table: dict[K, V], key: K) -> V | None:
        if key not in table:
            return None
        before = table.pop(key)
        self._undo.append(lambda: table.__setitem__(key, before))
        return before

    def _append(self, items: list[V], item: V) -> None:
        items.append(item)
        self._undo.append(items.pop)

    def _stand(self, places: list[Place], place: Place) -> None:
        insort(places, place)
        self._undo.append(lambda: places.pop(bisect_left(places, place)))

    def _leave(self, places: list[Place], place: Place) -> None:
        places.pop(bisect_left(places, place))
        self._undo.append(lambda: insort(places, place))


def own_run(row: RunRow) -> RunRow:
    """The row with labels that nobody else can change."""
    run = replace(row.run, labels=dict(row.run.labels))
    return RunRow(run, row.root_run_id, row.start_key, row.link_key, row.cancel_key, row.end_key, row.awaiting)


def own_session(row: SessionRow) -> SessionRow:
    """The row with metadata that nobody else can change."""
    return SessionRow(replace(row.session, metadata=dict(row.session.metadata)), row.created_digest)
