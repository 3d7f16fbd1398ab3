"""Reading lists: arguments checked, pages cut at their bounds, history chains walked. One place for every backend."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from actum.base.checks import identifier, labels, plain, refuse, several
from actum.base.errors import DurableDataError, InvalidCursor, TooLarge, shortened
from actum.base.limits import PAGE_BYTES, PAGE_ITEMS
from actum.base.value import Json, Value
from actum.lifecycle.change import Keys, RunRow, Scope
from actum.lifecycle.rows import run_row
from actum.records.record import Page, Record, position_of
from actum.records.types import TRANSCRIPT_TYPES, is_record_type
from actum.storage.backend import PayloadSlice, RecordQuery, Slice, View
from actum.storage.cursors import list_cursor

T = TypeVar("T", bound=Value)
Row = TypeVar("Row")

# All of Actum's, and many of a product's own.
_TYPES_MAX = 256
_TRANSCRIPT = tuple(sorted(str(kind) for kind in TRANSCRIPT_TYPES))


def checked_limit(limit: int) -> int:
    """A page's number of items, 1 to 1,000."""
    if type(limit) is not int or not 1 <= limit <= PAGE_ITEMS:
        raise refuse("limit", limit, f"is a whole number from 1 to {PAGE_ITEMS}")
    return limit


def checked_types(types: Sequence[str] | None) -> tuple[str, ...] | None:
    """Record types to list; None is every type."""
    if types is None:
        return None
    wanted = tuple(dict.fromkeys(plain(name) for name in several("types", types, str, "record types")))
    for i, name in enumerate(wanted):
        if not is_record_type(name):
            raise refuse(f"types[{i}]", name, "is a record type")
    if len(wanted) > _TYPES_MAX:
        raise TooLarge(field="types", size=len(wanted), limit=_TYPES_MAX, unit="types")
    return wanted


def checked_filters(wanted: Mapping[str, str] | None, path: str) -> dict[str, str]:
    """Labels or metadata that an item must have, every one."""
    if wanted is not None and not isinstance(wanted, Mapping):
        raise refuse(path, wanted, "is a mapping of text to text")
    return labels(path, dict(wanted)) if wanted is not None else {}


def checked_choice(path: str, wanted: object, choices: Sequence[str]) -> str | None:
    """One of a closed set, or None."""
    if wanted is None:
        return None
    if not isinstance(wanted, str) or plain(wanted) not in choices:
        raise refuse(path, wanted, "is one of " + ", ".join(choices))
    return plain(wanted)


def record_page(
    view: View,
    scope: Scope,
    cursor: str | None,
    limit: int,
    *,
    run_id: str | None = None,
    types: tuple[str, ...] | None = None,
) -> Page[Record]:
    """A page of one scope's records. The cursor is the last position that the read saw, not the last match."""
    after = 0 if cursor is None else position_of(cursor, scope.digest)
    runs = None if run_id is None else (run_id,)
    found = view.records(RecordQuery(scope=scope, runs=runs, after=after, types=types, limit=limit))
    _reached(cursor, after, found)
    return Page(
        items=found.records,
        cursor=found.records[-1].id if found.more else scope.record_id(found.last),
        more=found.more,
    )


def transcript_page(view: View, row: RunRow, cursor: str | None, limit: int) -> Page[Record]:
    """Transcript records of a run and its history chain, oldest first."""
    scope = row.scope
    after = 0 if cursor is None else position_of(cursor, scope.digest)
    runs = _unread(view, row.run.run_id, after)
    found = view.records(RecordQuery(scope=scope, runs=runs, after=after, types=_TRANSCRIPT, limit=limit))
    _reached(cursor, after, found)
    ends = found.records[-1].id if found.more else scope.record_id(found.last)
    return Page(items=found.records, cursor=ends, more=found.more)


