"""Runs that nobody drives any more: how each may come to its end here, and what is said of one that may not.

Going on with a run takes its agent. Giving it up does not: closing its calls and writing its end is the loop's own
work, and so is the canceled end of a run that shall stop anyway.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from actum.base.errors import RecordNotFound, RunCorrupt, RunNotReady
from actum.engines.contract import RecoveryPolicy, Runnable
from actum.lifecycle.states import Run
from actum.lifecycle.stops import reason_to_stop
from actum.loop import keys
from actum.loop.world import Stop
from actum.records.kinds import RunRequested, payload_of
from actum.storage.contract import Store


@dataclass(frozen=True)
class Way:
    """How a run comes to its end here: it goes on (`continue`), is given up (`fail`), or neither (None).

    `stop` is why a run that is given up ends canceled; `lacks_agent` says that its agent is not known here.
    """

    policy: RecoveryPolicy | None
    stop: Stop | None = None
    lacks_agent: bool = False


async def way_of(store: Store, world: Runnable, engine: str | None, run: Run, policy: RecoveryPolicy) -> Way:
    """How an engine of this name, or without one the engine that asks, may bring the running run to its end.

    Raises RunCorrupt, where an engine is named, for a run that no runtime started.
    """
    options = await _options(store, run) if engine is not None else {}
    if options.get("engine") != engine:
        return Way(None)
    lacks_agent = not world.drives(run, options)
    if policy == "continue" and not lacks_agent:
        return Way("continue")
    stop = await stored_stop(store, run)
    # What shall stop is not gone on with under any policy, so nobody's agent is needed for its end.
    gives_up = policy == "fail" or stop is not None
    return Way("fail" if gives_up else None, stop, lacks_agent)


async def stored_stop(store: Store, run: Run) -> Stop | None:
    """Why the running run shall stop, as the store tells it: its own reason, or the end of its session."""
    status = None
    if run.cancellation_reason is None and run.session_id is not None:
        status = await store.load_session_status(run.session_id)
    reason = reason_to_stop(run.cancellation_reason, status)
    return None if reason is None else Stop(reason=reason)


def undriven(run: Run) -> RunNotReady:
    """The error for a run that nobody drives and that cannot go on here."""
    return RunNotReady(run_id=run.run_id, reason=lacking(run))


def lacking(run: Run) -> str:
    """What keeps the run from going on here, and what can be done."""
    return (
        f"its process is gone, and its agent {run.agent_id!r} is not registered here; register the agent, "
        "or give the run up with the recovery policy 'fail'"
    )


async def _options(store: Store, run: Run) -> Mapping[str, object]:
    try:
        requested = payload_of(await store.load_run_record(run.run_id, keys.REQUESTED))
    except RecordNotFound:
        raise RunCorrupt(run_id=run.run_id, reason="no runtime started this run, so none can go on with it") from None
    return requested.options if isinstance(requested, RunRequested) else {}
