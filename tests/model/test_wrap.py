import asyncio
from contextlib import aclosing

import pytest

from actum.base.errors import ModelError, ProviderError
from actum.messages.message import user
from actum.model.client import ModelClient
from actum.model.request import ModelRequest
from actum.model.response import Chunk, StopChunk, StopReason, TextDelta
from actum.model.wrap import CallTiming, RetryingModel, TimedModel
from actum.testing.script import ManualClock, ModelStep, ScriptedModel

REQUEST = ModelRequest(model="m", messages=(user("hi"),))
HELLO: list[Chunk] = [TextDelta(index=0, text="hello"), StopChunk(stop=StopReason.END_TURN)]


def failing(*, retryable: bool = True, retry_after: float | None = None) -> ProviderError:
    return ProviderError(
        kind="unavailable",
        message="busy",
        provider="p",
        operation="complete",
        retryable=retryable,
        retry_after=retry_after,
    )


def retrying(
    script: list[ModelStep], clock: ManualClock, *, chance: float = 1.0
) -> tuple[ScriptedModel, RetryingModel]:
    inner = ScriptedModel(script)
    return inner, RetryingModel(inner, wait=clock.wait, chance=lambda: chance)


async def drained(client: ModelClient) -> list[Chunk]:
    async with aclosing(client.stream(REQUEST)) as chunks:
        return [chunk async for chunk in chunks]


async def test_what_may_pass_is_tried_again_with_growing_waits() -> None:
    clock = ManualClock()
    inner, model = retrying([failing(), failing(), failing(), "hello"], clock)
    assert (await model.complete(REQUEST)).message.text == "hello"
    assert clock.waits == [0.5, 1.0, 2.0]
    assert inner.requests == [REQUEST] * 4
    assert model.model == "scripted"


async def test_chance_shortens_a_wait_to_no_less_than_half() -> None:
    clock = ManualClock()
    _, model = retrying([failing(), "hello"], clock, chance=0.0)
    await model.complete(REQUEST)
    assert clock.waits == [0.25]


async def test_the_last_error_stands_after_the_last_try() -> None:
    clock = ManualClock()
    inner, model = retrying([failing()] * 9, clock)
    with pytest.raises(ProviderError, match="busy"):
        await model.complete(REQUEST)
    assert inner.left == 5


@pytest.mark.parametrize("error", [failing(retryable=False), ModelError(kind="malformed_response", message="x")])
async def test_what_cannot_pass_is_not_tried_again(error: ModelError) -> None:
    inner, model = retrying([error, "hello"], ManualClock())
    with pytest.raises(ModelError):
        await model.complete(REQUEST)
    with pytest.raises(ModelError):
        await drained(retrying([error, "hello"], ManualClock())[1])
    assert inner.left == 1


@pytest.mark.parametrize("retry_after, waits", [(7.0, [7.0]), (0.1, [0.5])])
async def test_a_providers_own_wait_is_kept(retry_after: float, waits: list[float]) -> None:
    clock = ManualClock()
    _, model = retrying([failing(retry_after=retry_after), "hello"], clock)
    await model.complete(REQUEST)
    assert clock.waits == waits


async def test_a_wait_that_is_too_long_is_not_begun() -> None:
    clock = ManualClock()
    _, model = retrying([failing(retry_after=31), "hello"], clock)
    with pytest.raises(ProviderError):
        await model.complete(REQUEST)
    assert clock.waits == []


async def test_a_stream_is_tried_again_until_it_has_begun() -> None:
    clock = ManualClock()
    inner, model = retrying([failing(), [*HELLO]], clock)
    assert await drained(model) == HELLO
    inner, model = retrying([[HELLO[0], failing()], "never"], clock)
    chunks = model.stream(REQUEST)
    assert await anext(chunks) == HELLO[0]
    with pytest.raises(ProviderError):
        await anext(chunks)
    assert inner.left == 1


async def test_leaving_a_stream_early_closes_the_one_below() -> None:
    inner = ScriptedModel([HELLO])
    async with aclosing(RetryingModel(inner).stream(REQUEST)) as chunks:
        assert await anext(chunks) == HELLO[0]
    assert inner.left == 0


async def test_calls_are_measured() -> None:
    clock = ManualClock()
    timings: list[CallTiming] = []

    async def slow(request: ModelRequest) -> str:
        clock.advance(1.5)
        return request.model

    model = TimedModel(ScriptedModel([slow, slow, failing(), failing()]), clock, timings.append)
    assert (await model.complete(REQUEST)).message.text == "m"
    await drained(model)
    with pytest.raises(ProviderError):
        await model.complete(REQUEST)
    with pytest.raises(ProviderError):
        await drained(model)
    assert timings == [
        CallTiming(model="m", streamed=False, duration_ms=1500, stop=StopReason.END_TURN),
        CallTiming(model="m", streamed=True, duration_ms=1500, first_chunk_ms=1500, stop=StopReason.END_TURN),
        CallTiming(model="m", streamed=False, duration_ms=0, error="unavailable"),
        CallTiming(model="m", streamed=True, duration_ms=0, error="unavailable"),
    ]
    assert model.model == "scripted"


async def test_a_cancelled_call_is_measured_too() -> None:
    timings: list[CallTiming] = []
    begun = asyncio.Event()

    async def hanging(request: ModelRequest) -> str:
        begun.set()
        await asyncio.Event().wait()
        return request.model

    task = asyncio.create_task(TimedModel(ScriptedModel([hanging]), ManualClock(), timings.append).complete(REQUEST))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(timing.stop, timing.error) for timing in timings] == [(None, None)]
