"""Single rows out of SQLite."""

import sqlite3
from collections.abc import Iterable
from typing import Final

from actum.lifecycle.change import Found, FoundRun, RunRow, Scope, SessionRow, Tombstone, tombstone_digest
from actum.lifecycle.states import Suspension
from actum.records.record import Record
from actum.storage.sqlite.chains import SPAN_COLUMNS, Chains, Link, Span
from actum.storage.sqlite.rows import (
    LAST_POSITION,
    RECORD_COLUMNS,
    RUN_COLUMNS,
    SESSION_COLUMNS,
    digest_of,
    named,
    records_in,
    run_of,
    session_of,
)

_RUN: Final = (
    f"SELECT {RUN_COLUMNS}, {SPAN_COLUMNS}, {LAST_POSITION}, {SESSION_COLUMNS} FROM runs AS r "  # noqa: S608 - names of columns, written here
    "JOIN scopes AS s ON s.scope = r.scope LEFT JOIN sessions AS e ON e.scope = r.scope WHERE r.run_id = ?"
)
# So many runs, with the largest of labels and metadata, are a few dozen megabytes.
_KNOWN: Final = 256
_RUN_WIDTH: Final = RUN_COLUMNS.count(",") + 1
_SPAN_END: Final = _RUN_WIDTH + len(Span.__struct_fields__)
_SESSION: Final = (
    f"SELECT {LAST_POSITION}, {SESSION_COLUMNS} FROM scopes AS s JOIN sessions AS e ON e.scope = s.scope "  # noqa: S608 - as above
    "WHERE s.session_id = ?"
)
_SCOPE_OF_SESSION: Final = f"SELECT scope, {LAST_POSITION} FROM scopes AS s WHERE session_id = ?"  # noqa: S608 - as above
_SCOPE_OF_ROOT: Final = f"SELECT scope, {LAST_POSITION} FROM scopes AS s WHERE root_run_id = ?"  # noqa: S608 - as above
_SPAN: Final = f"SELECT {SPAN_COLUMNS} FROM runs AS r WHERE run_id = ?"  # noqa: S608 - as above
_RECORD: Final = f"SELECT {RECORD_COLUMNS} FROM records AS c WHERE c.run = ? AND c.event_key = ?"  # noqa: S608 - as above


