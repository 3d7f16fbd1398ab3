"""`actum cancel` and `actum end`: what stops work.

A run whose process lives hears from the store that it shall stop, and ends itself. One whose process is gone has nobody
to hear of it, so the command itself brings it to its end.
"""

from actum.base.clock import SystemClock
from actum.base.errors import RunCorrupt
from actum.cli.documents import document, say
from actum.cli.gone import bring_to_end, running_runs
from actum.cli.store import opened
from actum.cli.text import tell
from actum.lifecycle.states import RunStatus
from actum.runtime.runtime import Runtime


async def cancel_run(url: str | None, run_id: str, reason: str, by: str | None, *, as_json: bool) -> None:
    """Stores the reason, and ends the run where its process is gone."""
    async with opened(url) as store, Runtime(store) as runtime:
        before = await store.load_run(run_id)
        await runtime.cancel_run(run_id, reason, by=by)
        left = await bring_to_end(store, runtime, run_id)
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
        for before in await running_runs(store, session_id):
            try:
                left = await bring_to_end(store, runtime, before.run_id)
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
