from collections.abc import Iterator

from actum.lifecycle.change import Scope
from actum.records.record import Record
from actum.storage.backend import RecordQuery, Slice
from actum.storage.slices import slice_of
from tests.support.rows import new_record


def record(position: int, size: int) -> Record:
    given = new_record(key=f"k{position}", payload=b"x" * size)
    return Record(**{name: getattr(given, name) for name in given.__struct_fields__}, id=f"0-{position}")


def sliced(sizes: list[int], *, limit: int = 9, max_bytes: int = 100) -> tuple[int, bool]:
    query = RecordQuery(scope=Scope("s1"), limit=limit, max_bytes=max_bytes)
    found = slice_of((record(i, size) for i, size in enumerate(sizes)), query, last=5)
    assert found.last == 5
    return len(found.records), found.more


def test_a_slice_ends_at_its_limits() -> None:
    assert sliced([]) == (0, False)
    assert sliced([10, 10], limit=2) == (2, False)
    assert sliced([10, 10, 10], limit=2) == (2, True)
    assert sliced([50, 50]) == (2, False)
    assert sliced([50, 51]) == (1, True)
    assert sliced([50, 51, 1]) == (1, True)
    assert sliced([500]) == (1, False)
    assert sliced([500, 0]) == (1, True)


def test_no_record_is_read_beyond_the_first_that_does_not_fit() -> None:
    def endless() -> Iterator[Record]:
        position = 0
        while True:
            position += 1
            assert position <= 4
            yield record(position, 1)

    found = slice_of(endless(), RecordQuery(scope=Scope("s1"), limit=3), last=9)
    assert isinstance(found, Slice)
    assert found.more
