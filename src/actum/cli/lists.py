"""`actum sessions` and `actum runs`."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final, TypeVar

from rich.console import Console
from rich.text import Text

from actum.base.errors import ContractError, DurableDataError
from actum.base.limits import PAGE_ITEMS
from actum.cli.documents import document, say
from actum.cli.store import opened
from actum.cli.text import Rows, console, instant, many, one_line
from actum.cli.waiting import awaited, in_short
from actum.lifecycle.states import Run, RunStatus, Session, SessionStatus
from actum.records.record import Page
from actum.storage.contract import OwnedStore

T = TypeVar("T")

STYLES: Final = {
    "active": "green",
    "ended": "dim",
    "running": "cyan",
    "suspended": "yellow",
    "completed": "green",
    "failed": "red",
    "canceled": "magenta",
}


async def show_sessions(
    url: str | None, status: str | None, metadata: Mapping[str, str], tenant: str | None, limit: int, *, as_json: bool
) -> None:
    """The store's sessions, oldest first."""
    wanted = None if status is None else SessionStatus(status)
    async with opened(url) as store:

        async def read(cursor: str | None, size: int) -> Page[Session]:
            return await store.list_sessions(
                status=wanted, metadata=metadata or None, tenant=tenant, cursor=cursor, limit=size
            )

        found, more = await first(read, limit)
    if as_json:
        say({"sessions": [document(each) for each in found], "more": more})
        return
    out = console()
    shown = Rows(out, ("SESSION", "STATUS", "CREATED"), "HEAD")
    for each in found:
        shown.add(
            one_line(each.session_id),
            status_cell(each.status),
            one_line(instant(each.created_at)),
            note=each.head_run_id,
        )
    _print(out, shown, len(found), "session", more=more)


async def show_runs(
    url: str | None,
    session_id: str | None,
    status: str | None,
    agent: str | None,
    labels: Mapping[str, str],
    limit: int,
    *,
    as_json: bool,
) -> None:
    """The runs of a session or of the whole store, oldest first."""
    wanted = None if status is None else RunStatus(status)
    async with opened(url) as store:

        async def read(cursor: str | None, size: int) -> Page[Run]:
            if session_id is None:
                return await store.find_runs(
                    status=wanted, agent=agent, labels=labels or None, cursor=cursor, limit=size
                )
            statuses = None if wanted is None else [wanted]
            return await store.list_runs(
                session_id, statuses=statuses, agent_id=agent, labels=labels or None, cursor=cursor, limit=size
            )

        found, more = await first(read, limit)
        waiting = {} if as_json else {each.run_id: await _waits_for(store, each) for each in found}
    if as_json:
        say({"runs": [document(each) for each in found], "more": more})
        return
    out = console()
    shown = Rows(out, ("RUN", "STATUS", "AGENT", "STARTED"), "WAITS FOR")
    for each in found:
        shown.add(
            one_line(each.run_id),
            status_cell(each.status),
            one_line(each.agent_id),
            one_line(instant(each.started_at)),
            note=waiting[each.run_id],
        )
    _print(out, shown, len(found), "run", more=more)


async def first(read: Callable[[str | None, int], Awaitable[Page[T]]], limit: int) -> tuple[list[T], bool]:
    """At most `limit` items of a list, and whether there are more."""
    found: list[T] = []
    cursor: str | None = None
    while True:
        page = await read(cursor, min(limit - len(found), PAGE_ITEMS))
        found += page.items
        if not page.more or len(found) >= limit:
            return found, page.more
        cursor = page.cursor


async def every(read: Callable[[str | None, int], Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """Every item of a list, page after page."""
    cursor: str | None = None
    while True:
        page = await read(cursor, PAGE_ITEMS)
        for item in page.items:
            yield item
        if not page.more:
            return
        cursor = page.cursor


def status_cell(status: str) -> Text:
    """A status in its colour."""
    return one_line(status, STYLES.get(status, ""))


async def _waits_for(store: OwnedStore, run: Run) -> str | None:
    try:
        return in_short(await awaited(store, run))
    except (ContractError, DurableDataError):
        # One run whose records are damaged hides no other; what is wrong with it, `verify` says.
        return "something that cannot be read"


def _print(out: Console, shown: Rows, count: int, noun: str, *, more: bool) -> None:
    if count:
        shown.print()
    tail = many(count, noun)
    out.print(Text(f"{tail}; there are more, see --limit" if more else tail, style="dim"))
