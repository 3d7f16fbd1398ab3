"""The lists of all sessions and of all runs, of which a damaged row cuts off what stands behind it.

Behind the cut, each status is listed for itself: a damaged row then cuts at most the list of its own status. A list of
runs goes on at the first instant from which it can be read again. What ends meanwhile may be met twice, for the lists
of what goes on come first.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final, Generic, TypeAlias, TypeVar

from actum.base.clock import EPOCH, from_millis, to_millis
from actum.host.verify_reading import unread
from actum.host.verify_report import Check, Say
from actum.lifecycle.states import Run, RunStatus, Session, SessionStatus
from actum.records.record import Page
from actum.storage.contract import OwnedStore

T = TypeVar("T")

# A list is in the order of these: a time, then an id.
Place: TypeAlias = tuple[datetime, str]

_PAGE: Final = 100
# The last instant from which a list is tried.
_LATEST: Final = to_millis(datetime.max.replace(tzinfo=EPOCH.tzinfo))


# A page of all items, or of one status, from an instant and a cursor on, of at most so many.
_Read: TypeAlias = Callable[[str | None, datetime | None, str | None, int], Awaitable[Page[T]]]


class Listing(Generic[T]):
    """One list. `cut` tells whether some of its rows could not be read, `count` how many were."""

    def __init__(
        self,
        what: str,
        read: _Read[T],
        place: Callable[[T], Place],
        statuses: Sequence[str],
        say: Say,
        *,
        since: bool,
    ) -> None:
        self._what = what
        self._read = read
        self._place = place
        self._statuses = statuses
        self._say = say
        self._since = since
        self._last: Place | None = None
        self.cut = False
        self.count = 0

    def whole_to(self, place: Place) -> bool:
        """Whether what stands at this place was surely met: the list was not cut before it."""
        return not self.cut or (self._last is not None and place <= self._last)

    async def items(self) -> AsyncIterator[T]:
        """Every item that can be reached. Raises StoreUnavailable."""
        async for item in self._walk(None):
            self._last = self._place(item)
            self.count += 1
            yield item
        if not self.cut:
            return
        for status in self._statuses:
            async for item in self._walk(status):
                if self._last is None or self._place(item) > self._last:
                    self.count += 1
                    yield item

    async def _walk(self, status: str | None) -> AsyncIterator[T]:
        """The items of one status, or up to the first row that cannot be read those of all."""
        since = self._last[0] if self._since and status is not None and self._last is not None else None
        cursor: str | None = None
        limit, last = _PAGE, self._last
        while True:
            page = await self._page(status, since, cursor, limit)
            if not isinstance(page, str):
                for item in page.items:
                    yield item
                    last = self._place(item)
                if not page.more:
                    return
                cursor = page.cursor
            elif limit > 1:
                limit = 1
            else:
                since = await self._beyond(status, since, last)
                self._name(status, last, since, page)
                if since is None:
                    return
                cursor, limit = None, _PAGE

    async def _page(self, status: str | None, since: datetime | None, cursor: str | None, limit: int) -> Page[T] | str:
        try:
            return await self._read(status, since, cursor, limit)
        except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
            return unread(error)

    async def _beyond(self, status: str | None, since: datetime | None, last: Place | None) -> datetime | None:
        """The first instant from which the list can be read again; None for none, and for a list that takes no time."""
        if status is None or not self._since:
            return None
        begins = max((at for at in (since, last and last[0]) if at is not None), default=EPOCH)
        # Rows that began in the very millisecond of the last one are passed by: to begin there would be to stand still.
        below = to_millis(begins)
        above, step = below + 1, 1
        while isinstance(await self._page(status, from_millis(above), None, 1), str):
            below, above, step = above, above + step, step * 2
            if above > _LATEST:
                return None
        while above - below > 1:
            middle = (below + above) // 2
            if isinstance(await self._page(status, from_millis(middle), None, 1), str):
                below = middle
            else:
                above = middle
        return from_millis(above)

    def _name(self, status: str | None, last: Place | None, since: datetime | None, says: str) -> None:
        self.cut = True
        behind = "the beginning" if last is None else repr(last[1])
        which = f"the list of {self._what}" if status is None else f"the list of {self._what} that are {status}"
        to = "" if since is None else f" until {since.isoformat()}"
        self._say(Check.READING, f"{which} cannot be read beyond {behind}{to}: {says}", None)


def session_place(session: Session) -> Place:
    """Where a session stands in the list of all sessions."""
    return session.created_at, session.session_id


def run_place(run: Run) -> Place:
    """Where a run stands in the list of all runs."""
    return run.started_at, run.run_id


def all_sessions(store: OwnedStore, say: Say) -> Listing[Session]:
    """The list of all sessions; behind a damaged row those that their status leads to."""

    def read(status: str | None, _: datetime | None, cursor: str | None, limit: int) -> Awaitable[Page[Session]]:
        only = None if status is None else SessionStatus(status)
        return store.list_sessions(status=only, cursor=cursor, limit=limit)

    return Listing("sessions", read, session_place, tuple(SessionStatus), say, since=False)


def all_runs(store: OwnedStore, say: Say) -> Listing[Run]:
    """The list of all runs; behind a damaged row those that their status and a later start lead to."""

    def read(status: str | None, since: datetime | None, cursor: str | None, limit: int) -> Awaitable[Page[Run]]:
        only = None if status is None else RunStatus(status)
        return store.find_runs(status=only, since=since, cursor=cursor, limit=limit)

    return Listing("runs", read, run_place, tuple(RunStatus), say, since=True)
