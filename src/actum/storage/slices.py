"""Where a slice of records ends: the same for every backend."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, TypeVar

from actum.storage.backend import RecordQuery

Row = TypeVar("Row", bound=tuple[Any, ...])


class Room:
    """What a slice has room for. It ends before the record that is one too many, or goes beyond `max_bytes`.

    The first record always fits. `full` tells whether one was met that did not.
    """

    def __init__(self, query: RecordQuery) -> None:
        self._records = query.limit
        self._bytes = query.max_bytes
        self._holds = False
        self.full = False

    def take(self, found: Iterable[Row]) -> list[Row]:
        """The first of these rows, as many as still fit. A row begins with its record's payload.

        No row is asked for beyond the first that does not fit.
        """
        rows, room, taken = iter(found), self._bytes, list[Row]()
        for row in islice(rows, self._records):
            room -= len(row[0])
            if room < 0 and (taken or self._holds):
                self.full = True
                return taken
            taken.append(row)
        self._records -= len(taken)
        self._bytes = room
        self._holds = self._holds or bool(taken)
        self.full = not self._records and next(rows, None) is not None
        return taken
