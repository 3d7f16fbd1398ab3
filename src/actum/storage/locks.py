"""Locks on files between processes. A lock is gone with the process that holds it, however that process dies."""

import fcntl
import os
import threading
from pathlib import Path

from actum.base.errors import StoreUnavailable

# A forked child inherits open files, and with them every lock. It gives its copies back at once; else a lock would
# live on in a child after its owner died. No file is opened or closed while a fork is under way.
_guard = threading.Lock()
_open: "set[FileLock]" = set()


class FileLock:
    """An exclusive lock on a file, which is made when it is not there. Used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Waits until the lock is held. Raises StoreUnavailable when the file cannot be made or locked."""
        self._take(fcntl.LOCK_EX)

    def attempt(self) -> bool:
        """Whether the lock is held now, without waiting for it."""
        return self._take(fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self, *, remove: bool = False) -> None:
        """Gives the lock back, and keeps the file open for the next time; `remove` deletes the file first."""
        if self._descriptor is None:
            return
        if remove:
            self.path.unlink(missing_ok=True)
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        if remove:
            self.close()

    def close(self) -> None:
        """Gives the lock back and closes the file."""
        with _guard:
            self._drop()

    def _drop(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        _open.discard(self)

    def _take(self, how: int) -> bool:
        try:
            if self._descriptor is None:
                self._take_first(how)
            else:
                fcntl.flock(self._descriptor, how)
        except BlockingIOError:
            return False
        except OSError as error:
            self.close()
            raise StoreUnavailable(reason=f"{error.strerror}: cannot lock {self.path.name}") from error
        return True

    def _take_first(self, how: int) -> None:
        while True:
            descriptor = self._opened()
            try:
                fcntl.flock(descriptor, how)
            except BlockingIOError:
                self.close()
                raise
            if self._in_place(descriptor):
                return
            # Whoever held it before has deleted the file: that lock guards nothing any more.
            self.close()

    def _opened(self) -> int:
        with _guard:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            _open.add(self)
            return self._descriptor

    def _in_place(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self.path.stat())
        except FileNotFoundError:
            return False

    @staticmethod
    def forget_inherited() -> None:
        """In a forked child: closes the parent's locks without touching what the parent holds."""
        for lock in tuple(_open):
            lock._drop()  # noqa: SLF001 - a lock of this class
        _guard.release()


os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=FileLock.forget_inherited)
