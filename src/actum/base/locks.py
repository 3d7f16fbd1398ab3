"""Locks on files between processes. A lock is gone with the process that holds it, however that process dies."""

import fcntl
import os
import threading
from pathlib import Path
from typing import Final

from actum.base.errors import StoreUnavailable

# A forked child inherits open files, and with them every lock. It gives its copies back at once; else a lock would
# live on in a child after its owner died. No file is opened or closed while a fork is under way.
_guard = threading.Lock()
_open: "set[FileLock]" = set()
_WAIT_S: Final = 10.0
# Pauses before a place among those who wait is taken.
_PAUSES_S: Final = (0.0002, 0.0004, 0.0008, 0.0016)


class FileLock:
    """An exclusive lock on a file, which is made when it is not there. Used by one thread at a time.

    `within_s` is how long it is waited for: its holder may have been stopped, and would stop everybody else with it.
    """

    def __init__(self, path: Path, within_s: float = _WAIT_S) -> None:
        self.path = path
        self._within_s = within_s
        self._descriptor: int | None = None
        self._waiting: _Waiting | None = None

    def acquire(self) -> None:
        """Waits until the lock is held. Raises StoreUnavailable when it stays taken, cannot be made or locked."""
        if self.attempt() or self._soon():
            return
        # To go on asking would be to starve beside one who takes it without pause: the system knows who came first.
        # Whoever gave up before has kept that place.
        if self._waiting is None or not self._waiting.want():
            self._waiting = _Waiting(self.path)
        held = self._waiting.held(self._within_s)
        if held is None:
            raise StoreUnavailable(
                reason=f"{self.path.name} was locked by somebody else for {self._within_s:g} s, perhaps by a process "
                "that is stopped; let it go on, or end it"
            )
        self._waiting = None
        self._adopt(held)

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

    def block(self) -> None:
        """Waits for the lock however long that takes. Raises StoreUnavailable."""
        self._take(fcntl.LOCK_EX)

    def _soon(self) -> bool:
        """Whether it is held after a few short pauses: most commits last no longer, and a thread costs as much."""
        never = threading.Event()
        return any(never.wait(pause_s) or self.attempt() for pause_s in _PAUSES_S)

    def _adopt(self, other: "FileLock") -> None:
        """Holds what the other one has held."""
        with _guard:
            self._drop()
            # None in a child that was forked meanwhile: it holds nothing.
            self._descriptor = other._descriptor  # noqa: SLF001 - a lock of this class
            other._descriptor = None  # noqa: SLF001 - a lock of this class
            _open.discard(other)
            if self._descriptor is not None:
                _open.add(self)

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


class _Waiting:
    """A place among those who wait for a lock, kept by a thread of its own: waiting for a lock cannot be broken off."""

    def __init__(self, path: Path) -> None:
        self._lock = FileLock(path)
        self._told = threading.Condition()
        self._wanted = True
        self._ended = False
        self._error: StoreUnavailable | None = None
        self._thread = threading.Thread(target=self._wait, name="actum-lock", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            raise StoreUnavailable(reason=f"no thread could be started to wait for {path.name}: {error}") from error

    def want(self) -> bool:
        """Asks for the lock after having given up; False when it has come and gone since then."""
        # A forked child has none of its parent's threads, and whatever they held at the fork stays held there.
        if not self._thread.is_alive():
            return False
        with self._told:
            self._wanted = not self._ended
            return self._wanted

    def held(self, within_s: float) -> FileLock | None:
        """The lock, once it is held; None when it is not within so many seconds. Raises StoreUnavailable."""
        with self._told:
            try:
                self._told.wait_for(lambda: self._ended, within_s)
            except BaseException:
                if self._ended:
                    self._lock.close()
                raise
            finally:
                self._wanted = False
            if self._error is not None:
                raise self._error
            return self._lock if self._ended else None

    def _wait(self) -> None:
        error = None
        try:
            self._lock.block()
        except StoreUnavailable as raised:
            error = raised
        with self._told:
            self._ended, self._error = True, error
            if not self._wanted:
                # Whoever wanted it has given up: nobody else waits for one who does nothing.
                self._lock.close()
            self._told.notify()


os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=FileLock.forget_inherited)
