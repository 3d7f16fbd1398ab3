"""Short reads are made on the thread that asks, long ones elsewhere; either way the answer is the same."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from operator import methodcaller
from pathlib import Path

import pytest

from actum.base.errors import StoreUnavailable
from actum.lifecycle.change import Keys, Scope
from actum.storage.backend import RecordQuery, RunQuery, SessionQuery, Slice, View
from actum.storage.sqlite.backend import SQLiteBackend
from actum.testing.script import ManualClock
from tests.support.rows import appended, chained, new_record, run_row, session_row, started

ALL = RecordQuery(scope=Scope("s1"), limit=5000)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def backend(tmp_path: Path, clock: ManualClock) -> AsyncIterator[SQLiteBackend]:
    opened = await SQLiteBackend.open(tmp_path / "store.db", clock=clock)
    await opened.write(methodcaller("apply", started(session_row(), run_row())), 0)
    # The first read of all opens a connection, on a thread of its own.
    await opened.read(methodcaller("records", ALL))
    yield opened
    await opened.close()


async def stored(backend: SQLiteBackend, count: int, payload: bytes = b"{}") -> None:
    records = [new_record(key=f"k{i}", payload=payload) for i in range(count)]
    await backend.write(methodcaller("apply", appended(records)), 2**20)


def walked(run_id: str, view: View) -> tuple[tuple[str, int], ...]:
    return tuple(view.chain(run_id))


def read_all(limit: int, view: View) -> int:
    return len(view.records(RecordQuery(scope=Scope("s1"), limit=limit)).records)


class Asked:
    """Work that notes whether it was last done on the thread that asked."""

    def __init__(self, work: Callable[[View], object] = methodcaller("records", ALL)) -> None:
        self._work = work
        self._asker = threading.get_ident()
        self.begun = 0
        self.here = False

    def __call__(self, view: View) -> object:
        self.begun += 1
        self.here = threading.get_ident() == self._asker
        return self._work(view)


async def here(backend: SQLiteBackend) -> bool:
    """Whether a short read is made on this thread now."""
    asked = Asked()
    await backend.read(asked)
    return asked.here


async def test_a_short_read_is_made_where_it_is_asked_for(backend: SQLiteBackend) -> None:
    assert await here(backend)


async def test_who_only_reads_lets_the_loop_turn_now_and_then(backend: SQLiteBackend) -> None:
    turned = asyncio.Event()
    asyncio.get_running_loop().call_soon(turned.set)
    read = 0
    while not turned.is_set():
        assert await here(backend)
        read += 1
    assert 16 <= read <= 32


async def test_a_long_glance_lets_the_loop_turn_before_the_next_one(backend: SQLiteBackend, clock: ManualClock) -> None:
    turned = asyncio.Event()
    await backend.read(lambda _: clock.advance(0.001))
    asyncio.get_running_loop().call_soon(turned.set)
    assert await here(backend)
    assert turned.is_set()


async def test_what_is_stored_is_seen_by_the_next_short_read(backend: SQLiteBackend) -> None:
    await stored(backend, 3)
    found = await backend.read(methodcaller("records", ALL))
    assert [record.event_key for record in found.records] == ["k0", "k1", "k2"]


@pytest.mark.parametrize("count, payload", [(1001, b"{}"), (4, b'"%s"' % (b"x" * 300_000))])
async def test_a_long_slice_is_read_whole_by_another_thread(backend: SQLiteBackend, count: int, payload: bytes) -> None:
    await stored(backend, count, payload)
    asked = Asked()
    found = await backend.read(asked)
    assert isinstance(found, Slice)
    assert [record.event_key for record in found.records] == [f"k{i}" for i in range(count)]
    assert (found.more, found.last, asked.begun, asked.here) == (False, count, 2, False)


async def test_a_full_page_that_is_short_is_read_where_it_is_asked_for(backend: SQLiteBackend) -> None:
    await stored(backend, 1100)
    for limit in (1, 32, 1000):
        asked = Asked(methodcaller("records", RecordQuery(scope=Scope("s1"), limit=limit)))
        found = await backend.read(asked)
        assert isinstance(found, Slice)
        assert (len(found.records), found.more, asked.begun, asked.here) == (limit, True, 1, True)


async def test_whoever_pages_through_much_is_spared_most_glances(backend: SQLiteBackend) -> None:
    await stored(backend, 1001)
    begun = []
    for _ in range(100):
        asked = Asked()
        await backend.read(asked)
        begun.append(asked.begun)
    assert begun == [2, *[1] * 1, 2, *[1] * 3, 2, *[1] * 7, 2, *[1] * 15, 2, *[1] * 31, 2, *[1] * 31, 2, *[1] * 5]
    short = methodcaller("records", RecordQuery(scope=Scope("s1"), limit=1))
    glances = [Asked(short) for _ in range(40)]
    for asked in glances:
        await backend.read(asked)
    assert [asked.here for asked in glances] == [False] * 26 + [True] * 14
    assert [(await backend.read(asked), asked.begun)[1] for asked in (Asked(), Asked(), Asked())] == [2, 1, 2]


@pytest.mark.parametrize("others, is_here", [(100, True), (60_000, False)])
async def test_little_that_stands_among_much_is_looked_for_by_another_thread(
    backend: SQLiteBackend, *, others: int, is_here: bool
) -> None:
    """The records of a run that goes on may lie anywhere behind its beginning."""
    await stored(backend, 3)
    await backend.write(methodcaller("apply", started(session_row(), run_row("r2"))), 0)
    records = [new_record("r2", f"k{i}") for i in range(others)]
    await backend.write(methodcaller("apply", appended(records, after=3)), 2**20)
    asked = Asked(methodcaller("records", RecordQuery(scope=Scope("s1"), runs=("r1",), limit=100)))
    for _ in range(2):
        found = await backend.read(asked)
        assert isinstance(found, Slice)
        assert [record.event_key for record in found.records] == ["k0", "k1", "k2"]
        assert asked.here is is_here
    # What the thread reads on the same connection is never cut short.
    everything = await backend.read(Asked(partial(read_all, others + 3)))
    assert everything == others + 3


async def test_steps_are_counted_for_each_glance_anew(backend: SQLiteBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite counts those of a statement over all the times that it was run; a row is always found at once."""
    monkeypatch.setattr("actum.storage.sqlite.reader._GLANCE_STEPS", 2_000)
    await stored(backend, 3)
    asked = Asked(methodcaller("see", Keys(scope_of="r1", runs=("r1",))))
    for count in range(1, 2_001):
        await backend.read(asked)
        assert (asked.begun, asked.here) == (count, True)
    assert await backend.read(lambda view: len(view.sessions(SessionQuery(limit=9)))) == 1


