"""A small command is written by the thread that asks, as long as the disk is quick and nobody else writes."""

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import datetime
from operator import methodcaller
from pathlib import Path

import pytest

from actum.base.locks import FileLock
from actum.lifecycle.change import Change, Scope
from actum.storage.backend import Transaction
from actum.storage.sqlite.backend import SQLiteBackend
from tests.storage.sqlite.test_writer import LARGE, appending, stored
from tests.support.faults_in_sqlite import Faults
from tests.support.rows import run_row, session_row, started


class Watch:
    """A clock that stands still, but for the time that each of the next commits takes."""

    def __init__(self, faults: Faults) -> None:
        self.commit_s = 0.0
        self._faults = faults
        self._time = 0.0
        self._commits = 0

    def now(self) -> datetime:
        raise NotImplementedError

    def monotonic(self) -> float:
        self._time += self.commit_s * (self._faults.commits - self._commits)
        self._commits = self._faults.commits
        return self._time


@pytest.fixture
def watch(faults: Faults) -> Watch:
    return Watch(faults)


@pytest.fixture
async def timed(path: Path, faults: Faults, watch: Watch) -> AsyncIterator[SQLiteBackend]:
    opened = await SQLiteBackend.open(path, connect=faults.connect, clock=watch)
    await opened.write(methodcaller("apply", started(session_row(), run_row())), 0)
    yield opened
    await opened.close()


async def own_thread(backend: SQLiteBackend, key: str, size: int = 0) -> bool:
    """Whether the thread of this event loop wrote a record under `key` itself."""

    def work(tx: Transaction) -> int:
        appending(key)(tx)
        return threading.get_ident()

    return await backend.write(work, size) == threading.get_ident()


class TestAtOnce:
    async def test_a_lone_small_command_is_written_by_the_thread_that_asks(self, timed: SQLiteBackend) -> None:
        assert [await own_thread(timed, f"k{i}") for i in range(3)] == [True] * 3
        assert not await own_thread(timed, "large", size=LARGE)
        assert await stored(timed) == ["k0", "k1", "k2", "large"]

    async def test_tasks_of_one_loop_share_one_commit(self, timed: SQLiteBackend, faults: Faults) -> None:
        before = faults.commits
        assert await asyncio.gather(*(own_thread(timed, f"k{i}") for i in range(10))) == [True] * 10
        assert faults.commits - before == 1
        # So many keep the loop too long.
        assert await asyncio.gather(*(own_thread(timed, f"m{i}") for i in range(65))) == [False] * 65
        assert faults.commits - before == 2

    async def test_a_task_that_nobody_joins_goes_on_but_lets_the_loop_turn_now_and_then(
        self, timed: SQLiteBackend
    ) -> None:
        loop, rounds = asyncio.get_running_loop(), 0

        def turn() -> None:
            nonlocal rounds
            rounds += 1
            if rounds < 100:
                loop.call_soon(turn)

        turn()
        for i in range(64):
            await timed.write(appending(f"k{i}"), 0)
        assert 8 <= rounds <= 16
        rounds = 100

    async def test_a_task_that_went_on_alone_is_joined_again(self, timed: SQLiteBackend, faults: Faults) -> None:
        async def writing(name: str, count: int) -> None:
            for i in range(count):
                await timed.write(appending(f"{name}{i}"), 0)

        first = asyncio.create_task(writing("a", 60))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        before = faults.commits
        second = asyncio.create_task(writing("b", 30))
        await asyncio.gather(first, second)
        assert faults.commits - before < 70
        assert len(await stored(timed)) == 90

    async def test_a_slow_disk_is_left_to_the_writer_until_it_is_quick_again(
        self, timed: SQLiteBackend, watch: Watch
    ) -> None:
        watch.commit_s = 0.003
        assert [await own_thread(timed, f"k{i}") for i in range(5)] == [True] * 3 + [False] * 2
        watch.commit_s = 0.001
        assert [await own_thread(timed, f"m{i}") for i in range(2)] == [False, True]

    async def test_an_erasure_is_left_to_the_writer(self, timed: SQLiteBackend, faults: Faults, path: Path) -> None:
        await timed.write(appending("secret", payload=b'"a secret text"'), 0)
        await timed.write(methodcaller("apply", Change(None, purge=Scope("s1"))), 0)
        for file in path.parent.iterdir():
            assert not file.is_file() or b"a secret text" not in file.read_bytes()

    async def test_the_log_is_folded_by_the_writer_after_some_megabytes(
        self, timed: SQLiteBackend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("actum.storage.sqlite.writer._UNFOLDED_BYTES", 30_000)
        assert [await own_thread(timed, f"k{i}") for i in range(7)] == [True, True, True, False, True, True, True]

    async def test_the_turn_of_another_process_keeps_no_event_loop_waiting(
        self, timed: SQLiteBackend, path: Path
    ) -> None:
        other = FileLock(path.with_name("store.db-lock"))
        assert other.attempt()
        waiting = asyncio.create_task(own_thread(timed, "k"))
        # The loop goes on; a command of a thread of its own sees that nothing is written yet.
        assert await stored(timed) == []
        other.close()
        assert not await waiting
        assert await stored(timed) == ["k"]

    async def test_what_fails_after_it_wrote_is_undone_alone(self, timed: SQLiteBackend, faults: Faults) -> None:
        before = faults.commits
        late = ZeroDivisionError()
        works = appending("a"), appending("b", then=late), appending("c")
        answers = await asyncio.gather(*(timed.write(work, 0) for work in works), return_exceptions=True)
        assert answers == ["a", late, "c"]
        assert await stored(timed) == ["a", "c"]
        assert faults.commits - before == 1
