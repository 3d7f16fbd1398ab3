"""Streams of a host: where their events are read, how a model's chunks become deltas, and when they are over."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any, Literal

from actum.base.clock import random_token
from actum.base.limits import PAGE_ITEMS_DEFAULT
from actum.lifecycle.states import Run, RunStatus, SessionStatus
from actum.model.response import Chunk, ResponseStarted, TextDelta, ThinkingDelta
from actum.records.record import Page, Record
from actum.runtime.ask import Sink
from actum.runtime.ledger import OpenRun
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore
from actum.stream.events import STREAMED_TYPES, AssistantDelta, RecordedEvent, RunStreamEnd
from actum.stream.follow import Event, Source, follow
from actum.stream.hub import Hub, Watch

Wait = Callable[[float], Coroutine[Any, Any, None]]


def delta_listener(hub: Hub) -> Callable[[OpenRun, int], Sink | None]:
    """A sink for a step's deltas while somebody watches the run or its session; otherwise None."""

    def listen(here: OpenRun, _step: int) -> Sink | None:
        run, after = here.run, here.journal.cursor
        if after is None or not hub.watched(run.run_id, run.session_id):
            return None
        return _Deltas(hub, run, here.journal.turn_id, after)

    return listen


class _Deltas:
    """One attempt at an answer: its text and thinking, piece by piece, each with its place."""

    def __init__(self, hub: Hub, run: Run, turn_id: str | None, after: str) -> None:
        self._hub = hub
        self._run = run
        self._turn_id = turn_id
        self._after = after
        self._attempt = random_token()
        self._response_id: str | None = None
        self._offsets: dict[int, int] = {}

    def __call__(self, chunk: Chunk) -> None:
        match chunk:
            case ResponseStarted(response_id=response_id):
                self._response_id = response_id or self._response_id
            case TextDelta(index=index, text=text):
                self._push(index, "text", text)
            case ThinkingDelta(index=index, text=text):
                self._push(index, "thinking", text)
            case _:
                pass  # what else an answer is made of is shown when it is whole

    def _push(self, part: int, kind: Literal["text", "thinking"], text: str) -> None:
        if not text:
            return
        offset = self._offsets.get(part, 0)
        self._offsets[part] = offset + len(text)
        self._hub.push(
            AssistantDelta(
                run_id=self._run.run_id,
                agent_id=self._run.agent_id,
                session_id=self._run.session_id,
                turn_id=self._turn_id,
                response_id=self._response_id,
                attempt=self._attempt,
                part=part,
                kind=kind,
                offset=offset,
                text=text,
                after=self._after,
            )
        )


def run_source(store: OwnedStore, runtime: Runtime, wait: Wait, run_id: str) -> Source:
    """The events of one run, to its end."""

    async def read(cursor: str | None) -> Page[Record]:
        return await store.list_run_records(run_id, cursor=cursor, limit=PAGE_ITEMS_DEFAULT, types=STREAMED_TYPES)

    async def over() -> bool:
        return (await store.load_run(run_id)).status is not RunStatus.RUNNING

    def last(event: RecordedEvent) -> bool:
        return isinstance(event, RunStreamEnd)

    return Source(read=read, over=over, last=last, here=lambda: runtime.drives(run_id), wait=wait)


def session_source(store: OwnedStore, wait: Wait, session_id: str) -> Source:
    """The events of all runs of a session, until it has ended and none of its runs is running."""

    async def read(cursor: str | None) -> Page[Record]:
        return await store.list_session_run_records(
            session_id, cursor=cursor, limit=PAGE_ITEMS_DEFAULT, types=STREAMED_TYPES
        )

    async def over() -> bool:
        if await store.load_session_status(session_id) is not SessionStatus.ENDED:
            return False
        return not (await store.list_runs(session_id, statuses=[RunStatus.RUNNING], limit=1)).items

    # Anybody may start a run in a session, so others' records are always looked for.
    return Source(read=read, over=over, last=lambda _event: False, here=lambda: False, wait=wait)


async def run_stream(
    source: Source,
    hub: Hub,
    run_id: str,
    end: Callable[[], Awaitable[object]],
    *,
    start: Callable[[], Awaitable[object]] | None = None,
    after: str | None = None,
) -> AsyncGenerator[Event, None]:
    """The events of a run behind `after`, to its last; of one that `start` starts, where given, from its beginning.

    Raises what `end`, waiting for the run's end, raises: then no more events can come.
    """
    # Watched before it starts, so that the first answer is streamed.
    with hub.watch(run_id=run_id) as watch:
        if start is not None:
            await start()
        ending = asyncio.ensure_future(end())
        ending.add_done_callback(lambda done: _tell(watch, done))
        try:
            async with aclosing(follow(source, watch, after)) as events:
                async for event in events:
                    yield event
        finally:
            ending.cancel()


async def session_stream(source: Source, hub: Hub, session_id: str, after: str | None) -> AsyncGenerator[Event, None]:
    """The events of a session behind `after`, until it has ended."""
    with hub.watch(session_id=session_id) as watch:
        async with aclosing(follow(source, watch, after)) as events:
            async for event in events:
                yield event


def _tell(watch: Watch, ending: "asyncio.Future[object]") -> None:
    """A loop that broke off brings no end; whoever waits for it hears why."""
    error = None if ending.cancelled() else ending.exception()
    if error is not None:
        watch.fail(error)
