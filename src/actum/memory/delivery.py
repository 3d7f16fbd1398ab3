"""The projection: from the run log into the event history, at least once, with exact retry.

A scope is read on from where it was handled, its events are stored, and only then is it said to be handled. A process
may die anywhere in between: the next one delivers the same records again, the same events come out of them, and the
memory passes over those that it has. So a repeated delivery ends in the same memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from actum.base.errors import ActumError, RunNotFound, RunPurged, SessionNotFound, SessionPurged
from actum.base.limits import COMMAND_RECORDS, PAGE_ITEMS, PAGE_ITEMS_DEFAULT
from actum.lifecycle.commands import ScopeBehind
from actum.lifecycle.states import Run, Session
from actum.memory.contract import MemoryStore
from actum.memory.events import MemoryEvent
from actum.memory.project import events_of, history_of
from actum.records.record import Page, Record, position_of, record_id, scope_digest

# The name under which the store keeps how far the event history has come.
CONSUMER: Final = "memory"


class RunLog(Protocol):
    """What the projection reads of a store with administration."""

    async def scopes_behind(self, consumer: str, limit: int = PAGE_ITEMS_DEFAULT) -> tuple[ScopeBehind, ...]:
        """Scopes with records that the consumer has not handled."""
        ...

    async def advance(
        self, consumer: str, position: int, *, session_id: str | None = None, root_run_id: str | None = None
    ) -> None:
        """The consumer has handled a scope up to `position`."""
        ...

    async def list_session_run_records(
        self,
        session_id: str,
        *,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
        types: Sequence[str] | None = None,
    ) -> Page[Record]:
        """The records of a session in commit order."""
        ...

    async def list_scope_records(
        self,
        root_run_id: str,
        *,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
        types: Sequence[str] | None = None,
    ) -> Page[Record]:
        """The records of a one-shot tree in commit order."""
        ...

    async def load_session(self, session_id: str) -> Session:
        """The session."""
        ...

    async def load_run(self, run_id: str) -> Run:
        """The run."""
        ...


@dataclass(frozen=True)
class Failed:
    """A scope that could not be delivered to its end, and why. It stays behind; the others went on."""

    scope: ScopeBehind
    error: ActumError


@dataclass(frozen=True)
class Delivered:
    """What one call delivered: scopes brought to their end, events that were new, and scopes that failed.

    `more` says that as many scopes were behind as were asked for, so that there may be others.
    """

    scopes: int = 0
    events: int = 0
    failed: tuple[Failed, ...] = ()
    more: bool = False


@dataclass
class _RunDelta:
    """What a page of records tells of one run."""

    agent_id: str
    history_run_id: str | None = None
    events: list[MemoryEvent] = field(default_factory=list)


async def deliver_events(
    log: RunLog, memory: MemoryStore, *, consumer: str = CONSUMER, limit: int = PAGE_ITEMS
) -> Delivered:
    """Brings the event history up to the run log, over at most `limit` scopes that are behind.

    Call it after runs have ended, on a timer, at a start: whenever, and from as many processes as there are. A scope
    that was purged meanwhile is left out; one that the memory has forgotten is passed over for good. A scope that fails
    is told, and does not hold up the others. Raises StoreUnavailable when the run log cannot be read at all.
    """
    scopes = events = 0
    failed = []
    behind = await log.scopes_behind(consumer, limit)
    for scope in behind:
        try:
            events += await _deliver(log, memory, consumer, scope)
            scopes += 1
        except (SessionPurged, SessionNotFound, RunPurged, RunNotFound):
            continue  # purged while it was read: nothing is left to deliver, and nothing to come back to
        except ActumError as error:
            failed.append(Failed(scope, error))
    return Delivered(scopes, events, tuple(failed), more=len(behind) == limit)


async def _deliver(log: RunLog, memory: MemoryStore, consumer: str, scope: ScopeBehind) -> int:
    digest = scope_digest(session_id=scope.session_id, root_run_id=scope.root_run_id)
    tenant = await _tenant_of(log, scope)
    cursor, more, added = record_id(digest, scope.position), True, 0
    while more:
        page = await _page(log, scope, cursor)
        try:
            added += await _keep(memory, scope, tenant, page.items)
        except (SessionPurged, RunPurged):
            # Forgotten here, not yet purged there: an erasure is under way, and its memory part comes first.
            await log.advance(consumer, scope.last, session_id=scope.session_id, root_run_id=scope.root_run_id)
            return added
        cursor, more = page.cursor, page.more
        position = position_of(cursor, digest)
        await log.advance(consumer, position, session_id=scope.session_id, root_run_id=scope.root_run_id)
    return added


async def _tenant_of(log: RunLog, scope: ScopeBehind) -> str | None:
    if scope.session_id is not None:
        return (await log.load_session(scope.session_id)).tenant
    return (await log.load_run(scope.root_run_id or "")).tenant


async def _page(log: RunLog, scope: ScopeBehind, cursor: str) -> Page[Record]:
    if scope.session_id is not None:
        return await log.list_session_run_records(scope.session_id, cursor=cursor, limit=PAGE_ITEMS)
    return await log.list_scope_records(scope.root_run_id or "", cursor=cursor, limit=PAGE_ITEMS)


async def _keep(memory: MemoryStore, scope: ScopeBehind, tenant: str | None, records: Sequence[Record]) -> int:
    """Stores what the records tell, run by run; gives how many events were new."""
    runs: dict[str, _RunDelta] = {}
    for record in records:
        told = runs.setdefault(record.run_id, _RunDelta(record.agent_id))
        told.history_run_id = told.history_run_id or history_of(record)
        told.events += events_of(record)
    added = 0
    for run_id, told in runs.items():
        # A run without a message is kept too when it names its history: a stopped run shows what it would have gone on.
        for start in range(0, len(told.events) or bool(told.history_run_id), COMMAND_RECORDS):
            added += await memory.append_events(
                scope.session_id,
                told.agent_id,
                run_id,
                told.events[start : start + COMMAND_RECORDS],
                root_run_id=scope.root_run_id,
                history_run_id=told.history_run_id,
                tenant=tenant,
            )
    return added
