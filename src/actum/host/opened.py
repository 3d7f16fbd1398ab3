"""What a host holds while it is open: a store, a runtime over it, and the hub through which watchers hear of both."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from actum.base.clock import Clock, Ids
from actum.base.errors import StoreUnavailable
from actum.engines.contract import Engine
from actum.host.streams import Wait, delta_listener
from actum.runtime.agent import Agent
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore
from actum.storage.opening import open_store
from actum.stream.hub import Hub


@dataclass(frozen=True)
class Opened:
    """An open host's pieces. They belong to `loop`."""

    store: OwnedStore
    runtime: Runtime
    hub: Hub
    loop: asyncio.AbstractEventLoop


@dataclass(frozen=True)
class Wiring:
    """How a host is opened, each time that it is."""

    where: str | OwnedStore
    agents: Iterable[Agent]
    engine: Callable[[], Engine]
    clock: Clock
    ids: Ids
    wait: Wait

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Opened]:
        """The pieces, put together; runs whose process is gone go on. On leaving, what still runs is parked.

        A store that was given is left open; it is its owner's.
        """
        async with AsyncExitStack() as stack:
            where = self.where
            store = await stack.enter_async_context(open_store(where)) if isinstance(where, str) else where
            hub = Hub()
            runtime = Runtime(
                store,
                self.engine(),
                clock=self.clock,
                ids=self.ids,
                wait=self.wait,
                listener=delta_listener(hub),
                stored=hub.wake,
            )
            stack.push_async_callback(runtime.close)
            for agent in self.agents:
                runtime.register(agent)
            await runtime.recover()
            stack.callback(
                hub.close, StoreUnavailable(reason="this host was closed; go on from the last id in another")
            )
            yield Opened(store, runtime, hub, asyncio.get_running_loop())
