"""What happens in this process, told to those who watch here: deltas, and that there are new records.

Events are never kept here; a watcher reads them from the store. So a slow watcher loses deltas, and never an event, and
what is kept for it has a bound. A hub belongs to one event loop.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from actum.base.limits import STREAM_DELTAS
from actum.stream.events import AssistantDelta, place


class Watch:
    """One watcher's share: the newest deltas, and whether there may be records that it has not read."""

    def __init__(self) -> None:
        self.stale = True
        self.error: BaseException | None = None
        self._deltas: deque[AssistantDelta] = deque(maxlen=STREAM_DELTAS)
        self._signal = asyncio.Event()

    def push(self, delta: AssistantDelta) -> None:
        """Keep a delta; the oldest goes when there are too many."""
        self._deltas.append(delta)
        self._signal.set()

    def wake(self) -> None:
        """There may be new records."""
        self.stale = True
        self._signal.set()

    def fail(self, error: BaseException) -> None:
        """What is watched here does not go on."""
        self.error = self.error or error
        self.wake()

    def take(self, read: str | None) -> tuple[AssistantDelta, ...]:
        """The deltas whose records before them were read: up to `read`, a record's id. Later ones wait for a look."""
        taken = []
        while read is not None and self._deltas and place(self._deltas[0].after) <= place(read):
            taken.append(self._deltas.popleft())
        self.stale = self.stale or bool(self._deltas)
        return tuple(taken)

    async def wait(self, pause: Callable[[], Coroutine[Any, Any, None]] | None) -> None:
        """Return once something happened here, or after the pause: then it is time to look for what others stored."""
        self._signal.clear()
        if self.stale or self._deltas:
            return
        told = asyncio.ensure_future(self._signal.wait())
        paused = asyncio.ensure_future(pause()) if pause is not None else None
        waiting: set[asyncio.Future[Any]] = {told} if paused is None else {told, paused}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if paused is not None and paused.done():
                self.stale = True
        finally:
            for each in waiting:
                each.cancel()


class Hub:
    """Who watches what: single runs, or whole sessions."""

    def __init__(self) -> None:
        self._watches: dict[tuple[str, str], set[Watch]] = {}

    @contextmanager
    def watch(self, *, run_id: str | None = None, session_id: str | None = None) -> Iterator[Watch]:
        """A watch over one run, or over all runs of one session."""
        name = ("run", run_id) if run_id is not None else ("session", session_id or "")
        watch = Watch()
        self._watches.setdefault(name, set()).add(watch)
        try:
            yield watch
        finally:
            watches = self._watches[name]
            watches.discard(watch)
            if not watches:
                del self._watches[name]

    def watched(self, run_id: str, session_id: str | None) -> bool:
        """Whether anybody looks, so that a model's answer is worth streaming."""
        return any(True for _ in self._of(run_id, session_id))

    def push(self, delta: AssistantDelta) -> None:
        """A piece of an answer came."""
        for watch in self._of(delta.run_id, delta.session_id):
            watch.push(delta)

    def wake(self, run_id: str, session_id: str | None) -> None:
        """A record of this run was stored here, or its loop here is over."""
        for watch in self._of(run_id, session_id):
            watch.wake()

    def wake_session(self, session_id: str) -> None:
        """Something happened to this session."""
        for watch in self._watches.get(("session", session_id), ()):
            watch.wake()

    def close(self, error: BaseException) -> None:
        """Nothing happens here any more; every watcher hears `error`."""
        for watches in self._watches.values():
            for watch in watches:
                watch.fail(error)

    def _of(self, run_id: str, session_id: str | None) -> Iterator[Watch]:
        yield from self._watches.get(("run", run_id), ())
        if session_id is not None:
            yield from self._watches.get(("session", session_id), ())
