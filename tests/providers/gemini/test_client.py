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
from actum.base.value import Verbatim, spelled
from actum.messages.message import assistant, user
from actum.messages.parts import ThinkingPart, ToolResultPart, ToolUsePart
from actum.model.client import ModelClient
from actum.model.fold import fold
from actum.model.request import ModelRequest, ModelSettings, ToolDefinition
from actum.model.response import Chunk, ModelResponse, StopReason, Usage
from actum.providers.gemini.client import Gemini
from actum.providers.gemini.encode import encode_gemini
from actum.testing.script import ManualClock
from tests.support.answers_gemini import gemini_answer, gemini_events
from tests.support.judge_gemini import gemini_request_breaches
from tests.support.wire_server import frames, served

KEY = "AIza-very-secret-key"
JSON = {"content-type": "application/json; charset=UTF-8"}
EVENTS = {"content-type": "text/event-stream"}
REQUEST = ModelRequest(
    model="gemini-3-pro",
    messages=(
        user("weather?"),
        assistant(ToolUsePart(id="c-0", name="wx.get", input=Verbatim(b'{ "n":1.50 }'))),
        user(ToolResultPart(tool_use_id="c-0", content="sun")),
    ),
    tools=(ToolDefinition(name="wx.get", input_schema={"type": "object"}),),
    settings=ModelSettings(temperature=0),
)
RIGHT = ModelResponse(
    message=assistant(
        ThinkingPart(text="hm", signature="c2ln", provider="gemini"),
        "Let me check ☂ 🔥\u2028 now",
        ToolUsePart(
            id="c-1",
            name="wx.get",
            input=Verbatim('{"city":"Ulm ☂","n":null,"big":12345678901234567890}'.encode()),
            signature="Y2FsbA==",
            provider="gemini",
        ),
    ),
    stop=StopReason.TOOL_USE,
    provider_stop="STOP",
    usage=Usage(input=25, output=15, cache_read=10),
    response_id="gemini-1",
    model="gemini-some-model",
    provider="gemini",
    projections=encode_gemini(REQUEST).projections,
)
ENCODED = encode_gemini(REQUEST)
WHOLE = spelled(gemini_answer(RIGHT, ENCODED))
STREAM = gemini_events(RIGHT, ENCODED, 7)

Reply = Callable[[httpx2.Request], httpx2.Response]


@asynccontextmanager
async def client(reply: Reply, **more: Any) -> AsyncIterator[Gemini]:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(reply)) as http_client:
        yield Gemini("gemini-3-pro", api_key=KEY, http_client=http_client, **more)


async def drained(model: ModelClient, request: ModelRequest = REQUEST) -> list[Chunk]:
    async with aclosing(model.stream(request)) as chunks:
        return [chunk async for chunk in chunks]


def said(request: httpx2.Request) -> httpx2.Response:
    if request.url.path.endswith(":streamGenerateContent"):
        return httpx2.Response(200, content=frames(STREAM, named=False), headers=EVENTS)
    return httpx2.Response(200, content=WHOLE, headers=JSON)


async def test_a_call_whole_and_streamed() -> None:
    asked: list[httpx2.Request] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return said(request)

    async with client(reply) as model:
        assert isinstance(model, ModelClient)
        assert model.model == "gemini-3-pro"
        assert await model.complete(REQUEST) == RIGHT
        assert fold(await drained(model)) == RIGHT
    assert [str(each.url) for each in asked] == [
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent",
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
    ]
    for each in asked:
        assert each.headers["x-goog-api-key"] == KEY
        assert each.headers["content-length"] == str(len(ENCODED.data))
        assert "x-server-timeout" not in each.headers
        # Byte for byte what was encoded, and not what the SDK would have made of it.
        assert each.content == ENCODED.data
        assert gemini_request_breaches(json.loads(each.content)) == []


async def test_calls_at_the_same_time_do_not_mix() -> None:
    asked: list[tuple[str, str]] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        asked.append((request.url.path, json.loads(request.content)["contents"][0]["parts"][0]["text"]))
        return said(request)

    async with client(reply) as model:
        requests = [ModelRequest(model=f"model-{i}", messages=(user(f"question {i}"),)) for i in range(8)]
        await asyncio.gather(*(call for each in requests for call in (model.complete(each), drained(model, each))))
    assert len(asked) == 16
    assert all(path.split("/")[-1].split(":")[0].split("-")[1] == text.split(" ")[1] for path, text in asked)


async def test_what_cannot_be_expressed_never_reaches_the_network() -> None:
    def reply(request: httpx2.Request) -> httpx2.Response:
        raise AssertionError(request)

    blank = ModelRequest(model="m", messages=(user(" "),))
    async with client(reply) as model:
        for verb in (model.complete(blank), drained(model, blank)):
            with pytest.raises(ProviderError, match="blank"):
                await verb


