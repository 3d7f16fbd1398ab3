"""Loops as tasks of this process.

A process that runs loops holds an owner lock for life, and owns each run that it drives. When it dies, the lock goes,
and another process may take the run and go on from its records.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Final

from actum.base.clock import Clock, SystemClock, wait
from actum.base.errors import (
    NotFound,
    RunConflict,
    RunCorrupt,
    RunNotFound,
    RunNotReady,
    RunNotRunning,
    RunPurged,
)
from actum.engines.context import (
    FIRST_WAIT_S,
    LONGEST_WAIT_S,
    Driven,
    DrivenElsewhere,
    LocalContext,
    Wait,
    Ways,
    repeated,
)
from actum.engines.contract import Completion, RecoveryPolicy, Runnable
from actum.engines.orphans import Way, lacking, undriven, way_of
from actum.lifecycle.states import Run, RunStatus
from actum.loop.drive import drive, drive_child, give_up, resume
from actum.loop.world import PARENT_ENDED, ChildStep, RunRequest
from actum.storage.contract import OwnedStore, Store

_LOG: Final = logging.getLogger(__name__)


class LocalEngine:
    """Runs loops in this process. `watch_s` is how often, in seconds, a long step looks for a stop from elsewhere."""

    name = "local"

    def __init__(self, *, clock: Clock | None = None, wait: Wait = wait, watch_s: float = 1.0) -> None:
        self._clock = clock or SystemClock()
        self._wait = wait
        self._watch_s = watch_s
        self._store: Store | None = None
        self._world: Runnable | None = None
        self._owner: str | None = None
        self._holding = AsyncExitStack()
        self._taking_office = asyncio.Lock()
        self._runs: dict[str, Driven] = {}
        self._broken: dict[str, BaseException] = {}
        self._told: set[str] = set()
        self._closed = False

    def attach(self, store: Store, world: Runnable) -> None:
        """Use this store and world."""
        if self._world is not None:
            raise RuntimeError("this engine belongs to another runtime already")
        self._store, self._world = store, world

    async def accept(self, request: RunRequest) -> None:
        """Runs the request; returns once its start is durable."""
        known = self._runs.get(request.run_id)
        if known is None:
            known = self._drive(request.run_id, request.request_digest, lambda ctx: drive(ctx, request))
        elif known.digest != request.request_digest:
            raise RunConflict(run_id=request.run_id, field="request")
        await asyncio.wait({known.started})
        known.started.result()

    async def completion(self, run_id: str) -> Completion | None:
        """How a run ended, None while it has not."""
        run = await self._attached()[0].load_run(run_id)
        if run.status is RunStatus.RUNNING or run.ended_at is None:
            return None
        return Completion(run_id=run_id, status=run.status, completed_at=run.ended_at)

    async def wait(self, run_id: str) -> Completion:
        """Waits for a run's end, wherever it is driven.

        Raises RunNotReady when the run is parked here, or when nobody drives it and its agent is not known here.
        """
        driven = self._runs.get(run_id)
        if driven is not None and driven.task is not None:
            await asyncio.wait({driven.task})
        done = await repeated(self._wait, self.completion, run_id)
        if done is None and run_id in self._broken:
            raise self._broken[run_id]
        return done or await self._follow(run_id)

    async def cancel(self, run_id: str, reason: str) -> None:
        """Tells the loop, if it runs here."""
        driven = self._runs.get(run_id)
        if driven is not None:
            driven.tell(reason)

    async def recover(self, policy: RecoveryPolicy = "continue") -> tuple[str, ...]:
        """Takes the running runs whose owner is gone, and goes on with them, or ends them.

        A run that is left because its agent is not known here is named in the log, once.
        """
        store, _ = self._attached()
        if not isinstance(store, OwnedStore):
            return ()
        owner = await self._own()
        taken: list[str] = []
        cursor: str | None = None
        while True:
            page = await store.find_runs(status=RunStatus.RUNNING, cursor=cursor)
            for run in page.items:
                way = await self._orphaned(run, policy) if owner is not None else None
                if way is None or owner is None:
                    continue
                if await _taken(store, run, owner) and run.run_id not in self._runs:
                    self._go_on(run.run_id, way)
                    taken.append(run.run_id)
            if not page.more:
                return tuple(taken)
            cursor = page.cursor

    async def take_up(self, run_id: str) -> None:
        """Goes on with a run that nobody drives any more."""
        store, _ = self._attached()
        if run_id in self._runs or not isinstance(store, OwnedStore):
            return  # without owners nobody can tell a dead process from a slow one
        run = await repeated(self._wait, store.load_run, run_id)
        way = await self._way(run, "continue") if run.status is RunStatus.RUNNING else Way(None)
        if way.policy is None:
            return
        if await self._free(run) and run_id not in self._runs:
            self._go_on(run_id, way, presumed_dead=run.owner is not None)

    async def ensure(self, run_id: str, policy: RecoveryPolicy = "continue") -> None:
        """Takes the run if its owner is gone, and waits for its end."""
        store, _ = self._attached()
        run = await repeated(self._wait, store.load_run, run_id) if run_id not in self._runs else None
        if run is None:
            raise RunNotReady(run_id=run_id)
        if run.status is not RunStatus.RUNNING:
            return
        way = await self._way(run, policy)
        if way.lacks_agent and way.policy is None:
            await self._refuse_undriven(run)
        if way.policy is None or not await self._free(run):
            raise RunNotReady(run_id=run_id)
        driven = self._runs.get(run_id) or self._go_on(run_id, way)
        await self._over_here(run_id, driven)

    async def close(self) -> None:
        """Parks what still runs, and gives up the owner lock."""
        self._closed = True
        tasks = [driven.task for driven in self._runs.values() if driven.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._holding.aclose()
        self._owner = None

    def _attached(self) -> tuple[Store, Runnable]:
        if self._store is None or self._world is None:
            raise RuntimeError("this engine is not attached to a runtime")
        return self._store, self._world

    async def _orphaned(self, run: Run, policy: RecoveryPolicy) -> Way | None:
        """How a run whose owner is gone comes to its end here; None for any other, and where it cannot."""
        # A run that is this process's own and has no loop here lost it to an error; nobody else may take it.
        if run.run_id in self._runs or await self._alive_elsewhere(run):
            return None
        try:
            way = await self._way(run, policy)
        except RunCorrupt:
            return None  # started by hand through the store, not by a runtime
        except (NotFound, RunPurged):
            return None  # gone by now
        if way.policy is not None:
            return way
        if way.lacks_agent and run.run_id not in self._told:
            self._told.add(run.run_id)
            _LOG.warning("Run %r stays as it is: %s", run.run_id, lacking(run))
        return None

    async def _way(self, run: Run, policy: RecoveryPolicy) -> Way:
        store, world = self._attached()
        return await way_of(store, world, self.name, run, policy)

    async def _alive_elsewhere(self, run: Run) -> bool:
        """Whether another process, which lives, owns the run."""
        store = self._attached()[0]
        if not isinstance(store, OwnedStore) or run.owner in (None, self._owner):
            return False
        return await store.owner_alive(run.owner)

    async def _refuse_undriven(self, run: Run) -> None:
        """Raises RunNotReady for a run whose agent is not known here when the process that owned it is gone.

        Nothing while a living process owns it, nor where no owner tells whether one does.
        """
        if run.owner in (None, self._owner) or run.run_id in self._runs or await self._alive_elsewhere(run):
            return
        # Read again: another process may have taken the run before its dead owner was asked for.
        now = await self._attached()[0].load_run(run.run_id)
        if now.status is RunStatus.RUNNING and now.owner == run.owner:
            raise undriven(run)

    async def _refuse_lost(self, run_id: str) -> None:
        """Raises RunNotReady when waiting for the run is in vain here."""
        run = await self._attached()[0].load_run(run_id)
        if run.status is not RunStatus.RUNNING or run.owner is None or await self._alive_elsewhere(run):
            return
        if (await self._way(run, "continue")).lacks_agent:
            await self._refuse_undriven(run)

    def _go_on(self, run_id: str, way: Way, *, presumed_dead: bool = True) -> Driven:
        async def taken_up(ctx: LocalContext) -> RunStatus:
            if way.policy == "fail":
                return await give_up(ctx, run_id, stop=way.stop)
            return await resume(ctx, run_id, presumed_dead=presumed_dead)

        driven = self._drive(run_id, None, taken_up)
        driven.started.set_result(None)
        return driven

    def _drive(self, run_id: str, digest: str | None, loop: Callable[["LocalContext"], Awaitable[RunStatus]]) -> Driven:
        if self._closed:
            raise RuntimeError("this engine is closed")
        store, world = self._attached()
        running = asyncio.get_running_loop()
        driven = Driven(digest, running.create_future(), running.create_future())
        ways = Ways(
            store,
            world,
            self._clock,
            self._wait,
            self._watch_s,
            self._own,
            self._take,
            self._start_child,
            self._end_child,
        )
        context = LocalContext(ways, run_id, driven)
        self._runs[run_id] = driven
        self._broken.pop(run_id, None)
        driven.task = asyncio.create_task(self._to_its_end(run_id, context, loop), name=f"actum run {run_id}")
        driven.task.add_done_callback(lambda task: self._over(run_id, driven, task))
        return driven

    async def _to_its_end(
        self, run_id: str, context: LocalContext, loop: Callable[[LocalContext], Awaitable[RunStatus]]
    ) -> RunStatus:
        try:
            return await loop(context)
        except DrivenElsewhere:
            return (await self._follow(run_id)).status
        finally:
            await context.close()

    def _over(self, run_id: str, driven: Driven, task: asyncio.Task[RunStatus]) -> None:
        """The loop is over: whoever waits hears how, also of a task that was parked before its first step.

        What stopped a started run is kept for those who ask later: the run stays `running`, as the store says.
        """
        self._runs.pop(run_id, None)
        self._attached()[1].forget(run_id)
        error = RunNotReady(run_id=run_id) if task.cancelled() else task.exception()
        if driven.started.done():
            if error is not None:
                self._broken[run_id] = error
        elif error is not None:
            driven.started.set_exception(error)
            driven.started.exception()  # its starter may have gone; then nobody is to be told

    async def _start_child(self, step: ChildStep) -> None:
        """A child to its end, or until it waits; one that was never begun begins here."""

        async def begin(ctx: LocalContext) -> RunStatus:
            try:
                return await drive_child(ctx, step)
            except DrivenElsewhere:
                return RunStatus.RUNNING  # its end is waited for as that of any other run

        if await self._running(step.child_run_id) is None and step.child_run_id not in self._runs:
            await self._over_here(step.child_run_id, self._drive(step.child_run_id, None, begin))
        await self._settled(step.child_run_id)

    async def _end_child(self, run_id: str) -> None:
        driven = self._runs.get(run_id)
        if driven is not None:
            driven.tell(PARENT_ENDED)
        await self._settled(run_id)

    async def _settled(self, run_id: str) -> None:
        """The end of a run, wherever it is driven; one that nobody drives any more goes on here."""
        pause = FIRST_WAIT_S
        while True:
            driven = self._runs.get(run_id)
            run = await self._running(run_id) if driven is None else None
            if driven is None and run is None:
                return
            if run is not None and not await self._alive_elsewhere(run):
                driven = await self._taken_up(run)
            if driven is not None:
                await self._over_here(run_id, driven)
                continue
            await self._wait(pause)
            pause = min(pause * 2, LONGEST_WAIT_S)

    async def _taken_up(self, run: Run) -> Driven | None:
        """The loop of a run that nobody else drives; None when somebody else was quicker, or may still be."""
        # Whoever started it: a child is of its parent's engine.
        way = await way_of(*self._attached(), None, run, "continue")
        if way.policy is None:
            await self._refuse_undriven(run)
            return None
        if not await self._free(run):
            return None
        return self._runs.get(run.run_id) or self._go_on(run.run_id, way, presumed_dead=run.owner is not None)

    async def _over_here(self, run_id: str, driven: Driven) -> None:
        """Waits until a loop of this process is over. Raises what stopped it."""
        if driven.task is not None:
            await asyncio.wait({driven.task})
            if driven.task.cancelled():
                raise RunNotReady(run_id=run_id)
            driven.task.result()

    async def _running(self, run_id: str) -> Run | None:
        """The run while the store says that it runs; None when it has ended, or was never begun."""
        try:
            run = await repeated(self._wait, self._attached()[0].load_run, run_id)
        except RunNotFound:
            return None
        return run if run.status is RunStatus.RUNNING else None

    async def _free(self, run: Run) -> bool:
        """Whether this process may go on with the run: it is its own now, or the store knows no owners."""
        store, owner = self._attached()[0], await self._own()
        if owner is None or not isinstance(store, OwnedStore):
            return True
        return not await self._alive_elsewhere(run) and await _taken(store, run, owner)

    async def _follow(self, run_id: str) -> Completion:
        """The end of a run that is driven elsewhere, or has ended. Raises RunNotReady when nobody drives it."""
        pause = FIRST_WAIT_S
        while (done := await repeated(self._wait, self.completion, run_id)) is None:
            await repeated(self._wait, self._refuse_lost, run_id)
            await self._wait(pause)
            pause = min(pause * 2, LONGEST_WAIT_S)
        return done

    async def _own(self) -> str | None:
        """This process's owner id, held from the first run on; None where the store knows no owners."""
        store = self._attached()[0]
        if not isinstance(store, OwnedStore):
            return None
        async with self._taking_office:
            if self._owner is None:
                self._owner = await self._holding.enter_async_context(store.hold_owner())
        return self._owner

    async def _take(self, run_id: str) -> None:
        """Makes this process the run's owner. Raises DrivenElsewhere when another one is."""
        owner = await self._own()
        if owner is None:
            return
        if not (await self._attached()[0].take_run(run_id, owner)).taken:
            raise DrivenElsewhere


async def _taken(store: OwnedStore, run: Run, owner: str) -> bool:
    """Whether the run is now this process's own; a run that has come to its end meanwhile is nobody's."""
    try:
        return (await store.take_run(run.run_id, owner, run.owner)).taken
    except (RunNotRunning, NotFound, RunPurged):
        return False
