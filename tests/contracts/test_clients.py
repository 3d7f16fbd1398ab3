"""What every client over HTTP promises: one value, whole and streamed, whatever the network does."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from actum.base.errors import ModelError, ProviderError
from actum.base.value import spelled
from actum.messages.message import assistant, user
from actum.messages.parts import ToolUsePart, tool_use
from actum.model.client import ModelClient
from actum.model.encoded import Encoded
from actum.model.fold import fold
from actum.model.request import ModelRequest, ModelSettings
from actum.model.response import Chunk, ModelResponse, StopReason, Usage
from actum.providers.accept import words_of
from actum.providers.anthropic.client import Anthropic
from actum.providers.openai.client import OpenAIChat, OpenAIResponses
from actum.testing.provider_samples import SPELLED, TOOLS, standard_conversation
from actum.testing.script import ManualClock
from tests.support.answers_anthropic import messages_answer, messages_events
from tests.support.answers_openai_chat import chat_answer, chat_events
from tests.support.answers_openai_responses import responses_answer, responses_events
from tests.support.wire_server import frames, served

KEY = "sk-very-secret-key"
JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream"}
REQUEST = ModelRequest(model="some-model", messages=(user("weather?"),), tools=TOOLS)
SAID = ModelResponse(
    message=assistant(
        "Let me check ☂ 🔥\u2028 now",
        ToolUsePart(id="call_1", name="weather.lookup", input=SPELLED),
        tool_use("call_2", "plain_tool", {}),
    ),
    stop=StopReason.TOOL_USE,
    usage=Usage(input=25, output=15, cache_read=10),
)


@dataclass(frozen=True)
class Spoken:
    """How one client is made, and what its provider's answers look like on the wire."""

    client: Callable[..., Any]
    provider: str
    suffix: str
    path: str
    answer: Callable[[ModelResponse, Encoded], Any]
    events: Callable[[ModelResponse, Encoded, int], list[Any]]
    named: bool
    end: bytes = b""

    @property
    def encoded(self) -> Encoded:
        return words_of(self.provider).project(REQUEST)

    @property
    def whole(self) -> bytes:
        answer = self.answer(SAID, self.encoded)
        return answer if isinstance(answer, bytes) else spelled(answer)

    def stream(self, length: int | None = None, end: bytes | None = None) -> bytes:
        events = self.events(SAID, self.encoded, 7)
        return frames(events[:length], named=self.named, end=self.end if end is None else end)

    def open(self, base_url: str = "http://127.0.0.1:9", **more: Any) -> Any:
        return self.client("some-model", api_key=KEY, base_url=base_url + self.suffix, **more)


CHAT = Spoken(
    client=OpenAIChat,
    provider="openai-chat",
    suffix="/v1",
    path="/v1/chat/completions",
    answer=chat_answer,
    events=chat_events,
    named=False,
    end=b"data: [DONE]\n\n",
)
RESPONSES = Spoken(
    client=OpenAIResponses,
    provider="openai",
    suffix="/v1",
    path="/v1/responses",
    answer=responses_answer,
    events=responses_events,
    named=True,
)
MESSAGES = Spoken(
    client=Anthropic,
    provider="anthropic",
    suffix="",
    path="/v1/messages",
    answer=messages_answer,
    events=messages_events,
    named=True,
)

pytestmark = pytest.mark.parametrize("spoken", [CHAT, RESPONSES, MESSAGES], ids=lambda each: each.provider)


async def drained(model: ModelClient, request: ModelRequest = REQUEST) -> list[Chunk]:
    async with aclosing(model.stream(request)) as chunks:
        return [chunk async for chunk in chunks]


@asynccontextmanager
async def answering(
    spoken: Spoken, reply: Callable[[httpx2.Request], httpx2.Response], **more: Any
) -> AsyncIterator[Any]:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(reply)) as http_client:
        yield spoken.open(http_client=http_client, **more)


def streaming(content: bytes) -> Callable[[httpx2.Request], httpx2.Response]:
    return lambda _: httpx2.Response(200, content=content, headers=EVENTS)


