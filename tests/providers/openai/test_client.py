import asyncio
import gc
import json
import logging
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
from actum.model.request import ModelRequest, ModelSettings, ToolDefinition
from actum.model.response import Chunk, ModelResponse, StopReason, Usage
from actum.providers.openai.client import OpenAIChat
from actum.testing.script import ManualClock
from tests.support.vendor_specs import chat_answer_breaches, chat_event_breaches, chat_request_breaches

KEY = "sk-very-secret-key"
JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream"}
REQUEST = ModelRequest(
    model="gpt-4.1",
    messages=(user("weather?"),),
    tools=(ToolDefinition(name="wx.get", input_schema={"type": "object"}),),
    settings=ModelSettings(temperature=0, extra={"top_k": 5}),
)
CALL = {"id": "c1", "type": "function", "function": {"name": "wx_get", "arguments": '{"city":"Ulm ☂"}'}}
USAGE = {"prompt_tokens": 25, "completion_tokens": 15, "total_tokens": 40}
ABOUT = {"id": "chatcmpl-1", "created": 1, "model": "gpt-4.1-2025"}
ANSWER = {
    **ABOUT,
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "logprobs": None,
            "message": {"role": "assistant", "content": "Let me check ☂", "refusal": None, "tool_calls": [CALL]},
        }
    ],
    "usage": USAGE,
}
RIGHT = ModelResponse(
    message=assistant("Let me check ☂", tool_use("c1", "wx.get", {"city": "Ulm ☂"})),
    stop=StopReason.TOOL_USE,
    provider_stop="tool_calls",
    usage=Usage(input=25, output=15),
    response_id="chatcmpl-1",
    model="gpt-4.1-2025",
    provider="openai-chat",
)

Reply = Callable[[httpx2.Request], httpx2.Response]


def events() -> list[dict[str, Any]]:
    deltas: list[tuple[dict[str, Any], str | None]] = [
        ({"role": "assistant", "content": ""}, None),
        ({"content": "Let me "}, None),
        ({"content": "check ☂"}, None),
        ({"tool_calls": [{"index": 0, **CALL, "function": {"name": "wx_get", "arguments": '{"city":'}}]}, None),
        ({"tool_calls": [{"index": 0, "function": {"arguments": '"Ulm ☂"}'}}]}, None),
        ({}, "tool_calls"),
    ]
    head = {**ABOUT, "object": "chat.completion.chunk"}
    choices = [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None} for delta, reason in deltas]
    return [*({**head, "choices": [choice]} for choice in choices), {**head, "choices": [], "usage": USAGE}]


def sse(given: list[dict[str, Any]], *, end: bytes = b"data: [DONE]\n\n") -> bytes:
    return b"".join(b"data: " + json.dumps(each, ensure_ascii=False).encode() + b"\n\n" for each in given) + end


@asynccontextmanager
async def client(reply: Reply, **more: Any) -> AsyncIterator[OpenAIChat]:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(reply)) as http_client:
        yield OpenAIChat("gpt-4.1", api_key=KEY, http_client=http_client, **more)


async def drained(model: ModelClient) -> list[Chunk]:
    async with aclosing(model.stream(REQUEST)) as chunks:
        return [chunk async for chunk in chunks]


async def failed(reply: Reply, **more: Any) -> ProviderError:
    """The error of a call, the same whole and streamed."""
    errors = []
    async with client(reply, **more) as model:
        for verb in (model.complete(REQUEST), drained(model)):
            with pytest.raises(ProviderError) as raised:
                await verb
            errors.append(raised.value)
    first, second = ({**each.fields(), "operation": ""} for each in errors)
    assert first == second
    return errors[0]


def test_the_fixtures_are_lawful() -> None:
    assert chat_answer_breaches(ANSWER) == []
    assert [chat_event_breaches(each) for each in events()] == [[]] * len(events())


