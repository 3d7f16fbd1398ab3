"""Threads that own connections: jobs go in by a queue, answers come back to the event loops that asked."""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from actum.base.errors import ActumError, StoreUnavailable
from actum.base.threads import hire
from actum.base.value import Fact
from actum.storage.sqlite.file import SQLiteFile, unavailable


class Job(Fact, frozen=True, gc=True):
    """A piece of work, about how many bytes it writes, and the future that waits for its answer, if one must."""

    work: Callable[[Any], Any]
    size: int
    future: asyncio.Future[Any] | None = None

    @property
    def left(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.future is not None and self.future.cancelled()


# A job with its answer, or with the error in the answer's place.
Answer: TypeAlias = tuple[Job, Any, BaseException | None]
# Takes answers, and brings each to the event loop that waits for it.
Answering: TypeAlias = Callable[[list[Answer]], None]
# None is the end of the queue for the thread that takes it.
Queue: TypeAlias = "queue.SimpleQueue[Job | None]"
# Works on a first job and on those that wait behind it, until the end of the queue.
Serve: TypeAlias = Callable[[sqlite3.Connection, Queue, Job, Answering], None]


class Crew:
    """At most `size` threads around one queue, each started when it is needed, each with a connection.

    Other threads may use the connection of one of them too, in turn with it.

    A connection is held by its thread's frames. A forked child has no such thread, and its copy of the frames is never
    cleared; so it cannot close the connection by accident, which would take the parent's log away.
    """

    def __init__(self, name: str, size: int, file: SQLiteFile, serve: Serve) -> None:
        self._name = name
        self._size = size
        self._file = file
        self._serve = serve
        self._queue: Queue = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        # How many of its jobs have no answer yet.
        self.unanswered = 0
        self._guard = threading.Lock()
        self._stopped = False

    async def ask(self, work: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - whatever the work gives
        """The answer of `work`, done by one of the threads. Raises what it raises, or StoreUnavailable."""
        future = asyncio.get_running_loop().create_future()
        self.put([Job(work, 0, future)])
        return await future

    def put(self, jobs: Sequence[Job]) -> None:
        """Takes jobs in one go; the future of each hears of it. Raises StoreUnavailable once it was stopped."""
        with self._guard:
            if self._stopped:
                raise StoreUnavailable(reason="the store is closed")
            if self.unanswered >= len(self._threads) < self._size:
                hire(self._threads, self._run, f"{self._name}-{len(self._threads)}")
            self.unanswered += len(jobs)
            for job in jobs:
                self._queue.put(job)

    def stop(self) -> None:
        """Waits until what was accepted is done and the connections are closed. Blocks; safe to repeat."""
        with self._guard:
            if not self._stopped:
                self._stopped = True
                for _ in self._threads:
                    self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            try:
                with self._file.connected("rw", shared=True) as connection:
                    self._serve(connection, self._queue, job, self._answer)
                    return
            except (sqlite3.Error, OSError, ActumError) as error:
                # It did not open; the next job tries again.
                self._answer([(job, None, told(error, self._file))])

    def _answer(self, answers: list[Answer]) -> None:
        with self._guard:
            self.unanswered -= len(answers)
        _deliver(answers)


def settle(answers: list[Answer]) -> None:
    """Answers to those who wait in the event loop of this thread."""
    for job, value, error in answers:
        future = job.future
        if future is None or future.done():
            continue  # the task that waited was canceled; what it asked for is stored all the same
        if error is None:
            future.set_result(value)
        elif isinstance(error, StopIteration):
            # A future cannot carry it: it would silently end the coroutine that awaits.
            future.set_exception(RuntimeError(f"the work raised {error!r}"))
        else:
            future.set_exception(error)


def told(error: BaseException, file: SQLiteFile) -> BaseException:
    """What the caller of a job hears: errors of the machine as those of the contract, any other as it is."""
    return unavailable(error, file.path) if isinstance(error, sqlite3.Error | OSError) else error


def _deliver(answers: list[Answer]) -> None:
    """Hands answers over to their event loops, with one call for each loop."""
    loops: dict[asyncio.AbstractEventLoop, list[Answer]] = {}
    for answer in answers:
        if answer[0].future is not None:
            loops.setdefault(answer[0].future.get_loop(), []).append(answer)
    for loop, theirs in loops.items():
        # A loop that has closed says so with this error; nobody waits there any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, theirs)
