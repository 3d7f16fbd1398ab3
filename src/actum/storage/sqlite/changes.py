"""A change into SQLite: rows, records, checkpoints; or a scope erased. Runs inside the transaction of its caller."""

import json
import sqlite3
from collections.abc import Callable
from operator import itemgetter
from typing import Final

from actum.lifecycle.change import Change, Placed, RunRow, Scope, SessionRow, tombstone_digest
from actum.storage.sqlite.facts import SQLiteFacts, scope_row
from actum.storage.sqlite.rows import (
    WRITTEN_RECORD,
    WRITTEN_RUN,
    WRITTEN_SESSION,
    Row,
    record_values,
    run_values,
    session_values,
)


def _insert(table: str, columns: str) -> str:
    marks = ", ".join("?" * (columns.count(",") + 1))
    return f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - names of this module


def _update(table: str, columns: str, key: str) -> str:
    sets = ", ".join(f"{name.strip()} = ?" for name in columns.split(","))
    return f"UPDATE {table} SET {sets} WHERE {key} = ?"  # noqa: S608 - names of this module


def _values_of(written: str, *columns: str) -> Callable[[Row], Row]:
    names = written.split(", ")
    return itemgetter(*map(names.index, columns))


# What stands in tables of its own, by which rows are found.
_INDEXED_OF_RUN: Final = _values_of(WRITTEN_RUN, "started", "labels", "awaiting")
_INDEXED_OF_SESSION: Final = _values_of(WRITTEN_SESSION, "created", "metadata")
_INSERT_RECORD: Final = _insert("records", WRITTEN_RECORD)
_INSERT_RUN: Final = _insert("runs", f"{WRITTEN_RUN}, first_position")
_UPDATE_RUN: Final = _update("runs", WRITTEN_RUN, "run")
_INSERT_SESSION: Final = _insert("sessions", WRITTEN_SESSION)
_UPDATE_SESSION: Final = _update("sessions", WRITTEN_SESSION, "scope")