async def failed(spoken: Spoken, reply: Callable[[httpx2.Request], httpx2.Response], **more: Any) -> ProviderError:
    """The error of a call, the same whole and streamed."""
    errors = []
    async with answering(spoken, reply, **more) as model:
        for verb in (model.complete(REQUEST), drained(model)):
            with pytest.raises(ProviderError) as raised:
                await verb
            errors.append(raised.value)
    first, second = ({**each.fields(), "operation": ""} for each in errors)
    assert first == second
    return errors[0]


async def test_a_call_sends_the_encoded_bytes_and_nothing_else(spoken: Spoken) -> None:
    heard: list[httpx2.Request] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        heard.append(request)
        if json.loads(request.content).get("stream"):
            return httpx2.Response(200, content=spoken.stream(), headers=EVENTS)
        return httpx2.Response(200, content=spoken.whole, headers=JSON)

    long = ModelRequest(
        model="some-model",
        messages=standard_conversation(),
        tools=TOOLS,
        settings=ModelSettings(max_output_tokens=100, extra={"x": 1}),
    )
    async with answering(spoken, reply) as model:
        assert isinstance(model, ModelClient)
        assert model.model == "some-model"
        await model.complete(long)
        await drained(model, long)
    project = words_of(spoken.provider).project
    assert [each.content for each in heard] == [project(long).data, project(long, stream=True).data]
    assert [each.url.path for each in heard] == [spoken.path] * 2
    assert all(each.headers["authorization"] == f"Bearer {KEY}" for each in heard)
    assert all(each.headers["content-type"] == "application/json" for each in heard)


@pytest.mark.parametrize("size", [1, 7, 65536])
async def test_an_answer_may_be_split_at_any_byte(spoken: Spoken, size: int) -> None:
    found = []
    for content, kind in ((spoken.whole, "application/json"), (spoken.stream(), "text/event-stream")):
        pieces = [content[at : at + size] for at in range(0, len(content), size)]
        async with served(pieces, kind=kind) as url:
            model = spoken.open(url)
            found.append(await model.complete(REQUEST) if kind != "text/event-stream" else fold(await drained(model)))
            await model.aclose()
    assert found[0] == found[1]
    assert (found[0].message, found[0].stop, found[0].usage) == (SAID.message, SAID.stop, SAID.usage)
    assert [bytes(use.input) for use in found[0].message.tool_uses] == [bytes(SPELLED), b"{}"]


async def test_a_stream_that_ends_early_is_interrupted(spoken: Spoken) -> None:
    count = len(spoken.events(SAID, spoken.encoded, 7))
    last = count - (2 if spoken is CHAT else 1)  # Chat Completions counts behind the end
    for length in range(last):
        async with answering(spoken, streaming(spoken.stream(length, b""))) as model:
            response = fold(await drained(model))
        assert response.stop is StopReason.INTERRUPTED
        assert response.message.tool_uses == ()
        assert response.provider == spoken.provider


async def test_a_connection_that_breaks_is_a_connection_error(spoken: Spoken) -> None:
    async with served([spoken.stream(6, b"")], whole=False) as url:
        model = spoken.open(url)
        chunks = []
        with pytest.raises(ProviderError) as raised:  # noqa: PT012 - what came before the error is part of the question
            async for chunk in model.stream(REQUEST):
                chunks.append(chunk)  # noqa: PERF401 - the same
        assert (raised.value.kind, raised.value.retryable) == ("connection", True)
        assert fold(chunks).message.text.startswith("Let me")
        assert fold(chunks).message.meta == {"partial": True}
        await model.aclose()


async def test_leaving_a_stream_closes_its_connection(spoken: Spoken) -> None:
    left = asyncio.Event()
    async with served([spoken.stream(6, b"")], left=left) as url:
        model = spoken.open(url)
        async with aclosing(model.stream(REQUEST)) as chunks:
            await anext(chunks)
        await asyncio.wait_for(left.wait(), 10)
        await model.aclose()


