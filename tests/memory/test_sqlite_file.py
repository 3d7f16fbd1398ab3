"""The file of a memory: alone or beside a store, between processes, after erasures, and when it is no file of ours."""

import asyncio
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from actum.base.errors import ActumError, NotAStore, SchemaTooNew, StoreUnavailable
from actum.base.locks import FileLock
from actum.memory.entries import MemoryEntry, MemoryScope
from actum.memory.events import EventType, MemoryEvent
from actum.memory.opening import open_memory
from actum.memory.search import HashEmbedder
from actum.memory.sqlite_file import MemoryFile, _statements
from actum.messages.message import user
from actum.storage.opening import open_store
from actum.testing import samples
from actum.testing.samples import at
from tests.support.programs import end_of, line_of, program

SECRET = "xylophoneheron"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def readonly(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        yield connection


def said(event_id: str, text: str) -> MemoryEvent:
    return MemoryEvent(
        event_id=event_id, type=EventType.USER_MESSAGE, at=at(0), message_id=event_id, message=user(text)
    )


def bytes_beside(path: Path) -> bytes:
    """What is on the disk: the file and its log."""
    return b"".join(each.read_bytes() for each in path.parent.glob(path.name + "*"))


def content_of(path: Path) -> bytes:
    return path.read_bytes()


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def exit_code_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


GUEST = """
import asyncio, sys
from actum.memory.entries import MemoryScope
from actum.memory.opening import open_memory
from actum.storage.opening import open_store

async def main(url, name):
    async with open_store(url) as store, open_memory(url) as memory:
        entry = await memory.entries.get(MemoryScope.SESSION, name, "theme")
        print((await store.load_session(name)).session_id, entry is not None)

asyncio.run(main(*sys.argv[1:]))
"""


class TestOneFileWithTheStore:
    @pytest.mark.parametrize("first", ["store", "memory"])
    async def test_store_and_memory_come_in_either_order(self, path: Path, first: str) -> None:
        url = f"sqlite:///{path}"
        if first == "store":
            async with open_store(url):
                pass
        async with open_memory(url) as memory, open_store(url) as store:
            await store.create_session("s1", samples.T0)
            await memory.entries.store(MemoryEntry.for_session("s1", key="theme", value="dark"))
            await store.start_root_run(samples.root("r1", "s1"))
            await memory.events.append_events("s1", "helper", "r1", [said("e1", "hello")])
        async with open_store(url) as store, open_memory(url) as memory:
            assert (await store.load_run("r1")).session_id == "s1"
            assert await memory.entries.get(MemoryScope.SESSION, "s1", "theme") is not None
            assert len(await memory.events.search("hello")) == 1

    async def test_the_file_stays_locked_to_other_processes_whoever_opens_it_again(self, path: Path) -> None:
        """Otherwise the next process to leave would take the log away, and the commits after that with it."""
        url = f"sqlite:///{path}"
        async with open_memory(url) as memory, open_store(url) as store:
            for name in ("s1", "s2"):
                await store.create_session(name, samples.T0)
                await memory.entries.store(MemoryEntry.for_session(name, key="theme", value="dark"))
                async with open_memory(url), open_store(url):
                    pass
                assert await asyncio.to_thread(end_of, program(GUEST, url, name)) == f"{name} True\n"

    async def test_a_connection_of_the_product_keeps_its_locks(self, path: Path) -> None:
        """It was open before, and keeps the log from being taken away by another process."""
        url = f"sqlite:///{path}"
        async with open_memory(url), open_store(url):
            pass
        with closing(sqlite3.connect(path, isolation_level=None)) as product:
            product.execute("CREATE TABLE mine (x)")
            for name in ("s1", "s2"):
                async with open_memory(url) as memory, open_store(url) as store:
                    await store.create_session(name, samples.T0)
                    await memory.entries.store(MemoryEntry.for_session(name, key="theme", value="dark"))
                product.execute("INSERT INTO mine VALUES (1)")
                assert await asyncio.to_thread(end_of, program(GUEST, url, name)) == f"{name} True\n"
                assert f"{path.name}-wal" in names_in(path.parent)

    async def test_they_take_turns_by_one_lock_whichever_links_lead_there(self, path: Path, links: list[Path]) -> None:
        for link in links:
            async with open_memory(f"sqlite:///{link}") as memory, open_store(f"sqlite:///{path}"):
                await memory.entries.store(MemoryEntry.for_session("s1", key="theme", value="dark"))
        assert names_in(path.parent) == ["again.db", "folder", "link.db", "memory.db", "memory.db-lock"]

    @pytest.fixture
    def links(self, path: Path) -> list[Path]:
        """Ways to the memory's file: a link, a link to that link, and a link among the folders."""
        link, again, folder = (path.with_name(name) for name in ("link.db", "again.db", "folder"))
        link.symlink_to(path.name)
        again.symlink_to(link)
        folder.symlink_to(path.parent)
        return [link, again, folder / path.name]

    async def test_the_stores_schema_and_stamp_stay_as_they_are(self, path: Path) -> None:
        async with open_store(f"sqlite:///{path}"):
            pass
        with closing(sqlite3.connect(path)) as connection:
            names = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'memory%' AND name NOT LIKE 'sqlite%'"
            before = connection.execute(names).fetchall(), connection.execute("PRAGMA user_version").fetchone()
        async with open_memory(f"sqlite:///{path}") as memory:
            await memory.entries.store(MemoryEntry.for_session("s1", key="theme", value="dark"))
        with closing(sqlite3.connect(path)) as connection:
            after = connection.execute(names).fetchall(), connection.execute("PRAGMA user_version").fetchone()
        assert after == before

    async def test_both_write_side_by_side(self, path: Path) -> None:
        url = f"sqlite:///{path}"
        async with open_store(url) as store, open_memory(url) as memory:
            await store.create_session("s1", samples.T0)
            await asyncio.gather(
                *(store.start_root_run(samples.root(f"r{n}", "s1")) for n in range(50)),
                *(memory.entries.store(MemoryEntry.for_session("s1", key=f"k{n}", value=n)) for n in range(50)),
            )
            assert len((await store.list_runs("s1")).items) == 50
            assert len((await memory.entries.list(MemoryScope.SESSION, "s1")).items) == 50


class TestWhatIsNoMemory:
    @pytest.mark.parametrize("content", [b"not a database at all", b"x"])
    async def test_another_file_is_left_alone(self, path: Path, content: bytes) -> None:
        await asyncio.to_thread(path.write_bytes, content)
        with pytest.raises(NotAStore):
            await MemoryFile.open(path)
        assert content_of(path) == content

    async def test_another_applications_database_is_left_alone(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE theirs (x)")
        before = content_of(path)
        with pytest.raises(NotAStore):
            await MemoryFile.open(path)
        assert content_of(path) == before
        assert names_in(path.parent) == [path.name]

    async def test_a_named_pipe_and_a_file_with_several_hard_links(self, path: Path) -> None:
        os.mkfifo(path.with_name("pipe.db"))
        with pytest.raises(NotAStore, match="no regular file"):
            await MemoryFile.open(path.with_name("pipe.db"))
        await (await MemoryFile.open(path)).close()
        os.link(path, path.with_name("other.db"))
        for name in ("memory.db", "other.db"):
            with pytest.raises(StoreUnavailable, match=f"{name}: the file has 2 names"):
                await MemoryFile.open(path.with_name(name))

    async def test_a_directory_and_a_place_that_is_not_there(self, path: Path) -> None:
        with pytest.raises(NotAStore):
            await MemoryFile.open(path.parent)
        with pytest.raises(StoreUnavailable):
            await MemoryFile.open(path / "nowhere" / "memory.db")

    @pytest.mark.parametrize("name", ["x" * 300, "x" * 300 + "/memory.db", "x" * 253])
    async def test_a_name_that_is_too_long(self, path: Path, name: str) -> None:
        with pytest.raises(StoreUnavailable):
            await MemoryFile.open(path.parent / name)

    async def test_a_newer_schema_is_refused(self, path: Path) -> None:
        await (await MemoryFile.open(path)).close()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("INSERT INTO memory_migrations VALUES (99, '0099_later.sql', 'x')")
            connection.commit()
        with pytest.raises(SchemaTooNew) as caught:
            await MemoryFile.open(path)
        assert caught.value.found == 99

    async def test_a_schema_that_was_made_otherwise_is_refused(self, path: Path) -> None:
        await (await MemoryFile.open(path)).close()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE memory_migrations SET digest = 'x'")
            connection.commit()
        with pytest.raises(NotAStore):
            await MemoryFile.open(path)


class TestMigrations:
    def test_statements_end_at_their_own_mark_wherever_lines_end(self) -> None:
        assert [each.strip() for each in _statements("-- a; b\nSELECT 1; SELECT ';';\n-- the end; at last\n")] == [
            "-- a; b\nSELECT 1;",
            "SELECT ';';",
        ]

    @pytest.mark.parametrize("tail", ["CREATE TABLE b (x)", "SELECT ';'", "/* open;"])
    def test_a_statement_without_its_mark_is_never_dropped(self, tail: str) -> None:
        with pytest.raises(ValueError, match="within a statement"):
            list(_statements(f"SELECT 1;\n{tail}\n"))


class TestErasing:
    async def test_what_was_forgotten_is_in_no_byte_of_the_file(self, path: Path) -> None:
        async with open_memory(f"sqlite:///{path}", embedder=HashEmbedder()) as memory:
            await memory.events.append_events("s1", "helper", "r1", [said("e1", f"my {SECRET} word")])
            await memory.entries.store(MemoryEntry.for_session("s1", key=SECRET, value="x"))
            await memory.entries.store(MemoryEntry.for_session("s1", key=SECRET, value=f"{SECRET} again"))
            await memory.entries.store(MemoryEntry.for_user("u1", key="word", value=SECRET))
            assert SECRET.encode() in bytes_beside(path)
            await memory.events.forget("s1")
            await memory.entries.forget("s1")
            await memory.entries.delete(MemoryScope.USER, "u1", "word")
            assert SECRET.encode() not in bytes_beside(path)
        assert SECRET.encode() not in bytes_beside(path)

    async def test_no_row_of_a_forgotten_session_is_left(self, path: Path, request: pytest.FixtureRequest) -> None:
        async with open_memory(f"sqlite:///{path}", embedder=HashEmbedder()) as memory:
            for name in ("s1", "s2"):
                await memory.events.append_events(name, "helper", f"{name}-r", [said("e1", "hello"), said("e2", "you")])
                for n in range(3):
                    await memory.entries.store(MemoryEntry.for_session(name, key="k", value=n))
            await memory.events.forget("s1")
            await memory.entries.forget("s1")
        connection = request.getfixturevalue("readonly")
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - names of the test
            for table in ("memory_runs", "memory_messages", "memory_events", "memory_entries", "memory_vectors")
        }
        assert counts == {
            "memory_runs": 1,
            "memory_messages": 2,
            "memory_events": 2,
            "memory_entries": 3,
            "memory_vectors": 1,
        }
        forgotten = connection.execute("SELECT session_id FROM memory_groups WHERE forgotten").fetchall()
        assert forgotten == [(None,)]
        assert connection.execute("SELECT name, secret FROM memory_scopes WHERE forgotten").fetchall() == [(None, None)]

    async def test_the_index_holds_no_words(self, path: Path, request: pytest.FixtureRequest) -> None:
        async with open_memory(f"sqlite:///{path}") as memory:
            await memory.entries.store(MemoryEntry.for_user("u1", key="word", value=SECRET))
        connection = request.getfixturevalue("readonly")
        blocks = [row[0] for row in connection.execute("SELECT block FROM memory_entry_words_data")]
        assert blocks
        assert not any(SECRET[:6].encode() in block for block in blocks)


WRITER = """
import asyncio, sys
from actum.memory.entries import MemoryEntry
from actum.memory.opening import open_memory

async def main(path, name, count):
    async with open_memory(f"sqlite:///{path}") as memory:
        print("ready", flush=True)
        sys.stdin.readline()
        for n in range(int(count)):
            await memory.entries.store(MemoryEntry.for_shared(key=f"{name}-{n}", value=n))
            print(n, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


class TestProcesses:
    @pytest.mark.slow
    async def test_several_processes_write_and_lose_nothing(self, path: Path) -> None:
        processes = [program(WRITER, path, name, "100") for name in ("a", "b", "c")]
        assert [line_of(each) for each in processes] == ["ready"] * 3
        for each in processes:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        await asyncio.gather(*(asyncio.to_thread(end_of, each) for each in processes))
        async with open_memory(f"sqlite:///{path}") as memory:
            page = await memory.entries.list(MemoryScope.SHARED, "shared", limit=1000)
            assert len(page.items) == 300
            assert len({each.version for each in page.items}) == 300

    @pytest.mark.crash
    async def test_what_was_answered_survives_a_kill(self, path: Path) -> None:
        running = program(WRITER, path, "a", "100000")
        assert line_of(running) == "ready"
        assert running.stdin is not None
        running.stdin.write("go\n")
        running.stdin.flush()
        last = [int(line_of(running)) for _ in range(50)][-1]
        running.kill()
        running.communicate()
        async with open_memory(f"sqlite:///{path}") as memory:
            page = await memory.entries.list(MemoryScope.SHARED, "shared", limit=1000)
            assert {f"a-{n}" for n in range(last + 1)} <= {each.key for each in page.items}
            hits = await memory.entries.search(MemoryScope.SHARED, "shared", f"a-{last}")
            assert f"a-{last}" in {each.entry.key for each in hits}

    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # forking is the point
    async def test_a_forked_child_is_refused(self, path: Path) -> None:
        async with open_memory(f"sqlite:///{path}") as memory:
            entry = MemoryEntry.for_shared(key="k", value=1)
            await memory.entries.store(entry)
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    asyncio.set_event_loop(None)
                    refused = [_refused(memory.entries.store(entry)), _refused(MemoryFile.open(path))]
                    code = 0 if all(refused) else 2
                finally:
                    os._exit(code)
            assert exit_code_of(child) == 0
            await memory.entries.store(MemoryEntry.for_shared(key="k", value=2))

    @pytest.mark.parametrize("replaced", [True, False])
    async def test_a_file_that_was_taken_away_is_written_no_more(self, path: Path, *, replaced: bool) -> None:
        async with open_memory(f"sqlite:///{path}") as memory:
            await memory.entries.store(MemoryEntry.for_shared(key="k", value=1))
            await asyncio.to_thread(path.rename, path.with_name("elsewhere.db"))
            if replaced:
                await (await MemoryFile.open(path)).close()
            with pytest.raises(StoreUnavailable):
                await memory.entries.store(MemoryEntry.for_shared(key="k", value=2))

    async def test_what_came_in_its_place_is_not_read(self, path: Path) -> None:
        async with open_memory(f"sqlite:///{path}") as memory:
            await asyncio.to_thread(path.rename, path.with_name("elsewhere.db"))
            async with open_memory(f"sqlite:///{path}") as other:
                await other.entries.store(MemoryEntry.for_shared(key="k", value=2))
            with pytest.raises(StoreUnavailable, match="moved or deleted while it was open"):
                await memory.entries.get(MemoryScope.SHARED, "shared", "k")

    async def test_a_file_that_is_gone_is_not_made_anew_by_a_reader(self, path: Path) -> None:
        async with open_memory(f"sqlite:///{path}") as memory:
            await asyncio.to_thread(path.unlink)
            with pytest.raises(StoreUnavailable):
                await memory.entries.get(MemoryScope.SHARED, "shared", "k")
            assert path.name not in names_in(path.parent)

    async def test_a_cancel_while_it_closes_comes_after_the_end(self, path: Path) -> None:
        file = await MemoryFile.open(path)
        await file.write(lambda connection: connection.execute("SELECT 1").fetchone())
        await file.read(lambda connection: connection.execute("SELECT 1").fetchone())
        ending = asyncio.create_task(file.close())
        await asyncio.sleep(0)
        for call in (file.write(lambda _: None), file.read(lambda _: None)):
            with pytest.raises(StoreUnavailable, match="closed"):
                await call
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        # Nobody has the file open: whoever was last has folded the log into it.
        assert names_in(path.parent) == ["memory.db", "memory.db-lock"]

    async def test_whoever_holds_the_lock_and_stands_still_stops_no_reader(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("actum.memory.sqlite_file._BUSY_TIMEOUT_S", 0)
        await (await MemoryFile.open(path)).close()
        holder = FileLock(path.with_name("memory.db-lock"))
        assert holder.attempt()
        async with open_memory(f"sqlite:///{path}") as memory:
            assert await memory.entries.get(MemoryScope.SHARED, "shared", "k") is None
            with pytest.raises(StoreUnavailable, match=r"memory\.db-lock was locked by somebody else"):
                await memory.entries.store(MemoryEntry.for_shared(key="k", value=1))
        holder.close()

    async def test_a_closed_memory_says_so(self, path: Path) -> None:
        async with open_memory(f"sqlite:///{path}") as memory:
            pass
        with pytest.raises(StoreUnavailable):
            await memory.entries.store(MemoryEntry.for_shared(key="k", value=1))

    async def test_a_canceled_caller_leaves_the_memory_whole(self, path: Path) -> None:
        async with open_memory(f"sqlite:///{path}") as memory:
            tasks = [
                asyncio.ensure_future(memory.entries.store(MemoryEntry.for_shared(key=f"k{n}", value=n)))
                for n in range(20)
            ]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            kept = {each.key for each in (await memory.entries.list(MemoryScope.SHARED, "shared")).items}
            assert kept >= {f"k{n}" for n in range(1, 20, 2)}
            for key in kept:
                assert (await memory.entries.search(MemoryScope.SHARED, "shared", key))[0].entry.key == key


def _refused(call: object) -> bool:
    """Whether a coroutine, driven without an event loop, ends in an error of ours."""
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(call)  # type: ignore[arg-type]  # any coroutine
    except ActumError:
        return True
    return False
