"""The SQLite file of a memory: one thread that writes, two that read, any number of processes.

The file may be one of its own or that of an Actum store: the tables are the memory's own, with migrations of their own,
and writers of both take turns by the same lock file. A call is answered after its commit is on the disk. Nothing here
survives a fork: in the child every call is refused, except `close`, which does nothing there, and the file stays the
parent's.
"""

import asyncio
import hashlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final, Literal, TypeVar
from urllib.parse import quote

from actum.base import open_files
from actum.base.ending import end
from actum.base.errors import NotAStore, SchemaTooNew, StoreUnavailable, shortened
from actum.base.locks import FileLock
from actum.base.open_files import APPLICATION_ID
from actum.memory.sqlite_threads import Answer, Job, Threads

T = TypeVar("T")

_BUSY_TIMEOUT_S: Final = 10.0
_SCRUB_WAIT_MS: Final = 200
_READERS: Final = 2
# How many writes that wait together share a commit, which costs a sync of the disk however much it holds.
_GROUP: Final = 64
_MIGRATIONS: Final = (
    "CREATE TABLE IF NOT EXISTS memory_migrations "
    "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL) STRICT"
)

# Blanks and remarks, as they stand between statements.
_REMARKS: Final = re.compile(r"(?:\s|--[^\n]*|/\*.*?\*/)*", re.DOTALL)


