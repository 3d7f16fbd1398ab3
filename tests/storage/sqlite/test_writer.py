import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from operator import methodcaller
from pathlib import Path
from unittest.mock import Mock

import pytest

from actum.base import limits
from actum.base.errors import ContractError, RunNotRunning, StoreUnavailable
from actum.lifecycle.change import Change, Keys, Scope
from actum.storage.backend import RecordQuery, Transaction
from actum.storage.sqlite.backend import SQLiteBackend
from actum.testing.script import ManualClock
from tests.support.faults_in_sqlite import Faults
from tests.support.programs import end_of, program
from tests.support.rows import appended, new_record, run_row, session_row, started

# Too large to be written by the thread of the event loop: it goes to the writer's own.
LARGE = 2**20


@pytest.fixture
async def backend(path: Path, faults: Faults) -> AsyncIterator[SQLiteBackend]:
    opened = await SQLiteBackend.open(path, connect=faults.connect)
    await opened.write(methodcaller("apply", started(session_row(), run_row())), 0)
    yield opened
    await opened.close()


async def sent() -> None:
    """What the other tasks asked for has left their event loop: one round gathers it, the next one sends it."""
    for _ in range(2):
        await asyncio.sleep(0)


def appending(
    key: str, payload: bytes = b"{}", then: BaseException | None = None, run_id: str = "r1"
) -> Callable[[Transaction], str]:
    """Work that appends one record at the end of the scope, and then raises `then`."""

    def work(tx: Transaction) -> str:
        position = tx.see(Keys(scope_of=run_id)).position
        tx.apply(appended([new_record(run_id, key=key, payload=payload)], after=position))
        if then is not None:
            raise then
        return key

    return work


class Grouped:
    """Holds the writer in one piece of work, so that all that is asked meanwhile becomes its next group."""

    def __init__(self, backend: SQLiteBackend) -> None:
        self._backend = backend
        self._held, self._go = threading.Event(), threading.Event()

    async def run(self, *works: Callable[[Transaction], str], size: int = 0) -> list[str | BaseException]:
        """The answers of the works, which share one transaction."""

        def hold(_: Transaction) -> None:
            self._held.set()
            assert self._go.wait(60)

        first = asyncio.create_task(self._backend.write(hold, LARGE))
        assert await asyncio.to_thread(self._held.wait, 60)
        others = [asyncio.create_task(self._backend.write(work, size)) for work in works]
        await sent()
        self._go.set()
        await first
        return await asyncio.gather(*others, return_exceptions=True)


async def stored(backend: SQLiteBackend) -> list[str]:
    found = await backend.read(lambda view: view.records(RecordQuery(scope=Scope("s1"), limit=1000)))
    assert [each.id for each in found.records] == [Scope("s1").record_id(i + 1) for i in range(len(found.records))]
    assert found.last == len(found.records)
    return [each.event_key for each in found.records]


