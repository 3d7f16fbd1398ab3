import asyncio
import json
import os
import signal
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from operator import methodcaller
from pathlib import Path

import pytest

from actum.base.errors import DurableDataError, StoreUnavailable
from actum.lifecycle.change import Change, Keys, Scope, SessionRow
from actum.messages.message import user
from actum.storage.backend import RecordQuery, SessionQuery, Transaction, View
from actum.storage.opening import open_store
from actum.storage.sqlite.backend import SQLiteBackend
from actum.storage.sqlite.view import SQLiteView
from actum.testing import samples
from tests.support.programs import end_of, line_of, program, rest_of
from tests.support.rows import appended, new_record, run_row, session_row, started


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def backend(path: Path) -> AsyncIterator[SQLiteBackend]:
    opened = await SQLiteBackend.open(path)
    await opened.write(lambda tx: tx.apply(started(session_row(), run_row())), 0)
    yield opened
    await opened.close()


async def apply(backend: SQLiteBackend, change: Change) -> None:
    await backend.write(lambda tx: tx.apply(change), 0)


async def append(backend: SQLiteBackend, key: str, run_id: str = "r1") -> int:
    """Appends one record at the scope's end and gives its position."""

    def work(tx: Transaction) -> int:
        position = tx.see(Keys(scope_of=run_id)).position
        tx.apply(appended([new_record(run_id, key)], after=position))
        return position + 1

    return await backend.write(work, 100)


async def keys_of_scope(backend: SQLiteBackend) -> list[str]:
    """The event keys of the session's records, in order; their ids name positions without a gap."""
    found: list[str] = []
    more = True
    while more:
        query = RecordQuery(scope=Scope("s1"), after=len(found), limit=1000)
        page = await backend.read(methodcaller("records", query))
        for record in page.records:
            found.append(f"{record.run_id}/{record.event_key}")
            assert record.id == Scope("s1").record_id(len(found))
        more = page.more
    return found


APPENDER = """
import asyncio, sys
from tests.storage.sqlite.test_backend import append
from actum.storage.sqlite.backend import SQLiteBackend

async def main(path, run_id, count):
    backend = await SQLiteBackend.open(path)
    print("ready", flush=True)
    sys.stdin.readline()
    for i in range(int(count)):
        print(await append(backend, f"k{i:04}", run_id), flush=True)
    await backend.close()

asyncio.run(main(*sys.argv[1:]))
"""


