"""`actum cancel` and `actum end`: what stops work.

A run whose process lives hears from the store that it shall stop, and ends itself. One whose process is gone has nobody
to hear of it, so the command itself brings it to its end.
"""

from typing import Final

from actum.base.clock import SystemClock
from actum.base.errors import RecordNotFound, RunCorrupt, RunNotReady
from actum.cli.documents import document, say
from actum.cli.lists import every
from actum.cli.store import opened
from actum.cli.text import tell
from actum.lifecycle.states import Run, RunStatus
from actum.loop import keys
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore

_DRIVEN: Final = "its process ends it"
_BY_HAND: Final = "no runtime started it, so it ends when the program that did ends it"


async def cancel_run(url: str | None, run_id: str, reason: str, by: str | None, *, as_json: bool) -> None:
    """Stores the reason, and ends the run where its process is gone."""
    async with opened(url) as store, Runtime(store) as runtime:
        before = await store.load_run(run_id)
        await runtime.cancel_run(run_id, reason, by=by)
        left = await _ended(store, runtime, before)
        run = await store.load_run(run_id)
    if as_json:
        say(document(run))
    elif left is not None:
        tell(f"run {run_id}: cancellation stored ({reason}); {left}")
    elif before.status is RunStatus.RUNNING:
        tell(f"run {run_id} is {run.status} ({reason})")
    else:
        tell(f"run {run_id} is {run.status}; its cancellation was stored before ({reason})")


async def end_session(url: str | None, session_id: str, *, as_json: bool) -> None:
    """Ends a session, and those of its runs whose process is gone. Raises RunCorrupt, at last, for one that cannot."""
    async with opened(url) as store, Runtime(store) as runtime:
        session = await store.end_session(session_id, SystemClock().now())
        lines: list[str] = []
        corrupt: RunCorrupt | None = None
        for before in await _running(store, session_id):
            try:
                left = await _ended(store, runtime, before)
            except RunCorrupt as error:
                corrupt = corrupt or error
                left = "its records allow no valid end"
            run = await store.load_run(before.run_id)
            lines.append(f"run {run.run_id} " + (f"is {run.status}" if left is None else f"still runs; {left}"))
    if as_json:
        say(document(session))
    else:
        for line in (f"session {session_id} has ended", *lines):
            tell(line)
    if corrupt is not None:
        raise corrupt


async def _ended(store: OwnedStore, runtime: Runtime, before: Run) -> str | None:
    """Brings a run that shall stop to its end where its process is gone; why it still runs, if it does.

    Raises RunCorrupt when its records allow no valid end.
    """
    run = await store.load_run(before.run_id)
    if run.status is not RunStatus.RUNNING:
        return None
    if run.owner is not None and await store.owner_alive(run.owner):
        return _DRIVEN
    try:
        await store.load_run_record(run.run_id, keys.REQUESTED)
        await runtime.ensure_run_completion(run.run_id)
    except RecordNotFound:
        return _BY_HAND
    except RunNotReady:
        # Another process took it a moment ago; or its loop runs in an engine that is not of this kind.
        return _DRIVEN
    return None


async def _running(store: OwnedStore, session_id: str) -> list[Run]:
    """The session's running runs, parents before their children: a parent's end brings that of its children."""
    only = [RunStatus.RUNNING]
    found = [run async for run in every(lambda at, n: store.list_runs(session_id, statuses=only, cursor=at, limit=n))]
    return sorted(found, key=lambda run: run.parent_run_id is not None)
