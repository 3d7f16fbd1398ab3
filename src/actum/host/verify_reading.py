"""Reading a store that may be damaged: one unreadable row is named and passed by, it does not end the reading."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeAlias

from actum.base.errors import ActumError, InvalidCursor, NotFound, RunPurged
from actum.host.verify_report import Check, Say
from actum.lifecycle.states import Run
from actum.records.record import Page, Record, position_of, record_id
from actum.storage.contract import Store

PAGE: Final = 200
# After so many positions in a row at which nothing could be read, the rest of a list is given up.
STEPS: Final = 1000

# A page of records from a cursor on, of at most so many.
ReadRecords: TypeAlias = Callable[[str | None, int], Awaitable[Page[Record]]]


class Reading:
    """The records of one list, in order, whatever some of its rows hold.

    After `records` has ended, `cursor` is the last position that the list's scope had, and `unreadable` holds the
    positions at which a row could not be read, each with what the attempt said. The record right before such a row may
    have been passed by with it.
    """

    def __init__(self, read: ReadRecords, digest: str, cursor: str | None = None) -> None:
        self._read = read
        self._digest = digest
        self.cursor = cursor
        self.unreadable: list[tuple[int, str]] = []

    @property
    def position(self) -> int:
        """The position of `cursor`."""
        return 0 if self.cursor is None else position_of(self.cursor, self._digest)

    async def records(self) -> AsyncIterator[Record]:
        """Every record that can be read. Raises what a sound store raises too: NotFound, StoreUnavailable."""
        limit, failed, steps, read_until = PAGE, "", 0, self.cursor
        while True:
            try:
                page = await self._read(self.cursor, limit)
            except InvalidCursor:
                # Stepped beyond the end while passing by an unreadable row.
                self._passed(failed)
                return
            except ActumError:
                raise
            except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
                if limit == 1:
                    steps += 1
                    failed = f"{type(error).__name__}: {error}"
                    self.cursor = record_id(self._digest, self.position + 1)
                limit = 1
                if steps > STEPS:
                    self.cursor = read_until
                    self.unreadable.append((self.position + 1, f"{failed}; the rest was given up"))
                    return
                continue
            if failed:
                self._passed(failed)
                failed, limit, steps = "", PAGE, 0
            for record in page.items:
                yield record
            self.cursor = read_until = page.cursor
            if not page.more:
                return

    def _passed(self, failed: str) -> None:
        """The row at the last position that could not be read from its predecessor on is the one."""
        if failed:
            self.unreadable.append((self.position, failed))


async def other_run(store: Store, run_id: str, check: Check, what: str, say: Say) -> Run | None:
    """A run that something names; None, with the damage named, when it is not there or cannot be read."""
    try:
        return await store.load_run(run_id)
    except (NotFound, RunPurged):
        say(check, f"{what} is not there: {run_id!r}", None)
    except ActumError:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
        say(Check.READING, f"the row of run {run_id!r} cannot be read: {type(error).__name__}: {error}", None)
    return None


async def first_record(store: Store, run_id: str, digest: str) -> Record | None:
    """The first record of a run that can be read; None when there is none."""
    reading = Reading(lambda cursor, _: store.list_run_records(run_id, cursor=cursor, limit=1), digest)
    async for record in reading.records():
        return record
    return None
