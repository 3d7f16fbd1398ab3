"""Where a slice of records ends: the same for every backend."""

from collections.abc import Iterable

from actum.records.record import Record
from actum.storage.backend import RecordQuery, Slice


def slice_of(found: Iterable[Record], query: RecordQuery, last: int) -> Slice:
    """The slice that the matching records, in the asked order, give; `last` is the scope's last position.

    It ends before the record that is one too many, or whose payload goes beyond `max_bytes`; the first always fits.
    """
    taken: list[Record] = []
    size = 0
    limit, max_bytes = query.limit, query.max_bytes
    for record in found:
        size += len(record.payload)
        if len(taken) == limit or (size > max_bytes and taken):
            return Slice(tuple(taken), more=True, last=last)
        taken.append(record)
    return Slice(tuple(taken), more=False, last=last)
