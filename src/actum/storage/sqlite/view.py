"""One state of the rows as a backend shows it: reads, and in a write transaction also `apply`."""

import sqlite3
from collections.abc import Iterable, Mapping

from actum.lifecycle.change import Change, Keys, RunRow, Seen, SessionRow
from actum.lifecycle.commands import CountBy, ScopeBehind
from actum.storage.backend import PayloadSlice, RecordQuery, RunQuery, SessionQuery, Slice
from actum.storage.look import look
from actum.storage.sqlite.chains import Chains, Link
from actum.storage.sqlite.changes import SQLiteWrites
from actum.storage.sqlite.facts import SQLiteFacts
from actum.storage.sqlite.lists import behind_of, counts_of, runs_of, sessions_of
from actum.storage.sqlite.records import payloads_of, records_of


class SQLiteView:
    """The rows as a reader sees them, or command after command of the one connection that writes.

    A command ends with `keep` or `drop`. With `savepoints` what it wrote can be dropped alone. The savepoint is set by
    the first write: a command that is refused before it wrote costs none.
    """

    __slots__ = ("_appended", "_connection", "_facts", "_set", "_writes", "erased", "savepoints", "wrote")

    def __init__(self, connection: sqlite3.Connection, chains: Chains | None = None) -> None:
        self._connection = connection
        self._facts = SQLiteFacts(connection, chains or Chains(connection))
        self._writes = SQLiteWrites(connection, self._facts)
        self._set = False
        self._appended = False
        self.savepoints = False
        self.erased = False
        self.wrote = False

    def see(self, keys: Keys) -> Seen:
        """The facts that `keys` asks for."""
        return look(self._facts, keys)

    def records(self, query: RecordQuery) -> Slice:
        """A slice of one scope's records."""
        return records_of(self._connection, self._facts, query)

    def payloads(self, query: RecordQuery) -> PayloadSlice:
        """The same, types and payloads alone."""
        return payloads_of(self._connection, self._facts, query)

    def chain(self, run_id: str) -> Iterable[Link]:
        """The run and its history chain, newest first, with the positions of their end records."""
        return self._facts.chain(run_id)

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

    def apply(self, change: Change) -> None:
        """Writes the change."""
        appends = change.appends
        if not appends and change.empty:
            return
        if self.savepoints and not self._set:
            self._connection.execute("SAVEPOINT command")
            self._set = True
        self._appended = appends and not self.wrote
        self.wrote = True
        if change.scope is not None and self._appended:
            self._writes.append(change.scope, change.records)
            return
        self.erased = self.erased or change.purge is not None
        self._writes.write(change)

    def keep(self) -> None:
        """The command ends, and its writes are part of the transaction."""
        if self._set:
            self._connection.execute("RELEASE command")
            self._set = False
        # The answer of any other command may hold rows, and whoever has a row can change its labels.
        if not self._appended:
            self._facts.forget()
        self.wrote = self._appended = False

    def drop(self) -> None:
        """The command ends, and its writes are undone; without a savepoint it must have written nothing."""
        if self._set:
            self._connection.execute("ROLLBACK TO command")
            self._connection.execute("RELEASE command")
            self._set = False
        self._facts.forget()
        self.wrote = self._appended = False

    def begin(self, *, changed: bool) -> None:
        """A transaction begins; rows are known from the one before it, unless somebody else has `changed` them."""
        if changed:
            self._facts.forget()
        self.savepoints = self.erased = self.wrote = self._appended = self._set = False