class MemoryFile:
    """A database file with the memory's tables. Made by `open`; used from any event loop and thread."""

    def __init__(self, path: Path) -> None:
        # Whichever links lead to the file: what stands beside it is named after the file itself, for everybody alike.
        self._path = Path(os.path.realpath(path))
        self._process = os.getpid()
        self._lock = FileLock(self._path.with_name(self._path.name + "-lock"), _BUSY_TIMEOUT_S)
        # The file that was prepared: another one that comes to its place is neither opened nor written.
        self._inode: open_files.Inode | None = None
        self._closed = False
        self._writer = Threads("actum-memory-writer", 1, self.connected, self._write, self.told, group=_GROUP)
        self._readers = Threads("actum-memory-reader", _READERS, self.connected, self._read, self.told)

    @classmethod
    async def open(cls, path: Path | str) -> "MemoryFile":
        """The memory in the file `path`, which is made when it is not there.

        Raises NotAStore and SchemaTooNew without having changed the file, StoreUnavailable for the machine and for a
        file with several hard links.
        """
        file = cls(Path(path))
        await asyncio.to_thread(file._prepare)
        return file

    async def write(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        erases: bool = False,
        after: Callable[[T], object] | None = None,
    ) -> T:
        """`work` in a transaction that it may share with others; its answer after the commit.

        What one work refuses leaves no trace and does not touch its neighbours; what the machine refuses fails them
        all. With `erases` the log is emptied too. `after` is called with the answer behind the commit, in the writer's
        thread and before anybody hears of it; also when nobody waits for it any more.
        """
        self._require_open()
        answer: T = await self._writer.ask(work, erases=erases, after=after)
        return answer

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """`work` on one state of the rows."""
        self._require_open()
        answer: T = await self._readers.ask(work)
        return answer

    async def close(self) -> None:
        """Does what was accepted, then closes the file, also when it is canceled meanwhile.

        Nothing more is accepted from its beginning on. In a forked child there is nothing to close.
        """
        if self._process == os.getpid():
            self._closed = True
            await end(self._stop)

    def _stop(self) -> None:
        self._readers.stop()
        self._writer.stop()
        self._lock.close()

    def _require_open(self) -> None:
        if self._process != os.getpid():
            raise StoreUnavailable(
                reason="this memory was opened before a fork; only the parent may use it, so open it after forking"
            )
        if self._closed:
            raise StoreUnavailable(reason="the memory is closed")

    def _read(self, connection: sqlite3.Connection, jobs: list[Job]) -> list[Answer]:
        answers: list[Answer] = []
        for job in jobs:
            try:
                with _transaction(connection, "BEGIN"):
                    answers.append((job, job.work(connection), None))
            except BaseException as error:  # noqa: BLE001 - it belongs to the caller of this job, whatever it is
                answers.append((job, None, error))
        return answers

    def _write(self, connection: sqlite3.Connection, jobs: list[Job]) -> list[Answer]:
        """One transaction for all of them. Raises when nothing of it is stored."""
        with self._turn():
            self._require_in_place()
            answers = _together(connection, jobs)
            for job, value, error in answers:
                if job.after is not None and error is None:
                    job.after(value)
            if any(job.erases and error is None for job, _, error in answers):
                _scrub(connection)
        return answers

    @contextmanager
    def connected(self, mode: Literal["ro", "rw", "rwc"] = "rw") -> Iterator[sqlite3.Connection]:
        """A connection for this thread; `rwc` makes the file. Raises sqlite3.Error, StoreUnavailable."""
        self._require_in_place()
        connection = sqlite3.connect(
            f"file:{quote(str(self._path))}?mode={mode}", uri=True, timeout=_BUSY_TIMEOUT_S, isolation_level=None
        )
        inode = None
        try:
            inode = open_files.note_open(self._path)
            # Again, for it may have been opened after another one had come.
            self._require_in_place()
            # FULL: a commit that was answered is on the disk. secure_delete: what was erased is gone from the file.
            for setting in ("synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY", "cache_size = -16384"):
                connection.execute(f"PRAGMA {setting}")
            yield connection
        finally:
            connection.close()
            if inode is not None:
                open_files.note_closed(inode)

    def told(self, error: BaseException) -> BaseException:
        """What a caller hears: errors of the machine as those of the contract, any other as it is."""
        if isinstance(error, sqlite3.Error):
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
                return NotAStore(location=str(self._path), reason="it is no SQLite database")
            return StoreUnavailable(reason=f"{self._path.name}: {error}")
        if isinstance(error, OSError):
            return StoreUnavailable(reason=f"{self._path.name}: {error.strerror or error}")
        return error

    def _require_in_place(self) -> None:
        if self._inode is not None and _inode(self._path) != self._inode:
            raise StoreUnavailable(reason=f"{self._path} was moved or deleted while it was open")

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """The lock by which writers take turns. SQLite's own lock keeps them apart; this one keeps them fair."""
        # Used by whoever opens the file, and then by the one thread that writes.
        self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    def _prepare(self) -> None:
        try:
            if not self._path.parent.is_dir():
                raise StoreUnavailable(reason=f"there is no directory {self._path.parent}; make it first")
            if open_files.judge(self._path) != APPLICATION_ID or not self._is_current():
                self._bring_up_to_date()
            self._inode = _inode(self._path)
        except (sqlite3.Error, OSError) as error:
            raise self.told(error) from error

    def _is_current(self) -> bool:
        """Whether nothing is to be done to the schema, so that nobody need be waited for."""
        try:
            with self.connected("rw") as connection:
                wal: bool = connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
                return wal and len(self._applied(connection)) == len(_steps())
        except sqlite3.OperationalError:
            # A place that cannot be written, among others. Whoever brings it up to date meets it again, and says more.
            return False

    def _bring_up_to_date(self) -> None:
        # Judged by reading first, so that nothing is made beside a file that is not ours.
        if self._path.exists() and self._path.stat().st_size:
            with self.connected("ro") as connection:
                self._judge_content(connection)
        try:
            with self._turn(), self.connected("rwc") as connection:
                self._judge_content(connection)
                self._migrate(connection)
        finally:
            self._lock.close()

    def _judge_content(self, connection: sqlite3.Connection) -> None:
        mark = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if mark != APPLICATION_ID and (mark or tables):
            raise NotAStore(location=str(self._path), reason="it belongs to another application")

    def _applied(self, connection: sqlite3.Connection) -> dict[int, str]:
        """The steps that were done, each with its digest. Raises SchemaTooNew and NotAStore for others than ours."""
        steps = _steps()
        applied: dict[int, str] = {}
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory_migrations'").fetchone():
            applied = dict(connection.execute("SELECT number, digest FROM memory_migrations"))
        if applied and max(applied) > len(steps):
            raise SchemaTooNew(found=max(applied), supported=len(steps))
        for number, (name, _, digest) in enumerate(steps, start=1):
            if number <= len(applied) and applied.get(number) != digest:
                raise NotAStore(location=str(self._path), reason=f"its memory was not made by {name} as known here")
        return applied

    def _migrate(self, connection: sqlite3.Connection) -> None:
        steps, applied = _steps(), self._applied(connection)
        if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise StoreUnavailable(reason="this place cannot hold a write-ahead log; use a local disk")
        for number, (name, sql, digest) in enumerate(steps[len(applied) :], start=len(applied) + 1):
            with _transaction(connection, "BEGIN EXCLUSIVE"):
                connection.execute(_MIGRATIONS)
                for statement in _statements(sql):
                    connection.execute(statement)
                connection.execute("INSERT INTO memory_migrations VALUES (?, ?, ?)", (number, name, digest))
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _together(connection: sqlite3.Connection, jobs: list[Job]) -> list[Answer]:
    """The jobs' answers, from one transaction.

    A savepoint makes the word index write what it has gathered, so there is none at first. When a job is refused, which
    is rare, all of it is undone and done again with one for each: what a job does depends on nothing but the rows.
    """
    try:
        with _transaction(connection, "BEGIN IMMEDIATE"):
            return [(job, job.work(connection), None) for job in jobs]
    except Exception:  # noqa: BLE001 - the second time tells whose error it was, or that it was the machine's
        with _transaction(connection, "BEGIN IMMEDIATE"):
            return [_apart(connection, job) for job in jobs]