class TestGroups:
    async def test_commands_that_wait_together_share_one_commit(self, backend: SQLiteBackend, faults: Faults) -> None:
        before = faults.commits
        assert await Grouped(backend).run(*(appending(f"k{i}") for i in range(40))) == [f"k{i}" for i in range(40)]
        # One for the work that held the writer, one for all the others.
        assert faults.commits - before == 2
        assert await stored(backend) == [f"k{i}" for i in range(40)]

    async def test_a_group_is_bounded_in_number_and_in_bytes(
        self, backend: SQLiteBackend, faults: Faults, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("actum.storage.sqlite.writer.GROUP_COMMANDS", 2)
        # The first commit is of the work that holds the writer; then every group of two fails alone.
        assert limits.GROUP_COMMANDS > 2
        grouped = Grouped(backend)

        def failing(tx: Transaction) -> str:
            faults.fail("COMMIT")
            return appending("k0")(tx)

        answers = await grouped.run(failing, appending("k1"), appending("k2"), appending("k3"))
        assert [type(answer) for answer in answers] == [StoreUnavailable, StoreUnavailable, str, str]
        monkeypatch.setattr("actum.storage.sqlite.writer.GROUP_COMMANDS", 512)
        answers = await Grouped(backend).run(failing, appending("k4"), size=limits.GROUP_BYTES)
        assert [type(answer) for answer in answers] == [StoreUnavailable, str]
        assert await stored(backend) == ["k2", "k3", "k4"]

    @pytest.mark.parametrize(
        "error", [RunNotRunning(run_id="r1", status="failed"), ZeroDivisionError(), KeyboardInterrupt(), SystemExit(2)]
    )
    async def test_a_refused_command_leaves_its_neighbours_alone(
        self, backend: SQLiteBackend, error: BaseException
    ) -> None:
        heard: list[BaseException] = []

        async def ask(work: Callable[[Transaction], str]) -> str | None:
            try:
                return await backend.write(work, 0)
            except type(error) as found:
                heard.append(found)
                return None

        held, go = threading.Event(), threading.Event()

        def hold(_: Transaction) -> None:
            held.set()
            assert go.wait(60)

        first = asyncio.create_task(backend.write(hold, LARGE))
        assert await asyncio.to_thread(held.wait, 60)
        works = appending("a"), appending("b", then=error), appending("c")
        asked = asyncio.gather(*map(ask, works))
        await sent()
        go.set()
        await first
        assert await asked == ["a", None, "c"]
        assert heard == [error]
        assert await ask(appending("alone", then=error)) is None
        assert await stored(backend) == ["a", "c"]

    async def test_a_stop_iteration_is_told_as_what_it_is(self, backend: SQLiteBackend) -> None:
        with pytest.raises(RuntimeError, match="StopIteration"):
            await backend.write(appending("a", then=StopIteration()), 0)
        assert await stored(backend) == []

    async def test_whoever_waited_no_longer_is_passed_over(self, backend: SQLiteBackend) -> None:
        held, go = threading.Event(), threading.Event()

        def hold(_: Transaction) -> None:
            held.set()
            assert go.wait(60)

        first = asyncio.create_task(backend.write(hold, LARGE))
        assert await asyncio.to_thread(held.wait, 60)
        left, stays = (asyncio.create_task(backend.write(appending(key), 0)) for key in "ab")
        await sent()
        left.cancel()
        first.cancel()
        await asyncio.gather(left, first, return_exceptions=True)
        go.set()
        assert await stays == "b"
        assert await stored(backend) == ["b"]

    async def test_a_loop_that_closed_is_no_trouble(self, backend: SQLiteBackend) -> None:
        held, go = threading.Event(), threading.Event()

        def hold(_: Transaction) -> None:
            held.set()
            assert go.wait(60)

        def leave() -> None:
            loop = asyncio.new_event_loop()
            task = loop.create_task(backend.write(hold, LARGE))
            loop.call_soon(lambda: loop.call_later(0, loop.stop))
            loop.run_forever()
            assert held.wait(60)
            task.cancel()
            loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
            loop.close()

        await asyncio.to_thread(leave)
        go.set()
        assert await backend.write(appending("next"), 0) == "next"


class TestTheLeader:
    """The first of the tasks that ask in one round of an event loop writes for them all."""

    async def test_one_that_is_canceled_leaves_the_others_to_be_written(
        self, backend: SQLiteBackend, faults: Faults
    ) -> None:
        leads, follows, also = (asyncio.create_task(backend.write(appending(key), 0)) for key in "abc")
        await asyncio.sleep(0)
        before = faults.commits
        leads.cancel()
        first, *others = await asyncio.gather(leads, follows, also, return_exceptions=True)
        assert isinstance(first, asyncio.CancelledError)
        assert others == ["b", "c"]
        assert faults.commits - before == 1
        assert await stored(backend) == ["b", "c"]

    async def test_one_that_is_canceled_alone_is_passed_over(self, backend: SQLiteBackend) -> None:
        alone = asyncio.create_task(backend.write(appending("a"), 0))
        await asyncio.sleep(0)
        alone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await alone
        assert await backend.write(appending("b"), 0) == "b"
        assert await stored(backend) == ["b"]

    async def test_a_follower_that_is_canceled_is_passed_over(self, backend: SQLiteBackend) -> None:
        leads, left, stays = (asyncio.create_task(backend.write(appending(key), 0)) for key in "abc")
        await asyncio.sleep(0)
        left.cancel()
        assert (await leads, await stays) == ("a", "c")
        assert await stored(backend) == ["a", "c"]

    async def test_a_loop_that_ends_in_mid_round_is_no_trouble(self, backend: SQLiteBackend) -> None:
        def leave() -> None:
            loop = asyncio.new_event_loop()
            tasks = [loop.create_task(backend.write(appending(key), 0)) for key in "ab"]
            loop.call_soon(loop.stop)
            loop.run_forever()
            loop.close()
            for task in tasks:
                task.get_coro().close()

        await asyncio.to_thread(leave)
        assert await backend.write(appending("next"), 0) == "next"
        assert await stored(backend) == ["next"]

    async def test_its_own_refusal_is_no_others(self, backend: SQLiteBackend) -> None:
        refusal = RunNotRunning(run_id="r1", status="failed")
        works = appending("a", then=refusal), appending("b")
        answers = await asyncio.gather(*(backend.write(work, 0) for work in works), return_exceptions=True)
        assert answers == [refusal, "b"]


class TestTheMachineFails:
    @pytest.mark.parametrize("statement", ["COMMIT", "BEGIN IMMEDIATE"])
    async def test_a_failing_commit_fails_all_and_stores_nothing(
        self, backend: SQLiteBackend, faults: Faults, statement: str
    ) -> None:
        refusal = RunNotRunning(run_id="r1", status="failed")
        grouped = Grouped(backend)

        def fail(tx: Transaction) -> str:
            faults.fail(statement)
            return appending("a")(tx)

        works = [fail, appending("b", then=refusal), appending("c")]
        if statement == "BEGIN IMMEDIATE":
            faults.fail(statement)
            with pytest.raises(StoreUnavailable, match=r"store\.db: disk I/O error"):
                await backend.write(appending("a"), 0)
        else:
            answers = await grouped.run(*works)
            assert [type(answer) for answer in answers] == [StoreUnavailable] * 3
            assert len({id(answer) for answer in answers}) == 3
        assert await stored(backend) == []
        assert await backend.write(appending("next"), 0) == "next"

    async def test_a_failing_statement_fails_its_command_alone(self, backend: SQLiteBackend, faults: Faults) -> None:
        def fail(tx: Transaction) -> str:
            faults.fail("INSERT INTO records")
            return appending("b")(tx)

        answers = await Grouped(backend).run(appending("a"), fail, appending("c"))
        assert [type(answer) for answer in answers] == [str, StoreUnavailable, str]
        assert await stored(backend) == ["a", "c"]

    async def test_a_full_disk_in_mid_group(self, backend: SQLiteBackend, faults: Faults, path: Path) -> None:
        faults.pages = path.stat().st_size // 4096 + 60  # noqa: ASYNC240 - a look at a small file
        works = [appending(f"k{i}", payload=b'"%s"' % (b"x" * size)) for i, size in enumerate((9, 9, 10**6, 9))]
        answers = await Grouped(backend).run(*works)
        kept = [answer for answer in answers if isinstance(answer, str)]
        assert isinstance(answers[2], StoreUnavailable)
        assert "full" in answers[2].reason
        assert await stored(backend) == kept
        faults.pages = 10**6
        assert await backend.write(works[2], 0) == "k2"

    async def test_a_disk_that_takes_the_whole_transaction_away(self, backend: SQLiteBackend, path: Path) -> None:
        await backend.close()
        output = await asyncio.to_thread(end_of, program(FULL, path))
        assert output.splitlines() == ["lost", "after next"]

    async def test_what_fails_after_the_commit_does_not_unsay_it(self, backend: SQLiteBackend, faults: Faults) -> None:
        await backend.write(methodcaller("apply", started(session_row("s2"))), 0)
        faults.fail("PRAGMA wal_checkpoint")
        await backend.write(methodcaller("apply", Change(None, purge=Scope("s2"))), 0)
        faults.fail("VACUUM")
        await backend.write(methodcaller("apply", Change(None, purge=Scope("s1"))), 0)
        assert await stored(backend) == []

    async def test_a_lock_held_by_a_stranger(self, backend: SQLiteBackend, path: Path) -> None:
        stranger = sqlite3.connect(path, isolation_level=None)
        stranger.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked"):
            await backend.write(appending("a"), 0)
        stranger.close()
        assert await backend.write(appending("b"), 0) == "b"

    @pytest.mark.parametrize("size", [0, LARGE])
    async def test_a_file_that_was_taken_away(self, path: Path, size: int) -> None:
        clock = ManualClock()
        backend = await SQLiteBackend.open(path, clock=clock)
        await backend.write(methodcaller("apply", started(session_row(), run_row())), 0)
        moved = path.with_name("elsewhere.db")
        path.rename(moved)  # noqa: ASYNC240 - one call
        clock.advance(0.011)
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="moved or deleted"):
                await backend.write(appending("a"), size)
        moved.rename(path)
        assert await backend.write(appending("b"), size) == "b"
        await backend.close()

    async def test_a_file_that_cannot_be_opened_is_tried_again(self, path: Path, faults: Faults) -> None:
        opened = await SQLiteBackend.open(path, connect=faults.connect)
        faults.fail("PRAGMA synchronous")
        with pytest.raises(StoreUnavailable, match="disk I/O error"):
            await opened.write(methodcaller("apply", started(session_row())), 0)
        await opened.write(methodcaller("apply", started(session_row())), 0)
        await opened.close()


