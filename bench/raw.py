"""The raw limits: the standard library's sqlite3 with the pragmas of Actum's store, and msgspec for typed values."""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from bench.measure import computed

_PRAGMAS = (
    "page_size = 4096",
    "journal_mode = WAL",
    "synchronous = FULL",
    "secure_delete = ON",
    "wal_autocheckpoint = 4096",
    "temp_store = MEMORY",
    "cache_size = -16384",
)
_TABLE = "CREATE TABLE messages (id INTEGER PRIMARY KEY, run TEXT NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL)"
_INDEX = "CREATE UNIQUE INDEX messages_by_run ON messages (run, seq)"
INSERT = "INSERT INTO messages (run, seq, body) VALUES (?, ?, ?)"


_Waiting = tuple[tuple[str, int, bytes], "asyncio.Future[None]"]


def opened(path: Path) -> sqlite3.Connection:
    """A new file with one table and one index, and a connection that commits each statement on its own."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(_TABLE)
    connection.execute(_INDEX)
    return connection


class GroupWriter:
    """The least that a writer of groups does: one thread, one commit for all that waits, a savepoint for each row."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    async def insert(self, row: tuple[str, int, bytes]) -> None:
        """Stores one row durably."""
        future = self._loop.create_future()
        self._waiting.put((row, future))
        await future

    def close(self) -> None:
        """Ends the thread."""
        self._waiting.put(None)
        self._thread.join()

    def _write(self) -> None:
        while (first := self._waiting.get()) is not None:
            group = [first]
            while not self._waiting.empty() and (more := self._waiting.get()) is not None:
                group.append(more)
            self._connection.execute("BEGIN IMMEDIATE")
            for row, _ in group:
                self._connection.execute("SAVEPOINT one")
                self._connection.execute(INSERT, row)
                self._connection.execute("RELEASE one")
            self._connection.execute("COMMIT")
            self._loop.call_soon_threadsafe(_answer, [future for _, future in group])


def _answer(futures: list["asyncio.Future[None]"]) -> None:
    for future in futures:
        future.set_result(None)


def fetched(path: Path, statement: str, decode: Callable[[bytes], object]) -> float:
    """The seconds of computing that fetch the first column of a statement and decode each value into a list."""
    connection = sqlite3.connect(path)
    try:
        begun = computed()
        values = [decode(body) for (body,) in connection.execute(statement)]
        took = computed() - begun
        assert values
        return took
    finally:
        connection.close()
