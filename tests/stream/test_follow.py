"""A watcher over a list of records that a test holds: what it gets, when it looks, and when it stops."""

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import pytest

from actum.messages.message import assistant
from actum.records import makers
from actum.records.kinds import Phase
from actum.records.record import Page, Record, position_of, record_id
from actum.records.types import RecordType
from actum.stream.events import AssistantDelta, RecordedEvent, RunStreamEnd
from actum.stream.follow import Event, Source, follow
from actum.stream.hub import Hub, Watch

SCOPE = "0123456789abcdef"
AT = datetime(2025, 1, 1, tzinfo=UTC)


class Log:
    """Records of one scope, read in pages of two."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.looks = 0
        self.ended = False
        self.here = True
        self.waits: list[float] = []

    def add(self, kind: RecordType, payload: bytes, run_id: str = "r") -> str:
        at = record_id(SCOPE, len(self.records) + 1)
        self.records.append(
            Record(
                id=at,
                event_key=at,
                run_id=run_id,
                agent_id="a",
                session_id="s",
                type=str(kind),
                payload=payload,
                timestamp=AT,
            )
        )
        return at

    def phase(self) -> str:
        return self.add(RecordType.RUN_PHASE_CHANGED, makers.run_phase_changed(phase=Phase.PLANNING))

    def turn(self, text: str, run_id: str = "r") -> str:
        payload = makers.transcript_messages_appended(messages=(assistant(text),))
        return self.add(RecordType.TRANSCRIPT_MESSAGES_APPENDED, payload, run_id)

    def end(self, run_id: str = "r") -> str:
        return self.add(RecordType.RUN_COMPLETED, makers.run_completed(status="completed"), run_id)

    async def read(self, cursor: str | None) -> Page[Record]:
        self.looks += 1
        after = 0 if cursor is None else position_of(cursor, SCOPE)
        items = tuple(self.records[after : after + 2])
        last = items[-1].id if items else record_id(SCOPE, after)
        return Page(items=items, cursor=last, more=after + 2 < len(self.records))

    async def over(self) -> bool:
        return self.ended

    def source(self, *, tail: bool = False) -> Source:
        def last(event: RecordedEvent) -> bool:
            return isinstance(event, RunStreamEnd) and not tail

        return Source(read=self.read, over=self.over, last=last, here=lambda: self.here, wait=self.wait)

    def wait(self, seconds: float) -> Coroutine[Any, Any, None]:
        self.waits.append(seconds)
        return self.waited(len(self.waits))

    async def waited(self, count: int) -> None:
        if count == 6:
            self.end()


def delta(text: str, after: str, offset: int = 0, run_id: str = "r") -> AssistantDelta:
    return AssistantDelta(
        run_id=run_id, agent_id="a", session_id="s", attempt="x", part=0, offset=offset, text=text, after=after
    )


def names(events: list[Event]) -> list[str]:
    return [event.text if isinstance(event, AssistantDelta) else event.type for event in events]


async def all_of(log: Log, watch: Watch, after: str | None = None) -> list[Event]:
    return [event async for event in follow(log.source(), watch, after)]


async def test_events_come_in_the_order_of_their_records_to_the_last() -> None:
    log, hub = Log(), Hub()
    for _ in range(5):
        log.phase()
    log.turn("hi")
    log.end()
    log.phase()
    with hub.watch(run_id="r") as watch:
        events = await all_of(log, watch)
    assert names(events) == [*["workflow"] * 5, "assistant_turn", "workflow", "run_stream_end"]


async def test_whoever_goes_on_from_any_event_misses_nothing_and_gets_nothing_twice() -> None:
    log, hub = Log(), Hub()
    log.phase()
    log.turn("hi")
    log.end()
    log.ended = True
    with hub.watch(run_id="r") as watch:
        whole = await all_of(log, watch)
    for number, event in enumerate(whole):
        with hub.watch(run_id="r") as watch:
            assert await all_of(log, watch, event.id) == whole[number + 1 :]


async def test_a_watcher_here_waits_without_looking() -> None:
    log, hub = Log(), Hub()
    log.phase()
    with hub.watch(run_id="r") as watch:
        async with aclosing(follow(log.source(), watch)) as events:
            await anext(events)
            following = asyncio.ensure_future(anext(events))
            for _ in range(20):
                await asyncio.sleep(0)
            assert log.looks == 1
            log.turn("hi")
            hub.wake("r", "s")
            assert (await following).type == "assistant_turn"
    assert log.waits == []


async def test_a_watcher_of_another_process_looks_ever_more_gently() -> None:
    log, hub = Log(), Hub()
    log.here = False
    log.phase()
    with hub.watch(run_id="r") as watch:
        events = await all_of(log, watch)
    assert names(events) == ["workflow", "workflow", "run_stream_end"]
    assert log.waits == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0]


async def test_a_delta_comes_before_the_turn_that_settles_it_or_not_at_all() -> None:
    log, hub = Log(), Hub()
    asked = log.phase()
    with hub.watch(run_id="r") as watch:
        async with aclosing(follow(log.source(), watch)) as events:
            seen: list[Event] = [await anext(events)]
            hub.push(delta("he", asked))
            seen.append(await anext(events))
            hub.push(delta("llo", asked, 2))
            answered = log.turn("hello")
            hub.push(delta("second", answered))
            hub.wake("r", "s")
            seen += [await anext(events), await anext(events)]
            hub.push(delta("lost", answered))
            log.end()
            hub.wake("r", "s")
            seen += [event async for event in events]
    assert names(seen) == ["workflow", "he", "assistant_turn", "second", "workflow", "run_stream_end"]


async def test_a_delta_needs_no_look() -> None:
    log, hub = Log(), Hub()
    asked = log.phase()
    with hub.watch(run_id="r") as watch:
        async with aclosing(follow(log.source(), watch)) as events:
            await anext(events)
            for offset in range(3):
                hub.push(delta("x", asked, offset))
            assert names([await anext(events) for _ in range(3)]) == ["x"] * 3
    assert log.looks == 1


async def test_an_event_comes_before_the_deltas_that_knew_of_it() -> None:
    log, hub = Log(), Hub()
    log.phase()
    with hub.watch(run_id="r") as watch:
        async with aclosing(follow(log.source(), watch)) as events:
            await anext(events)
            hub.push(delta("new", log.turn("old")))
            assert names([await anext(events), await anext(events)]) == ["assistant_turn", "new"]


async def test_the_runs_of_a_session_settle_each_their_own() -> None:
    log, hub = Log(), Hub()
    asked = log.phase()
    with hub.watch(session_id="s") as watch:
        async with aclosing(follow(log.source(tail=True), watch)) as events:
            await anext(events)
            hub.push(delta("o", asked))
            assert names([await anext(events)]) == ["o"]
            hub.push(delta("other", asked, run_id="r2"))
            hub.push(delta("wn", asked, 1))
            log.turn("own")
            log.end()
            hub.wake("r", "s")
            seen = [await anext(events) for _ in range(4)]
            hub.push(delta("more", asked, run_id="r2"))
            seen.append(await anext(events))
    assert names(seen) == ["assistant_turn", "workflow", "run_stream_end", "other", "more"]


async def test_a_tail_stops_when_nothing_can_follow_and_reads_what_was_stored_until_then() -> None:
    log, hub = Log(), Hub()
    source = log.source(tail=True)

    async def over() -> bool:
        if not log.ended:
            log.ended = True
            log.end()
        return True

    source = Source(read=source.read, over=over, last=source.last, here=source.here, wait=source.wait)
    with hub.watch(session_id="s") as watch:
        events = [event async for event in follow(source, watch)]
    assert names(events) == ["workflow", "run_stream_end"]


async def test_what_a_watch_hears_is_raised_after_all_that_is_stored() -> None:
    log, hub = Log(), Hub()
    log.phase()
    with hub.watch(run_id="r") as watch:
        async with aclosing(follow(log.source(), watch)) as events:
            await anext(events)
            log.turn("hi")
            watch.fail(ValueError("broken"))
            assert (await anext(events)).type == "assistant_turn"
            with pytest.raises(ValueError, match="broken"):
                await anext(events)
