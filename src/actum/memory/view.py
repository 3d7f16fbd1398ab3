"""Memory as one run sees it: the scopes that are its own, from the narrowest outwards."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from actum.base.checks import identifier, refuse
from actum.base.errors import InvalidValue
from actum.base.value import Json
from actum.memory.contract import FOUND_DEFAULT, EntryStore
from actum.memory.entries import (
    SHARED_ID,
    EntrySource,
    FoundEntry,
    MemoryEntry,
    MemoryScope,
    ScopeKey,
    StoredEntry,
)
from actum.memory.search import fuse


@dataclass(frozen=True)
class MemoryView:
    """The entries of these scopes, narrowest first; what is written through it carries `source`."""

    entries: EntryStore
    scopes: tuple[ScopeKey, ...]
    source: EntrySource | None = None

    @classmethod
    def of(
        cls,
        entries: EntryStore,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        shared_id: str | None = SHARED_ID,
        tenant: str | None = None,
        source: EntrySource | None = None,
    ) -> Self:
        """The view of one session, user, agent and shared scope of a tenant; what is None has no part in it.

        Raises InvalidValue for an empty id: it is a mistake, and never means "any".
        """
        ids = {
            MemoryScope.SESSION: session_id,
            MemoryScope.USER: user_id,
            MemoryScope.AGENT: agent_id,
            MemoryScope.SHARED: shared_id,
        }
        scopes = tuple(ScopeKey.checked(kind, each, tenant) for kind, each in ids.items() if each is not None)
        return cls(entries, scopes, source)

    async def get(self, key: str) -> StoredEntry | None:
        """The entry under this key in the narrowest scope that has one. A null or false value counts."""
        for place in self.scopes:
            found = await self.entries.get(place.scope, place.scope_id, key, tenant=place.tenant)
            if found is not None:
                return found
        return None

    async def search(self, query: str, *, limit: int = FOUND_DEFAULT) -> tuple[FoundEntry, ...]:
        """What fits in any of the scopes, the best first; their rankings are put together by rank."""
        rankings, known = [], {}
        for place in self.scopes:
            found = await self.entries.search(place.scope, place.scope_id, query, limit=limit, tenant=place.tenant)
            rankings.append([(place, each.entry.key) for each in found])
            known.update({(place, each.entry.key): each.entry for each in found})
        return tuple(FoundEntry(entry=known[name], score=score) for name, score in fuse(*rankings, limit=limit))

    async def store(
        self,
        key: str,
        value: Json,
        *,
        scope: MemoryScope | None = None,
        expected: int | None = None,
        expires_at: datetime | None = None,
    ) -> StoredEntry:
        """Stores an entry in one of the scopes, by default the narrowest. Raises what `EntryStore.store` raises."""
        place = self._place(scope)
        entry = MemoryEntry(
            scope=place.scope,
            scope_id=place.scope_id,
            key=key,
            value=value,
            tenant=place.tenant,
            source=self.source,
            expires_at=expires_at,
        )
        return await self.entries.store(entry, expected=expected)

    async def delete(self, key: str, *, scope: MemoryScope | None = None) -> bool:
        """Erases an entry of one of the scopes, by default the narrowest; tells whether there was one."""
        place = self._place(scope)
        return await self.entries.delete(place.scope, place.scope_id, key, tenant=place.tenant)

    def _place(self, scope: MemoryScope | None) -> ScopeKey:
        found = next((each for each in self.scopes if scope is None or each.scope == scope), None)
        if found is None:
            raise refuse("scope", scope, "is one of the scopes of this run")
        return found


def user_of(metadata: Mapping[str, str]) -> str | None:
    """The user of a session with this metadata: its `user_id`; None when that is no identifier.

    Metadata is free text, so a blank or an overlong one is no error of the run that comes across it: there is then no
    user, and no user's memory.
    """
    try:
        return identifier("user_id", metadata.get("user_id"))
    except InvalidValue:
        return None
