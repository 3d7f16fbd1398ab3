from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from actum.base.errors import ModelError, ProviderError
from actum.messages.message import assistant, user
from actum.model.fold import fold
from actum.model.request import ModelRequest, ModelSettings
from actum.model.response import Chunk, ModelResponse, StopReason
from actum.model.wrap import RetryingModel
from actum.providers.accept import words_of
from actum.providers.anthropic.client import Anthropic
from tests.support.answers_anthropic import messages_events
from tests.support.wire_server import frames

KEY = "sk-ant-secret"
EVENTS = {"content-type": "text/event-stream", "request-id": "req-1"}
REQUEST = ModelRequest(model="claude", messages=(user("hi"),))
SAID = ModelResponse(message=assistant("Hello there"), stop=StopReason.END_TURN)


def begun(length: int) -> bytes:
    events = messages_events(SAID, words_of("anthropic").project(REQUEST), 5)
    return frames(events[:length], named=True)


@asynccontextmanager
async def streaming(*contents: bytes) -> AsyncIterator[Anthropic]:
    """A client whose calls are answered with these streams, one after the other."""
    waiting = list(contents)

    def reply(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=waiting.pop(0), headers=EVENTS)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(reply)) as http_client:
        yield Anthropic("claude", api_key=KEY, http_client=http_client)


def error_event(kind: str) -> bytes:
    return frames([{"type": "error", "error": {"type": kind, "message": f"no, {KEY}"}}], named=True)


@pytest.mark.parametrize(
    "word, kind, retryable",
    [
        ("overloaded_error", "unavailable", True),
        ("api_error", "unavailable", True),
        ("rate_limit_error", "rate_limited", True),
        ("timeout_error", "timeout", True),
        ("invalid_request_error", "model_request", False),
        ("billing_error", "quota", False),
        ("some_new_error", "unavailable", True),
    ],
)
async def test_an_error_in_the_middle_of_a_stream(word: str, kind: str, *, retryable: bool) -> None:
    chunks: list[Chunk] = []
    async with streaming(begun(4) + error_event(word)) as model:
        with pytest.raises(ProviderError) as raised:  # noqa: PT012 - what came before the error is part of the question
            async for chunk in model.stream(REQUEST):
                chunks.append(chunk)  # noqa: PERF401 - the same
    error = raised.value
    assert (error.kind, error.retryable, error.provider_code) == (kind, retryable, word)
    assert (error.http_status, error.request_id) == (None, "req-1")
    assert KEY not in str(error)
    assert fold(chunks).message == assistant("Hello ther", meta={"partial": True})


async def test_an_error_before_the_first_word_is_tried_again() -> None:
    whole = begun(99)
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    async with streaming(error_event("overloaded_error"), whole) as model:
        found = fold([chunk async for chunk in RetryingModel(model, wait=wait).stream(REQUEST)])
    assert (found.message, found.stop) == (SAID.message, SAID.stop)
    assert len(waits) == 1


async def test_money_that_is_missing_is_no_bad_request() -> None:
    def reply(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(400, json={"type": "error", "error": {"type": "billing_error", "message": "pay"}})

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(reply)) as http_client:
        with pytest.raises(ModelError) as raised:
            await Anthropic("claude", api_key=KEY, http_client=http_client).complete(REQUEST)
    assert raised.value.kind == "quota"


def test_a_key_is_needed_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY"):
        Anthropic("m")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://localhost:1")
    assert repr(Anthropic("m")) == "Anthropic(model='m', base_url='http://localhost:1')"


async def test_a_long_answer_needs_no_stream() -> None:
    """The SDK refuses some bounds for whole answers by itself; that is the caller's to decide."""
    answers: list[Any] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        answers.append(request)
        return httpx2.Response(200, json={"content": [], "stop_reason": "end_turn"})

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(reply)) as http_client:
        settings = ModelSettings(max_output_tokens=128_000)
        model = Anthropic("claude", api_key=KEY, http_client=http_client)
        await model.complete(ModelRequest(model="claude", messages=(user("hi"),), settings=settings))
    assert len(answers) == 1
