"""The promise of the two memories, in prose and in types.

Scopes, sessions, runs and keys are matched exactly, byte for byte: never by prefix or pattern, and no id, an empty one
least of all, means "everything". `tenant` belongs to every identity; None is the memory of no tenant, not of all. What
was forgotten refuses late writes for ever. Every call is one transaction; a failure of the machine is StoreUnavailable
with nothing half-written, so a caller repeats the same call.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from actum.base.limits import PAGE_ITEMS_DEFAULT
from actum.memory.entries import FoundEntry, MemoryEntry, MemoryScope, StoredEntry
from actum.memory.events import Annotation, EventType, FoundEvent, MemoryEvent, Snapshot
from actum.records.record import Page

# How many hits a search gives when nobody asks for more or fewer.
FOUND_DEFAULT: Final = 20


class MemoryStore(ABC):
    """The event history: what happened in runs, kept for the product. Usually filled by `deliver_events`."""

    @abstractmethod
    async def append_events(
        self,
        session_id: str | None,
        agent_id: str,
        run_id: str,
        events: Sequence[MemoryEvent],
        *,
        root_run_id: str | None = None,
        history_run_id: str | None = None,
        tenant: str | None = None,
    ) -> int:
        """Adds the events of one run behind those that it has, all or none; gives how many were new.

        An event stored already with equal content is passed over; with other content it is RecordConflict, and so is
        another `history_run_id` (the run whose transcript this one goes on from). A run without a session names the
        root of its tree; without one it is its own root. Raises OwnerMismatch when the run is stored with another
        session, agent or root; SessionPurged or RunPurged when these were forgotten; InvalidValue when one event id
        comes twice.
        """

    async def annotate(
        self,
        session_id: str | None,
        agent_id: str,
        run_id: str,
        annotation: Annotation,
        *,
        event_id: str,
        at: datetime,
        root_run_id: str | None = None,
        tenant: str | None = None,
    ) -> int:
        """Adds an annotation, also after the run's end; an exact retry under the same `event_id` adds nothing."""
        event = MemoryEvent(event_id=event_id, type=EventType.ANNOTATION, at=at, annotation=annotation)
        return await self.append_events(session_id, agent_id, run_id, [event], root_run_id=root_run_id, tenant=tenant)

    @abstractmethod
    async def load_run(
        self, agent_id: str, run_id: str, *, history: bool = True, tenant: str | None = None
    ) -> Snapshot:
        """The run's events, and with `history` the transcript that it went on from; empty for an unknown run."""

    @abstractmethod
    async def search(
        self,
        text: str,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        agent_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = FOUND_DEFAULT,
        tenant: str | None = None,
    ) -> tuple[FoundEvent, ...]:
        """User and assistant messages of the tenant that hold every word of `text`, the best first.

        Each given filter must hold exactly; `since` is inclusive, `until` exclusive. Words are compared without case
        and accents; nothing in `text` is an operator. What a run was seeded with is not news and is not found.
        """

    @abstractmethod
    async def forget(self, session_id: str, *, tenant: str | None = None) -> None:
        """Erases the events of a session, known or not, and refuses later ones. Safe to repeat."""

    @abstractmethod
    async def forget_one_shot(self, root_run_id: str, *, tenant: str | None = None) -> None:
        """Erases the events of a one-shot tree by its root, and refuses later ones. Safe to repeat."""


class EntryStore(ABC):
    """Entries: values under keys, each in a scope of its own. An expired entry is gone for every reader."""

    @abstractmethod
    async def store(self, entry: MemoryEntry, *, expected: int | None = None) -> StoredEntry:
        """The entry's next version; or the present one when it says the same already, so a retry adds nothing.

        `expected` makes it a compare-and-set: the version that must be there, 0 for none (EntryConflict otherwise).
        Two writers of equal entries both succeed; give each its `source` where one of them must lose. Raises
        SessionPurged for the scope of a forgotten session, and what an embedder raises, before anything is written.
        """

    @abstractmethod
    async def get(
        self, scope: MemoryScope, scope_id: str, key: str, *, tenant: str | None = None
    ) -> StoredEntry | None:
        """The newest version; None when there is none. A null or false value is found."""

    @abstractmethod
    async def list(
        self,
        scope: MemoryScope,
        scope_id: str,
        *,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
        tenant: str | None = None,
    ) -> Page[StoredEntry]:
        """The scope's entries by key, in code point order. Pages are stable: what stays is read exactly once.

        A page holds at most `limit` entries (1 to 1,000) and about 8 MiB. Raises InvalidCursor for another scope's.
        """

    @abstractmethod
    async def search(
        self, scope: MemoryScope, scope_id: str, query: str, *, limit: int = FOUND_DEFAULT, tenant: str | None = None
    ) -> tuple[FoundEntry, ...]:
        """The scope's entries that fit `query`, the best first: by their words, and by meaning with an embedder."""

    @abstractmethod
    async def history(
        self, scope: MemoryScope, scope_id: str, key: str, *, tenant: str | None = None
    ) -> tuple[StoredEntry, ...]:
        """The living versions of an entry, oldest first, the present one last; empty when there is none."""

    @abstractmethod
    async def delete(self, scope: MemoryScope, scope_id: str, key: str, *, tenant: str | None = None) -> bool:
        """Erases one entry with its history; tells whether there was one."""

    @abstractmethod
    async def delete_scope(self, scope: MemoryScope, scope_id: str, *, tenant: str | None = None) -> int:
        """Erases all entries of one scope with their history; gives how many there were. The scope stays usable."""

    @abstractmethod
    async def delete_source(self, run_id: str, *, record_id: str | None = None, tenant: str | None = None) -> int:
        """Erases every version that this run (or this record of it) wrote, in all scopes of the tenant.

        An entry goes back to the newest version that is left, which has a vector again after `embed_missing`. Gives how
        many versions there were.
        """

    @abstractmethod
    async def delete_expired(self) -> int:
        """Erases the bytes of what has expired, of every tenant; gives how many versions there were."""

    @abstractmethod
    async def forget(self, session_id: str, *, tenant: str | None = None) -> None:
        """Erases the entries of a session's scope and refuses later ones. Safe to repeat."""

    @abstractmethod
    async def embed_missing(self, limit: int = 1000) -> int:
        """Gives vectors to at most `limit` entries that have none of this store's embedder; gives how many.

        For entries that were stored before there was an embedder, and for versions that are present again. Without an
        embedder it does nothing.
        """
