"""The real world of a loop: the steps over a store, agents and their tools.

Each step is repeated when it met a conflict: another worker was quicker, and the journal now tells what it stored.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

from actum.base.errors import CancellationRequested, Conflict, RunCorrupt, RunNotRunning
from actum.lifecycle.states import Run
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
    Suspended,
    SuspendStep,
)
from actum.runtime.agent import Agent
from actum.runtime.begin import begin
from actum.runtime.call import Calling
from actum.runtime.finish import collect, finish
from actum.runtime.ledger import Ledger, OpenRun
from actum.runtime.opened import opened
from actum.runtime.plan import Planning
from actum.runtime.suspend import suspend
from actum.storage.contract import Store

T = TypeVar("T")

_TRIES: Final = 8


class RuntimeWorld:
    """The steps, for the agents of one runtime."""

    def __init__(
        self, store: Store, agents: Mapping[str, Agent], ledger: Ledger, planning: Planning, calling: Calling
    ) -> None:
        self._store = store
        self._agents = agents
        self._ledger = ledger
        self._planning = planning
        self._calling = calling

    async def begin(self, step: RunRequest) -> Begun:
        """Store the start with all that recovery needs."""
        begun, started = await begin(self._store, step)
        if started is not None:
            self._ledger.adopt(*started)
        self._planning.asking.views.histories.goes_on(step.run_id, step.history)
        self._ledger.stored(step.run_id, step.session_id)
        return begun

    async def open(self, step: OpenStep) -> Opened:
        """Look where the run stands."""
        return await self._repeated(step.run_id, lambda here: opened(self._ledger, self._calling.clock, here))

    async def plan(self, step: PlanStep) -> Planned:
        """Ask the planner, and store what it decides."""
        return await self._adopting(step.run_id, lambda agent, here: self._planning.plan(agent, here, step))

    async def call(self, step: CallStep) -> Called:
        """Run one call's tool at most once, and store its answer."""
        return await self._adopting(step.run_id, lambda agent, here: self._calling.call(agent, here, step))

    async def begin_child(self, step: ChildStep) -> Begun:
        """Store the start of a child run with the parent's link to it, in one write."""
        here = await self._ledger.open(step.run_id)
        begun, started = await self._calling.children.begin(here, step)
        if started is not None:
            self._ledger.adopt(*started)
        self._ledger.stored(step.run_id, here.run.session_id)
        self._ledger.stored(step.child_run_id, here.run.session_id)
        return begun

    async def collect(self, step: CollectStep) -> Collected:
        """Store the answers of a step as one message."""
        return await self._adopting(step.run_id, lambda agent, here: collect(self._ledger, agent, here, step))

    async def suspend(self, step: SuspendStep) -> Suspended:
        """Store the checkpoint and all that the run waits for, in one write."""
        policies = self._calling.policies
        return await self._adopting(
            step.run_id,
            lambda agent, here: suspend(self._ledger, here, step, policies.terms_left(agent, here)),
            afresh=True,
        )

    async def finish(self, step: FinishStep) -> Finished:
        """Close every open call and store the end."""
        return await self._repeated(step.run_id, lambda here: finish(self._calling.children, here, step), afresh=True)

    def drives(self, run: Run, options: Mapping[str, object]) -> bool:  # noqa: ARG002 - later engines look at options
        """Whether this runtime knows the run's agent."""
        return run.agent_id in self._agents

    def forget(self, run_id: str) -> None:
        """The run is over here."""
        self._ledger.forget(run_id)

    async def _adopting(
        self, run_id: str, work: Callable[[Agent, OpenRun], Awaitable[T]], *, afresh: bool = False
    ) -> T:
        """`work` with the run's agent, which a step needs that goes on with the run; repeated as any step is."""
        return await self._repeated(run_id, lambda here: work(self._agents[here.run.agent_id], here), afresh=afresh)

    async def _repeated(self, run_id: str, work: Callable[[OpenRun], Awaitable[T]], *, afresh: bool = False) -> T:
        """`work`, again from the journal when somebody else stored the step first; `afresh` reads it at first too."""
        refused: Exception | None = None
        for _ in range(_TRIES):
            afresh = afresh or refused is not None
            here = await (self._ledger.open(run_id) if afresh else self._ledger.resume(run_id))
            try:
                return await work(here)
            except (Conflict, RunNotRunning, CancellationRequested) as error:
                refused = error
        raise RunCorrupt(run_id=run_id, reason=f"a step was refused again and again: {refused}")
