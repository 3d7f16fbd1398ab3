"""What a host holds while it is open: a store, a runtime over it, and the hub through which watchers hear of both."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from actum.base.clock import Clock, Ids
from actum.base.errors import StoreUnavailable
from actum.engines.contract import Engine
from actum.host.memories import Projection, memory_of, required
from actum.host.streams import Wait, delta_listener
from actum.memory.opening import Memory
from actum.memory.search import Embedder
from actum.planning.policy import PolicyHook, RunPolicy
from actum.planning.prompt import PromptRegistry
from actum.runtime.agent import Agent
from actum.runtime.consent import ConfirmRule
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
    memory: Memory | None
    projection: Projection | None
    loop: asyncio.AbstractEventLoop


@dataclass(frozen=True)
class Wiring:
    """How a host is opened, each time that it is.

    `memory` is given, or None for the one at the store's URL; with `event_history` the run log is projected into it.
    """

    where: str | OwnedStore
    agents: Iterable[Agent]
    engine: Callable[[], Engine]
    clock: Clock
    ids: Ids
    wait: Wait
    memory: Memory | None = None
    embedder: Embedder | None = None
    event_history: bool = False
    prompts: PromptRegistry | None = None
    policy: RunPolicy | None = None
    policy_hook: PolicyHook | None = None
    confirm: ConfirmRule | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Opened]:
        """The pieces, put together; runs whose process is gone go on. On leaving, what still runs is parked.

        A store that was given is left open; it is its owner's.
        """
        async with AsyncExitStack() as stack:
            where = self.where
            store = await stack.enter_async_context(open_store(where)) if isinstance(where, str) else where
            memory = await stack.enter_async_context(memory_of(where, self.memory, self.embedder, self.clock))
            hub = Hub()
            projection = Projection(store, required(memory), self.wait) if self.event_history else None
            if projection is not None:
                # Before the runtime, so that it ends after it: the last records are delivered too.
                await stack.enter_async_context(projection.running())

            def stored(run_id: str, session_id: str | None) -> None:
                hub.wake(run_id, session_id)
                if projection is not None:
                    projection.wake(run_id, session_id)

            runtime = Runtime(
                store,
                self.engine(),
                entries=memory.entries if memory is not None else None,
                prompts=self.prompts,
                policy=self.policy,
                policy_hook=self.policy_hook,
                confirm=self.confirm,
                clock=self.clock,
                ids=self.ids,
                wait=self.wait,
                listener=delta_listener(hub),
                stored=stored,
            )
            stack.push_async_callback(runtime.close)
            for agent in self.agents:
                runtime.register(agent)
            await runtime.recover()
            stack.callback(
                hub.close, StoreUnavailable(reason="this host was closed; go on from the last id in another")
            )
            yield Opened(store, runtime, hub, memory, projection, asyncio.get_running_loop())
