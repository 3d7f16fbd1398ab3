"""One transaction for a group of commands, on the one connection that writes.

A commit costs a sync of the disk, however much it holds; so commands that wait together share one. What one command's
rules refuse leaves no trace and does not touch its neighbours. What the machine refuses (a full disk, a failing commit)
fails them all alike, for none of them is stored.
"""

import sqlite3
from copy import copy
from typing import Final

from actum.base.clock import Clock
from actum.base.errors import StoreUnavailable
from actum.storage.sqlite.file import BUSY_TIMEOUT_S, LOG_PAGES, SQLiteFile
from actum.storage.sqlite.threads import Answer, Job, told
from actum.storage.sqlite.view import SQLiteView

# How long the emptying of the log waits for readers of an older state before it is left to the next commit.
_EMPTY_WAIT_S: Final = 0.2
# 16 MiB: written anew in a few dozen milliseconds.
_COMPACTED_PAGES: Final = 4096
# A commit that takes longer keeps an event loop waiting for longer than the way to another thread and back is worth.
_SLOW_S: Final = 0.002
_SLOW_IN_A_ROW: Final = 3
# How long it counts that the file was seen in its place. Whoever takes an open file away takes from what is stored
# already; a look before each commit would save what these few milliseconds bring, at a tenth of a commit's price.
_IN_PLACE_S: Final = 0.01


class Commits:
    """The connection that writes. It is used by one thread at a time, whichever."""

    def __init__(self, file: SQLiteFile, connection: sqlite3.Connection, clock: Clock) -> None:
        self._file = file
        self._connection = connection
        # One cursor for what frames each transaction: to make one for each statement takes a tenth longer.
        self._cursor = connection.cursor()
        self._clock = clock
        # Processes take turns by this lock: one that writes without pause would let the others wait until they give up.
        self._lock = file.lock
        self._seen_in_place = clock.monotonic()
        self._patient = True
        self._slow = 0
        self._view = SQLiteView(connection)
        # Changes with each commit of another connection, in this process or elsewhere.
        self._version: int | None = None
        # Whether a committed transaction has erased, and whether traces of it are left.
        self._erased = False
        self._unclean = False

    def close(self) -> None:
        """Closes the lock's file; the connection is its thread's."""
        self._lock.close()

    def write(self, group: list[Job]) -> list[Answer]:
        """Writes the group, waiting for its turn, and folds the log into the file when it has grown."""
        try:
            self._lock.acquire()
            try:
                if not self._patient:
                    self._be(patient=True)
                answers = self._transaction(group) or []
                if self._erased or self._unclean:
                    self._unclean = not _scrubbed(self._connection, erased=self._erased)
                    self._erased = False
            finally:
                self._lock.release()
        except BaseException as error:  # noqa: BLE001 - those who wait must hear of it, whatever it is, and the thread lives
            return self._refused(group, error)
        return answers

    def attempt(self, group: list[Job]) -> list[Answer] | None:
        """Writes the group if that needs no waiting for others; None, with nothing written, when it does.

        It syncs, but leaves all that takes longer to `write`: folding the log, and clearing away what was erased. It
        is not even begun when the disk has been slow lately.
        """
        if self._slow >= _SLOW_IN_A_ROW or self._unclean:
            return None
        try:
            if not self._lock.attempt():
                return None
            try:
                if self._patient:
                    self._be(patient=False)
                answers = self._transaction(group)
            finally:
                self._lock.release()
        except sqlite3.OperationalError as error:
            return None if _busy(error) else self._refused(group, error)
        except BaseException as error:  # noqa: BLE001 - as above
            return self._refused(group, error)
        return answers

    def _refused(self, group: list[Job], error: BaseException) -> list[Answer]:
        # To each an error of its own, for a raised one carries the trace of its caller.
        return [(job, None, copy(told(error, self._file))) for job in group]

    def _be(self, *, patient: bool) -> None:
        """How long to wait for strangers that lock the file, and whether a commit may fold the log."""
        self._connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000) if patient else 0}")
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES if patient else 0}")
        self._patient = patient

    def _transaction(self, group: list[Job]) -> list[Answer] | None:
        """One transaction for the group. Raises when nothing of it is stored; None when it needs more patience."""
        view = self._view
        try:
            self._begin()
            answers = self._work(group)
            if answers is None:
                self._undo()
                self._begin()
                view.savepoints = True
                answers = self._work(group) or []
            if view.erased and not self._patient:
                self._undo()
                return None
            self._commit()
        except BaseException:
            self._undo()
            raise
        self._erased = self._erased or view.erased
        return answers

    def _begin(self) -> None:
        self._cursor.execute("BEGIN IMMEDIATE")
        (version,) = self._cursor.execute("PRAGMA data_version").fetchone()
        self._view.begin(changed=version != self._version)
        self._version = version

    def _undo(self) -> None:
        # What was read is no longer proved by any commit, and what was written is not there.
        self._version = None
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _work(self, group: list[Job]) -> list[Answer] | None:
        """The answers of the group, written but not committed.

        Commands are refused before they write. One that fails later (a full disk) is undone alone with the help of
        savepoints; they cost all others something, so the group runs without them first: then None asks for them.
        """
        answers: list[Answer] = []
        view = self._view
        for job in group:
            if job.future is not None and job.future.cancelled():
                # Nobody waits for it any more: it is passed over, and counts as answered.
                answers.append((job, None, None))
                continue
            try:
                value = job.work(view)
                view.keep()
            except BaseException as error:
                if not self._connection.in_transaction:
                    # A full disk, among others, takes the whole transaction away, savepoints included.
                    reason = f"{self._file.path.name}: the transaction was lost: {error}"
                    raise StoreUnavailable(reason=reason) from error
                if view.wrote and not view.savepoints:
                    return None
                view.drop()
                answers.append((job, None, told(error, self._file)))
            else:
                answers.append((job, value, None))
        return answers

    def _commit(self) -> None:
        begun = self._clock.monotonic()
        if begun - self._seen_in_place > _IN_PLACE_S:
            self._file.require_in_place()
            self._seen_in_place = begun
        self._cursor.execute("COMMIT")
        self._slow = self._slow + 1 if self._clock.monotonic() - begun > _SLOW_S else 0


def _busy(error: sqlite3.Error) -> bool:
    """Whether somebody else locks the file; an extended code keeps the plain one in its low byte."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _scrubbed(connection: sqlite3.Connection, *, erased: bool) -> bool:
    """Clears away what was erased, from the file's free room and from the log; False when that must wait.

    It happens after the commit, which stands whatever happens here.
    """
    try:
        # SQLite clears what it deletes, but not the copies that it leaves in the free room of a page when rows move
        # to another. In a large file, rewriting would hold up everybody for long; there a few such copies may stay.
        if erased and connection.execute("PRAGMA page_count").fetchone()[0] <= _COMPACTED_PAGES:
            connection.execute("VACUUM")
        # Only the purge itself waits for readers of an older state; later commits try in passing.
        connection.execute(f"PRAGMA busy_timeout = {int(_EMPTY_WAIT_S * 1000) if erased else 0}")
        blocked: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.Error:
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
    return not blocked
