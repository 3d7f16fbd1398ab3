import asyncio
import os
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.base.errors import DurableDataError, NotAStore, SchemaTooNew, StoreUnavailable
from actum.base.locks import FileLock
from actum.base.open_files import APPLICATION_ID
from actum.storage.migrate import migrations
from actum.storage.sqlite.backend import SQLiteBackend
from actum.storage.sqlite.file import SQLiteFile
from tests.support.faults_in_sqlite import Faults
from tests.support.programs import end_of, program


def made(path: Path, *statements: str) -> bytes:
    """A database with these statements run in it, and the file's bytes."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()
    return path.read_bytes()


def query(path: Path, statement: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


class TestANewStore:
    def test_it_is_made_with_its_marks(self, path: Path) -> None:
        SQLiteFile(path).prepare()
        assert query(path, "PRAGMA application_id") == [(APPLICATION_ID,)]
        assert query(path, "PRAGMA user_version") == [(len(migrations("sqlite")),)]
        assert query(path, "PRAGMA journal_mode") == [("wal",)]
        tables = query(
            path, "SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite%'"
        )
        assert {strict for _, strict in tables} == {1}

    def test_opening_again_changes_nothing(self, path: Path) -> None:
        SQLiteFile(path).prepare()
        before = path.read_bytes()
        SQLiteFile(path).prepare()
        assert path.read_bytes() == before

    def test_an_empty_file_becomes_a_store(self, path: Path) -> None:
        path.touch()
        SQLiteFile(path).prepare()
        assert query(path, "PRAGMA application_id") == [(APPLICATION_ID,)]

    def test_other_tables_may_stand_beside_ours(self, path: Path) -> None:
        SQLiteFile(path).prepare()
        made(path, "CREATE TABLE mine (x)")
        SQLiteFile(path).prepare()

    @pytest.mark.parametrize("name", ["a b#?%.db", "ж🔥.db", "file:x.db"])
    async def test_any_file_name_will_do(self, tmp_path: Path, name: str) -> None:
        backend = await SQLiteBackend.open(tmp_path / name)
        assert await backend.read(lambda view: tuple(view.chain("r1"))) == ()
        await backend.close()
        assert names_in(tmp_path) == {name, f"{name}-lock"}

    def test_a_relative_path_is_fixed_at_the_start(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(path.parent)
        file = SQLiteFile(Path("store.db"))
        monkeypatch.chdir("/")
        file.prepare()
        assert path.exists()


class TestNotAStore:
    @pytest.mark.parametrize(
        "content", [b"hello", b"\0", b"SQLite format 2\0" * 99, b"SQLite format 3\0" + b"\1" * 5000]
    )
    def test_a_file_that_is_no_database(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        with pytest.raises(NotAStore) as caught:
            SQLiteFile(path).prepare()
        assert caught.value.location == str(path)
        assert [(each.name, each.read_bytes()) for each in path.parent.iterdir()] == [("store.db", content)]

    @pytest.mark.parametrize(
        "statements",
        [
            ["CREATE TABLE runs (run_id)"],
            ["PRAGMA application_id = 7", "CREATE TABLE t (x)"],
            ["PRAGMA application_id = 7"],
            ["PRAGMA user_version = 1", "CREATE VIEW v AS SELECT 1"],
        ],
    )
    def test_a_database_of_another_application(self, path: Path, statements: list[str]) -> None:
        before = made(path, *statements)
        with pytest.raises(NotAStore, match="another application"):
            SQLiteFile(path).prepare()
        assert path.read_bytes() == before
        assert [each.name for each in path.parent.iterdir()] == ["store.db"]

    def test_a_directory(self, path: Path) -> None:
        path.mkdir()
        with pytest.raises(NotAStore, match="directory"):
            SQLiteFile(path).prepare()

    def test_a_named_pipe_keeps_nobody_waiting(self, path: Path) -> None:
        os.mkfifo(path)
        with pytest.raises(NotAStore, match="no regular file"):
            SQLiteFile(path).prepare()
        assert names_in(path.parent) == {"store.db"}

    def test_a_file_with_several_hard_links(self, path: Path) -> None:
        SQLiteFile(path).prepare()
        path.with_name("other.db").hardlink_to(path)
        for name in ("store.db", "other.db"):
            with pytest.raises(StoreUnavailable, match=f"{name}: the file has 2 names"):
                SQLiteFile(path.with_name(name)).prepare()
        path.with_name("other.db").unlink()
        SQLiteFile(path).prepare()

    @pytest.mark.parametrize(
        "damage",
        [
            "ALTER TABLE runs DROP COLUMN owner",
            "DROP TABLE checkpoints",
            "DROP INDEX records_by_key",
            "UPDATE migrations SET digest = 'x'",
            "DELETE FROM migrations",
        ],
    )
    def test_a_schema_that_is_not_what_its_stamp_says(self, path: Path, damage: str) -> None:
        SQLiteFile(path).prepare()
        made(path, damage)
        with pytest.raises(NotAStore, match=r"`\w+` is not as version 1|0001_first\.sql"):
            SQLiteFile(path).prepare()

    def test_a_damaged_database_is_no_matter_of_trying_again(self, path: Path) -> None:
        SQLiteFile(path).prepare()
        half = path.read_bytes()
        path.write_bytes(half[: len(half) // 2])
        with pytest.raises(DurableDataError, match="put back a copy") as caught:
            SQLiteFile(path).prepare()
        assert caught.value.path == str(path)
        assert path.read_bytes() == half[: len(half) // 2]

    def test_a_newer_schema(self, path: Path) -> None:
        SQLiteFile(path).prepare()
        before = made(path, "INSERT INTO migrations VALUES (99, 'x', 'y')", "PRAGMA user_version = 99")
        with pytest.raises(SchemaTooNew) as caught:
            SQLiteFile(path).prepare()
        assert (caught.value.found, caught.value.supported) == (99, len(migrations("sqlite")))
        assert path.read_bytes() == before


class TestTheMachineFails:
    def test_a_directory_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(StoreUnavailable, match="there is no directory"):
            SQLiteFile(tmp_path / "nowhere" / "store.db").prepare()

    @pytest.fixture
    def readonly(self, tmp_path: Path) -> Iterator[Path]:
        """A folder on a file system that is mounted read-only: the one barrier that holds for root as well."""
        folder = tmp_path / "mounted"
        folder.mkdir()
        SQLiteFile(folder / "old.db").prepare()
        bind = subprocess.run(["mount", "--bind", folder, folder], check=False, capture_output=True)
        if bind.returncode:
            pytest.skip("this process may not mount, so it cannot make a read-only place")
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        yield folder
        subprocess.run(["umount", folder], check=True)

    @pytest.mark.parametrize("name", ["new.db", "old.db"])
    def test_a_place_that_is_read_only(self, readonly: Path, name: str) -> None:
        with pytest.raises(StoreUnavailable, match="Read-only file system"):
            SQLiteFile(readonly / name).prepare()

    def test_a_place_where_only_devices_stand(self) -> None:
        with pytest.raises(StoreUnavailable, match="cannot lock"):
            SQLiteFile(Path("/proc/store.db")).prepare()

    @pytest.mark.parametrize("statement", ["PRAGMA journal_mode", "BEGIN EXCLUSIVE", "CREATE TABLE runs", "COMMIT"])
    def test_a_migration_that_fails_leaves_no_half_a_schema(self, path: Path, statement: str) -> None:
        faults = Faults()
        faults.fail(statement)
        file = SQLiteFile(path, faults.connect)
        with pytest.raises(StoreUnavailable, match="disk I/O error"):
            file.prepare()
        assert query(path, "SELECT name FROM sqlite_master") == []
        assert query(path, "PRAGMA user_version") == [(0,)]
        file.prepare()
        assert query(path, "SELECT count(*) FROM runs") == [(0,)]

    def test_a_place_that_cannot_hold_a_log(self, path: Path) -> None:
        class WithoutLog(sqlite3.Connection):
            def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
                return super().execute("SELECT 'delete'" if "journal_mode" in sql else sql)

        def connect(*arguments: str, **options: bool) -> sqlite3.Connection:
            return sqlite3.connect(*arguments, **options, factory=WithoutLog)  # type: ignore[call-overload,no-any-return] # passed on as given

        with pytest.raises(StoreUnavailable, match="write-ahead log"):
            SQLiteFile(path, connect).prepare()


class TestAnotherFileInItsPlace:
    """What was prepared is what is opened: else one store would show two files, or write into a stranger's."""

    @pytest.fixture
    def file(self, path: Path) -> SQLiteFile:
        file = SQLiteFile(path)
        file.prepare()
        path.rename(path.with_name("moved.db"))
        return file

    def test_a_store_that_came_there(self, file: SQLiteFile, path: Path) -> None:
        SQLiteFile(path).prepare()
        before = path.read_bytes()
        with pytest.raises(StoreUnavailable, match="moved or deleted while it was open"), file.connected("rw"):
            pass
        assert path.read_bytes() == before

    def test_nothing_came_there(self, file: SQLiteFile, path: Path) -> None:
        with pytest.raises(StoreUnavailable, match="moved or deleted while it was open"), file.connected("rwc"):
            pass
        assert not path.exists()

    def test_one_that_comes_while_it_is_opened(self, path: Path) -> None:
        def connect(*arguments: str, **options: bool) -> sqlite3.Connection:
            connection: sqlite3.Connection = sqlite3.connect(*arguments, **options)  # type: ignore[call-overload] # passed on as given
            if moved:
                path.rename(moved.pop())
                path.touch()
            return connection

        moved: list[Path] = []
        file = SQLiteFile(path, connect)
        file.prepare()
        moved.append(path.with_name("moved.db"))
        with pytest.raises(StoreUnavailable, match="moved or deleted while it was open"), file.connected("rw"):
            pass

    async def test_it_back_in_its_place_is_used_again(self, path: Path) -> None:
        backend = await SQLiteBackend.open(path)
        moved = path.with_name("moved.db")
        await asyncio.to_thread(path.rename, moved)
        for call in (backend.read(lambda view: tuple(view.chain("r1"))), backend.write(lambda _: None, 0)):
            with pytest.raises(StoreUnavailable, match="moved or deleted"):
                await call
        await asyncio.to_thread(moved.rename, path)
        assert await backend.read(lambda view: tuple(view.chain("r1"))) == ()
        await backend.close()


