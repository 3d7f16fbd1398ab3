"""Proof that a process lives: an owner id is alive as long as its holder, and never longer than the process."""

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final, Protocol

from actum.base.clock import Ids, SystemIds
from actum.base.errors import StoreUnavailable
from actum.storage.locks import FileLock


class Owners(Protocol):
    """Who holds owner ids of one store."""

    def hold(self) -> AbstractAsyncContextManager[str]:
        """A new owner id, alive until the context is left or the process dies."""
        ...

    async def alive(self, owner: str) -> bool:
        """Whether this owner id is held by anybody; an id that nobody made is not."""
        ...


# The holders of this process, over all stores in memory: such a store is not seen from elsewhere.
_held: Final[set[str]] = set()
os.register_at_fork(after_in_child=_held.clear)


class ProcessOwners:
    """Owners of a store in memory: the process itself is the proof."""

    def __init__(self, ids: Ids | None = None) -> None:
        self._ids = ids or SystemIds()

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[str]:
        """A new owner id, alive until the context is left."""
        owner = self._ids.new("owner")
        _held.add(owner)
        try:
            yield owner
        finally:
            _held.discard(owner)

    async def alive(self, owner: str) -> bool:
        """Whether this process holds the id."""
        return owner in _held


class FileOwners:
    """Owners of a store in a file: each holds a lock on a file of its own, in one folder beside the store.

    Files are named by a digest, for an owner id is any text. A file whose lock is free is a dead owner's; it is removed
    when somebody asks for it, or when the next owner comes.
    """

    def __init__(self, folder: Path, ids: Ids | None = None) -> None:
        self._folder = folder
        self._ids = ids or SystemIds()

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[str]:
        """A new owner id, alive until the context is left or the process dies. Raises StoreUnavailable."""
        owner = self._ids.new("owner")
        try:
            self._folder.mkdir(exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(reason=f"{error.strerror}: cannot make {self._folder.name}") from error
        self._sweep()
        lock = FileLock(self._file(owner))
        lock.acquire()
        try:
            yield owner
        finally:
            lock.release(remove=True)

    async def alive(self, owner: str) -> bool:
        """Whether the lock of this id is held. Raises StoreUnavailable when that cannot be told."""
        return self._locked(self._file(owner))

    def _file(self, owner: str) -> Path:
        return self._folder / hashlib.sha256(owner.encode()).hexdigest()

    def _sweep(self) -> None:
        for file in self._folder.iterdir():
            self._locked(file)

    def _locked(self, file: Path) -> bool:
        if not file.exists():
            return False
        lock = FileLock(file)
        if not lock.attempt():
            return True
        lock.release(remove=True)
        return False
