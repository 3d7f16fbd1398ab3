"""The entries in an SQLite file."""

import sqlite3

from actum.base.checks import identifier, optional_identifier, text
from actum.base.clock import Clock, SystemClock
from actum.base.limits import PAGE_ITEMS_DEFAULT
from actum.memory import sqlite_entry_rows as rows
from actum.memory.arguments import checked_entry, checked_limit, key_after, page_of
from actum.memory.contract import FOUND_DEFAULT, EntryStore
from actum.memory.entries import FoundEntry, MemoryEntry, MemoryScope, ScopeKey, StoredEntry
from actum.memory.search import DEPTH, Embedder, fuse, unit_vectors
from actum.memory.sqlite_file import MemoryFile
from actum.memory.terms import entry_text
from actum.memory.vector_cache import VectorCache
from actum.records.record import Page


class SQLiteEntryStore(EntryStore):
    """The entries in `file`."""

    def __init__(self, file: MemoryFile, *, embedder: Embedder | None = None, clock: Clock | None = None) -> None:
        self._file = file
        self._embedder = embedder
        self._clock = clock or SystemClock()
        self._vectors = VectorCache()

    async def store(self, entry: MemoryEntry, *, expected: int | None = None) -> StoredEntry:
        """The entry's next version, or the present one."""
        exact = checked_entry(entry)
        vector = await self._vector(entry_text(exact.key, exact.value))
        return await self._file.write(
            lambda connection: rows.store(connection, exact, expected, vector, self._clock.now())
        )

    async def get(
        self, scope: MemoryScope, scope_id: str, key: str, *, tenant: str | None = None
    ) -> StoredEntry | None:
        """The newest version."""
        place, of, now = ScopeKey.checked(scope, scope_id, tenant), identifier("key", key), self._clock.now()
        return await self._file.read(lambda connection: rows.present(connection, place, of, now))

    async def list(
        self,
        scope: MemoryScope,
        scope_id: str,
        *,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
        tenant: str | None = None,
    ) -> Page[StoredEntry]:
        """The entries by key."""
        place, count, now = ScopeKey.checked(scope, scope_id, tenant), checked_limit(limit), self._clock.now()
        after = key_after(place, cursor)
        found = await self._file.read(lambda connection: rows.behind(connection, place, after, count + 1, now))
        return page_of(place, found, count, after)

    async def search(
        self, scope: MemoryScope, scope_id: str, query: str, *, limit: int = FOUND_DEFAULT, tenant: str | None = None
    ) -> tuple[FoundEntry, ...]:
        """The entries that fit."""
        place, count, asked = ScopeKey.checked(scope, scope_id, tenant), checked_limit(limit), text("query", query)
        vector = await self._vector(asked) if asked.strip() else None
        now, depth, erasures = self._clock.now(), max(DEPTH, count), self._vectors.erasures()

        def read(connection: sqlite3.Connection) -> tuple[FoundEntry, ...]:
            worded, near = rows.worded(connection, place, asked, depth, now), []
            if vector is not None:
                worded = rows.covered(connection, place, asked, worded)
                near = rows.near(connection, place, vector, depth, now, self._vectors, erasures)
            best = fuse(worded, near, limit=count)
            return tuple(
                FoundEntry(entry=rows.numbered(connection, place, number), score=score) for number, score in best
            )

        return await self._file.read(read)

    async def history(
        self, scope: MemoryScope, scope_id: str, key: str, *, tenant: str | None = None
    ) -> tuple[StoredEntry, ...]:
        """The living versions."""
        place, of, now = ScopeKey.checked(scope, scope_id, tenant), identifier("key", key), self._clock.now()
        return await self._file.read(lambda connection: rows.versions(connection, place, of, now))

    async def delete(self, scope: MemoryScope, scope_id: str, key: str, *, tenant: str | None = None) -> bool:
        """Erases one entry."""
        place, of, now = ScopeKey.checked(scope, scope_id, tenant), identifier("key", key), self._clock.now()
        gone = await self._file.write(
            lambda connection: rows.delete(connection, place, of, now),
            erases=True,
            after=lambda _: self._vectors.erase(place.digest),
        )
        return gone > 0

    async def delete_scope(self, scope: MemoryScope, scope_id: str, *, tenant: str | None = None) -> int:
        """Erases all entries of one scope."""
        place, now = ScopeKey.checked(scope, scope_id, tenant), self._clock.now()
        return await self._file.write(
            lambda connection: rows.delete(connection, place, None, now),
            erases=True,
            after=lambda _: self._vectors.erase(place.digest),
        )

    async def delete_source(self, run_id: str, *, record_id: str | None = None, tenant: str | None = None) -> int:
        """Erases what a run wrote."""
        run, record = identifier("run_id", run_id), optional_identifier("record_id", record_id)
        of = optional_identifier("tenant", tenant)
        return await self._file.write(
            lambda connection: rows.delete_source(connection, of, run, record), erases=True, after=self._erased
        )

    async def delete_expired(self) -> int:
        """Erases what has expired."""
        now = self._clock.now()
        return await self._file.write(
            lambda connection: rows.delete_expired(connection, now), erases=True, after=self._erased
        )

    async def forget(self, session_id: str, *, tenant: str | None = None) -> None:
        """Erases a session's entries."""
        place = ScopeKey.checked(MemoryScope.SESSION, session_id, tenant)
        await self._file.write(
            lambda connection: rows.forget(connection, place),
            erases=True,
            after=lambda _: self._vectors.erase(place.digest),
        )

    async def embed_missing(self, limit: int = 1000) -> int:
        """Gives vectors to entries without one."""
        count = checked_limit(limit)
        embedder, now = self._embedder, self._clock.now()
        if embedder is None:
            return 0
        bare = await self._file.read(lambda connection: rows.bare(connection, embedder.name, count, now))
        vectors = await unit_vectors(embedder, [said for _, said in bare])
        made = [(number, vector) for (number, _), vector in zip(bare, vectors, strict=True)]
        return await self._file.write(lambda connection: rows.add_vectors(connection, embedder.name, made))

    async def _vector(self, said: str) -> rows.Vector | None:
        if self._embedder is None:
            return None
        (data,) = await unit_vectors(self._embedder, [said])
        return rows.Vector(self._embedder.name, data)

    def _erased(self, versions: int) -> None:
        if versions:
            # They may have stood in any scope.
            self._vectors.erase()