async def test_cancelling_a_call_closes_its_connection(spoken: Spoken) -> None:
    left = asyncio.Event()
    asked = asyncio.Event()
    async with served([b"{"], left=left, kind="application/json", asked=asked) as url:
        model = spoken.open(url)
        call = asyncio.create_task(model.complete(REQUEST))
        await asyncio.wait_for(asked.wait(), 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(left.wait(), 10)
        await model.aclose()


async def test_what_cannot_be_expressed_never_reaches_the_network(spoken: Spoken) -> None:
    def reply(request: httpx2.Request) -> httpx2.Response:
        raise AssertionError(request)

    async with answering(spoken, reply) as model:
        blank = ModelRequest(model="m", messages=(user(" "),))
        for verb in (model.complete(blank), drained(model, blank)):
            with pytest.raises(ProviderError, match="blank") as refused:
                await verb
            assert refused.value.kind == "model_request"


@pytest.mark.parametrize(
    "status, kind, retryable",
    [
        (400, "model_request", False),
        (401, "authentication", False),
        (403, "permission", False),
        (404, "not_found", False),
        (408, "timeout", True),
        (409, "conflict", True),
        (413, "model_request", False),
        (418, "unexpected_status", False),
        (422, "model_request", False),
        (429, "rate_limited", True),
        (500, "unavailable", True),
        (529, "unavailable", True),
    ],
)
async def test_a_status_is_classified_and_tried_once(
    spoken: Spoken, status: int, kind: str, *, retryable: bool
) -> None:
    calls = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        calls.append(request)
        headers = {"x-request-id": "req-1", "request-id": "req-1", "retry-after": "7"}
        body = {"type": "error", "error": {"message": f"no, {KEY} is wrong", "type": "some_error"}}
        return httpx2.Response(status, json=body, headers=headers)

    found = await failed(spoken, reply)
    assert (found.kind, found.retryable, found.http_status, found.request_id) == (kind, retryable, status, "req-1")
    assert (found.provider, found.provider_code) == (spoken.provider, "some_error")
    assert found.retry_after == (7.0 if retryable else None)
    assert KEY not in str(found)
    assert KEY not in repr(found)
    assert len(calls) == 2


@pytest.mark.parametrize(
    "error, kind", [(httpx2.ConnectError("refused"), "connection"), (httpx2.ReadTimeout("slow"), "timeout")]
)
async def test_a_network_error_may_pass(spoken: Spoken, error: Exception, kind: str) -> None:
    def reply(_: httpx2.Request) -> httpx2.Response:
        raise error

    found = await failed(spoken, reply)
    assert (found.kind, found.retryable, found.http_status) == (kind, True, None)


async def test_a_providers_wait_is_read(spoken: Spoken) -> None:
    headers = {"retry-after": "Wed, 01 Jan 2025 00:01:00 GMT"}
    found = await failed(spoken, lambda _: httpx2.Response(429, json={}, headers=headers), clock=ManualClock())
    assert found.retry_after == 60.0


@pytest.mark.parametrize("content", [b"", b"<html>", b"{}", b"[]", b'{"id":"a","id":"b"}', b"\xff", b"null"])
async def test_an_answer_that_is_no_answer_is_malformed(spoken: Spoken, content: bytes) -> None:
    async with answering(spoken, lambda _: httpx2.Response(200, content=content, headers=JSON)) as model:
        with pytest.raises(ProviderError) as raised:
            await model.complete(REQUEST)
    assert (raised.value.kind, raised.value.retryable) == ("malformed_response", False)


@pytest.mark.parametrize("end", [b"event: x\ndata: {broken\n\n", b"event: x\ndata: 7\n\n"])
async def test_an_event_without_sense_is_malformed(spoken: Spoken, end: bytes) -> None:
    content = spoken.stream(6, end)
    async with answering(spoken, lambda _: httpx2.Response(200, content=content, headers=EVENTS)) as model:
        with pytest.raises(ModelError) as raised:
            await drained(model)
    assert raised.value.kind == "malformed_response"


async def test_no_log_line_and_no_text_holds_the_key(spoken: Spoken, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with answering(spoken, lambda _: httpx2.Response(200, content=spoken.whole, headers=JSON)) as model:
        await model.complete(REQUEST)
        assert KEY not in repr(model)
    assert KEY not in caplog.text
