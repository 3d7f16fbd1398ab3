"""The promise of an engine: it accepts a run once, runs its loop, and knows how it ended."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from actum.base.value import Value
from actum.lifecycle.states import Run, RunStatus
from actum.loop.world import RunRequest, WorkflowContext, World
from actum.storage.contract import Store

__all__ = ["Completion", "Engine", "RecoveryPolicy", "Runnable", "WorkflowContext", "World"]

# What becomes of a run whose process is gone: it goes on from its records, which takes its agent, or it is given up and
# ends failed, of kind `recovery`. One that is to stop, by a stored reason or its session's end, ends canceled anyway.
RecoveryPolicy: TypeAlias = Literal["continue", "fail"]


class Completion(Value):
    """How a run ended: the stored status and its time."""

    run_id: str
    status: RunStatus
    completed_at: datetime


class Runnable(World, Protocol):
    """A runtime's world as an engine sees it."""

    def drives(self, run: Run, options: Mapping[str, object]) -> bool:
        """Whether this runtime knows the run's agent, so that its engine may go on with the run."""
        ...

    def forget(self, run_id: str) -> None:
        """The run is over here; what was kept in memory for it may go."""
        ...


class Engine(Protocol):
    """Where loops run. An engine belongs to one runtime, which attaches its store and world before the first run."""

    name: str

    def attach(self, store: Store, world: Runnable) -> None:
        """Use this store and world. Raises RuntimeError when the engine belongs to another runtime already."""
        ...

    async def accept(self, request: RunRequest) -> None:
        """Runs the request; returns once its start is durable.

        An exact repeat (run id and digest) is the accepted run; another request under its id is RunConflict. A start
        that the store refuses leaves no run here, and the refusal is raised.
        """
        ...

    async def completion(self, run_id: str) -> Completion | None:
        """How a run ended, None while it has not. Raises RunNotFound."""
        ...

    async def wait(self, run_id: str) -> Completion:
        """Waits for a run's end, wherever it is driven. Cancelling the waiting task leaves the run alone.

        Raises what stopped the loop here when the run could not be brought to an end and stays `running`; RunNotReady
        when its owner is gone and its agent is not known here.
        """
        ...

    async def cancel(self, run_id: str, reason: str) -> None:
        """Delivers a cancellation that is stored already; a run that is driven elsewhere hears of it from the store."""
        ...

    async def recover(self, policy: RecoveryPolicy = "continue") -> tuple[str, ...]:
        """Takes up the running runs whose owner is gone; their ids. Nothing where the store knows no owners.

        Under `continue` a run whose agent is not known here is left, unless it is to stop; that it is left is logged.
        """
        ...

    async def take_up(self, run_id: str) -> None:
        """Goes on with a run that nobody drives any more, and does not wait for its end.

        Nothing while somebody drives it, when it has ended, or when this engine may not. Raises RunNotFound, RunPurged.
        """
        ...

    async def ensure(self, run_id: str, policy: RecoveryPolicy = "continue") -> None:
        """Brings a run to its end that nobody drives any more; also one that was accepted and never stored.

        Nothing when it has ended. Raises RunNotReady while somebody drives it, or when this engine may not; RunCorrupt
        for a run that no runtime started; RunNotFound, RunPurged; and what stopped its loop here.
        """
        ...

    async def close(self) -> None:
        """Parks what still runs: it stays `running` in the store, for recovery."""
        ...