async def test_an_error_that_is_kept_keeps_no_state_of_the_rows(backend: SQLiteBackend) -> None:
    """Its frames hold cursors in the middle of a statement."""
    await backend.write(methodcaller("apply", started(session_row(), *chained(3))), 0)

    def breaks(view: View) -> None:
        for _ in view.chain("h2"):
            raise ValueError("kept")

    kept: list[Exception] = []
    for count in range(1, 4):
        with pytest.raises(ValueError, match="kept") as caught:
            await backend.read(breaks)
        kept.append(caught.value)
        await backend.write(methodcaller("apply", appended([new_record(key=f"k{count}")], after=count - 1)), 0)
        assert await backend.read(partial(read_all, 9)) == count
    assert len(kept) == 3


async def test_a_long_history_is_walked_whole_by_another_thread(backend: SQLiteBackend) -> None:
    await backend.write(methodcaller("apply", started(session_row(), *chained(1040))), 2**20)
    for name, is_here in (("h5", True), ("h1039", False)):
        asked = Asked(partial(walked, name))
        chain = await backend.read(asked)
        assert chain == tuple((f"h{i}", i + 1) for i in range(int(name[1:]), -1, -1))
        assert asked.here is is_here


async def test_the_newest_of_a_long_history_are_found_where_they_are_asked_for(backend: SQLiteBackend) -> None:
    await backend.write(methodcaller("apply", started(session_row(), *chained(1040))), 2**20)
    asked = Asked(lambda view: next(iter(view.chain("h1039"))))
    assert await backend.read(asked) == ("h1039", 1040)
    assert asked.here


@pytest.mark.parametrize(
    "work",
    [
        methodcaller("runs", RunQuery(limit=9)),
        methodcaller("sessions", SessionQuery(limit=9)),
        methodcaller("count_runs", "status", None),
        methodcaller("behind", "consumer", 9, None),
    ],
)
async def test_lists_that_filter_are_made_by_another_thread(
    backend: SQLiteBackend, work: Callable[[View], object]
) -> None:
    await stored(backend, 1)
    asked = Asked(work)
    assert await backend.read(asked)
    assert not asked.here


async def test_a_disk_that_keeps_a_read_waiting_sends_the_next_ones_away(
    backend: SQLiteBackend, clock: ManualClock
) -> None:
    await backend.read(lambda _: clock.advance(0.006))
    away = [await here(backend) for _ in range(200)]
    assert not any(away)
    assert await here(backend)


async def test_a_read_does_not_wait_for_a_long_one_of_another_thread(backend: SQLiteBackend) -> None:
    reading, done = threading.Event(), threading.Event()

    def long(view: View) -> int:
        view.runs(RunQuery(limit=9))
        reading.set()
        assert done.wait(30)
        return len(view.records(ALL).records)

    first = asyncio.create_task(backend.read(long))
    assert await asyncio.to_thread(reading.wait, 30)
    asked = Asked()
    await backend.read(asked)
    assert not asked.here
    done.set()
    assert await first == 0
    assert await here(backend)


async def test_errors_of_a_short_read_are_those_of_the_contract(backend: SQLiteBackend) -> None:
    def broken(_: View) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with pytest.raises(StoreUnavailable, match="disk I/O error"):
        await backend.read(broken)
    assert await here(backend)


async def test_a_closed_store_reads_nothing(backend: SQLiteBackend) -> None:
    assert await here(backend)
    await backend.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await here(backend)
