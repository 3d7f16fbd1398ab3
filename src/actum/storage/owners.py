"""Proof that a process lives: an owner id is alive as long as its holder, and never longer than the process."""

import fcntl
import hashlib
import os
import re
import stat
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

from actum.base.clock import Ids, SystemIds
from actum.base.errors import StoreUnavailable
from actum.base.locks import FileLock


class Owners(Protocol):
    """Who holds owner ids of one store. Once that is closed, every call raises StoreUnavailable."""

    def hold(self) -> AbstractAsyncContextManager[str]:
        """A new owner id, alive until the context is left or the process dies."""
        ...

    async def alive(self, owner: str) -> bool:
        """Whether this owner id is held by anybody; an id that nobody made is not."""
        ...


def _open() -> None:
    """Says nothing: stands for a store that is never closed."""


# The holders of this process, over all stores in memory: such a store is not seen from elsewhere.
_held: Final[set[str]] = set()
os.register_at_fork(after_in_child=_held.clear)

# A fork waits for those who ask: a child that inherited the open file would keep what they lock in order to ask.
_asking: Final = threading.Lock()
os.register_at_fork(before=_asking.acquire, after_in_parent=_asking.release, after_in_child=_asking.release)
_FILE: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


class ProcessOwners:
    """Owners of a store in memory: the process itself is the proof. `require_open` raises once the store is closed."""

    def __init__(self, ids: Ids | None = None, require_open: Callable[[], None] = _open) -> None:
        self._ids = ids or SystemIds()
        self._require_open = require_open

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[str]:
        """A new owner id, alive until the context is left."""
        self._require_open()
        owner = self._ids.new("owner")
        _held.add(owner)
        try:
            yield owner
        finally:
            _held.discard(owner)

    async def alive(self, owner: str) -> bool:
        """Whether this process holds the id."""
        self._require_open()
        return owner in _held


class FileOwners:
    """Owners of a store in a file: each holds a lock on a file of its own, in one folder beside the store.

    Files are named by a digest, for an owner id is any text. A file whose lock is free is a dead owner's; it is removed
    when somebody asks for it, or when the next owner comes. Whatever else lies in the folder is left alone.
    `require_open` raises once the store is closed, and in a forked child.
    """

    def __init__(self, folder: Path, ids: Ids | None = None, require_open: Callable[[], None] = _open) -> None:
        self._folder = folder
        self._ids = ids or SystemIds()
        self._require_open = require_open

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[str]:
        """A new owner id, alive until the context is left or the process dies. Raises StoreUnavailable."""
        self._require_open()
        owner = self._ids.new("owner")
        with self._translated():
            self._folder.mkdir(exist_ok=True)
            self._sweep()
        lock = FileLock(self._file(owner))
        lock.acquire()
        try:
            yield owner
        finally:
            # A file that cannot be removed is a dead owner's from now on, and goes as theirs do.
            with suppress(OSError):
                lock.release(remove=True)
            lock.close()

    async def alive(self, owner: str) -> bool:
        """Whether the lock of this id is held. Raises StoreUnavailable when that cannot be told."""
        self._require_open()
        with self._translated():
            return _locked(self._file(owner))

    def _file(self, owner: str) -> Path:
        return self._folder / hashlib.sha256(owner.encode()).hexdigest()

    def _sweep(self) -> None:
        for file in self._folder.iterdir():
            if _FILE.fullmatch(file.name):
                # What another user's process left and keeps from us, that user's next owner clears away.
                with suppress(PermissionError):
                    _locked(file)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreUnavailable(reason=f"{error.strerror or error}: cannot use {self._folder.name}") from error


def _locked(file: Path) -> bool:
    """Whether an owner holds this file; that of a dead one is removed.

    The lock that asks is shared: those who ask at the same time, and those who clear away, see none of each other. The
    owner's own is exclusive. It never makes its file anew while somebody who found it free is about to remove it.
    """
    with _asking:
        try:
            # What is no file holds no owner, and a pipe would keep whoever opens it waiting.
            if not stat.S_ISREG(file.stat().st_mode):
                return False
            descriptor = os.open(file, os.O_RDONLY)
        except (FileNotFoundError, NotADirectoryError):
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            # Whoever may not remove it knows all the same that its owner is dead.
            with suppress(OSError):
                if os.path.samestat(os.fstat(descriptor), file.stat()):
                    file.unlink()
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False
