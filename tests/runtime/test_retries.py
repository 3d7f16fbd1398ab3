"""Tools that may run again, and answers that were stopped in the middle."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

from actum.base.limits import TOOL_TRIES
from actum.lifecycle.states import RunStatus
from actum.messages.message import user
from actum.model.request import ModelRequest
from actum.model.response import Chunk, ResponseStarted, TextDelta, ToolUseDelta, Usage, UsageChunk
from actum.planning.policy import (
    RunPolicy,
)
from actum.records.failures import ToolFailureKind
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing.script import ScriptedModel
from actum.tools.failures import ToolError
from tests.support.frail import MortalBackend, until_dead
from tests.support.runlogs import RunLog, failures, proven
from tests.support.scenario import AGENT, RUN, SESSION, WATCH_S, Cast, Waits, Worker, begun, playing, uses


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


async def _played(store: OwnedStore, cast: Cast, *, policy: RunPolicy | None = None, **options: Any) -> RunLog:
    async with playing(store, cast, **options) as worker:
        await worker.play(policy=policy)
    return await proven(store, RUN)


# Tools that may run again


PASSING = [ToolFailureKind.UNAVAILABLE, ToolFailureKind.RATE_LIMITED, ToolFailureKind.TIMEOUT]


def shaky(kind: ToolFailureKind, fails: int) -> Callable[[], Awaitable[object]]:
    left = [kind] * fails

    async def act() -> object:
        if left:
            raise ToolError(left.pop(), "not now")
        return "at last"

    return act


@pytest.mark.parametrize("kind", PASSING)
async def test_an_idempotent_tool_is_tried_again_with_growing_waits(store: OwnedStore, kind: ToolFailureKind) -> None:
    cast = Cast(uses("c1=a"), "done").does("a", shaky(kind, 2), idempotent=True)
    waits = Waits()
    log = await _played(store, cast, waits=waits)
    assert (cast.ran, failures(log)) == ({"c1": 3}, {"c1": None})
    assert log.types[RecordType.TOOL_CALL_STARTED] == 3
    assert len({each.attempt for each in cast.contexts}) == 3
    assert len({each.idempotency_key for each in cast.contexts}) == 1
    first, second = [each for each in waits.pauses if each >= 0.25]
    assert 0.25 <= first <= 0.5 <= second <= 1.0


async def test_after_the_last_try_the_failure_is_the_answer(store: OwnedStore) -> None:
    cast = Cast(uses("c1=a"), "done").does("a", shaky(ToolFailureKind.UNAVAILABLE, 9), idempotent=True)
    log = await _played(store, cast)
    assert (cast.ran, failures(log)) == ({"c1": TOOL_TRIES}, {"c1": ToolFailureKind.UNAVAILABLE})


@pytest.mark.parametrize(
    "kind, idempotent",
    [(ToolFailureKind.UNAVAILABLE, False), (ToolFailureKind.DOMAIN_REJECTION, True), (ToolFailureKind.INTERNAL, True)],
)
async def test_other_failures_and_other_tools_are_tried_once(
    store: OwnedStore, kind: ToolFailureKind, idempotent: Any
) -> None:
    cast = Cast(uses("c1=a"), "done").does("a", shaky(kind, 1), idempotent=idempotent)
    log = await _played(store, cast)
    assert (cast.ran, failures(log)) == ({"c1": 1}, {"c1": kind})


async def test_a_run_that_is_canceled_between_two_tries_keeps_the_failure_of_the_first(store: OwnedStore) -> None:
    class Holding(Waits):
        async def __call__(self, seconds: float) -> None:
            if seconds == WATCH_S or seconds < 0.2:
                await super().__call__(seconds)
                return
            between.set()
            await asyncio.Event().wait()

    between = asyncio.Event()
    cast = Cast(uses("c1=a"), "done").does("a", shaky(ToolFailureKind.UNAVAILABLE, 9), idempotent=True)
    async with playing(store, cast, waits=Holding()) as worker:
        await worker.start()
        await between.wait()
        await worker.runtime.cancel_run(RUN, "user_stop")
        await worker.runtime.output(RUN)
    log = await proven(store, RUN)
    assert log.run.status is RunStatus.CANCELED
    assert failures(log) == {"c1": ToolFailureKind.UNAVAILABLE}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_wherever_a_worker_dies_between_tries_the_next_one_goes_on_trying(*, after: bool) -> None:
    call, died = 0, True
    while died:
        call += 1
        backend = MemoryBackend()
        store = await begun(backend)
        cast = Cast(uses("c1=a"), "done").does("a", shaky(ToolFailureKind.UNAVAILABLE, 1), idempotent=True)
        mortal = MortalBackend(backend, dies_at=call, after=after)
        worker = Worker(LocalStore(mortal), cast)
        died = await until_dead(mortal, worker.play())
        await worker.runtime.close()
        async with playing(store, cast) as second:
            await second.recover()
            await second.play()
        log = await proven(store, RUN)
        assert failures(log) == {"c1": None}
        assert log.messages[-1].text == "done"
        assert 2 <= cast.ran["c1"] <= 3
    assert call > 10


# Stopped in the middle of an answer


async def test_a_run_that_is_canceled_while_the_model_answers_keeps_the_text_and_marks_it(store: OwnedStore) -> None:
    begun_to_answer = asyncio.Event()

    class Slow(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
            yield ResponseStarted(response_id="r1")
            yield UsageChunk(usage=Usage(input=25))
            yield TextDelta(index=0, text="Let me check")
            yield ToolUseDelta(index=1, id="t1", name="a", input='{"city":"Ber')
            begun_to_answer.set()
            await asyncio.Event().wait()

    cast = Cast().returns("a")
    runtime = Runtime(store, listener=lambda _run, _step: lambda _chunk: None)
    runtime.register(Agent(AGENT, model=Slow(), tools=cast.tools))
    handle = await runtime.client(AGENT).start(SESSION, [user("weather?")], run_id=RUN)
    await begun_to_answer.wait()
    await handle.cancel("user_stop")
    out = await handle.wait()
    await runtime.close()
    log = await proven(store, RUN)
    assert (out.status, out.text, out.cancellation) == (RunStatus.CANCELED, "Let me check", "user_stop")
    assert log.messages[-1].meta == {"partial": True}
    assert not any(message.tool_uses for message in log.messages)
    assert (out.usage.input, out.usage.output) == (25, None)
    async with playing(store, Cast("on we go")) as worker:
        again = await worker.client.run(SESSION, [*log.messages, user("go on")])
    assert again.text == "on we go"
