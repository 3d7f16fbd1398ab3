from collections.abc import Iterator

from actum.lifecycle.change import Scope
from actum.storage.backend import RecordQuery
from actum.storage.slices import Room


def room(*, limit: int = 9, max_bytes: int = 100) -> Room:
    return Room(RecordQuery(scope=Scope("s1"), limit=limit, max_bytes=max_bytes))


def rows(*sizes: int) -> Iterator[tuple[bytes, int]]:
    return ((b"x" * size, i) for i, size in enumerate(sizes))


def sliced(*sizes: int, limit: int = 9) -> tuple[int, bool]:
    into = room(limit=limit)
    return len(into.take(rows(*sizes))), into.full


def test_a_slice_ends_at_its_limits() -> None:
    assert sliced() == (0, False)
    assert sliced(10, 10, limit=2) == (2, False)
    assert sliced(10, 10, 10, limit=2) == (2, True)
    assert sliced(50, 50) == (2, False)
    assert sliced(50, 51) == (1, True)
    assert sliced(50, 51, 1) == (1, True)
    assert sliced(500) == (1, False)
    assert sliced(500, 0) == (1, True)
    assert sliced(500, 0, limit=1) == (1, True)


def test_a_slice_of_many_runs_ends_where_that_of_one_would() -> None:
    def parts(*runs: tuple[int, ...], limit: int = 9) -> tuple[list[int], bool]:
        into = room(limit=limit)
        return [len(into.take(rows(*sizes))) for sizes in runs if not into.full], into.full

    assert parts((), (10,), ()) == ([0, 1, 0], False)
    assert parts((10, 10), (10,), limit=2) == ([2, 0], True)
    assert parts((10, 10), (), limit=2) == ([2, 0], False)
    assert parts((10, 10), (), (10,), limit=2) == ([2, 0, 0], True)
    assert parts((50,), (50,), (0,), (1,)) == ([1, 1, 1, 0], True)
    assert parts((), (500,), (), (0,)) == ([0, 1, 0, 0], True)
    assert parts((10, 10, 10), (1,), limit=2) == ([2], True)


def test_no_row_is_asked_for_beyond_the_first_that_does_not_fit() -> None:
    asked = rows(1, 1, 1, 1, 1)
    into = room(limit=3)
    assert len(into.take(asked)) == 3
    assert into.full
    assert next(asked) == (b"x", 4)
    asked = rows(60, 60, 7)
    assert len(room().take(asked)) == 1
    assert next(asked)[1] == 2
