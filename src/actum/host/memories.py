"""A host's memory: which one it is, how the run log gets into it, and how a session is forgotten."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Literal, TypeAlias

from actum.base.checks import refuse
from actum.base.clock import Clock
from actum.base.errors import ActumError
from actum.memory.delivery import Delivered, deliver_events
from actum.memory.opening import Memory, open_memory
from actum.memory.search import Embedder
from actum.memory.view import MemoryView
from actum.storage.contract import OwnedStore

# Whether a purge takes the product's memory of the session along.
AfterPurge: TypeAlias = Literal["erase", "keep"]

_RETRY_S: Final = 1.0


@asynccontextmanager
async def memory_of(
    where: str | OwnedStore, given: Memory | None, embedder: Embedder | None, clock: Clock
) -> AsyncIterator[Memory | None]:
    """The memory that was given; else, for a host that opens a URL itself, the one in the same place."""
    if given is not None or not isinstance(where, str):
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
        user_id=user_id if user_id is not None else session.metadata.get("user_id"),
        agent_id=agent_id,
        tenant=session.tenant,
    )


async def forget_session(store: OwnedStore, memory: Memory, session_id: str) -> None:
    """Forgets what the product remembers of an ended session, before its runtime data goes.

    Done first, so that a purge that breaks off is repeated until both are gone, and no late delivery brings it back.
    """
    tenant = (await store.load_session(session_id)).tenant
    await memory.events.forget(session_id, tenant=tenant)
    await memory.entries.forget(session_id, tenant=tenant)


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
        """What the run log has and the event history has not."""
        return await deliver_events(self._store, self._memory.events)

    async def run(self) -> None:
        """Delivers after each news. A store or memory that is away is asked again; what it missed is still there."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                failed = bool((await self.deliver()).failed)
            except ActumError:
                failed = True
            if failed:
                await self._wait(_RETRY_S)
                self._news.set()
