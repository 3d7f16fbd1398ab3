"""What only OpenAI's clients do; what every client over HTTP does stands in tests/contracts/test_clients.py."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx2
import pytest

from actum.base.errors import ModelError, ProviderError
from actum.messages.message import assistant, user
from actum.messages.parts import tool_use
from actum.model.client import ModelClient
from actum.model.fold import fold
from actum.model.request import ModelRequest, ModelSettings
from actum.model.response import Chunk, ModelResponse, StopReason
from actum.providers.accept import words_of
from actum.providers.openai.client import OpenAIChat, OpenAIResponses
from actum.testing.provider_samples import TOOLS
from tests.support.answers_openai_chat import chat_answer, chat_events
from tests.support.answers_openai_responses import responses_events
from tests.support.wire_server import frames, served

KEY = "sk-very-secret-key"
EVENTS = {"content-type": "text/event-stream"}
REQUEST = ModelRequest(model="gpt-4.1", messages=(user("weather?"),), tools=TOOLS)
SAID = ModelResponse(
    message=assistant("Let me check ☂", tool_use("c1", "weather.lookup", {"city": "Ulm ☂"})), stop=StopReason.TOOL_USE
)
ENCODED = words_of("openai-chat").project(REQUEST)
DONE = b"data: [DONE]\n\n"

Reply = Callable[[httpx2.Request], httpx2.Response]


def begun(length: int | None = None, end: bytes = DONE) -> bytes:
    return frames(chat_events(SAID, ENCODED, 7)[:length], named=False, end=end)


@asynccontextmanager
async def client(reply: Reply, kind: Any = OpenAIChat, **more: Any) -> AsyncIterator[Any]:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(reply)) as http_client:
        yield kind("gpt-4.1", api_key=KEY, http_client=http_client, **more)


async def drained(model: ModelClient) -> list[Chunk]:
    async with aclosing(model.stream(REQUEST)) as chunks:
        return [chunk async for chunk in chunks]


@pytest.mark.parametrize("kind", [OpenAIChat, OpenAIResponses])
@pytest.mark.parametrize(
    "status, code, expected, retryable",
    [
        (400, "context_length_exceeded", "model_request", False),
        (400, "content_filter", "content_filter", False),
        (400, "content_policy_violation", "content_filter", False),
        (401, "invalid_api_key", "authentication", False),
        (404, "model_not_found", "not_found", False),
        (429, "rate_limit_exceeded", "rate_limited", True),
        (429, "insufficient_quota", "quota", False),
        (500, "server_error", "unavailable", True),
    ],
)
async def test_a_code_says_more_than_its_status(
    kind: Any, status: int, code: str, expected: str, *, retryable: bool
) -> None:
    def reply(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, json={"error": {"message": "no", "type": "some_error", "code": code}})

    async with client(reply, kind) as model:
        with pytest.raises(ProviderError) as raised:
            await model.complete(REQUEST)
    error = raised.value
    assert (error.kind, error.retryable, error.provider_code) == (expected, retryable, code)


async def streamed_until(content: bytes, kind: Any = OpenAIChat) -> tuple[ModelResponse, ModelError | None]:
    chunks: list[Chunk] = []
    error = None
    async with client(lambda _: httpx2.Response(200, content=content, headers=EVENTS), kind) as model:
        try:
            async for chunk in model.stream(REQUEST):
                chunks.append(chunk)  # noqa: PERF401 - what came before the error is the point
        except ModelError as raised:
            error = raised
    return fold(chunks), error


@pytest.mark.parametrize(
    "end, expected, retryable",
    [
        (b'data: {"error":{"message":"overloaded","code":"server_error"}}\n\n', "unavailable", True),
        (b'data: {"error":{"message":"no","code":"content_filter"}}\n\n', "content_filter", False),
        (b'data: {"error":{"message":"no","code":"some_new_code"}}\n\n', "unavailable", True),
        (b"data: {broken\n\n", "malformed_response", False),
        (b'data: {"choices":[{"delta":{"content":7}}]}\n\n', "malformed_response", False),
    ],
)
async def test_an_error_in_the_middle_of_a_stream(end: bytes, expected: str, *, retryable: bool) -> None:
    response, error = await streamed_until(begun(4, end))
    assert isinstance(error, ProviderError)
    assert (error.kind, error.retryable) == (expected, retryable)
    assert response.message == assistant("Let me check ☂", meta={"partial": True})


async def test_a_failed_answer_of_responses_is_an_error_with_its_code() -> None:
    encoded = words_of("openai").project(REQUEST)
    events = responses_events(SAID, encoded, 7)[:7]
    failed = {"id": "resp_1", "status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow down"}}
    content = frames([*events, {"type": "response.failed", "response": failed}], named=True)
    response, error = await streamed_until(content, OpenAIResponses)
    assert isinstance(error, ProviderError)
    assert (error.kind, error.retryable, error.provider_code) == ("rate_limited", True, "rate_limit_exceeded")
    assert response.stop is StopReason.INTERRUPTED


async def test_a_stream_may_end_without_its_last_mark() -> None:
    response, error = await streamed_until(begun(end=b""))
    assert error is None
    assert response.message == SAID.message


async def test_own_fields_go_through() -> None:
    bodies: list[Any] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return httpx2.Response(200, json=chat_answer(SAID, ENCODED))

    async with client(reply) as model:
        settings = ModelSettings(temperature=0, extra={"top_k": 5, "chat_template_kwargs": {"a": None}})
        await model.complete(ModelRequest(model="m", messages=REQUEST.messages, settings=settings))
    assert bodies[0]["top_k"] == 5
    assert bodies[0]["chat_template_kwargs"] == {"a": None}
    assert bodies[0]["temperature"] == 0


@pytest.mark.parametrize("kind, name", [(OpenAIChat, "OpenAIChat"), (OpenAIResponses, "OpenAIResponses")])
def test_a_key_is_needed_and_never_shown(kind: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="OPENAI_API_KEY"):
        kind("m")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    assert repr(kind("m")) == f"{name}(model='m', base_url='http://localhost:1/v1')"


# Both sides leave their sockets to a loop that is gone; that is what a program does that forgets to close.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_client_serves_one_loop_after_the_other() -> None:
    """The second loop finds connections of a loop that is closed, and opens its own."""
    models: list[OpenAIChat] = []
    ports = [0]

    async def once() -> ModelResponse:
        async with served([begun()], kept_open=True, port=ports[-1]) as url:
            ports.append(int(url.split(":")[2]))
            models.append(models[0] if models else OpenAIChat("gpt-4.1", api_key=KEY, base_url=url + "/v1"))
            return fold(await drained(models[-1]))

    assert asyncio.run(once()).message == SAID.message
    assert asyncio.run(once()).message == SAID.message
    assert models.pop() is models.pop()
    gc.collect()