class SQLiteWrites:
    """Writes changes; the integers of runs and scopes are those of `facts`, which it tells what it has changed."""

    def __init__(self, connection: sqlite3.Connection, facts: SQLiteFacts) -> None:
        self._connection = connection
        self._facts = facts

    def append(self, scope: Scope, records: tuple[Placed, ...]) -> None:
        """Records at the end of a scope. What was read of the rows stays true."""
        self._records(records)
        self._facts.advance(scope, records[-1].position)

    def write(self, change: Change) -> None:
        """The whole change, in the order in which its rows refer to each other."""
        self._facts.forget()
        if change.purge is not None:
            self._erase(change.purge)
        if change.session is not None:
            self._session(change.session)
        for row in change.runs:
            self._run(row)
        if change.records:
            self._records(change.records)
        if change.suspension is not None:
            run_id, suspension = change.suspension
            self._connection.execute(
                "INSERT INTO checkpoints (run, suspension_id, data) VALUES (?, ?, ?)",
                (self._facts.numbers(run_id)[0], suspension.suspension_id, suspension.data),
            )
        if change.advance is not None and change.scope is not None:
            consumer, position = change.advance
            self._connection.execute(
                "INSERT INTO consumers (consumer, scope, position) VALUES (?, ?, ?) "
                "ON CONFLICT (consumer, scope) DO UPDATE SET position = excluded.position",
                (consumer, self._scope(change.scope)[0], position),
            )

    def _session(self, row: SessionRow) -> None:
        scope, _ = self._scope(Scope(row.session.session_id))
        values = session_values(row, scope)
        before = self._connection.execute("SELECT created, metadata FROM sessions WHERE scope = ?", (scope,)).fetchone()
        if before is None:
            self._connection.execute(_INSERT_SESSION, values)
            self._index_metadata(scope, row.session.session_id, *_INDEXED_OF_SESSION(values))
            return
        self._connection.execute(_UPDATE_SESSION, (*values, scope))
        if before != _INDEXED_OF_SESSION(values):
            self._forget_metadata(scope)
            self._index_metadata(scope, row.session.session_id, *_INDEXED_OF_SESSION(values))

    def _index_metadata(self, scope: int, session_id: str, created: int, metadata: str | None) -> None:
        self._connection.executemany(
            "INSERT INTO session_metadata (key, value, created, session_id, scope) VALUES (?, ?, ?, ?, ?)",
            [(key, value, created, session_id, scope) for key, value in _entries(metadata)],
        )

    def _forget_metadata(self, scope: int) -> None:
        self._connection.execute("DELETE FROM session_metadata WHERE scope = ?", (scope,))

    def _run(self, row: RunRow) -> None:
        known = self._connection.execute(
            "SELECT run, scope, started, labels, awaiting FROM runs WHERE run_id = ?", (row.run.run_id,)
        ).fetchone()
        scope, last = self._scope(row.scope) if known is None else (known[1], 0)
        values = run_values(row, scope)
        now = _INDEXED_OF_RUN(values)
        if known is None:
            run = self._connection.execute(_INSERT_RUN, (*values, last + 1)).lastrowid or 0
            self._index_run(run, row.run.run_id, *now)
        else:
            run = known[0]
            self._connection.execute(_UPDATE_RUN, (*values, run))
            if known[2:] != now:
                self._forget_run(run)
                self._index_run(run, row.run.run_id, *now)
        self._facts.number(row.run.run_id, run, scope)

    def _index_run(self, run: int, run_id: str, started: int, labels: str | None, awaiting: str | None) -> None:
        self._connection.executemany(
            "INSERT INTO run_labels (key, value, started, run_id, run) VALUES (?, ?, ?, ?, ?)",
            [(key, value, started, run_id, run) for key, value in _entries(labels)],
        )
        self._connection.executemany(
            "INSERT INTO run_awaiting (kind, started, run_id, run) VALUES (?, ?, ?, ?)",
            [(kind, started, run_id, run) for kind in dict.fromkeys(json.loads(awaiting or "[]"))],
        )

    def _forget_run(self, run: int) -> None:
        self._connection.execute("DELETE FROM run_labels WHERE run = ?", (run,))
        self._connection.execute("DELETE FROM run_awaiting WHERE run = ?", (run,))

    def _records(self, records: tuple[Placed, ...]) -> None:
        rows = []
        for placed in records:
            run, scope = self._facts.numbers(placed.record.run_id)
            rows.append(record_values(placed, scope, run))
        if len(rows) == 1:
            self._facts.cursor.execute(_INSERT_RECORD, rows[0])
        else:
            self._connection.executemany(_INSERT_RECORD, rows)

    def _scope(self, scope: Scope) -> tuple[int, int]:
        """The scope's integer, made where there was none, and its last position."""
        row = scope_row(self._connection, scope)
        if row is not None:
            return row
        number = self._connection.execute(
            "INSERT INTO scopes (session_id, root_run_id) VALUES (?, ?)", (scope.session_id, scope.root_run_id)
        ).lastrowid
        return number or 0, 0

    def _erase(self, scope: Scope) -> None:
        where = scope_row(self._connection, scope)
        if where is None:
            return
        number = where[0]
        runs = self._connection.execute("SELECT run, run_id, tenant FROM runs WHERE scope = ?", (number,)).fetchall()
        for run, _, _ in runs:
            self._forget_run(run)
        sessions = self._connection.execute(
            "SELECT session_id, tenant FROM sessions WHERE scope = ?", (number,)
        ).fetchall()
        self._forget_metadata(number)
        self._connection.execute("DELETE FROM records WHERE scope = ?", (number,))
        self._connection.execute(
            "DELETE FROM checkpoints WHERE run IN (SELECT run FROM runs WHERE scope = ?)", (number,)
        )
        for table in ("consumers", "runs", "sessions", "scopes"):
            self._connection.execute(f"DELETE FROM {table} WHERE scope = ?", (number,))  # noqa: S608 - names of this line
        if scope.session_id is None:
            self._bury("run", [row[1:] for row in runs])
        else:
            self._bury("session", sessions)

    def _bury(self, kind: str, named: list[tuple[str, str | None]]) -> None:
        self._connection.executemany(
            "INSERT INTO tombstones (kind, digest, tenant_digest) VALUES (?, ?, ?)",
            [
                (
                    kind,
                    bytes.fromhex(tombstone_digest(kind, name)),
                    None if tenant is None else bytes.fromhex(tombstone_digest("tenant", tenant)),
                )
                for name, tenant in named
            ],
        )


def _entries(packed: str | None) -> list[tuple[str, str]]:
    return [] if packed is None else list(json.loads(packed).items())
