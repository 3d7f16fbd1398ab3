import asyncio
import gc
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

import pytest
from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession

from actum.base.errors import ModelError, ProviderError
from actum.base.value import Verbatim
from actum.messages.message import assistant, user
from actum.messages.parts import ThinkingPart, ToolUsePart
from actum.model.client import ModelClient
from actum.model.fold import fold
from actum.model.request import ModelRequest, ModelSettings, ToolDefinition
from actum.model.response import Chunk, ModelResponse, StopReason, Usage
from actum.providers.bedrock.client import Bedrock
from actum.providers.bedrock.encode import encode_converse
from tests.support.answers_bedrock import converse_answer, converse_events, frame
from tests.support.judge_bedrock import converse_request_breaches

SECRET = "very/secret+key"
MODEL = "eu.anthropic.claude-x-v1:0"
REQUEST = ModelRequest(
    model=MODEL,
    messages=(user("weather?"),),
    tools=(ToolDefinition(name="wx.get", input_schema={"type": "object"}),),
    settings=ModelSettings(temperature=0, extra={"requestMetadata": {"team": "x"}}),
)
RIGHT = ModelResponse(
    message=assistant(
        ThinkingPart(text="hm", signature="c2ln", provider="bedrock"),
        ThinkingPart(redacted=b"\x00\xff", provider="bedrock"),
        "Let me check ☂",
        ToolUsePart(id="t1", name="wx.get", input=Verbatim(b'{ "city" : "Ulm \xe2\x98\x82", "n":1.50 }')),
    ),
    stop=StopReason.TOOL_USE,
    provider_stop="tool_use",
    usage=Usage(input=25, output=15),
    response_id="req-1",
    provider="bedrock",
)
ENCODED = encode_converse(REQUEST)
WHOLE = ENCODED.__class__(body=converse_answer(RIGHT, ENCODED), aliases=ENCODED.aliases, report=ENCODED.report).data
EVENTS = converse_events(RIGHT, ENCODED, 5)
FRAMES = b"".join(map(frame, EVENTS))


# Shared, for it takes a while to read the description of the service.
SESSION = AioSession()


