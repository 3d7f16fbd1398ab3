"""A host's memory: which one it is, whose entries are whose, and how the run log gets into it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Literal, TypeAlias

from actum.base.checks import refuse
from actum.base.clock import Clock
from actum.base.errors import ActumError
from actum.base.value import replace
from actum.memory.arguments import checked_entry
from actum.memory.delivery import Delivered, deliver_events
from actum.memory.entries import MemoryEntry, MemoryScope
from actum.memory.opening import Memory, open_memory
from actum.memory.search import Embedder
from actum.memory.view import MemoryView, user_of
from actum.storage.contract import OwnedStore

# Whether a purge takes the product's memory of the session along.
AfterPurge: TypeAlias = Literal["erase", "keep"]

_RETRY_S: Final = 1.0


@asynccontextmanager
async def memory_of(
    where: str | OwnedStore, given: Memory | None, embedder: Embedder | None, clock: Clock
) -> AsyncIterator[Memory | None]:
    """The memory that was given; else, for a host that opens a URL itself, the one in the same place.

    Raises InvalidValue for an embedder beside a memory that is open already: it would have no effect.
    """
    if given is not None or not isinstance(where, str):
        if embedder is not None:
            raise refuse("embedder", embedder, "is given to open_memory, for a memory that the host does not open")
        yield given
        return
    async with open_memory(where, embedder=embedder, clock=clock) as memory:
        yield memory


def required(memory: Memory | None) -> Memory:
    """The memory. Raises InvalidValue on a host over a store whose caller gave it none."""
    if memory is None:
        raise refuse("memory", None, "is given to Host.open together with a store; with a URL the host has its own")
    return memory


async def view_of_session(
    store: OwnedStore, memory: Memory, session_id: str, user_id: str | None, agent_id: str | None
) -> MemoryView:
    """The scopes of one session, narrowest first; the user is the session's `user_id` unless given."""
    session = await store.load_session(session_id)
    return MemoryView.of(
        memory.entries,
        session_id=session_id,
        user_id=user_id if user_id is not None else user_of(session.metadata),
        agent_id=agent_id,
        tenant=session.tenant,
    )


async def placed(store: OwnedStore, entry: MemoryEntry) -> MemoryEntry:
    """The entry as a host keeps it: one of a session belongs to the session's tenant, which may be left out.

    Else a view of the session would not find it, and an erasure would not reach it. Raises SessionNotFound,
    SessionPurged, and InvalidValue for another tenant than the session's.
    """
    exact = checked_entry(entry)
    if exact.scope is not MemoryScope.SESSION:
        return exact
    tenant = (await store.load_session(exact.scope_id)).tenant
    if exact.tenant not in (None, tenant):
        raise refuse("tenant", exact.tenant, "is that of the entry's session, or left out")
    return replace(exact, tenant=tenant)


class Projection:
    """Brings the event history up to the run log while a host is open: after each run, and before it closes."""

    def __init__(self, store: OwnedStore, memory: Memory, wait: Callable[[float], Awaitable[None]]) -> None:
        self._store = store
        self._memory = memory
        self._wait = wait
        self._news = asyncio.Event()

    def wake(self, _run_id: str, _session_id: str | None) -> None:
        """Something was stored."""
        self._news.set()

    async def deliver(self) -> Delivered:
        """What the run log has and the event history has not, however many scopes that is."""
        scopes = events = 0
        while True:
            done = await deliver_events(self._store, self._memory.events)
            scopes, events = scopes + done.scopes, events + done.events
            if not done.more or not done.scopes:
                return Delivered(scopes, events, done.failed, more=done.more)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Delivers what there is, then after each news, and once more on leaving for what came last."""
        await self._bring_up()
        task = asyncio.create_task(self._follow(), name="actum event history")
        try:
            yield
        finally:
            task.cancel()
            (ended,) = await asyncio.gather(task, return_exceptions=True)
            if isinstance(ended, Exception):
                raise ended
            await self._bring_up()

    async def _follow(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            if not await self._bring_up():
                await self._wait(_RETRY_S)

    async def _bring_up(self) -> bool:
        """Delivers; where a store or memory is away it is news still, and what was missed is in the run log."""
        try:
            done = not (await self.deliver()).failed
        except ActumError:
            done = False
        if not done:
            self._news.set()
        return done
