import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from actum.base.errors import ProviderError
from actum.messages.message import assistant, user
from actum.model.client import ModelClient
from actum.model.pacing import PacedModel
from actum.model.request import ModelRequest
from actum.model.response import Chunk, ModelResponse, StopChunk, StopReason
from actum.testing.script import ManualClock

REQUEST = ModelRequest(model="m", messages=(user("hi"),))
ANSWER = ModelResponse(message=assistant("x"), stop=StopReason.END_TURN)


def refusal(retry_after: float | None = None, kind: str = "rate_limited") -> ProviderError:
    return ProviderError(
        kind=kind, message="m", provider="acme", operation="complete", retryable=True, retry_after=retry_after
    )


class Slow:
    """A provider whose calls end when the test says so."""

    model = "m"

    def __init__(self) -> None:
        self.running: list[asyncio.Future[None]] = []
        self.most = 0

    async def _call(self) -> None:
        end = asyncio.get_running_loop().create_future()
        self.running.append(end)
        self.most = max(self.most, len(self.running))
        try:
            await end
        finally:
            self.running.remove(end)

    async def complete(self, _: ModelRequest) -> ModelResponse:
        await self._call()
        return ANSWER

    async def stream(self, _: ModelRequest) -> AsyncGenerator[Chunk, None]:
        await self._call()
        yield StopChunk(stop=StopReason.END_TURN)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def refused(paced: PacedModel, slow: Slow, error: ProviderError) -> None:
    """One call that the provider refuses."""
    call = asyncio.create_task(paced.complete(REQUEST))
    await settle()
    slow.running[-1].set_exception(error)
    with pytest.raises(ProviderError):
        await call


async def test_no_more_than_the_most_run_at_a_time_and_all_get_their_turn() -> None:
    slow = Slow()
    paced = PacedModel(slow, most=3)
    assert isinstance(paced, ModelClient)
    calls = [asyncio.create_task(paced.complete(REQUEST)) for _ in range(10)]
    for _ in range(10):
        await settle()
        assert len(slow.running) <= 3
        slow.running[0].set_result(None)
    assert await asyncio.gather(*calls) == [ANSWER] * 10
    assert slow.most == 3


async def test_a_refusal_for_the_rate_halves_and_answers_raise_again() -> None:
    slow = Slow()
    paced = PacedModel(slow, most=8)
    for allowed in (4, 2, 1, 1):
        await refused(paced, slow, refusal())
        assert paced.allowed == allowed
    for _ in range(40):
        call = asyncio.create_task(paced.complete(REQUEST))
        await settle()
        slow.running[0].set_result(None)
        await call
    assert paced.allowed == 8


async def test_another_failure_does_not_slow() -> None:
    slow = Slow()
    paced = PacedModel(slow, most=8)
    await refused(paced, slow, refusal(kind="unavailable"))
    assert paced.allowed == 8


async def test_nothing_starts_before_the_providers_wait_is_over() -> None:
    slow, watch, waits = Slow(), ManualClock(), list[float]()

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        watch.advance(seconds)

    paced = PacedModel(slow, watch=watch, wait=wait)
    await refused(paced, slow, refusal(retry_after=7))
    call = asyncio.create_task(paced.complete(REQUEST))
    await settle()
    assert waits == [7]
    slow.running[0].set_result(None)
    assert await call == ANSWER


async def test_a_call_that_is_cancelled_while_it_waits_is_passed_over() -> None:
    slow = Slow()
    paced = PacedModel(slow, most=1)
    first, second, third = (asyncio.create_task(paced.complete(REQUEST)) for _ in range(3))
    await settle()
    second.cancel()
    slow.running[0].set_result(None)  # its turn comes before it has noticed
    await settle()
    assert first.done()
    assert second.cancelled()
    slow.running[0].set_result(None)
    assert await third == ANSWER


async def test_a_call_cancelled_in_the_very_moment_of_its_turn_gives_it_on() -> None:
    slow = Slow()
    paced = PacedModel(slow, most=1)
    first, second, third = (asyncio.create_task(paced.complete(REQUEST)) for _ in range(3))
    await settle()
    first.add_done_callback(lambda _: second.cancel())
    slow.running[0].set_result(None)
    await settle()
    assert second.cancelled()
    slow.running[0].set_result(None)
    assert await third == ANSWER


async def test_a_stream_holds_its_place_until_it_ends() -> None:
    slow = Slow()
    paced = PacedModel(slow, most=1)

    async def first_chunk() -> None:
        async with aclosing(paced.stream(REQUEST)) as chunks:
            await anext(chunks)

    streams = [asyncio.create_task(first_chunk()) for _ in range(2)]
    await settle()
    assert len(slow.running) == 1
    slow.running[0].set_result(None)
    await settle()
    slow.running[0].set_result(None)
    await asyncio.gather(*streams)
    assert slow.most == 1
