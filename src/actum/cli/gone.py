"""Runs that shall stop and whose process is gone: nobody hears of it any more, so a command brings about their end."""

from typing import Final

from actum.base.errors import RecordNotFound, RunNotReady
from actum.cli.lists import every
from actum.lifecycle.states import Run, RunStatus
from actum.loop import keys
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore

_DRIVEN: Final = "its process ends it"
_BY_HAND: Final = "no runtime started it, so it ends when the program that did ends it"


async def bring_to_end(store: OwnedStore, runtime: Runtime, run_id: str) -> str | None:
    """Brings a run that shall stop to its end where its process is gone; why it still runs, if it does.

    Raises RunCorrupt when its records allow no valid end, RunNotFound, RunPurged.
    """
    run = await store.load_run(run_id)
    if run.status is not RunStatus.RUNNING:
        return None
    if run.owner is not None and await store.owner_alive(run.owner):
        return _DRIVEN
    try:
        await store.load_run_record(run_id, keys.REQUESTED)
        await runtime.ensure_run_completion(run_id)
    except RecordNotFound:
        return _BY_HAND
    except RunNotReady:
        # Another process took it a moment ago; or its loop runs in an engine that is not of this kind.
        return _DRIVEN
    return None


async def running_runs(store: OwnedStore, session_id: str) -> list[Run]:
    """The session's running runs, parents before their children: a parent's end brings that of its children."""
    only = [RunStatus.RUNNING]
    found = [run async for run in every(lambda at, n: store.list_runs(session_id, statuses=only, cursor=at, limit=n))]
    return sorted(found, key=lambda run: run.parent_run_id is not None)
