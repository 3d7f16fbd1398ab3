"""`actum cancel`, `end` and `purge`: what changes a store."""

import typer
from rich.text import Text

from actum.cli.documents import document, say
from actum.cli.exits import REFUSED
from actum.cli.show import one_of
from actum.cli.store import memory_beside, opened
from actum.cli.text import console, plain
from actum.host.host import Host
from actum.lifecycle.states import RunStatus
from actum.runtime.runtime import Runtime


async def cancel_run(url: str | None, run_id: str, reason: str, by: str | None, *, as_json: bool) -> None:
    """Stores the reason; whoever drives the run hears of it from the store."""
    async with opened(url) as store, Runtime(store) as runtime:
        await runtime.cancel_run(run_id, reason, by=by)
        run = await store.load_run(run_id)
    if as_json:
        say(document(run))
    elif run.status is RunStatus.RUNNING:
        _say(f"run {run_id}: cancellation stored ({reason}); its process ends it")
    else:
        _say(f"run {run_id} is {run.status}; its cancellation was stored before ({reason})")


async def end_session(url: str | None, session_id: str, *, as_json: bool) -> None:
    """Ends a session."""
    async with opened(url) as store, Host.open(store) as host:
        session = await host.end_session(session_id)
    if as_json:
        say(document(session))
    else:
        _say(f"session {session_id} has ended")


async def purge_data(
    url: str | None, session_id: str | None, one_shot: str | None, *, yes: bool, as_json: bool
) -> int | None:
    """Erases a session, or a tree of runs without one, after asking. The exit code when nobody confirmed it."""
    one_of("SESSION_ID or --one-shot", session_id, one_shot)
    what = f"session {session_id}" if session_id is not None else f"the tree of run {one_shot}"
    async with opened(url) as store, memory_beside(url) as memory, Host.open(store, memory=memory) as host:
        if not yes and not _confirmed(what):
            typer.echo("nothing was purged", err=True)
            return REFUSED
        if session_id is not None:
            await host.purge_session(session_id)
        else:
            await host.purge_one_shot(one_shot or "")
    if as_json:
        say({"purged": {"session_id": session_id, "run_id": one_shot}})
    else:
        _say(f"{what} is erased; its id is never used again")
    return None


def _confirmed(what: str) -> bool:
    try:
        return typer.confirm(f"Erase {plain(what)} for ever?", err=True)
    except typer.Abort:
        return False


def _say(text: str) -> None:
    console().print(Text(plain(text)), soft_wrap=True)
