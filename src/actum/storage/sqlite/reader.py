"""How a read comes to its rows: at once on the thread that asks, or by one of the threads that may take long.

Most reads are a row or a few: they take less time than the way to another thread and back. So an event loop's own
thread looks first, at no more than a page of common records. Whatever turns out to be longer, or finds the connection
taken, goes to a reading thread; so does everything for a while after the disk has kept a glance waiting.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from traceback import clear_frames
from typing import Any, Final, NoReturn

from actum.base.clock import Clock, next_round
from actum.base.limits import MIB, PAGE_ITEMS
from actum.base.value import replace
from actum.storage.backend import PayloadSlice, RecordQuery, Slice
from actum.storage.sqlite.chains import Chains, Link
from actum.storage.sqlite.file import SQLiteFile
from actum.storage.sqlite.threads import Answer, Answering, Crew, Job, Queue, told
from actum.storage.sqlite.view import SQLiteView

_THREADS: Final = 2
# What a glance on a loop's own thread may find: one to two milliseconds of work; to use it costs its caller more.
# In another thread the same work takes longer, and the interpreter's lock holds the loop up all the same.
_GLANCE_ROWS: Final = PAGE_ITEMS
_GLANCE_BYTES: Final = MIB
# How much of the database's own work it may take to find that, counted in so many steps at a time: enough to pass over
# some twenty thousand entries of an index, in less than two milliseconds.
_STEPS: Final = 2_000
_GLANCE_STEPS: Final = 50 * _STEPS
# A glance that took longer waited for the disk; so many reads after it go to the threads.
_SLOW_S: Final = 0.005
_ASIDE: Final = 200
# Glances that find too much follow each other: whoever pages on reads much again. After so many, 31 reads have none.
_MISSES: Final = 5
# So many glances in a row, or so many seconds of them; then the loop turns to its other tasks, for whoever only reads
# would hold them all up.
_IN_A_ROW: Final = 31
_AT_A_STRETCH_S: Final = 0.0005
# Pages of the file that a reading connection keeps, in KiB. A long read uses each page once; keeping more of them costs
# it a tenth of its time, and the system has the file in memory anyway.
_CACHE_KIB: Final = 2048


class TooMuch(Exception):
    """What a glance was to find is more than a glance may read; the same read is made again by a thread."""


class Glance(SQLiteView):
    """One state of the rows, of which only a little may be read."""

    __slots__ = ()

    def records(self, query: RecordQuery) -> Slice:
        """A short slice of one scope's records."""
        found = super().records(_short(query))
        if found.more and len(found.records) < query.limit:
            raise TooMuch
        return found

    def payloads(self, query: RecordQuery) -> PayloadSlice:
        """The same, types and payloads alone."""
        found = super().payloads(_short(query))
        if found.more and len(found.payloads) < query.limit:
            raise TooMuch
        return found

    def chain(self, run_id: str) -> Iterable[Link]:
        """The newest runs of a history chain; whoever goes on to older ones asks for too much."""
        links = super().chain(run_id)
        return links if isinstance(links, list) else _few(links)

    def _never(self, *_: object, **__: object) -> NoReturn:
        """A list may pass over any number of rows before it finds some."""
        raise TooMuch

    sessions = runs = count_runs = behind = _never


def _short(query: RecordQuery) -> RecordQuery:
    return replace(query, limit=min(query.limit, _GLANCE_ROWS), max_bytes=min(query.max_bytes, _GLANCE_BYTES))


def _few(links: Iterable[Link]) -> Iterator[Link]:
    for count, link in enumerate(links):
        if count == _GLANCE_ROWS:
            raise TooMuch
        yield link