class TestWhoeverHoldsTheLockStandsStill:
    @pytest.fixture
    def holder(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileLock]:
        monkeypatch.setattr("actum.storage.sqlite.file.BUSY_TIMEOUT_S", 0)
        SQLiteFile(path).prepare()
        holder = SQLiteFile(path).lock
        holder.acquire()
        yield holder
        holder.close()

    async def test_a_current_store_is_opened_and_read_but_not_written(self, path: Path, holder: FileLock) -> None:
        backend = await SQLiteBackend.open(path)
        assert await backend.read(lambda view: tuple(view.chain("r1"))) == ()
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match=r"store\.db-lock was locked by somebody else"):
                await backend.write(lambda _: None, 0)
        await backend.close()
        assert not SQLiteFile(path).lock.attempt()
        holder.close()

    async def test_it_is_written_as_soon_as_it_goes_on(
        self, path: Path, holder: FileLock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        backend = await SQLiteBackend.open(path)
        with pytest.raises(StoreUnavailable):
            await backend.write(lambda _: None, 0)
        monkeypatch.undo()
        again = await SQLiteBackend.open(path)
        waiting = asyncio.create_task(again.write(lambda _: "written", 0))
        await asyncio.sleep(0)
        holder.release()
        assert await waiting == "written"
        await again.close()
        await backend.close()

    @pytest.mark.usefixtures("holder")
    def test_a_schema_that_is_not_current_waits_for_its_turn(self, path: Path) -> None:
        path.unlink()
        with pytest.raises(StoreUnavailable, match="locked by somebody else"):
            SQLiteFile(path).prepare()
        assert not path.exists()


HOLDER = """
import fcntl, sys
with open(sys.argv[1], "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.readline()
"""


async def test_whoever_opens_waits_for_a_migration_elsewhere(path: Path) -> None:
    holder = program(HOLDER, f"{path}-lock")
    assert holder.stdout is not None
    assert (await asyncio.to_thread(holder.stdout.readline)).strip() == "held"
    opening = asyncio.create_task(SQLiteBackend.open(path))
    done, _ = await asyncio.wait([opening], timeout=0.05)
    assert not done
    assert names_in(path.parent) == {"store.db-lock"}
    await asyncio.to_thread(end_of, holder, "go")
    await (await opening).close()


def test_the_migrations_that_were_released_have_not_changed() -> None:
    """A change here would refuse every store that exists. A new schema is a new file, and a new line here."""
    released = {"0001_first.sql": "2d5db519d511e6eed6958c4fb1b469de8df76352c7ceefd7257bfb678cba119c"}
    assert {step.name: step.digest for step in migrations("sqlite")} == released


def test_the_file_is_not_made_for_everybody_to_write(path: Path) -> None:
    SQLiteFile(path).prepare()
    assert not path.stat().st_mode & stat.S_IWOTH
