"""What every backend does alike with the arguments of its verbs: checks, identities, cursors and pages."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from actum.base.checks import identifier, instant, optional_identifier, refuse, several, text
from actum.base.errors import (
    InvalidCursor,
    InvalidValue,
    OwnerMismatch,
    RecordConflict,
    RunPurged,
    SessionPurged,
    shortened,
)
from actum.base.limits import COMMAND_RECORDS, CURSOR_CHARS, PAGE_BYTES, PAGE_ITEMS
from actum.base.value import conform, dump_json, load_json
from actum.memory.entries import MemoryEntry, ScopeKey, StoredEntry, copied, identity_digest
from actum.memory.events import MemoryEvent
from actum.records.record import Page


@dataclass(frozen=True, kw_only=True)
class RunKey:
    """A run of the event history and the group that it is forgotten with: its session, or the tree of its root."""

    tenant: str | None
    run_id: str
    agent_id: str
    session_id: str | None
    root_run_id: str | None
    history_run_id: str | None

    @classmethod
    def checked(
        cls,
        session_id: str | None,
        agent_id: str,
        run_id: str,
        root_run_id: str | None,
        history_run_id: str | None,
        tenant: str | None,
    ) -> Self:
        """The run of these ids. Raises InvalidValue."""
        session = optional_identifier("session_id", session_id)
        root = optional_identifier("root_run_id", root_run_id)
        if session is not None and root is not None:
            raise refuse("root_run_id", root, "is given for a run without a session")
        run = identifier("run_id", run_id)
        return cls(
            tenant=optional_identifier("tenant", tenant),
            run_id=run,
            agent_id=identifier("agent_id", agent_id),
            session_id=session,
            root_run_id=None if session is not None else root or run,
            history_run_id=optional_identifier("history_run_id", history_run_id),
        )

    @property
    def digest(self) -> bytes:
        """The run's exact identity."""
        return run_digest(self.tenant, self.run_id)

    @property
    def group(self) -> bytes:
        """The exact identity of what the run is forgotten with."""
        return group_digest(self.tenant, session_id=self.session_id, root_run_id=self.root_run_id)


def run_digest(tenant: str | None, run_id: str) -> bytes:
    """The exact identity of a run in the event history."""
    return identity_digest("run", tenant, run_id)


def group_digest(tenant: str | None, *, session_id: str | None = None, root_run_id: str | None = None) -> bytes:
    """The exact identity of a session, or of a one-shot tree, in the event history."""
    return identity_digest("events", tenant, session_id, root_run_id)


@dataclass(frozen=True, kw_only=True)
class EventSearch:
    """A search of the event history, checked."""

    tenant: str | None
    text: str
    session_id: str | None
    run_id: str | None
    agent_id: str | None
    since: datetime | None
    until: datetime | None
    limit: int

    @classmethod
    def checked(
        cls,
        asked: str,
        *,
        session_id: str | None,
        run_id: str | None,
        agent_id: str | None,
        since: datetime | None,
        until: datetime | None,
        limit: int,
        tenant: str | None,
    ) -> Self:
        """The search of these arguments. Raises InvalidValue; an empty filter is no filter that was left out."""
        return cls(
            tenant=optional_identifier("tenant", tenant),
            text=text("text", asked),
            session_id=optional_identifier("session_id", session_id),
            run_id=optional_identifier("run_id", run_id),
            agent_id=optional_identifier("agent_id", agent_id),
            since=None if since is None else instant("since", since),
            until=None if until is None else instant("until", until),
            limit=checked_limit(limit),
        )


def checked_events(events: Sequence[MemoryEvent]) -> tuple[MemoryEvent, ...]:
    """The events in their exact form, each id once."""
    events = several("events", events, MemoryEvent, "events")
    if len(events) > COMMAND_RECORDS:
        raise refuse("events", len(events), f"are at most {COMMAND_RECORDS} in one call")
    seen: set[str] = set()
    exact = []
    for i, event in enumerate(events):
        exact.append(conform(event, f"events[{i}]"))
        if event.event_id in seen:
            raise refuse(f"events[{i}].event_id", event.event_id, "is given once, not twice")
        seen.add(event.event_id)
    return tuple(exact)


def checked_entry(entry: MemoryEntry) -> MemoryEntry:
    """The entry in its exact form; of one that a store gave, what its writer had given."""
    if type(entry) is StoredEntry:
        fields = {name: getattr(entry, name) for name in MemoryEntry.__struct_fields__}
        return conform(MemoryEntry(**fields))
    if type(entry) is not MemoryEntry:
        raise refuse("entry", entry, "is a MemoryEntry")
    return conform(entry)


def checked_limit(limit: int) -> int:
    """How many items to give, 1 to 1,000."""
    if type(limit) is not int or not 1 <= limit <= PAGE_ITEMS:
        raise refuse("limit", limit, f"is a whole number from 1 to {PAGE_ITEMS}")
    return limit


def entry_cursor(scope: ScopeKey, after: str | None) -> str:
    """The cursor behind the entry with this key; None stands before the first entry."""
    place = [] if after is None else [after]
    return base64.urlsafe_b64encode(dump_json([scope.digest.hex()[:16], *place])).decode()


def key_after(scope: ScopeKey, cursor: str | None) -> str | None:
    """The key behind which a list goes on. Raises InvalidCursor for another form or scope."""
    if cursor is None:
        return None
    if type(cursor) is str and len(cursor) <= CURSOR_CHARS:
        try:
            match load_json(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)):
                case [str(name)] if name == scope.digest.hex()[:16]:
                    return None
                case [str(name), str(key)] if name == scope.digest.hex()[:16]:
                    return key
        except (binascii.Error, ValueError, InvalidValue):
            pass
    raise InvalidCursor(cursor=shortened(cursor), rule="is a cursor of this scope's list")


def forgotten(key: RunKey) -> SessionPurged | RunPurged:
    """The error for a write to what was forgotten."""
    if key.session_id is not None:
        return SessionPurged(session_id=key.session_id)
    return RunPurged(run_id=key.root_run_id or key.run_id)


def same_run(stored: RunKey, given: RunKey, history_run_id: str | None) -> str | None:
    """The run's history when these two are one run; raises OwnerMismatch or RecordConflict when they differ."""
    for name in ("agent_id", "session_id", "root_run_id"):
        before, now = getattr(stored, name), getattr(given, name)
        if before != now:
            raise OwnerMismatch(run_id=given.run_id, field=name, stored=before, given=now)
    if history_run_id is not None and given.history_run_id not in (None, history_run_id):
        raise RecordConflict(run_id=given.run_id, event_key="run_started", field="history_run_id")
    return history_run_id or given.history_run_id


def page_of(scope: ScopeKey, entries: Sequence[StoredEntry], limit: int, after: str | None) -> Page[StoredEntry]:
    """A page out of the entries behind `after`; it ends early once its values pass 8 MiB."""
    items: list[StoredEntry] = []
    room = PAGE_BYTES
    for entry in entries[:limit]:
        if items and room <= 0:
            break
        room -= len(dump_json(entry.value))
        items.append(copied(entry))
    return Page(
        items=tuple(items),
        cursor=entry_cursor(scope, items[-1].key if items else after),
        more=len(entries) > len(items),
    )
