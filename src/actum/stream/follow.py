"""A watcher's stream: events read from the store by cursor, and between them the deltas that they do not settle yet.

Everything that a watcher must not miss comes from records, in their one order; a hub only says when to look again, and
brings deltas. A delta is shown after every event of the records that its model call knew, and never after the turn or
the end that settles it.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from actum.records.record import Page, Record
from actum.stream.events import (
    AssistantDelta,
    AssistantTurn,
    RecordedEvent,
    RunStreamEnd,
    before,
    event_place,
    events_of,
    place,
)
from actum.stream.hub import Watch

Event: TypeAlias = RecordedEvent | AssistantDelta

FIRST_WAIT_S: Final = 0.05
LONGEST_WAIT_S: Final = 1.0


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a stream comes from.

    `read` gives a page of records behind a cursor. `over` says whether nothing can follow any more; `last` whether this
    event is the last one. `here` says whether everything that happens is told to the hub, so that nothing has to be
    looked for; otherwise the stream waits, by `wait` (seconds), and looks.
    """

    read: Callable[[str | None], Awaitable[Page[Record]]]
    over: Callable[[], Awaitable[bool]]
    last: Callable[[RecordedEvent], bool]
    here: Callable[[], bool]
    wait: Callable[[float], Coroutine[Any, Any, None]]


async def follow(source: Source, watch: Watch, after: str | None = None) -> AsyncGenerator[Event, None]:
    """Every event behind the one whose id is `after`, to the last; none missing, none twice. Deltas in between.

    Raises InvalidCursor for an id that no event of this stream can have, what the store raises, and what `watch` heard.
    """
    reading, rest = await _from(source, after), _Rest(source, watch)
    while True:
        looked, watch.stale = watch.stale, False
        reading.forget_ended()
        fresh = False
        more = looked
        while more:
            page = await source.read(reading.cursor)
            for record in page.items:
                for event in reading.unseen(record):
                    fresh = True
                    yield event
                    if source.last(event):
                        return
            reading.cursor, more = page.cursor, page.more
        for delta in watch.take(reading.cursor):
            if not reading.settles(delta):
                yield delta
        if not await rest.until_news(looked=looked, fresh=fresh):
            return


class _Rest:
    """What a watcher does when it has read everything: it waits, or it is done."""

    def __init__(self, source: Source, watch: Watch) -> None:
        self._source = source
        self._watch = watch
        self._pause = FIRST_WAIT_S
        self._closing = False

    async def until_news(self, *, looked: bool, fresh: bool) -> bool:
        """Wait until it is time to look again; False when nothing can follow. Raises what the watch heard."""
        watch = self._watch
        if watch.error is not None and not watch.stale:
            raise watch.error
        if looked and self._closing:
            return False
        if fresh:
            self._pause = FIRST_WAIT_S
        elif looked:
            # What was stored between the last look and this answer is still read.
            self._closing = await self._source.over()
            watch.stale = watch.stale or self._closing
        if not watch.stale:
            await watch.wait(None if self._source.here() else self._wait)
            self._pause = min(self._pause * 2, LONGEST_WAIT_S)
        return True

    async def _wait(self) -> None:
        await self._source.wait(self._pause)


@dataclass
class _Reading:
    """How far a watcher has read, and which deltas are settled by it."""

    cursor: str | None
    record: str | None
    number: int
    settled: dict[str, int]
    ended: set[str]

    def unseen(self, record: Record) -> list[RecordedEvent]:
        """The events of the next record that the watcher has not got."""
        events = events_of(record)
        if record.id == self.record:
            events = events[self.number + 1 :]
        for event in events:
            if isinstance(event, AssistantTurn | RunStreamEnd):
                self.settled[event.run_id] = place(record.id)
            if isinstance(event, RunStreamEnd):
                self.ended.add(event.run_id)
        return list(events)

    def settles(self, delta: AssistantDelta) -> bool:
        """Whether an event that was read already took the delta's place."""
        return self.settled.get(delta.run_id, 0) > place(delta.after)

    def forget_ended(self) -> None:
        """Runs that are over make no more deltas."""
        for run_id in self.ended:
            self.settled.pop(run_id, None)
        self.ended.clear()


async def _from(source: Source, after: str | None) -> _Reading:
    if after is None:
        return _Reading(None, None, -1, {}, set())
    record, number = event_place(after)
    await source.read(record)  # a place that this scope has not reached, or another scope's, is refused here
    return _Reading(before(record), record, number, {}, set())
