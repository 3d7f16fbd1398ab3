"""`actum purge`: what is erased for ever, told before anybody says yes to it."""

import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from typing import IO

import typer

from actum.base.errors import RunPurged, SessionPurged
from actum.cli.documents import say
from actum.cli.exits import REFUSED
from actum.cli.gone import bring_to_end, running_runs
from actum.cli.lists import every
from actum.cli.show import one_of
from actum.cli.store import memory_beside, opened
from actum.cli.text import many, plain, tell
from actum.host.host import Host
from actum.lifecycle.sessions import may_purge, may_purge_tree
from actum.lifecycle.states import RunStatus, SessionStatus
from actum.records.record import Record
from actum.records.types import END_TYPES
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore


async def purge_data(
    url: str | None, session_id: str | None, one_shot: str | None, *, yes: bool, as_json: bool
) -> int | None:
    """Erases a session, or a tree of runs without one, after asking. The exit code when nobody confirmed it.

    Nobody is asked about what cannot be erased, nor about what is gone already: purging that again is a success.
    """
    one_of("SESSION_ID or --one-shot", session_id, one_shot)
    what = f"session {session_id}" if session_id is not None else f"the tree of run {one_shot}"
    async with opened(url) as store, memory_beside(url) as memory, AsyncExitStack() as stack:
        if session_id is not None:
            await _stopped(store, session_id)
        host = await stack.enter_async_context(Host.open(store, memory=memory))
        if not yes:
            losing = await _losing(store, session_id, one_shot or "")
            if losing is not None and not _confirmed(f"{what} with {losing}"):
                typer.echo("nothing was purged", err=True)
                return REFUSED
        if session_id is not None:
            await host.purge_session(session_id)
        else:
            await host.purge_one_shot(one_shot or "")
    if as_json:
        say({"purged": {"session_id": session_id, "run_id": one_shot}})
    else:
        tell(
            f"{what} is erased; {'its id is' if session_id is not None else 'the ids of its runs are'} never used again"
        )
    return None


async def _stopped(store: OwnedStore, session_id: str) -> None:
    """What an ended session's dead processes left running comes to its end, so that it keeps nobody from erasing it."""
    with suppress(SessionPurged):
        if await store.load_session_status(session_id) is SessionStatus.ENDED:
            async with Runtime(store) as runtime:
                for run in await running_runs(store, session_id):
                    await bring_to_end(store, runtime, run.run_id)


async def _losing(store: OwnedStore, session_id: str | None, root_run_id: str) -> str | None:
    """How much would go; None when it is gone already. Raises what the purge would raise."""
    try:
        if session_id is not None:
            running = (await store.list_runs(session_id, statuses=[RunStatus.RUNNING], limit=1)).items
            may_purge(await store.load_session(session_id), running[0].run_id if running else None)
        ended: dict[str, bool] = {}
        records = 0
        async for record in _records(store, session_id, root_run_id):
            records += 1
            ended[record.run_id] = ended.get(record.run_id, False) or record.type in END_TYPES
    except (SessionPurged, RunPurged):
        return None
    if session_id is None:
        may_purge_tree(next((run_id for run_id, over in ended.items() if not over), None))
    return f"{many(len(ended), 'run')} and {many(records, 'record')}"


def _records(store: OwnedStore, session_id: str | None, root_run_id: str) -> AsyncIterator[Record]:
    if session_id is not None:
        return every(lambda cursor, size: store.list_session_run_records(session_id, cursor=cursor, limit=size))
    return every(lambda cursor, size: store.list_scope_records(root_run_id, cursor=cursor, limit=size))


def _confirmed(what: str) -> bool:
    # An event loop takes an interrupt for its own, and nobody would hear of it before the line is read.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    answer = ""
    asked: IO[str] | None = sys.stdin  # None where it was closed, and then nobody can answer
    try:
        typer.echo(f"Erase {plain(what)} for ever? [y/N] ", nl=False, err=True)
        answer = "" if asked is None else asked.readline()
    finally:
        signal.signal(signal.SIGINT, before)
        if asked is None or not asked.isatty() or not answer.endswith("\n"):
            typer.echo(err=True)  # nobody typed the end of the prompt's line
    return answer.strip().lower() in ("y", "yes")