async def failed(reply: Reply, **more: Any) -> ProviderError:
    """The error of a call, the same whole and streamed, of one request each."""
    errors, calls = [], []

    def counted(request: httpx2.Request) -> httpx2.Response:
        calls.append(request)
        return reply(request)

    async with client(counted, **more) as model:
        for verb in (model.complete(REQUEST), drained(model)):
            with pytest.raises(ProviderError) as raised:
                await verb
            errors.append(raised.value)
    first, second = ({**each.fields(), "operation": ""} for each in errors)
    assert first == second
    assert len(calls) == 2
    return errors[0]


@pytest.mark.parametrize(
    "status, word, kind, retryable",
    [
        (400, "INVALID_ARGUMENT", "model_request", False),
        (401, "UNAUTHENTICATED", "authentication", False),
        (403, "PERMISSION_DENIED", "permission", False),
        (404, "NOT_FOUND", "not_found", False),
        (429, "RESOURCE_EXHAUSTED", "rate_limited", True),
        (500, "INTERNAL", "unavailable", True),
        (503, "UNAVAILABLE", "unavailable", True),
        (504, "DEADLINE_EXCEEDED", "unavailable", True),
        (418, "TEAPOT", "unexpected_status", False),
    ],
)
async def test_a_status_is_classified_and_tried_once(status: int, word: str, kind: str, *, retryable: bool) -> None:
    body = {"error": {"code": status, "message": f"no, {KEY} is wrong", "status": word}}
    found = await failed(lambda _: httpx2.Response(status, json=body, headers={"retry-after": "7"}))
    assert (found.kind, found.retryable, found.http_status) == (kind, retryable, status)
    assert (found.provider, found.provider_code) == ("gemini", word)
    assert found.retry_after == (7.0 if retryable else None)
    assert KEY not in str(found)
    assert KEY not in repr(found)


async def test_the_details_of_a_refusal_say_more() -> None:
    def told(status: int, *details: dict[str, str]) -> Reply:
        body = {"error": {"code": status, "message": "no", "status": "X", "details": list(details)}}
        return lambda _: httpx2.Response(status, json=body, headers={"retry-after": "99"})

    assert (await failed(told(400, {"reason": "API_KEY_INVALID"}))).kind == "authentication"
    assert (await failed(told(429, {"x": "y"}, {"retryDelay": "12.5s"}))).retry_after == 12.5
    dated = httpx2.Response(429, json={}, headers={"retry-after": "Wed, 01 Jan 2025 00:01:00 GMT"})
    assert (await failed(lambda _: dated, clock=ManualClock())).retry_after == 60.0


async def test_a_refusal_in_another_form_is_one_all_the_same() -> None:
    for content in (b"<html>", b"[]", b"", b"7"):
        found = await failed(lambda _, content=content: httpx2.Response(502, content=content))  # type: ignore[misc] # a loop's value
        assert (found.kind, found.http_status) == ("unavailable", 502)


@pytest.mark.parametrize(
    "error, kind",
    [
        (httpx2.ConnectError("refused"), "connection"),
        (httpx2.ReadTimeout("slow"), "timeout"),
        (httpx2.RemoteProtocolError("cut"), "connection"),
    ],
)
async def test_a_network_error_may_pass(error: Exception, kind: str) -> None:
    def reply(_: httpx2.Request) -> httpx2.Response:
        raise error

    found = await failed(reply)
    assert (found.kind, found.retryable, found.http_status) == (kind, True, None)


@pytest.mark.parametrize("content", [b"", b"<html>", b"{}", b"[]", b'{"candidates":[],"candidates":[]}', b"\xff"])
async def test_an_answer_that_is_no_answer_is_malformed(content: bytes) -> None:
    async with client(lambda _: httpx2.Response(200, content=content, headers=JSON)) as model:
        with pytest.raises(ProviderError) as raised:
            await model.complete(REQUEST)
    assert (raised.value.kind, raised.value.retryable) == ("malformed_response", False)


async def streamed(content: bytes) -> tuple[ModelResponse, ModelError | None]:
    chunks: list[Chunk] = []
    error = None
    async with client(lambda _: httpx2.Response(200, content=content, headers=EVENTS)) as model:
        try:
            async for chunk in model.stream(REQUEST):
                chunks.append(chunk)  # noqa: PERF401 - what came before the error is the point
        except ModelError as raised:
            error = raised
    return fold(chunks), error


async def test_a_stream_that_ends_early_is_interrupted() -> None:
    for length in range(len(STREAM)):
        response, error = await streamed(frames(STREAM[:length], named=False))
        assert error is None
        assert response.stop is StopReason.INTERRUPTED
        assert response.message.tool_uses == ()