class SQLiteFacts:
    """Single rows. A run, its session and its scope's last position are asked once, and then known until `forget`.

    It is made for one transaction. Whoever keeps it for the next calls `forget` when somebody has written meanwhile.
    """

    def __init__(self, connection: sqlite3.Connection, chains: Chains) -> None:
        self._connection = connection
        # For statements of one row, which leave nothing to be fetched; kept for the same reason as that of a commit.
        self.cursor = connection.cursor()
        self._chains = chains
        self._runs: dict[str, RunRow] = {}
        self._numbers: dict[str, tuple[int, int]] = {}
        self._sessions: dict[str, SessionRow] = {}
        self._positions: dict[Scope, int] = {}
        self._spans: dict[str, Span] = {}
        # Whether the links that are kept are known to be those of this state of the rows.
        self._walked = False

    def forget(self) -> None:
        """The rows may have changed: nothing is known any more."""
        for known in (self._runs, self._numbers, self._spans, self._sessions, self._positions):
            known.clear()
        self._chains.forget()
        self._walked = False

    def number(self, run_id: str, run: int, scope: int) -> None:
        """The run was written, and these are its integers."""
        self._numbers[run_id] = run, scope

    def advance(self, scope: Scope, position: int) -> None:
        """Records were written, and no other rows: the scope's last position is now this one."""
        self._positions[scope] = position

    def numbers(self, run_id: str) -> tuple[int, int]:
        """The integers of a run and of its scope. The run exists."""
        known = self._numbers.get(run_id)
        if known is None:
            known = self._connection.execute("SELECT run, scope FROM runs WHERE run_id = ?", (run_id,)).fetchone()
            self._numbers[run_id] = known
        return known

    def run(self, run_id: str) -> FoundRun | None:
        """The run's row, or its tombstone."""
        known = self._runs.get(run_id)
        if known is not None:
            return known
        row = self.cursor.execute(_RUN, (run_id,)).fetchone()
        if row is None:
            return self._tombstone("run", run_id)
        if len(self._numbers) >= _KNOWN:
            self.forget()
        found = run_of(row[:_RUN_WIDTH])
        self._runs[run_id] = found
        self._numbers[run_id] = row[0], row[1]
        self._spans[run_id] = Span(*row[_RUN_WIDTH:_SPAN_END])
        self._positions[found.scope] = row[_SPAN_END]
        if row[2] is not None and row[2] not in self._sessions:
            self._sessions[row[2]] = session_of(row[_SPAN_END + 1 :])
        return found

    def session(self, session_id: str) -> Found | None:
        """The session's row, or its tombstone."""
        known = self._sessions.get(session_id)
        if known is not None:
            return known
        row = self.cursor.execute(_SESSION, (session_id,)).fetchone()
        if row is None:
            return self._tombstone("session", session_id)
        if len(self._sessions) >= _KNOWN:
            self.forget()
        self._positions[Scope(session_id)] = row[0]
        found = self._sessions[session_id] = session_of(row[1:])
        return found

    def position(self, scope: Scope) -> int:
        """The scope's last position; 0 for a scope that is not there."""
        known = self._positions.get(scope)
        if known is not None:
            return known
        row = scope_row(self._connection, scope)
        return 0 if row is None else row[1]

    def record(self, run_id: str, event_key: str) -> Record | None:
        """The record stored under this key."""
        found = self._runs.get(run_id) or self.run(run_id)
        if not isinstance(found, RunRow):
            return None
        row = self.cursor.execute(_RECORD, (self._numbers[run_id][0], event_key)).fetchone()
        if row is None:
            return None
        run = found.run
        digest = digest_of(run.session_id, found.root_run_id)
        return records_in((row,), (named(run_id, run.agent_id, run.session_id),), digest)[0]

    def span(self, run_id: str) -> Span | None:
        """Where the records of a run are found; None for a run that is not there."""
        known = self._spans.get(run_id)
        if known is None and self._walked:
            known = self._chains.span(run_id)
        if known is not None:
            return known
        row = self._connection.execute(_SPAN, (run_id,)).fetchone()
        return None if row is None else Span(*row)

    def chain(self, run_id: str) -> Iterable[Link]:
        """The run and the runs of its history chain, newest first, with the positions of their end records."""
        links = self._chains.walk(run_id)
        self._walked = True
        return links

    def suspension(self, run_id: str) -> Suspension | None:
        """The run's checkpoint."""
        row = self._connection.execute(
            "SELECT suspension_id, data FROM checkpoints WHERE run = (SELECT run FROM runs WHERE run_id = ?)", (run_id,)
        ).fetchone()
        return None if row is None else Suspension(suspension_id=row[0], data=row[1])

    def running(self, scope: Scope) -> str | None:
        """The first running run of the scope."""
        where = scope_row(self._connection, scope)
        row = (
            where
            and self._connection.execute(
                "SELECT run_id FROM runs INDEXED BY runs_by_scope WHERE scope = ? AND status = 'running' "
                "ORDER BY started, run_id LIMIT 1",
                (where[0],),
            ).fetchone()
        )
        return row[0] if row else None

    def advanced(self, consumer: str, scope: Scope) -> int:
        """The position that the consumer has handled; 0 when it has handled nothing."""
        where = scope_row(self._connection, scope)
        row = (
            where
            and self._connection.execute(
                "SELECT position FROM consumers WHERE consumer = ? AND scope = ?", (consumer, where[0])
            ).fetchone()
        )
        return row[0] if row else 0

    def _tombstone(self, kind: str, name: str) -> Tombstone | None:
        row = self._connection.execute(
            "SELECT tenant_digest FROM tombstones WHERE kind = ? AND digest = ?",
            (kind, bytes.fromhex(tombstone_digest(kind, name))),
        ).fetchone()
        return None if row is None else Tombstone(row[0] and row[0].hex())


def scope_row(connection: sqlite3.Connection, scope: Scope) -> tuple[int, int] | None:
    """The scope's integer and its last position."""
    row: tuple[int, int] | None = connection.execute(
        _SCOPE_OF_SESSION if scope.session_id is not None else _SCOPE_OF_ROOT,
        (scope.session_id if scope.session_id is not None else scope.root_run_id,),
    ).fetchone()
    return row
