"""How a command comes to its commit: at once on the thread that asks, or by the one thread that waits for its turn.

What the tasks of an event loop ask for in one of its rounds is gathered into one group, written by the first of them; a
task that nobody joins soon goes on without waiting for others, a few times in a row. While the disk is quick and
nobody else writes, the loop's own thread writes a small group: two ways between threads cost about as much as the sync
itself. Whatever may have to wait (for another process, a slow disk, the log) or is large goes to the writer's thread,
where it joins the groups of other loops.
"""

import asyncio
import queue
import sqlite3
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from actum.base.clock import Clock, next_round
from actum.base.errors import StoreUnavailable
from actum.base.limits import GROUP_BYTES, GROUP_COMMANDS
from actum.storage.sqlite.commits import Commits
from actum.storage.sqlite.file import SQLiteFile
from actum.storage.sqlite.threads import Answer, Answering, Crew, Job, Queue, settle

# What a loop's own thread may write in one go: a few milliseconds of work.
_AT_ONCE_COMMANDS: Final = 64
_AT_ONCE_BYTES: Final = 256 * 1024
# So often in a row a task that nobody joined goes on without waiting a round; then its loop turns to the others.
_IN_A_ROW: Final = 7
# After so many bytes of log, a group goes to the writer's thread, which folds the log into the file.
_UNFOLDED_BYTES: Final = 4 * 1024 * 1024
# A commit writes whole pages: its rows, and the leaves of two indexes.
_COMMIT_BYTES: Final = 3 * 4096


def _nobody() -> None:
    """Stands for no task."""


class Writer:
    """Writes one file. Used from any event loop and thread of this process."""

    def __init__(self, file: SQLiteFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._crew = Crew("actum-sqlite-writer", 1, file, self._serve)
        self._gathered: dict[asyncio.AbstractEventLoop, list[Job]] = {}
        # Whoever holds it writes: `_commits` is there once the thread has opened it.
        self._turn = threading.Lock()
        self._commits: Commits | None = None
        self._unfolded = 0
        # The task that wrote last, if nobody joined it, and how often it has gone on since then.
        self._alone: Callable[[], asyncio.Task[Any] | None] = _nobody
        self._in_a_row = 0

    async def ask(self, work: Callable[[Any], Any], size: int) -> Any:  # noqa: ANN401 - whatever the work gives
        """The answer of `work` after its commit. Raises what it raises, or StoreUnavailable."""
        loop = asyncio.get_running_loop()
        group = self._gathered.get(loop)
        if group is not None:
            future = loop.create_future()
            group.append(Job(work, size, future))
            return await future
        # The first of a round leads: it lets the others join, and then it writes for them all.
        group = [Job(work, size)]
        task = asyncio.current_task(loop)
        if task is not None and task is self._alone() and self._in_a_row < _IN_A_ROW:
            self._in_a_row += 1
        else:
            await self._joined(loop, group)
            self._alone = weakref.ref(task) if task is not None and len(group) == 1 else _nobody
            self._in_a_row = 0
        answers = self._written_at_once(group)
        if answers is None:
            future = loop.create_future()
            group[0] = Job(work, size, future)
            self._hand_over(group)
            return await future
        # The leader's own answer comes first, and waits for nobody.
        _, value, error = answers[0]
        if len(answers) > 1:
            settle(answers[1:])
        if error is not None:
            raise error
        return value

    def stop(self) -> None:
        """Waits until what was accepted is done and the connection is closed. Blocks; safe to repeat."""
        self._crew.stop()

    async def _joined(self, loop: asyncio.AbstractEventLoop, group: list[Job]) -> None:
        """Comes back in the next round of the event loop, when others may have joined the group."""
        self._gathered[loop] = group
        try:
            await next_round()
        except BaseException:
            # The leader was canceled, or its loop is over: whoever has joined goes on without it.
            del self._gathered[loop], group[0]
            if group:
                with suppress(RuntimeError):  # a loop that has closed says so; nobody waits there any more
                    loop.call_soon_threadsafe(self._send, group)
            raise
        del self._gathered[loop]

    def _send(self, group: list[Job]) -> None:
        """Writes a group whose leader has left."""
        answers = self._written_at_once(group)
        if answers is None:
            self._hand_over(group)
        else:
            settle(answers)

    def _hand_over(self, jobs: list[Job]) -> None:
        try:
            self._crew.put(jobs)
        except StoreUnavailable as error:
            settle([(job, None, error) for job in jobs])

    def _written_at_once(self, jobs: list[Job]) -> list[Answer] | None:
        """The answers in the order of the jobs, if this thread could write them; else None, and nothing is written."""
        size = 0
        for job in jobs:
            size += job.size
        if len(jobs) > _AT_ONCE_COMMANDS or size > _AT_ONCE_BYTES or self._unfolded > _UNFOLDED_BYTES:
            return None
        if self._crew.unanswered or not self._turn.acquire(blocking=False):
            return None
        try:
            commits = self._commits
            answers = None if commits is None else commits.attempt(jobs)
            self._unfolded += size + _COMMIT_BYTES
        finally:
            self._turn.release()
        return answers

    def _serve(self, connection: sqlite3.Connection, waiting: Queue, first: Job, answer: Answering) -> None:
        """Writes group after group until the queue ends."""
        commits = Commits(self._file, connection, self._clock)
        self._commits = commits
        job: Job | None = first
        while job is not None:
            group, ended = _gather(waiting, job)
            with self._turn:
                answers = commits.write(group)
                self._unfolded = 0
            answer(answers)
            # What was answered is not kept alive while the thread waits.
            del group, answers
            job = None if ended else waiting.get()
        with self._turn:
            self._commits = None
            commits.close()


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