async def test_a_call_whole_and_streamed() -> None:
    bodies = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        assert request.url.path == "/v1/chat/completions"
        assert request.headers["authorization"] == f"Bearer {KEY}"
        body = json.loads(request.content)
        bodies.append(body)
        if body.get("stream"):
            return httpx2.Response(200, content=sse(events()), headers=EVENTS)
        return httpx2.Response(200, json=ANSWER)

    async with client(reply) as model:
        assert isinstance(model, ModelClient)
        assert model.model == "gpt-4.1"
        assert await model.complete(REQUEST) == RIGHT
        assert fold(await drained(model)) == RIGHT
    assert [body.pop("top_k") for body in bodies] == [5, 5]
    assert [chat_request_breaches(body) for body in bodies] == [[], []]
    assert bodies[0]["temperature"] == 0


async def test_what_cannot_be_expressed_never_reaches_the_network() -> None:
    def reply(request: httpx2.Request) -> httpx2.Response:
        raise AssertionError(request)

    async with client(reply) as model:
        blank = ModelRequest(model="m", messages=(user(" "),))
        with pytest.raises(ProviderError, match="blank"):
            await model.complete(blank)
        with pytest.raises(ProviderError, match="blank"):
            await anext(model.stream(blank))


@pytest.mark.parametrize(
    "status, error, kind, retryable",
    [
        (400, {"code": "context_length_exceeded"}, "model_request", False),
        (400, {"code": "content_filter"}, "content_filter", False),
        (401, {"code": "invalid_api_key"}, "authentication", False),
        (403, {}, "permission", False),
        (404, {"code": "model_not_found"}, "not_found", False),
        (408, {}, "timeout", True),
        (409, {}, "conflict", True),
        (413, {}, "model_request", False),
        (418, {}, "unexpected_status", False),
        (422, {}, "model_request", False),
        (429, {"code": "rate_limit_exceeded"}, "rate_limited", True),
        (429, {"code": "insufficient_quota"}, "quota", False),
        (500, {"code": "server_error"}, "unavailable", True),
        (503, {}, "unavailable", True),
    ],
)
async def test_a_status_is_classified(status: int, error: dict[str, Any], kind: str, *, retryable: bool) -> None:
    calls = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        calls.append(request)
        body = {"error": {"message": f"no, {KEY} is wrong", "type": "some_error", **error}}
        return httpx2.Response(status, json=body, headers={"x-request-id": "req-1", "retry-after": "7"})

    found = await failed(reply)
    assert (found.kind, found.retryable, found.http_status, found.request_id) == (kind, retryable, status, "req-1")
    assert found.provider_code == error.get("code", "some_error")
    assert found.retry_after == (7.0 if retryable else None)
    assert KEY not in str(found)
    assert KEY not in repr(found)
    assert len(calls) == 2


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Wed, 01 Jan 2025 00:01:00 GMT"}, 60.0),
        ({"retry-after": "Tue, 31 Dec 2024 00:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
async def test_a_providers_wait_is_read(headers: dict[str, str], seconds: float | None) -> None:
    found = await failed(lambda _: httpx2.Response(429, json={}, headers=headers), clock=ManualClock())
    assert found.retry_after == seconds


@pytest.mark.parametrize(
    "error, kind",
    [(httpx2.ConnectError("refused"), "connection"), (httpx2.ReadTimeout("slow"), "timeout")],
)
async def test_a_network_error_may_pass(error: Exception, kind: str) -> None:
    def reply(_: httpx2.Request) -> httpx2.Response:
        raise error

    found = await failed(reply)
    assert (found.kind, found.retryable, found.http_status) == (kind, True, None)


@pytest.mark.parametrize("content", [b"", b"<html>", b"{}", b"[]", b'{"id":"a","id":"b","choices":[]}', b"\xff"])
async def test_an_answer_that_is_no_answer_is_malformed(content: bytes) -> None:
    async with client(lambda _: httpx2.Response(200, content=content, headers=JSON)) as model:
        with pytest.raises(ProviderError) as raised:
            await model.complete(REQUEST)
    assert (raised.value.kind, raised.value.retryable) == ("malformed_response", False)


async def streamed_until(content: bytes) -> tuple[ModelResponse, ModelError | None]:
    chunks: list[Chunk] = []
    error = None
    async with client(lambda _: httpx2.Response(200, content=content, headers=EVENTS)) as model:
        try:
            async for chunk in model.stream(REQUEST):
                chunks.append(chunk)  # noqa: PERF401 - what came before the error is the point
        except ModelError as raised:
            error = raised
    return fold(chunks), error


@pytest.mark.parametrize("length", range(1, 6))
async def test_a_stream_that_ends_early_is_interrupted(length: int) -> None:
    for end in (b"", b"data: [DONE]\n\n"):
        response, error = await streamed_until(sse(events()[:length], end=end))
        assert error is None
        assert response.stop is StopReason.INTERRUPTED
        assert response.message.tool_uses == ()


@pytest.mark.parametrize(
    "end, kind, retryable",
    [
        (b'data: {"error":{"message":"overloaded","code":"server_error"}}\n\n', "unavailable", True),
        (b'data: {"error":{"message":"no","code":"content_filter"}}\n\n', "content_filter", False),
        (b"data: {broken\n\n", "malformed_response", False),
        (b'data: {"choices":[{"delta":{"content":7}}]}\n\n', "malformed_response", False),
    ],
)
async def test_an_error_in_the_middle_of_a_stream(end: bytes, kind: str, *, retryable: bool) -> None:
    response, error = await streamed_until(sse(events()[:4], end=end))
    assert isinstance(error, ProviderError)
    assert (error.kind, error.retryable) == (kind, retryable)
    assert response.message == assistant("Let me check ☂", meta={"partial": True})


def test_a_key_is_needed_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="OPENAI_API_KEY"):
        OpenAIChat("m")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    assert repr(OpenAIChat("m")) == "OpenAIChat(model='m', base_url='http://localhost:1/v1')"


async def test_no_log_line_holds_the_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with client(lambda _: httpx2.Response(200, json=ANSWER)) as model:
        await model.complete(REQUEST)
    assert KEY not in caplog.text


@asynccontextmanager
async def served(
    pieces: list[bytes], *, whole: bool = True, kept_open: bool = False, port: int = 0
) -> AsyncIterator[str]:
    """A server on the loopback that answers with these bytes, piece by piece; not `whole`: then hangs up."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for piece in pieces:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n" if whole else b"")
        await writer.drain()
        if not kept_open:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_a_stream_over_a_socket_may_be_split_at_any_byte(size: int) -> None:
    content = sse(events())
    async with served([content[at : at + size] for at in range(0, len(content), size)]) as url:
        model = OpenAIChat("gpt-4.1", api_key=KEY, base_url=url)
        assert fold(await drained(model)) == RIGHT
        await model.aclose()


async def test_a_connection_that_breaks_is_a_connection_error() -> None:
    async with served([sse(events()[:4], end=b"")], whole=False) as url:
        model = OpenAIChat("gpt-4.1", api_key=KEY, base_url=url)
        chunks = []
        with pytest.raises(ProviderError) as raised:  # noqa: PT012 - what came before the error is part of the question
            async for chunk in model.stream(REQUEST):
                chunks.append(chunk)  # noqa: PERF401 - the same
        assert (raised.value.kind, raised.value.retryable) == ("connection", True)
        assert fold(chunks).message == assistant("Let me check ☂", meta={"partial": True})
        await model.aclose()


async def test_leaving_a_stream_early_closes_it() -> None:
    async with served([sse(events())]) as url:
        model = OpenAIChat("gpt-4.1", api_key=KEY, base_url=url)
        async with aclosing(model.stream(REQUEST)) as chunks:
            await anext(chunks)
        await model.aclose()
    for _ in range(9):
        await asyncio.sleep(0)  # the loop ends what the network library left suspended
    assert len(asyncio.all_tasks()) == 1


# Both sides leave their sockets to a loop that is gone; that is what a program does that forgets to close.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_client_serves_one_loop_after_the_other() -> None:
    """The second loop finds connections of a loop that is closed, and opens its own."""
    models: list[OpenAIChat] = []
    ports = [0]

    async def once() -> ModelResponse:
        async with served([sse(events())], kept_open=True, port=ports[-1]) as url:
            ports.append(int(url.split(":")[2].removesuffix("/v1")))
            models.append(models[0] if models else OpenAIChat("gpt-4.1", api_key=KEY, base_url=url))
            return fold(await drained(models[-1]))

    assert asyncio.run(once()) == RIGHT
    assert asyncio.run(once()) == RIGHT
    assert models.pop() is models.pop()
    gc.collect()