class TestManyWriters:
    @pytest.mark.slow
    async def test_several_processes_take_turns_and_lose_nothing(self, backend: SQLiteBackend, path: Path) -> None:
        runs = [f"p{i}" for i in range(4)]
        await backend.write(lambda tx: tx.apply(started(session_row(), *map(run_row, runs))), 0)
        processes = [program(APPENDER, path, run, "500") for run in runs]
        assert [line_of(each) for each in processes] == ["ready"] * 4
        for each in processes:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        answers = await asyncio.gather(*(asyncio.to_thread(end_of, each) for each in processes))
        positions = [[int(line) for line in answer.split()] for answer in answers]
        stored = await keys_of_scope(backend)
        assert len(stored) == 2000
        for run, theirs in zip(runs, positions, strict=True):
            assert [stored[position - 1] for position in theirs] == [f"{run}/k{i:04}" for i in range(500)]
        # Nobody starves: when the first is through, every other has come a good way too.
        first = min(theirs[-1] for theirs in positions)
        assert all(sum(position < first for position in theirs) > 20 for theirs in positions)

    async def test_many_fresh_objects_on_one_new_file(self, path: Path) -> None:
        backends = await asyncio.gather(*(SQLiteBackend.open(path) for _ in range(8)))
        rows = [session_row(f"s{i}") for i in range(8)]
        writes = (apply(backend, started(row)) for backend, row in zip(backends, rows, strict=True))
        await asyncio.gather(*writes)
        found = await backends[0].read(lambda view: view.sessions(SessionQuery(limit=9)))
        assert found == tuple(rows)
        await asyncio.gather(*(backend.close() for backend in backends))

    async def test_many_fresh_processes_on_one_new_file(self, path: Path) -> None:
        processes = [program(APPENDER, path, "r1", "0") for _ in range(4)]
        for each in processes:
            await asyncio.to_thread(end_of, each, "go")

    async def test_tasks_of_several_event_loops_share_one_backend(self, backend: SQLiteBackend) -> None:
        def loop(name: str) -> None:
            async def main() -> None:
                await asyncio.gather(*(append(backend, f"{name}{i}") for i in range(50)))

            asyncio.run(main())

        threads = [threading.Thread(target=loop, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        await asyncio.gather(*(append(backend, f"d{i}") for i in range(50)))
        for thread in threads:
            await asyncio.to_thread(thread.join)
        assert len(set(await keys_of_scope(backend))) == 200


class TestReaders:
    async def test_a_read_sees_one_state_while_others_write(self, backend: SQLiteBackend) -> None:
        reading, written = threading.Event(), threading.Event()

        def work(view: View) -> tuple[int, int, int]:
            before = view.records(RecordQuery(scope=Scope("s1"), limit=9)).last
            reading.set()
            assert written.wait(30)
            after = view.see(Keys(scope=Scope("s1"))).position
            return before, after, len(view.records(RecordQuery(scope=Scope("s1"), limit=9)).records)

        read = asyncio.create_task(backend.read(work))
        assert await asyncio.to_thread(reading.wait, 30)
        await append(backend, "k1")
        written.set()
        assert await read == (0, 0, 0)
        assert await keys_of_scope(backend) == ["r1/k1"]

    async def test_a_reader_cannot_write(self, backend: SQLiteBackend) -> None:
        def work(view: View) -> None:
            assert isinstance(view, SQLiteView)
            view.apply(started(session_row("s2")))

        with pytest.raises(StoreUnavailable, match="readonly"):
            await backend.read(work)

    async def test_what_a_read_raises_reaches_its_caller(self, backend: SQLiteBackend) -> None:
        def work(_: View) -> None:
            raise LookupError("mine")

        for _ in range(5):
            with pytest.raises(LookupError, match="mine"):
                await backend.read(work)
        assert await keys_of_scope(backend) == []


class TestClosing:
    async def test_what_was_accepted_is_stored_before_the_file_closes(self, backend: SQLiteBackend, path: Path) -> None:
        tasks = [asyncio.create_task(append(backend, f"k{i}")) for i in range(20)]
        await asyncio.sleep(0)
        await backend.close()
        assert sorted(await asyncio.gather(*tasks)) == list(range(1, 21))
        assert not path.with_name("store.db-wal").exists()
        again = await SQLiteBackend.open(path)
        assert len(await keys_of_scope(again)) == 20
        await again.close()

    async def test_what_waits_for_others_to_join_it_was_accepted_too(
        self, backend: SQLiteBackend, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However soon the threads are stopped: the first of a round writes in the next one."""

        def at_once(_: None, stop: Callable[[], None]) -> asyncio.Future[None]:
            stopped = asyncio.get_running_loop().create_future()
            stop()
            stopped.set_result(None)
            return stopped

        tasks = [asyncio.create_task(append(backend, f"k{i}")) for i in range(20)]
        await asyncio.sleep(0)
        with monkeypatch.context() as patched:
            patched.setattr(asyncio.get_running_loop(), "run_in_executor", at_once)
            await backend.close()
        assert sorted(await asyncio.gather(*tasks)) == list(range(1, 21))
        again = await SQLiteBackend.open(path)
        assert len(await keys_of_scope(again)) == 20
        await again.close()

    async def test_a_cancel_meanwhile_comes_after_the_end(self, path: Path, backend: SQLiteBackend) -> None:
        await append(backend, "k1")
        closing = asyncio.create_task(backend.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        # Nobody has the file open: whoever was last has folded the log into it.
        assert not path.with_name(f"{path.name}-wal").exists()
        with pytest.raises(StoreUnavailable, match="closed"):
            await append(backend, "k2")
        with pytest.raises(StoreUnavailable, match="closed"):
            await keys_of_scope(backend)

    async def test_nothing_is_accepted_once_it_has_begun(self, backend: SQLiteBackend) -> None:
        await append(backend, "k1")
        await keys_of_scope(backend)
        closing = asyncio.create_task(backend.close())
        await asyncio.sleep(0)
        for call in (append(backend, "k2"), keys_of_scope(backend)):
            with pytest.raises(StoreUnavailable, match="closed"):
                await call
        await closing


FORKED = """
import asyncio, os, sys
from tests.storage.sqlite.test_backend import append
from actum.base.errors import DurableDataError, StoreUnavailable
from actum.storage.sqlite.backend import SQLiteBackend

async def refused(call):
    try:
        await call
    except StoreUnavailable as error:
        return "fork" in error.reason
    return False

async def child(backend, path):
    answers = [await refused(append(backend, "child")), await refused(SQLiteBackend.open(path))]
    answers.append(await refused(backend.read(lambda view: tuple(view.chain("r1")))))
    answers.append(await refused(backend.owners.alive("owner-1")))
    answers.append(await refused(backend.owners.hold().__aenter__()))
    await backend.close()
    return answers

async def parent(path):
    backend = await SQLiteBackend.open(path)
    await append(backend, "before")
    await backend.read(lambda view: tuple(view.chain("r1")))
    return backend

loop = asyncio.new_event_loop()
backend = loop.run_until_complete(parent(sys.argv[1]))
pid = os.fork()
if pid == 0:
    # The child ends as a program does, with everything that Python cleans up on its way out.
    answers = asyncio.run(child(backend, sys.argv[1]))
    sys.exit(0 if answers == [True] * 5 else 1)
print("child", os.waitpid(pid, 0)[1])
print("log", os.path.exists(sys.argv[1] + "-wal"))
print("after", loop.run_until_complete(append(backend, "after")))
loop.run_until_complete(backend.close())
"""


class TestOtherProcesses:
    async def test_a_forked_child_is_refused_and_harms_nothing(self, backend: SQLiteBackend, path: Path) -> None:
        await backend.close()
        output = await asyncio.to_thread(end_of, program(FORKED, path))
        assert output.splitlines() == ["child 0", "log True", "after 2"]
        again = await SQLiteBackend.open(path)
        assert await keys_of_scope(again) == ["r1/before", "r1/after"]
        await again.close()
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()

    @pytest.mark.crash
    @pytest.mark.parametrize("answers", [1, 40, 150])
    async def test_a_killed_process_has_stored_all_that_it_answered(
        self, backend: SQLiteBackend, path: Path, answers: int
    ) -> None:
        victim = program(APPENDER, path, "r1", "100000")
        assert line_of(victim) == "ready"
        assert victim.stdin is not None
        victim.stdin.write("go\n")
        victim.stdin.flush()
        told = [int(line_of(victim)) for _ in range(answers)]
        os.kill(victim.pid, signal.SIGKILL)
        rest = rest_of(victim)
        told += [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]
        stored = await keys_of_scope(backend)
        assert told == list(range(1, len(told) + 1))
        # At most one was stored whose answer did not get out.
        assert len(told) <= len(stored) <= len(told) + 1
        assert stored == [f"r1/k{i:04}" for i in range(len(stored))]
        assert await append(backend, "next") == len(stored) + 1


@pytest.mark.slow
@pytest.mark.parametrize("runs, each", [(1, 10_000), (1_000, 10)])
async def test_the_file_stays_near_the_size_of_its_payloads(path: Path, runs: int, each: int) -> None:
    backend = await SQLiteBackend.open(path)
    payload = json.dumps({"text": "x" * 690}).encode()
    names = [f"run-{i:032x}" for i in range(runs)]
    await backend.write(lambda tx: tx.apply(started(session_row("s1", head=names[0]), *map(run_row, names))), 0)
    position = 0
    for name in names:
        for start in range(0, each, 1000):
            batch = [
                new_record(name, f"step/{start + i}/message", payload=payload, turn_id=f"turn-{i:08x}")
                for i in range(min(each, 1000))
            ]
            change = appended(batch, after=position)
            position += len(batch)
            await apply(backend, change)
    await backend.close()
    assert (await asyncio.to_thread(path.stat)).st_size / (len(payload) * runs * each) < 1.4


async def test_a_session_row_is_found_by_its_exact_id_alone(backend: SQLiteBackend) -> None:
    names = ["S1", "s1 ", "\uff531", "s1\u0301"]
    for name in names:
        await apply(backend, started(session_row(name)))
    for name in ["s1", *names]:
        seen = await backend.read(methodcaller("see", Keys(scope=Scope(name))))
        row = seen.sessions[name]
        assert isinstance(row, SessionRow)
        assert row.session.session_id == name


async def test_a_damaged_history_that_goes_round_in_a_circle_is_left_again(path: Path, backend: SQLiteBackend) -> None:
    await apply(backend, started(session_row(), run_row("r2")))
    await backend.close()
    with sqlite3.connect(path) as damaged:
        damaged.execute(
            "UPDATE runs SET history_run_id = 'r2', history_through = 'x', end_position = 3 WHERE run_id = 'r1'"
        )
        damaged.execute(
            "UPDATE runs SET history_run_id = 'r1', history_through = 'x', end_position = 2 WHERE run_id = 'r2'"
        )
    damaged.close()
    async with open_store(f"sqlite:///{path}") as store:
        for backwards in (False, True):
            with pytest.raises(DurableDataError, match="circle"):
                await store.read_transcript("r1", backwards=backwards)


@pytest.mark.parametrize("limit", [1, 2, 9])
async def test_records_of_a_run_whose_row_is_gone_are_passed_over(
    backend: SQLiteBackend, path: Path, limit: int
) -> None:
    await apply(backend, started(session_row(), run_row("r2")))
    for run_id, key in (("r2", "a"), ("r2", "b"), ("r1", "c"), ("r2", "d"), ("r1", "e")):
        await append(backend, key, run_id)
    with sqlite3.connect(path) as damaged:
        damaged.execute("DELETE FROM runs WHERE run_id = 'r2'")
    query = RecordQuery(scope=Scope("s1"), limit=limit)
    found = await backend.read(methodcaller("records", query))
    assert [record.event_key for record in found.records] == ["c", "e"][:limit]
    assert found.more is (limit == 1)
    assert found.last == 5


@pytest.mark.parametrize("after", [0, 1])
async def test_no_record_takes_a_position_that_was_given(backend: SQLiteBackend, after: int) -> None:
    """Whatever went wrong before: the database itself keeps the order of a scope."""
    await append(backend, "a")
    await append(backend, "b")
    with pytest.raises(StoreUnavailable, match="behind all others of its scope"):
        await apply(backend, appended([new_record(key="c")], after=after))
    assert await keys_of_scope(backend) == ["r1/a", "r1/b"]


@pytest.mark.parametrize("payload", [b"{", b'{"messages":[],"messages":[]}', b'{"messages":[{"role":"nobody"}]}'])
async def test_a_damaged_message_is_named_by_whoever_reads_it(path: Path, payload: bytes) -> None:
    async with open_store(f"sqlite:///{path}") as store:
        await store.create_session("s1", samples.T0)
        run = (await store.start_root_run(samples.root("r1"))).run
        await store.append_run_records([samples.said(run, f"k{n}", "text") for n in range(3)])
        with sqlite3.connect(path) as damaged:
            damaged.execute("UPDATE records SET payload = ? WHERE event_key = 'k1'", (payload,))
        damaged.close()
        assert (await store.read_messages("r1", limit=1)).items == (user("text"),)
        for limit in (2, 100):
            with pytest.raises(DurableDataError) as caught:
                await store.read_messages("r1", limit=limit)
            assert (caught.value.run_id, caught.value.event_key) == ("r1", "k1")