@pytest.mark.parametrize(
    "end, kind, retryable",
    [
        (b'data: {"error":{"code":503,"status":"UNAVAILABLE","message":"busy"}}\n\n', "unavailable", True),
        (b'data: {"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}\n\n', "rate_limited", True),
        (b"data: {broken\n\n", "malformed_response", False),
        (b'data: {"candidates":[{"content":{"parts":[{"newKind":{}}]}}]}\n\n', "malformed_response", False),
        (b'data: {"candidates":[{"content":{"parts":7}}]}\n\n', "malformed_response", False),
        (b'data: {"candidates":7}\n\n', "malformed_response", False),
        (b"data: 7\n\n", "malformed_response", False),
    ],
)
async def test_an_error_in_the_middle_of_a_stream(end: bytes, kind: str, *, retryable: bool) -> None:
    response, error = await streamed(frames(STREAM[:3], named=False) + end)
    assert isinstance(error, ProviderError)
    assert (error.kind, error.retryable) == (kind, retryable)
    assert response.message == assistant("Let me check ☂", meta={"partial": True})


# The SDK warns of words that it does not know yet.
@pytest.mark.filterwarnings("ignore:SOMETHING_NEW is not a valid FinishReason")
async def test_a_reason_that_nobody_knows_is_told_as_it_is() -> None:
    end = {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "SOMETHING_NEW"}]}
    response, error = await streamed(frames([end], named=False))
    assert error is None
    assert (response.stop, response.provider_stop) == (StopReason.UNKNOWN, "SOMETHING_NEW")
    async with client(lambda _: httpx2.Response(200, json=end)) as model:
        assert await model.complete(REQUEST) == response


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
async def test_an_answer_over_a_socket_may_be_split_at_any_byte(size: int, end: bytes) -> None:
    content = frames(STREAM, named=False).replace(b"\n", end)
    async with served([content[at : at + size] for at in range(0, len(content), size)]) as url:
        model = Gemini("gemini-3-pro", api_key=KEY, base_url=url)
        assert fold(await drained(model)) == RIGHT
        await model.aclose()


async def test_a_connection_that_breaks_is_a_connection_error() -> None:
    async with served([frames(STREAM[:4], named=False)], whole=False) as url:
        model = Gemini("gemini-3-pro", api_key=KEY, base_url=url)
        chunks = []
        with pytest.raises(ProviderError) as raised:  # noqa: PT012 - what came before the error is part of the question
            async for chunk in model.stream(REQUEST):
                chunks.append(chunk)  # noqa: PERF401 - the same
        assert (raised.value.kind, raised.value.retryable) == ("connection", True)
        assert fold(chunks).message.text.startswith("Let me check")
        await model.aclose()


async def test_leaving_or_cancelling_a_stream_closes_its_connection() -> None:
    left = asyncio.Event()
    async with served([frames(STREAM[:4], named=False)], left=left) as url:
        model = Gemini("gemini-3-pro", api_key=KEY, base_url=url)
        async with aclosing(model.stream(REQUEST)) as chunks:
            await anext(chunks)
        await asyncio.wait_for(left.wait(), 10)
        left.clear()
        begun = asyncio.Event()

        async def read() -> None:
            async for _ in model.stream(REQUEST):
                begun.set()

        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(left.wait(), 10)
        await model.aclose()


async def test_a_service_that_says_nothing_is_a_timeout() -> None:
    for pieces in ([], [frames(STREAM[:1], named=False)]):
        left = asyncio.Event()
        async with served(pieces, left=left) as url:
            model = Gemini("gemini-3-pro", api_key=KEY, base_url=url, timeout=0.05)
            with pytest.raises(ProviderError) as raised:
                await drained(model)
            assert (raised.value.kind, raised.value.retryable) == ("timeout", True)
            await asyncio.wait_for(left.wait(), 10)
            await model.aclose()


async def test_cancelling_a_call_closes_its_connection() -> None:
    left, asked = asyncio.Event(), asyncio.Event()
    async with served([b"{"], left=left, asked=asked) as url:
        model = Gemini("gemini-3-pro", api_key=KEY, base_url=url)
        call = asyncio.create_task(model.complete(REQUEST))
        await asyncio.wait_for(asked.wait(), 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(left.wait(), 10)
        await model.aclose()


def test_a_key_is_needed_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ProviderError, match="GEMINI_API_KEY"):
        Gemini("m")
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    assert repr(Gemini("m", base_url="http://x")) == "Gemini(model='m', base_url='http://x')"


async def test_no_log_line_holds_the_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with client(said) as model:
        await model.complete(REQUEST)
        await drained(model)
    assert KEY not in caplog.text


# Both sides leave their sockets to a loop that is gone; that is what a program does that forgets to close.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_client_serves_one_loop_after_the_other() -> None:
    models: list[Gemini] = []
    ports = [0]

    async def once() -> ModelResponse:
        async with served([frames(STREAM, named=False)], kept_open=True, port=ports[-1]) as url:
            ports.append(int(url.split(":")[2]))
            models.append(models[0] if models else Gemini("gemini-3-pro", api_key=KEY, base_url=url))
            return fold(await drained(models[-1]))

    assert asyncio.run(once()) == RIGHT
    assert asyncio.run(once()) == RIGHT
    assert models.pop() is models.pop()
    gc.collect()