class Reader:
    """Reads one file. Used from any event loop and thread of this process."""

    def __init__(self, file: SQLiteFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._crew = Crew("actum-sqlite-reader", _THREADS, file, self._serve)
        # One of the threads shares its connection with glances; whoever holds `_turn` uses it.
        self._sharing = threading.Lock()
        self._turn = threading.Lock()
        self._near: tuple[sqlite3.Connection, Chains] | None = None
        # What is left of them to the glance under way; None while there is none.
        self._steps_left: int | None = None
        self._aside = 0
        self._missed = 0
        self._in_a_row = 0
        self._stretch_s = 0.0

    async def ask(self, work: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - whatever the work gives
        """The answer of `work`, which may be begun twice. Raises what it raises, or an error of the contract."""
        if self._in_a_row >= _IN_A_ROW or self._stretch_s > _AT_A_STRETCH_S:
            self._in_a_row, self._stretch_s = 0, 0.0
            await next_round()
        if self._aside:
            self._aside -= 1
        elif self._near is not None and self._turn.acquire(blocking=False):
            try:
                if (near := self._near) is not None:
                    answer = self._glanced(*near, work)
                    self._missed = 0
                    self._in_a_row += 1
                    return answer
            except TooMuch:
                # A thread reads all of it, from the beginning.
                self._missed = min(self._missed + 1, _MISSES)
                self._aside = max(self._aside, 2**self._missed - 1)
            finally:
                self._turn.release()
        return await self._crew.ask(work)

    def stop(self) -> None:
        """Waits until what was accepted is done and the connections are closed. Blocks; safe to repeat."""
        self._crew.stop()

    def _glanced(self, connection: sqlite3.Connection, chains: Chains, work: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - as above
        begun = self._clock.monotonic()
        try:
            return _read(connection, partial(self._in_few_steps, work), Glance(connection, chains))
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                raise TooMuch from None
            raise told(error, self._file) from error
        finally:
            took = self._clock.monotonic() - begun
            self._stretch_s += took
            if took > _SLOW_S:
                self._aside = _ASIDE

    def _in_few_steps(self, work: Callable[[Any], Any], view: Glance) -> Any:  # noqa: ANN401 - as above
        self._steps_left = _GLANCE_STEPS
        try:
            return work(view)
        finally:
            self._steps_left = None

    def _stepped(self) -> bool:
        """Asked after so many steps on the shared connection: whether the statement under way is to end there."""
        if self._steps_left is None:
            return False
        self._steps_left -= _STEPS
        return self._steps_left < 0

    def _serve(self, connection: sqlite3.Connection, waiting: Queue, first: Job, answer: Answering) -> None:
        """Job after job until the queue ends, each on one state of the rows, with no transaction in between."""
        # Not opened as read-only: whoever closes the file last must be able to fold the log into it.
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        chains = Chains(connection)
        near = self._sharing.acquire(blocking=False)
        turn = self._turn if near else threading.Lock()
        if near:
            connection.set_progress_handler(self._stepped, _STEPS)
            self._near = connection, chains
        job: Job | None = first
        try:
            while job is not None:
                with turn:
                    done: Answer = (job, None, None)
                    if not job.left:
                        done = self._worked(connection, chains, job)
                answer([done])
                # What was answered is not kept alive while the thread waits.
                del done
                job = waiting.get()
        finally:
            if near:
                with self._turn:
                    self._near = None
                self._sharing.release()

    def _worked(self, connection: sqlite3.Connection, chains: Chains, job: Job) -> Answer:
        try:
            return job, _read(connection, job.work, SQLiteView(connection, chains)), None
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller of this job, whatever it is
            return job, None, told(error, self._file)


def _read(connection: sqlite3.Connection, work: Callable[[Any], Any], view: SQLiteView) -> Any:  # noqa: ANN401 - as above
    """The answer of `work` on one state of the rows."""
    if connection.in_transaction:  # an earlier read could not be ended
        connection.execute("ROLLBACK")
    connection.execute("BEGIN")
    try:
        return work(view)
    except BaseException as error:
        # Cursors that its frames hold would keep this state of the rows for as long as somebody keeps the error.
        clear_frames(error.__traceback__)
        raise
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
