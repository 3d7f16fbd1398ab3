"""A run's loop in this process: the world's steps called directly, and repeated while the store is unavailable."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from actum.base.clock import Clock
from actum.base.errors import ContractError, RunNotRunning, StoreUnavailable
from actum.base.value import replace
from actum.engines.contract import Runnable
from actum.engines.orphans import stored_stop
from actum.lifecycle.states import RunStatus
from actum.loop.world import (
    Begun,
    Called,
    CallStep,
    ChildStep,
    Collected,
    CollectStep,
    Finished,
    FinishStep,
    Opened,
    OpenStep,
    Planned,
    PlanStep,
    RunRequest,
    Stop,
    Suspended,
    SuspendStep,
)
from actum.storage.contract import Store

S = TypeVar("S")
T = TypeVar("T")
B = TypeVar("B", RunRequest, ChildStep)
Wait = Callable[[float], Coroutine[Any, Any, None]]

RETRIES = 6
FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 1.0


class DrivenElsewhere(Exception):
    """Another process owns the run; this one waits for its end."""


@dataclass(eq=False)
class Driven:
    """A run that this engine has accepted: its task, and what its starter waits for."""

    digest: str | None
    started: asyncio.Future[None]
    stop: asyncio.Future[str]
    task: asyncio.Task[RunStatus] | None = None

    def tell(self, reason: str) -> None:
        """The run shall stop; only the first reason counts."""
        if not self.stop.done():
            self.stop.set_result(reason)


@dataclass(frozen=True)
class Ways:
    """What every run of one engine uses: its store and world, time, how it becomes a run's owner, and its children.

    `own` gives this process's owner id, None where the store knows no owners; `take` makes it the run's owner, and
    raises DrivenElsewhere when another process is. `watch_s` (seconds) is how often a long step looks
    into the store for a stop from elsewhere. `start_child` and `end_child` return once the child has come to its end.
    """

    store: Store
    world: Runnable
    clock: Clock
    wait: Wait
    watch_s: float
    own: Callable[[], Awaitable[str | None]]
    take: Callable[[str], Awaitable[None]]
    start_child: Callable[[ChildStep], Awaitable[None]]
    end_child: Callable[[str], Awaitable[None]]


class LocalContext:
    """A run's loop in this process: the world's steps called directly, and repeated while the store is unavailable."""

    def __init__(self, ways: Ways, run_id: str, driven: Driven) -> None:
        self._ways = ways
        self._run_id = run_id
        self._driven = driven
        self._watching: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Ends what this context does on its own; its loop is over."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})

    def now(self) -> datetime:
        """The present instant."""
        return self._ways.clock.now()

    async def begin(self, step: RunRequest) -> Begun:
        """Store the start, with this process as the run's owner."""
        return await self._begun(self._ways.world.begin, step)

    async def begin_child(self, step: ChildStep) -> Begun:
        """Store the start of this child, with its parent's link and this process as the child's owner."""
        return await self._begun(self._ways.world.begin_child, step)

    async def open(self, step: OpenStep) -> Opened:
        """Look where the run stands."""
        return await self._repeated(self._ways.world.open, step)

    async def plan(self, step: PlanStep) -> Planned:
        """Ask the planner, and store what it decides."""
        return await self._repeated(self._ways.world.plan, step)

    async def call(self, step: CallStep) -> Called:
        """Run one call's tool at most once."""
        return await self._repeated(self._ways.world.call, step)

    async def collect(self, step: CollectStep) -> Collected:
        """Store the answers of a step as one message."""
        return await self._repeated(self._ways.world.collect, step)

    async def suspend(self, step: SuspendStep) -> Suspended:
        """Store the checkpoint and all that the run waits for."""
        return await self._repeated(self._ways.world.suspend, step)

    async def finish(self, step: FinishStep) -> Finished:
        """Close every open call and store the end."""
        return await self._repeated(self._ways.world.finish, step)

    async def start_child(self, step: ChildStep) -> None:
        """Runs a child as a task of its own, which this wait does not end."""
        await self._ways.start_child(step)

    async def end_children(self, run_ids: tuple[str, ...]) -> None:
        """Tells these children to stop and waits for all of their ends."""
        await asyncio.gather(*(self._ways.end_child(each) for each in run_ids))

    async def cancel_requested(self) -> Stop:
        """Returns once somebody asked for a stop: told by this process, or found in the store."""
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        return Stop(reason=await asyncio.shield(self._driven.stop))

    async def shielded(self, work: Awaitable[T]) -> T:
        """`work` to its end."""
        return await asyncio.shield(work)

    async def _begun(self, verb: Callable[[B], Awaitable[Begun]], step: B) -> Begun:
        async def owned(step: B) -> Begun:
            return await verb(replace(step, owner=await self._ways.own()))

        begun = await self._repeated(owned, step)
        # A start that was stored before has the owner of that time, or of now.
        if begun.ended is None and begun.owner != await self._ways.own():
            await self._owned()
        if not self._driven.started.done():
            self._driven.started.set_result(None)
        return begun

    async def _owned(self) -> None:
        try:
            await self._repeated(self._ways.take, self._run_id)
        except RunNotRunning:
            self._driven.started.set_result(None)
            raise DrivenElsewhere from None  # it ended in this very moment, by another hand
        except DrivenElsewhere:
            self._driven.started.set_result(None)
            raise

    async def _watch(self) -> None:
        """Looks into the store now and then, as long as nobody has told of a stop; whoever asks hears what broke it."""
        try:
            while not self._driven.stop.done():
                await self._ways.wait(self._ways.watch_s)
                await self._look()
        except Exception as error:  # noqa: BLE001 - a watch that broke must not look like a run that nobody stops
            if not self._driven.stop.done():
                self._driven.stop.set_exception(error)

    async def _look(self) -> None:
        # A store that cannot be read now is asked again at the next look; the steps meet the same trouble and say so.
        with suppress(StoreUnavailable, ContractError):
            stop = await stored_stop(self._ways.store, await self._ways.store.load_run(self._run_id))
            if stop is not None:
                self._driven.tell(stop.reason)

    async def _repeated(self, verb: Callable[[S], Awaitable[T]], step: S) -> T:
        return await repeated(self._ways.wait, verb, step)


async def repeated(wait: Wait, verb: Callable[[S], Awaitable[T]], step: S) -> T:
    """`verb` with this step, again while the store is unavailable. Raises StoreUnavailable after the last retry."""
    pause = FIRST_WAIT_S
    for _ in range(RETRIES):
        try:
            return await verb(step)
        except StoreUnavailable:
            await wait(pause)
            pause = min(pause * 2, LONGEST_WAIT_S)
    return await verb(step)