def message_page(view: View, row: RunRow, cursor: str | None, limit: int) -> tuple[PayloadSlice, str]:
    """As `transcript_page`, of each record only its type and its payload; and the page's cursor."""
    scope = row.scope
    after = 0 if cursor is None else position_of(cursor, scope.digest)
    runs = _unread(view, row.run.run_id, after)
    found = view.payloads(RecordQuery(scope=scope, runs=runs, after=after, types=_TRANSCRIPT, limit=limit))
    _reached(cursor, after, found)
    ends = found.through if found.more and found.through is not None else found.last
    return found, scope.record_id(ends)


def _unread(view: View, run_id: str, after: int) -> list[str]:
    """The run and the runs of its history that ended after a position, oldest first.

    A history ended before its follower began, so positions grow along the chain, and nothing older is walked to.
    """
    links = view.chain(run_id)
    if isinstance(links, list):
        # All known, the newest first: where the unread ones end is looked up, not walked to.
        unread = links[: max(bisect_left(links, -after, key=lambda link: -link[1]), 1)]
        more = len(unread) < len(links)
    else:
        unread, more = [], False
        for link in links:
            more = bool(unread) and link[1] <= after
            if more:
                break
            unread.append(link)
    if not more:
        _whole(view, unread[-1][0])
    return [name for name, _ in reversed(unread)]


def transcript_page_backwards(view: View, row: RunRow, cursor: str | None, limit: int) -> Page[Record]:
    """Transcript records of a run and its history chain, newest first; it walks no further than it must."""
    scope = row.scope
    before = None if cursor is None else position_of(cursor, scope.digest)

    def runs() -> Iterator[str]:
        name = row.run.run_id
        for name, _ in view.chain(row.run.run_id):
            yield name
        _whole(view, name)

    found = view.records(
        RecordQuery(scope=scope, runs=runs(), before=before, types=_TRANSCRIPT, limit=limit, backwards=True)
    )
    _reached(cursor, before or 0, found)
    ends = found.records[-1].id if found.more else scope.record_id(0)
    return Page(items=found.records, cursor=ends, more=found.more)


def value_page(
    rows: Sequence[Row],
    limit: int,
    digest: str,
    value: Callable[[Row], T],
    place: Callable[[T], tuple[datetime, str]],
    after: tuple[datetime, str] | None,
) -> Page[T]:
    """A page of sessions or runs out of `limit` + 1 rows; it ends early once its texts pass 8 MiB."""
    items: list[T] = []
    room = PAGE_BYTES
    for row in rows[:limit]:
        item = value(row)
        if items and room <= 0:
            break
        room -= _text_size(item)
        items.append(item)
    return Page(
        items=tuple(items),
        cursor=list_cursor(digest, place(items[-1]) if items else after),
        more=len(rows) > len(items),
    )


def filters_of(**given: Json) -> dict[str, Json]:
    """The filters of a list as its cursor carries them."""
    # No labels to have is no filter. No status to be in is one: nothing passes it.
    return {name: value for name, value in given.items() if value not in (None, {})}


def optional_id(path: str, value: str | None) -> str | None:
    """An identifier to filter by, or None."""
    return None if value is None else identifier(path, value)


def _whole(view: View, oldest: str) -> None:
    """Refuses a chain that ends at a run which has a history itself: nobody is given a part of a transcript."""
    row = run_row(view.see(Keys(scope_of=oldest, runs=(oldest,))), oldest)
    if row.run.history is not None:
        raise DurableDataError(run_id=oldest, path="history", rule="leads to older runs, never in a circle")


def _text_size(item: Value) -> int:
    texts: Mapping[str, str] = getattr(item, "labels", None) or getattr(item, "metadata", None) or {}
    return 512 + sum(len(key) + len(text) for key, text in texts.items())


def _reached(cursor: str | None, after: int, found: Slice | PayloadSlice) -> None:
    if cursor is not None and after > found.last:
        raise InvalidCursor(cursor=shortened(cursor), rule="names a position that this scope has reached")
