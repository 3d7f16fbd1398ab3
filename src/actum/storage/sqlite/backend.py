"""The rows in one SQLite file: one that writes, a few that read, any number of processes.

A command is answered after its commit is on the disk. Readers see one state each and never hold up the writer.
A store does not survive a fork: in the child every call is refused, except `close`, which does nothing there, and the
file stays the parent's.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from actum.base.clock import Clock, SystemClock
from actum.base.ending import end
from actum.base.errors import StoreUnavailable
from actum.storage.backend import Transaction, View
from actum.storage.owners import FileOwners, Owners
from actum.storage.sqlite.file import Connect, SQLiteFile
from actum.storage.sqlite.reader import Reader
from actum.storage.sqlite.writer import Writer

T = TypeVar("T")


class SQLiteBackend:
    """A backend in a file. Made by `open`; used from any event loop and thread of this process."""

    def __init__(self, file: SQLiteFile, clock: Clock | None = None) -> None:
        self._file = file
        self._process = os.getpid()
        self._writer = Writer(file, clock or SystemClock())
        self._reader = Reader(file, clock or SystemClock())
        self._owners = FileOwners(file.beside("-owners"), require_open=self._require_open)
        self._closed = False

    @classmethod
    async def open(
        cls, path: Path | str, *, connect: Connect = sqlite3.connect, clock: Clock | None = None
    ) -> "SQLiteBackend":
        """The store in the file `path`, which is made when it is not there.

        `connect` opens connections, `clock` tells how long a commit takes.

        Raises NotAStore, SchemaTooNew, StoreUnavailable, and DurableDataError for a damaged file.
        """
        file = SQLiteFile(Path(path), connect)
        await asyncio.to_thread(file.prepare)
        return cls(file, clock)

    @property
    def owners(self) -> Owners:
        """Who holds owner ids of this store: locks on files in the folder `…-owners` beside it."""
        return self._owners

    def write(self, work: Callable[[Transaction], T], size: int) -> Coroutine[Any, Any, T]:
        """`work` in a transaction that it may share with others; its answer after the commit."""
        self._require_open()
        return self._writer.ask(work, size)

    async def read(self, work: Callable[[View], T]) -> T:
        """`work` on one state of the rows."""
        self._require_open()
        answer: T = await self._reader.ask(work)
        return answer

    async def close(self) -> None:
        """Stores what was accepted, then closes the file, also when it is canceled meanwhile.

        Nothing more is accepted from its beginning on. In a forked child there is nothing to close.
        """
        if self._process == os.getpid():
            self._closed = True
            await end(self._stop)

    def _stop(self) -> None:
        self._reader.stop()
        self._writer.stop()

    def _require_open(self) -> None:
        if self._process != os.getpid():
            raise _forked()
        if self._closed:
            raise StoreUnavailable(reason="the store is closed")


def _forked() -> StoreUnavailable:
    return StoreUnavailable(
        reason="this store was opened before a fork; only the parent may use it, so open stores after forking"
    )
