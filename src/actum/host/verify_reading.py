"""Reading a store that may be damaged: one unreadable row is named and passed by, it does not end the reading.

A damaged row may make its reader raise anything; `unread` tells what that is from what a sound store raises too.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from actum.base.errors import ActumError, DurableDataError, InvalidCursor, InvalidValue, NotFound, RunPurged, TooLarge
from actum.host.verify_report import Check, Say
from actum.lifecycle.states import Run
from actum.records.record import Page, Record, position_of, record_id
from actum.records.types import RecordType
from actum.storage.contract import Store

PAGE: Final = 200
# So many positions are tried one by one behind a row that cannot be read; then the steps double.
SINGLE: Final = 64
# A list that cannot be read so far behind a row is given up: no scope has so many records.
FAR: Final = 1 << 40

# A page of records from a cursor on, of at most so many.
ReadRecords: TypeAlias = Callable[[str | None, int], Awaitable[Page[Record]]]


@dataclass(frozen=True)
class Passed:
    """Positions that were passed by: the row at `last` cannot be read, nor the rows before it from `first` on with it.

    `last` is None where the rest of the list was given up.
    """

    first: int
    last: int | None
    says: str

    def covers(self, position: int) -> bool:
        """Whether this position was passed by."""
        return self.first <= position and (self.last is None or position <= self.last)

    def which(self, digest: str) -> str:
        """The records at these positions of the scope with this digest, in words."""
        if self.last is None:
            return f"what follows {record_id(digest, self.first - 1)}"
        if self.last - self.first > 1:
            return f"records {record_id(digest, self.first)} to {record_id(digest, self.last)}, or some of them,"
        # The one right before it is passed by with it, and is no damage.
        return f"the record {record_id(digest, self.last)}"


class Reading:
    """The records of one list, in order, whatever some of its rows hold.

    After `records` has ended, `cursor` is the last position that the list's scope had, and `passed` holds the positions
    that could not be read, each stretch with what the attempt said. The record right before an unreadable row may have
    been passed by with it.
    """

    def __init__(self, read: ReadRecords, digest: str, cursor: str | None = None) -> None:
        self._read = read
        self._digest = digest
        self.cursor = cursor
        self.passed: list[Passed] = []

    @property
    def position(self) -> int:
        """The position of `cursor`."""
        return 0 if self.cursor is None else position_of(self.cursor, self._digest)

    async def records(self) -> AsyncIterator[Record]:
        """Every record that can be read. Raises what a sound store raises too: NotFound, StoreUnavailable."""
        limit = PAGE
        while not (self.passed and self.passed[-1].last is None):
            found = await self._page(self.cursor, limit)
            if isinstance(found, str):
                if limit > 1:
                    limit = 1
                    continue
                found = await self._passed_by(found)
            if found is None:
                return
            limit = PAGE
            for record in found.items:
                yield record
            try:
                position_of(found.cursor, self._digest)
            except InvalidCursor:
                return  # The ids of another scope, or of none: whoever takes the records sees that.
            self.cursor = found.cursor
            if not found.more:
                return

    async def _page(self, cursor: str | None, limit: int) -> Page[Record] | str | None:
        """A page; what was said, where it cannot be read; None beyond the end of the scope."""
        try:
            return await self._read(cursor, limit)
        except InvalidCursor:
            return None
        except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
            return unread(error)

    async def _passed_by(self, says: str) -> Page[Record] | None:
        """The first page behind the rows that cannot be read from `cursor` on; None when there is none."""
        begins = below = self.position
        tries = 0
        found: Page[Record] | str | None = says
        # A list of few records in a large scope has its next row far away, so the steps grow.
        while isinstance(found, str):
            says, below, tries = found, begins, tries + 1
            ahead = tries if tries <= SINGLE else 1 << (tries - SINGLE + 6)
            if ahead > FAR:
                self.passed.append(Passed(self.position + 1, None, f"{says}; the rest was given up"))
                return None
            begins = self.position + ahead
            found = await self._page(record_id(self._digest, begins), 1)
        while begins - below > 1:
            middle = (below + begins) // 2
            closer = await self._page(record_id(self._digest, middle), 1)
            if isinstance(closer, str):
                says, below = closer, middle
            else:
                found, begins = closer, middle
        last = begins if found is not None else below
        self.passed.append(Passed(self.position + 1, last, says))
        self.cursor = record_id(self._digest, last)
        return found


def unread(error: Exception) -> str:
    """What an attempt at a damaged row said. Raises the error again when a sound store raises it too."""
    # Whatever is asked of the store here was read from it, so a value that it refuses stands in a damaged row.
    if isinstance(error, ActumError) and not isinstance(error, DurableDataError | InvalidValue | TooLarge):
        raise error
    return f"{type(error).__name__}: {error}"


async def other_run(store: Store, run_id: str, check: Check, what: str, say: Say) -> Run | None:
    """A run that something names; None, with the damage named, when it is not there or cannot be read."""
    try:
        return await store.load_run(run_id)
    except (NotFound, RunPurged):
        say(check, f"{what} is not there: {run_id!r}", None)
    except (InvalidValue, TooLarge) as error:
        say(check, f"{what} cannot be there: {error}", None)
    except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
        say(Check.READING, f"the row of run {run_id!r} cannot be read: {unread(error)}", None)
    return None


async def first_record(store: Store, run_id: str, digest: str) -> Record | None:
    """The first record of a run that can be read; None when there is none."""
    reading = Reading(lambda cursor, _: store.list_run_records(run_id, cursor=cursor, limit=1), digest)
    async for record in reading.records():
        return record
    return None


async def start_record(store: Store, run_id: str) -> Record | None:
    """A run's `run_started`; None when there is none that can be read. Raises NotFound, RunPurged, SessionPurged."""
    try:
        # Of this type alone: a damaged row behind the start is none of its business.
        page = await store.list_run_records(run_id, limit=1, types=(RecordType.RUN_STARTED,))
    except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
        unread(error)
        return None
    return page.items[0] if page.items else None
