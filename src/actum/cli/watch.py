"""`actum records` and `actum tail`: records one by one, as they were stored and as they come."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from rich.console import Console

from actum.base.clock import wait
from actum.cli.documents import record_line, say
from actum.cli.lists import every
from actum.cli.show import one_of
from actum.cli.store import opened
from actum.cli.text import cell, console, instant, one_line
from actum.lifecycle.states import RunStatus, SessionStatus
from actum.records.record import Page, Record
from actum.storage.contract import OwnedStore

# How often, in seconds, the store is asked for what is new.
EVERY_S: Final = 0.5

Read = Callable[[str | None, int], Awaitable[Page[Record]]]
Print = Callable[[Record], None]


async def show_records(
    url: str | None,
    run_id: str | None,
    session_id: str | None,
    types: Sequence[str] | None,
    after: str | None,
    limit: int | None,
    *,
    payload: bool,
    as_json: bool,
) -> None:
    """The records of a run or a session, in their order."""
    one_of("RUN_ID or --session", run_id, session_id)
    show = _printer(as_json=as_json, payload=payload, runs=run_id is None)
    shown = 0
    async with opened(url) as store:
        read = _reader(store, run_id, session_id, types)
        async for record in every(lambda cursor, size: read(cursor or after, size)):
            show(record)
            shown += 1
            if shown == limit:
                return


async def show_tail(
    url: str | None,
    run_id: str | None,
    session_id: str | None,
    types: Sequence[str] | None,
    lines: int,
    *,
    follow: bool,
    as_json: bool,
    wait: Callable[[float], Awaitable[None]] = wait,
) -> None:
    """The newest records; with `follow` also those to come, until the run or the session has ended."""
    one_of("RUN_ID or --session", run_id, session_id)
    show = _printer(as_json=as_json, payload=False, runs=run_id is None)
    async with opened(url) as store:
        read = _reader(store, run_id, session_id, types)
        newest: deque[Record] = deque(maxlen=lines)
        cursor = await _read_on(read, None, newest.append)
        for record in newest:
            show(record)
        while follow:
            # Asked first: what was stored before the end is then still to be read.
            over = await _over(store, run_id, session_id)
            cursor = await _read_on(read, cursor, show)
            if over:
                return
            await wait(EVERY_S)


def _reader(store: OwnedStore, run_id: str | None, session_id: str | None, types: Sequence[str] | None) -> Read:
    async def read(cursor: str | None, limit: int) -> Page[Record]:
        if run_id is not None:
            return await store.list_run_records(run_id, cursor=cursor, limit=limit, types=types or None)
        return await store.list_session_run_records(session_id or "", cursor=cursor, limit=limit, types=types or None)

    return read


async def _read_on(read: Read, cursor: str | None, show: Print) -> str:
    while True:
        page = await read(cursor, 500)
        for record in page.items:
            show(record)
        cursor = page.cursor
        if not page.more:
            return cursor


async def _over(store: OwnedStore, run_id: str | None, session_id: str | None) -> bool:
    """Whether nothing more can come."""
    if run_id is not None:
        return (await store.load_run(run_id)).status is not RunStatus.RUNNING
    if await store.load_session_status(session_id or "") is SessionStatus.ACTIVE:
        return False
    running = await store.list_runs(session_id or "", statuses=[RunStatus.RUNNING], limit=1)
    return not running.items


def _printer(*, as_json: bool, payload: bool, runs: bool) -> Print:
    if as_json:
        return lambda record: say(record_line(record))
    out = console()
    return lambda record: _print(out, record, payload=payload, runs=runs)


def _print(out: Console, record: Record, *, payload: bool, runs: bool) -> None:
    """A record in one or two lines: its id, its time, its type, its key; of a session also its run."""
    line = cell(record.id, "dim") + cell(f"  {instant(record.timestamp)}  ") + one_line(record.type, "bold")
    out.print(line, soft_wrap=True)
    where = f"{record.run_id}  " if runs else ""
    out.print(one_line(f"  {where}{record.event_key}", "dim"), soft_wrap=True)
    if payload:
        out.print(cell(f"  {record.payload.decode('utf-8', 'backslashreplace')}"), soft_wrap=True)
    out.file.flush()
