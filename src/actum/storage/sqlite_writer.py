"""The one thread that writes: it gathers what is waiting, writes it in one transaction, and answers after the commit.

A commit costs a sync of the disk, however much it holds; so commands that wait together share one. Each has a savepoint
of its own: what one command's rules refuse leaves no trace and does not touch its neighbours. What the machine refuses
(a full disk, a failing commit) fails them all alike, for none of them is stored.
"""

import queue
import sqlite3
from copy import copy
from functools import partial
from typing import Final

from actum.base.errors import StoreUnavailable
from actum.base.limits import GROUP_BYTES, GROUP_COMMANDS
from actum.storage.sqlite_file import BUSY_TIMEOUT_S, SQLiteFile
from actum.storage.sqlite_threads import Answer, Crew, Job, Queue, deliver, told
from actum.storage.sqlite_view import SQLiteView

# How long the emptying of the log waits for readers of an older state before it is left to the next commit.
_EMPTY_WAIT_S: Final = 0.2
# 16 MiB: written anew in a few dozen milliseconds.
_COMPACTED_PAGES: Final = 2048


def writer(file: SQLiteFile) -> Crew:
    """The thread that writes `file`."""
    return Crew("actum-sqlite-writer", 1, file, partial(_serve, file))


def _serve(file: SQLiteFile, connection: sqlite3.Connection, waiting: Queue, first: Job) -> None:
    """Writes group after group until the queue ends."""
    # Processes take turns by this lock: one that writes without pause would let the others wait until they give up.
    lock = file.lock
    inode = file.inode()
    unclean = False
    job: Job | None = first
    while job is not None:
        group, ended = _gather(waiting, job)
        try:
            lock.acquire()
            try:
                if file.inode() != inode:
                    raise StoreUnavailable(reason=f"{file.path.name}: the file was moved or deleted while it was open")
                answers, erased = _write(file, connection, group)
                if erased or unclean:
                    unclean = not _scrubbed(connection, erased=erased)
            finally:
                lock.release()
        except BaseException as error:  # noqa: BLE001 - those who wait must hear of it, whatever it is, and the thread lives
            # To each an error of its own, for a raised one carries the trace of its caller.
            answers = [(job, None, copy(told(error, file))) for job in group]
        deliver(answers)
        # What was answered is not kept alive while the thread waits.
        del group, answers
        job = None if ended else waiting.get()
    lock.close()


def _gather(waiting: Queue, first: Job) -> tuple[list[Job], bool]:
    """What waits behind `first`, within the bounds of a group; and whether the end of the queue was among it."""
    group = [first]
    size = first.size
    while len(group) < GROUP_COMMANDS and size < GROUP_BYTES:
        try:
            job = waiting.get_nowait()
        except queue.Empty:
            break
        if job is None:
            return group, True
        group.append(job)
        size += job.size
    return group, False


def _write(file: SQLiteFile, connection: sqlite3.Connection, group: list[Job]) -> tuple[list[Answer], bool]:
    """One transaction for the group, and whether it erased anything. Raises when nothing of it is stored."""
    live = [job for job in group if not job.future.cancelled()]
    alone = len(live) == 1
    answers: list[Answer] = []
    erased = False
    connection.execute("BEGIN IMMEDIATE")
    try:
        for job in live:
            view = SQLiteView(connection, savepoint=not alone)
            try:
                value = job.work(view)
                view.keep()
            except BaseException as error:
                answers.append((job, None, told(error, file)))
                if not connection.in_transaction:
                    # A full disk, among others, takes the whole transaction away, savepoints included.
                    raise StoreUnavailable(reason=f"{file.path.name}: the transaction was lost: {error}") from error
                if not alone:
                    view.drop()
            else:
                answers.append((job, value, None))
                erased = erased or view.erased
        if alone and answers[0][2] is not None:
            return answers, False
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return answers, erased


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
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
    except sqlite3.Error:
        return False
    return not blocked