class Answer:
    """What the fake service says: a status, headers, and bytes in pieces; not `whole`: then it hangs up."""

    def __init__(
        self, *pieces: bytes, status: int = 200, whole: bool = True, held: bool = False, **headers: str
    ) -> None:
        self.pieces, self.status, self.whole, self.held = pieces, status, whole, held
        told = {
            "connection": "close",
            "x-amzn-requestid": "req-1",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        self.headers = "".join(f"{name}: {value}\r\n" for name, value in told.items())


class Service:
    """A fake of the service on the loopback, and what it was asked."""

    def __init__(self, reply: Callable[[str], Answer]) -> None:
        self.reply = reply
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        self.held = asyncio.Event()
        self.left = asyncio.Event()
        self.url = ""
        self.serving: list[asyncio.Task[Any]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.serving.append(task)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
        path = lines[0].split(" ")[1]
        self.asked.append((path, headers, await reader.readexactly(int(headers["content-length"]))))
        answer = self.reply(path)
        head = f"HTTP/1.1 {answer.status} X\r\ntransfer-encoding: chunked\r\n{answer.headers}\r\n"
        writer.write(head.encode())
        for piece in answer.pieces:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
            await asyncio.sleep(0)
        if answer.held:
            # Wait until the other side has gone.
            self.held.set()
            with suppress(ConnectionError):
                await reader.read()
            self.left.set()
        writer.write(b"0\r\n\r\n" if answer.whole else b"")
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@asynccontextmanager
async def service(reply: Callable[[str], Answer]) -> AsyncIterator[Service]:
    fake = Service(reply)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    async with server:
        fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield fake
        # Whoever asked has gone by now.
        await asyncio.gather(*fake.serving)


@asynccontextmanager
async def client(url: str, **more: Any) -> AsyncIterator[Bedrock]:
    keys: dict[str, Any] = {"access_key": "AKIA", "secret_key": SECRET, "region": "eu-central-1", "base_url": url}
    model = Bedrock(MODEL, **{"session": SESSION, **keys, **more})
    try:
        yield model
    finally:
        await model.aclose()


def said(path: str) -> Answer:
    if path.endswith("/converse-stream"):
        return Answer(FRAMES, content_type="application/vnd.amazon.eventstream")
    return Answer(WHOLE, content_type="application/json")


async def drained(model: ModelClient) -> list[Chunk]:
    async with aclosing(model.stream(REQUEST)) as chunks:
        return [chunk async for chunk in chunks]


async def test_a_call_whole_and_streamed() -> None:
    async with service(said) as fake, client(fake.url) as model:
        assert isinstance(model, ModelClient)
        assert model.model == MODEL
        assert await model.complete(REQUEST) == RIGHT
        assert fold(await drained(model)) == RIGHT
    assert [path.split("/")[-1] for path, _, _ in fake.asked] == ["converse", "converse-stream"]
    for path, headers, body in fake.asked:
        assert MODEL.replace(":", "%3A") in path
        assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIA/")
        assert body == ENCODED.data
        assert converse_request_breaches(json.loads(body)) == []


async def test_calls_at_the_same_time_do_not_mix() -> None:
    requests = [ModelRequest(model=f"model-{i}", messages=(user(f"question {i}"),)) for i in range(8)]
    async with service(said) as fake, client(fake.url) as model:
        await asyncio.gather(*map(model.complete, requests))
    for path, _, body in fake.asked:
        number = path.split("/")[2].removeprefix("model-")
        assert json.loads(body)["messages"][0]["content"] == [{"text": f"question {number}"}]


async def test_what_cannot_be_expressed_never_reaches_the_network() -> None:
    blank = ModelRequest(model=MODEL, messages=(user(" "),))
    async with service(said) as fake, client(fake.url) as model:
        with pytest.raises(ProviderError, match="blank"):
            await model.complete(blank)
        with pytest.raises(ProviderError, match="blank"):
            await anext(model.stream(blank))
    assert fake.asked == []


async def failed(answer: Answer) -> ProviderError:
    """The error of a call, the same whole and streamed, of one request each."""
    errors = []
    async with service(lambda _: answer) as fake, client(fake.url) as model:
        for verb in (model.complete(REQUEST), drained(model)):
            with pytest.raises(ProviderError) as raised:
                await verb
            errors.append(raised.value)
    assert len(fake.asked) == 2
    first, second = ({**each.fields(), "operation": "", "message": ""} for each in errors)
    assert first == second
    return errors[0]


@pytest.mark.parametrize(
    "status, code, kind, retryable",
    [
        (400, "ValidationException", "model_request", False),
        (403, "AccessDeniedException", "permission", False),
        (403, "ExpiredTokenException", "authentication", False),
        (403, "UnrecognizedClientException", "authentication", False),
        (404, "ResourceNotFoundException", "not_found", False),
        (408, "ModelTimeoutException", "timeout", True),
        (424, "ModelErrorException", "unavailable", True),
        (429, "ThrottlingException", "rate_limited", True),
        (429, "ModelNotReadyException", "unavailable", True),
        (400, "ServiceQuotaExceededException", "quota", False),
        (500, "InternalServerException", "unavailable", True),
        (503, "ServiceUnavailableException", "unavailable", True),
        (418, "SomethingNew", "unexpected_status", False),
        (502, "SomethingNew", "unavailable", True),
    ],
)
async def test_a_refusal_is_classified(status: int, code: str, kind: str, *, retryable: bool) -> None:
    body = json.dumps({"message": f"no, {SECRET} is wrong"}).encode()
    error = f"{code}:http://x"
    answer = Answer(body, status=status, content_type="application/json", x_amzn_errortype=error, retry_after="7")
    found = await failed(answer)
    assert (found.kind, found.retryable, found.http_status) == (kind, retryable, status)
    assert (found.provider, found.provider_code, found.request_id) == ("bedrock", code, "req-1")
    assert found.retry_after == (7.0 if retryable else None)
    assert SECRET not in str(found)
    assert SECRET not in repr(found)


async def test_nobody_there_is_a_connection_error() -> None:
    async with service(said) as fake:
        url = fake.url
    async with client(url) as model:
        with pytest.raises(ProviderError) as raised:
            await model.complete(REQUEST)
    assert (raised.value.kind, raised.value.retryable) == ("connection", True)


async def test_a_service_that_says_nothing_is_a_timeout() -> None:
    async with service(lambda _: Answer(held=True)) as fake, client(fake.url, timeout=0.05) as model:
        for verb in (model.complete(REQUEST), drained(model)):
            with pytest.raises(ProviderError) as raised:
                await verb
            assert (raised.value.kind, raised.value.retryable) == ("timeout", True)


@pytest.mark.parametrize("content", [b"", b"<html>", b"{}", b"[]", b"\xff"])
async def test_an_answer_that_is_no_answer_is_malformed(content: bytes) -> None:
    answer = Answer(*([content] if content else []), content_type="application/json")
    async with service(lambda _: answer) as fake, client(fake.url) as model:
        with pytest.raises(ProviderError) as raised:
            await model.complete(REQUEST)
    assert (raised.value.kind, raised.value.retryable) == ("malformed_response", False)


async def streamed(*pieces: bytes, whole: bool = True) -> tuple[ModelResponse, ModelError | None]:
    chunks: list[Chunk] = []
    error = None
    answer = Answer(*pieces, whole=whole, content_type="application/vnd.amazon.eventstream")
    async with service(lambda _: answer) as fake, client(fake.url) as model:
        try:
            async for chunk in model.stream(REQUEST):
                chunks.append(chunk)  # noqa: PERF401 - what came before the error is the point
        except ModelError as raised:
            error = raised
    return fold(chunks), error


@pytest.mark.parametrize("size", [1, 7, 4096])
async def test_a_stream_may_be_split_at_any_byte(size: int) -> None:
    made, error = await streamed(*(FRAMES[at : at + size] for at in range(0, len(FRAMES), size)))
    assert (made, error) == (RIGHT, None)


@pytest.mark.parametrize("length", range(1, len(EVENTS) - 2))
async def test_a_stream_that_ends_early_is_interrupted(length: int) -> None:
    made, error = await streamed(b"".join(map(frame, EVENTS[:length])))
    assert error is None
    assert made.stop is StopReason.INTERRUPTED
    assert made.message.tool_uses == ()


@pytest.mark.parametrize(
    "code, kind, retryable",
    [
        ("throttlingException", "rate_limited", True),
        ("modelStreamErrorException", "unavailable", True),
        ("internalServerException", "unavailable", True),
        ("serviceUnavailableException", "unavailable", True),
        ("validationException", "model_request", False),
    ],
)
async def test_an_error_in_the_middle_of_a_stream(code: str, kind: str, *, retryable: bool) -> None:
    made, error = await streamed(b"".join(map(frame, [*EVENTS[:10], {code: {"message": "no"}}])))
    assert isinstance(error, ProviderError)
    assert (error.kind, error.retryable) == (kind, retryable)
    assert made.stop is StopReason.INTERRUPTED


async def test_a_frame_that_is_broken_is_malformed() -> None:
    broken = bytearray(FRAMES)
    broken[-1] ^= 1
    _, error = await streamed(bytes(broken))
    assert isinstance(error, ProviderError)
    assert error.kind == "malformed_response"


async def test_a_connection_that_breaks_is_a_connection_error() -> None:
    made, error = await streamed(b"".join(map(frame, EVENTS[:10])), whole=False)
    assert isinstance(error, ProviderError)
    assert (error.kind, error.retryable) == ("connection", True)
    assert made.message.tool_uses == ()


async def test_leaving_or_cancelling_a_stream_closes_the_connection() -> None:
    def held(_: str) -> Answer:
        pieces = [frame(event) for event in EVENTS[:3]]
        return Answer(*pieces, held=True, content_type="application/vnd.amazon.eventstream")

    async with service(held) as fake, client(fake.url) as model:
        async with aclosing(model.stream(REQUEST)) as chunks:
            await anext(chunks)
        await asyncio.wait_for(fake.left.wait(), 5)
        fake.held.clear()
        fake.left.clear()
        task = asyncio.create_task(drained(model))
        await asyncio.wait_for(fake.held.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(fake.left.wait(), 5)


async def test_cancelling_a_call_closes_its_connection() -> None:
    async with service(lambda _: Answer(b"{", held=True)) as fake, client(fake.url) as model:
        call = asyncio.create_task(model.complete(REQUEST))
        await asyncio.wait_for(fake.held.wait(), 5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(fake.left.wait(), 5)


async def test_the_sdks_own_settings_are_kept() -> None:
    config = AioConfig(user_agent_extra="actum-test/1")
    async with service(said) as fake, client(fake.url, config=config) as model:
        await model.complete(REQUEST)
    assert "actum-test/1" in fake.asked[0][1]["user-agent"]


def test_a_region_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ProviderError, match="AWS_REGION"):
        Bedrock("m")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    shown = repr(Bedrock("m", secret_key=SECRET))
    assert shown == "Bedrock(model='m', region='eu-west-1')"


async def test_credentials_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    async with service(said) as fake, client(fake.url, access_key=None, secret_key=None, session=AioSession()) as model:
        with pytest.raises(ProviderError) as raised:
            await model.complete(REQUEST)
    assert (raised.value.kind, raised.value.retryable) == ("authentication", False)
    assert fake.asked == []


async def test_no_log_line_holds_a_key(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK shows tokens to whoever asks it for its own trace."""
    caplog.set_level(logging.DEBUG)
    async with service(said) as fake:
        async with client(fake.url, session_token="very/secret/token") as model:
            await model.complete(REQUEST)
            await drained(model)
        monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "very-secret-bearer==")
        async with client(fake.url, access_key=None, secret_key=None, session=AioSession()) as model:
            await model.complete(REQUEST)
    assert fake.asked[0][1]["x-amz-security-token"] == "very/secret/token"
    assert fake.asked[2][1]["authorization"] == "Bearer very-secret-bearer=="
    assert "x-amz-security-token:***" in caplog.text
    assert [word for word in (SECRET, "very/secret/token", "very-secret-bearer") if word in caplog.text] == []


# The first loop's connections are left to a loop that is gone; that is what a program does that forgets to close.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_client_serves_one_loop_after_the_other() -> None:
    async def once(models: list[Bedrock]) -> ModelResponse:
        async with service(said) as fake:
            # The same client, which opens connections of the new loop; only the fake stands elsewhere.
            models[0]._base_url = fake.url  # noqa: SLF001 - a port of its own for each loop
            return await models[0].complete(REQUEST)

    models = [Bedrock(MODEL, access_key="AKIA", secret_key=SECRET, region="eu-central-1", session=SESSION)]
    assert asyncio.run(once(models)) == RIGHT
    assert asyncio.run(once(models)) == RIGHT
    models.clear()
    gc.collect()