# The limit on the size of files makes the disk full for this process, in the middle of a large group.
FULL = """
import asyncio, resource, sys
from pathlib import Path
from actum.base.errors import StoreUnavailable
from actum.storage.sqlite.backend import SQLiteBackend
from tests.storage.sqlite.test_writer import Grouped, appending, stored

async def main(path):
    backend = await SQLiteBackend.open(path)
    await backend.write(appending("first"), 0)
    log = Path(path + "-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (max(log, Path(path).stat().st_size) + 200_000, resource.RLIM_INFINITY))
    works = [appending(f"k{i}", payload=b'"%s"' % (b"x" * size)) for i, size in enumerate((9, 9, 40_000_000, 9, 9))]
    answers = await Grouped(backend).run(*works)
    kept = [answer for answer in answers if isinstance(answer, str)]
    assert all(isinstance(answer, (str, StoreUnavailable)) for answer in answers), answers
    assert isinstance(answers[2], StoreUnavailable), answers
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert await stored(backend) == ["first", *kept], (kept, await stored(backend))
    print("lost" if not kept else f"kept {kept}")
    print("after", await backend.write(appending("next"), 0))
    await backend.close()

asyncio.run(main(sys.argv[1]))
"""


async def test_refusals_are_no_failures_of_the_store(backend: SQLiteBackend) -> None:
    refusal = RunNotRunning(run_id="r1", status="failed")
    with pytest.raises(ContractError) as caught:
        await backend.write(appending("a", then=refusal), 0)
    assert caught.value is refusal
    await backend.write(methodcaller("apply", Change(None)), 0)
    assert await stored(backend) == []


async def test_a_thread_that_does_not_start_leaves_a_store_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = await SQLiteBackend.open(tmp_path / "store.db")
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
        for ask in (lambda: backend.write(appending("k"), 0), lambda: backend.read(methodcaller("see", Keys()))):
            with pytest.raises(StoreUnavailable, match="can't start new thread"):
                await ask()
    await backend.write(methodcaller("apply", started(session_row(), run_row())), 0)
    await backend.write(appending("k"), 0)
    assert await stored(backend) == ["k"]
    await backend.close()


async def test_a_thread_that_does_not_start_is_done_without_where_there_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = await SQLiteBackend.open(tmp_path / "store.db")
    await backend.write(methodcaller("apply", started(session_row(), run_row())), 0)
    await stored(backend)
    monkeypatch.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
    lists = [backend.read(methodcaller("count_runs", "status", None)) for _ in range(5)]
    assert await asyncio.gather(*lists) == [{"running": 1}] * 5
    monkeypatch.undo()
    await backend.close()
