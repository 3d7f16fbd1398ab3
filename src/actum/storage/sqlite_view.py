"""One transaction of SQLite as a backend shows it: reads, and in a write transaction also `apply`."""

import sqlite3
from collections.abc import Iterable, Mapping

from actum.lifecycle.change import Change, Keys, RunRow, Scope, Seen, SessionRow
from actum.lifecycle.commands import CountBy, ScopeBehind
from actum.storage.backend import RecordQuery, RunQuery, SessionQuery, Slice
from actum.storage.look import look
from actum.storage.sqlite_lists import behind_of, counts_of, runs_of, sessions_of
from actum.storage.sqlite_reads import SQLiteFacts, chain_of, records_of
from actum.storage.sqlite_writes import SQLiteWrites


class SQLiteView:
    """The rows as one command or one reader sees them. With `savepoint` its writes can be dropped alone.

    The savepoint is set by the first write: a command that is refused before it wrote costs none.
    """

    __slots__ = ("_connection", "_numbers", "_savepoint", "_set", "erased", "wrote")

    def __init__(self, connection: sqlite3.Connection, *, savepoint: bool = False) -> None:
        self._connection = connection
        self._numbers: dict[str, tuple[int, int]] = {}
        self._savepoint = savepoint
        self._set = False
        self.erased = False
        self.wrote = False

    def see(self, keys: Keys) -> Seen:
        """The facts that `keys` asks for."""
        return look(SQLiteFacts(self._connection, self._numbers), keys)

    def records(self, query: RecordQuery) -> Slice:
        """A slice of one scope's records."""
        return records_of(self._connection, query)

    def chain(self, run_id: str, *, backwards: bool = False) -> Iterable[tuple[str, int]]:
        """The run and its history chain, oldest first, with the positions of their end records."""
        return chain_of(self._connection, run_id, backwards=backwards)

    def sessions(self, query: SessionQuery) -> tuple[SessionRow, ...]:
        """Session rows in list order."""
        return sessions_of(self._connection, query)

    def runs(self, query: RunQuery) -> tuple[RunRow, ...]:
        """Run rows in list order."""
        return runs_of(self._connection, query)

    def count_runs(self, by: CountBy, tenant: str | None) -> Mapping[str | None, int]:
        """How many runs there are for each value of a field."""
        return counts_of(self._connection, by, tenant)

    def behind(self, consumer: str, limit: int, tenant: str | None) -> tuple[ScopeBehind, ...]:
        """Scopes that the consumer has not handled to their end, oldest first."""
        return behind_of(self._connection, consumer, limit, tenant)

    def advanced(self, consumer: str, scope: Scope) -> int:
        """The position that the consumer has handled."""
        return SQLiteFacts(self._connection, self._numbers).advanced(consumer, scope)

    def apply(self, change: Change) -> None:
        """Writes the change."""
        if change.empty:
            return
        self.wrote = True
        if self._savepoint and not self._set:
            self._connection.execute("SAVEPOINT command")
            self._set = True
        self.erased = self.erased or change.purge is not None
        SQLiteWrites(self._connection, self._numbers).write(change)

    def keep(self) -> None:
        """Makes the writes part of the transaction."""
        if self._set:
            self._connection.execute("RELEASE command")
            self._set = False

    def drop(self) -> None:
        """Undoes the writes of this view alone."""
        if self._set:
            self._connection.execute("ROLLBACK TO command")
            self._connection.execute("RELEASE command")
            self._set = False