def _apart(connection: sqlite3.Connection, job: Job) -> Answer:
    """The job's answer; when it is refused, what it wrote is undone and that of the others stays."""
    connection.execute("SAVEPOINT job")
    try:
        value = job.work(connection)
    except BaseException as error:
        if not connection.in_transaction:
            # A full disk, among others, takes the whole transaction away, savepoints included.
            raise StoreUnavailable(reason=f"the transaction was lost: {error}") from error
        connection.execute("ROLLBACK TO job")
        answer: Answer = (job, None, error)
    else:
        answer = (job, value, None)
    connection.execute("RELEASE job")
    return answer


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _scrub(connection: sqlite3.Connection) -> None:
    """Folds the log into the file and empties it, so that erased bytes are in neither; a later erasure tries again."""
    connection.execute(f"PRAGMA busy_timeout = {_SCRUB_WAIT_MS}")
    # A reader of an older state may hold it up. The commit stands, and the next erasure or the close empties the log.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {int(_BUSY_TIMEOUT_S * 1000)}")


def _inode(path: Path) -> open_files.Inode | None:
    try:
        return open_files.inode_of(path)
    except FileNotFoundError:
        return None


@cache
def _steps() -> tuple[tuple[str, str, str], ...]:
    """The migrations in order: name, text and the text's SHA-256."""
    folder = resources.files("actum.memory") / "sql"
    files = sorted((each for each in folder.iterdir() if each.name.endswith(".sql")), key=lambda each: each.name)
    texts = [(each.name, each.read_bytes()) for each in files]
    return tuple((name, data.decode(), hashlib.sha256(data).hexdigest()) for name, data in texts)


def _statements(sql: str) -> Iterator[str]:
    """The statements one by one. Raises ValueError for a last one without its `;`, which would never be run."""
    begins = 0
    for mark in re.finditer(";", sql):
        if sqlite3.complete_statement(sql[begins : mark.end()]):
            yield sql[begins : mark.end()]
            begins = mark.end()
    if not _REMARKS.fullmatch(sql, begins):
        raise ValueError(f"a migration ends within a statement; `;` is missing: {shortened(sql[begins:])}")
