"""The entries in dictionaries, gone with the process. Each change is made without waiting in between."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from actum.base.checks import identifier, optional_identifier, text
from actum.base.clock import Clock, SystemClock
from actum.base.errors import SessionPurged
from actum.base.limits import PAGE_ITEMS_DEFAULT
from actum.memory.arguments import checked_entry, checked_limit, key_after, page_of
from actum.memory.contract import FOUND_DEFAULT, EntryStore
from actum.memory.entries import (
    FoundEntry,
    MemoryEntry,
    MemoryScope,
    ScopeKey,
    StoredEntry,
    alive,
    copied,
    decide_store,
    written_by,
)
from actum.memory.search import DEPTH, Embedder, covering, fuse, nearest, ranked_by_words, unit_vectors, word_weight
from actum.memory.terms import entry_text, telling_terms, terms
from actum.records.record import Page


@dataclass
class _Scope:
    last_version: int = 0
    # The versions of each key, oldest first.
    entries: dict[str, list[StoredEntry]] = field(default_factory=lambda: defaultdict(list))
    # Vectors of present versions, by key.
    vectors: dict[str, bytes] = field(default_factory=dict)

    def present(self, key: str, now: datetime) -> StoredEntry | None:
        versions = self.entries.get(key)
        return versions[-1] if versions and alive(versions[-1], now) else None

    def all_present(self, now: datetime) -> list[StoredEntry]:
        found = (self.present(key, now) for key in sorted(self.entries))
        return [entry for entry in found if entry is not None]

    def drop_expired(self, now: datetime) -> int:
        """Erases what has expired; nothing older comes back in its place."""
        gone = {key for key in self.entries if self.present(key, now) is None}
        return self.drop(lambda each: each.key not in gone and alive(each, now))

    def drop(self, keep: Callable[[StoredEntry], bool]) -> int:
        """Erases the versions that are not to be kept; gives how many."""
        dropped = 0
        for key, versions in list(self.entries.items()):
            kept = [each for each in versions if keep(each)]
            dropped += len(versions) - len(kept)
            if kept[-1:] != versions[-1:]:
                self.vectors.pop(key, None)
            if kept:
                self.entries[key] = kept
            else:
                del self.entries[key]
        return dropped


class InMemoryEntryStore(EntryStore):
    """The entries of a process."""

    def __init__(self, *, embedder: Embedder | None = None, clock: Clock | None = None) -> None:
        self._embedder = embedder
        self._clock = clock or SystemClock()
        self._scopes: dict[ScopeKey, _Scope] = {}
        self._forgotten: set[ScopeKey] = set()

    async def store(self, entry: MemoryEntry, *, expected: int | None = None) -> StoredEntry:
        """The entry's next version, or the present one."""
        exact = checked_entry(entry)
        vector = b""
        if self._embedder is not None:
            (vector,) = await unit_vectors(self._embedder, [entry_text(exact.key, exact.value)])
        scope_key = ScopeKey(exact.tenant, exact.scope, exact.scope_id)
        if scope_key in self._forgotten:
            raise SessionPurged(session_id=exact.scope_id)
        scope = self._scopes.get(scope_key) or _Scope()
        now = self._clock.now()
        current = scope.present(exact.key, now)
        new = decide_store(current, exact, expected, next_version=scope.last_version + 1, now=now)
        if new is current:
            return copied(new)
        self._scopes[scope_key] = scope
        if current is None:
            scope.entries.pop(exact.key, None)  # an expired entry does not come back as history
        # A copy of its own: a caller who changes the list that it stored changes nothing here.
        scope.entries[exact.key].append(copied(new))
        scope.last_version = new.version
        scope.vectors.pop(exact.key, None)
        if vector:
            scope.vectors[exact.key] = vector
        return new

    async def get(
        self, scope: MemoryScope, scope_id: str, key: str, *, tenant: str | None = None
    ) -> StoredEntry | None:
        """The newest version."""
        found = self._scope(scope, scope_id, tenant).present(identifier("key", key), self._clock.now())
        return None if found is None else copied(found)

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
        scope_key = ScopeKey.checked(scope, scope_id, tenant)
        count, after = checked_limit(limit), key_after(scope_key, cursor)
        present = self._scope(scope, scope_id, tenant).all_present(self._clock.now())
        return page_of(scope_key, [each for each in present if after is None or each.key > after], count, after)

    async def search(
        self, scope: MemoryScope, scope_id: str, query: str, *, limit: int = FOUND_DEFAULT, tenant: str | None = None
    ) -> tuple[FoundEntry, ...]:
        """The entries that fit."""
        scope_key, count, asked = ScopeKey.checked(scope, scope_id, tenant), checked_limit(limit), text("query", query)
        near: list[str] = []
        vector = b""
        if self._embedder is not None and asked.strip():
            (vector,) = await unit_vectors(self._embedder, [asked])
        here = self._scopes.get(scope_key) or _Scope()
        present = {each.key: each for each in here.all_present(self._clock.now())}
        said = {key: Counter(terms(entry_text(key, each.value))) for key, each in present.items()}
        words = telling_terms(asked)
        worded = [key for key, _ in ranked_by_words(words, said)][: max(DEPTH, count)]
        if vector:
            weights = {each: word_weight(len(said), sum(each in held for held in said.values())) for each in words}
            worded = covering(words, weights, {key: said[key] for key in worded})
            vectors = ((key, here.vectors[key]) for key in present if key in here.vectors)
            near = nearest(vector, vectors, max(DEPTH, count))
        return tuple(
            FoundEntry(entry=copied(present[key]), score=score) for key, score in fuse(worded, near, limit=count)
        )

    async def history(
        self, scope: MemoryScope, scope_id: str, key: str, *, tenant: str | None = None
    ) -> tuple[StoredEntry, ...]:
        """The living versions."""
        here, now = self._scope(scope, scope_id, tenant), self._clock.now()
        if here.present(identifier("key", key), now) is None:
            return ()
        return tuple(copied(each) for each in here.entries[key] if alive(each, now))

    async def delete(self, scope: MemoryScope, scope_id: str, key: str, *, tenant: str | None = None) -> bool:
        """Erases one entry."""
        here, of = self._scope(scope, scope_id, tenant), identifier("key", key)
        there = here.present(of, self._clock.now()) is not None
        here.drop(lambda each: each.key != of)
        return there

    async def delete_scope(self, scope: MemoryScope, scope_id: str, *, tenant: str | None = None) -> int:
        """Erases all entries of one scope."""
        here = self._scope(scope, scope_id, tenant)
        there = len(here.all_present(self._clock.now()))
        here.drop(lambda _: False)
        return there

    async def delete_source(self, run_id: str, *, record_id: str | None = None, tenant: str | None = None) -> int:
        """Erases what a run wrote."""
        run, record = identifier("run_id", run_id), optional_identifier("record_id", record_id)
        of = optional_identifier("tenant", tenant)

        return sum(
            here.drop(lambda each: not written_by(each, run, record))
            for key, here in self._scopes.items()
            if key.tenant == of
        )

    async def delete_expired(self) -> int:
        """Erases what has expired."""
        now = self._clock.now()
        return sum(here.drop_expired(now) for here in self._scopes.values())

    async def forget(self, session_id: str, *, tenant: str | None = None) -> None:
        """Erases a session's entries."""
        scope_key = ScopeKey.checked(MemoryScope.SESSION, session_id, tenant)
        self._forgotten.add(scope_key)
        self._scopes.pop(scope_key, None)

    async def embed_missing(self, limit: int = 1000) -> int:
        """Gives vectors to entries without one."""
        count, now = checked_limit(limit), self._clock.now()
        if self._embedder is None:
            return 0
        bare = [
            (scope, entry)
            for scope in self._scopes.values()
            for entry in scope.all_present(now)
            if entry.key not in scope.vectors
        ][:count]
        vectors = await unit_vectors(self._embedder, [entry_text(each.key, each.value) for _, each in bare])
        for (scope, entry), vector in zip(bare, vectors, strict=True):
            # Another write may have come in between; its own vector is the right one.
            if scope.present(entry.key, now) is entry:
                scope.vectors[entry.key] = vector
        return len(bare)

    def _scope(self, scope: MemoryScope, scope_id: str, tenant: str | None) -> _Scope:
        return self._scopes.get(ScopeKey.checked(scope, scope_id, tenant)) or _Scope()
