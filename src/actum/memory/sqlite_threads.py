"""Threads that own connections: jobs go in by a queue, answers come back to the event loops that asked."""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

from actum.base.errors import ActumError, StoreUnavailable
from actum.base.threads import hire


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A piece of work, the future that waits for its answer, whether it erases something, and what its end calls."""

    work: Callable[[sqlite3.Connection], Any]
    future: asyncio.Future[Any]
    erases: bool
    after: Callable[[Any], object] | None


# A job with its answer, or with the error in the answer's place.
Answer: TypeAlias = tuple[Job, Any, BaseException | None]


class Threads:
    """At most `size` threads around one queue, each started when it is needed, with a connection of its own.

    `serve` does up to `group` jobs that wait together; what it raises, all of them hear, as `told` puts it. A
    connection lives only in its thread's frames: a forked child has no such thread, so it closes none by mistake.
    """

    def __init__(
        self,
        name: str,
        size: int,
        connected: Callable[[], AbstractContextManager[sqlite3.Connection]],
        serve: Callable[[sqlite3.Connection, list[Job]], list[Answer]],
        told: Callable[[BaseException], BaseException],
        *,
        group: int = 1,
    ) -> None:
        self._name, self._size, self._group = name, size, group
        self._connected, self._serve, self._told = connected, serve, told
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._unanswered = 0
        self._lock = threading.Lock()
        self._stopped = False

    async def ask(
        self,
        work: Callable[[sqlite3.Connection], Any],
        *,
        erases: bool = False,
        after: Callable[[Any], object] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the work gives
        """The answer of `work`, done by one of the threads. Raises what it raises, or StoreUnavailable."""
        job = Job(work, asyncio.get_running_loop().create_future(), erases, after)
        with self._lock:
            if self._stopped:
                raise StoreUnavailable(reason="the memory is closed")
            if self._unanswered >= len(self._threads) < self._size:
                hire(self._threads, self._run, self._name)
            self._unanswered += 1
            self._queue.put(job)
        try:
            return await job.future
        finally:
            with self._lock:
                self._unanswered -= 1

    def stop(self) -> None:
        """Waits until what was accepted is done and the connections are closed. Blocks; safe to repeat."""
        with self._lock:
            if not self._stopped:
                self._stopped = True
                for _ in self._threads:
                    self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        ended = False
        while not ended and (job := self._queue.get()) is not None:
            try:
                with self._connected() as connection:
                    waiting: Job | None = job
                    while waiting is not None and not ended:
                        jobs, ended = self._gather(waiting)
                        self._answer(connection, jobs)
                        waiting = None if ended else self._queue.get()
                    return
            except (sqlite3.Error, OSError, ActumError) as error:
                # It did not open; the next job tries again.
                _deliver([(job, None, self._told(error))])

    def _gather(self, first: Job) -> tuple[list[Job], bool]:
        """The jobs that wait, and whether the end of the queue was among them."""
        jobs = [first]
        while len(jobs) < self._group:
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                break
            if job is None:
                return jobs, True
            jobs.append(job)
        return jobs, False

    def _answer(self, connection: sqlite3.Connection, jobs: list[Job]) -> None:
        live = [job for job in jobs if not job.future.cancelled()]
        try:
            answers = self._serve(connection, live) if live else []
        except BaseException as error:  # noqa: BLE001 - those who wait must hear of it, whatever it is, and the thread lives
            # To each an error of its own, for a raised one carries the trace of its caller.
            answers = [(job, None, copy(self._told(error))) for job in live]
        _deliver([(job, value, error and self._told(error)) for job, value, error in answers])


def _deliver(answers: list[Answer]) -> None:
    """Hands answers over to their event loops, with one call for each loop."""
    loops: dict[asyncio.AbstractEventLoop, list[Answer]] = {}
    for answer in answers:
        loops.setdefault(answer[0].future.get_loop(), []).append(answer)
    for loop, theirs in loops.items():
        # A loop that has closed says so with this error; nobody waits there any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, theirs)


def _settle(answers: list[Answer]) -> None:
    for job, value, error in answers:
        if job.future.done():
            continue  # the task that waited was canceled; what it asked for is done all the same
        if error is not None:
            job.future.set_exception(error)
        else:
            job.future.set_result(value)
