"""Bedrock over aiobotocore: one call, errors typed, nothing tried again.

The SDK signs, sends and reads frames. The body goes out as it was encoded and a whole answer comes back as its bytes,
through the events that the SDK has for both; botocore still checks the address and signs what is sent.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Any, Final

from actum.base.clock import Clock, SystemClock
from actum.base.environment import setting
from actum.base.errors import MissingExtra, ModelError, ProviderError
from actum.base.value import Json
from actum.model.calls import PerLoop, Wire, complete, stream
from actum.model.request import ModelRequest
from actum.model.response import Chunk, ModelResponse
from actum.providers.bedrock.decode import ConverseDecoder, decode_converse
from actum.providers.bedrock.encode import encode_converse
from actum.providers.bedrock.logs import strike_tokens
from actum.providers.bedrock.messages import PROVIDER

try:
    import aiohttp
    from aiobotocore.config import AioConfig
    from aiobotocore.session import AioSession
    from botocore.eventstream import ParserError as EventStreamParserError
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    from actum.providers.bedrock.errors import provider_error
except ImportError as missing:  # pragma: no cover - seen where the extra is not installed
    raise MissingExtra(extra="bedrock", needed_for="models of Amazon Bedrock") from missing

_RAISED: Final = (
    BotoCoreError,
    ClientError,
    EventStreamParserError,
    ResponseParserError,
    UnicodeDecodeError,
    aiohttp.ClientError,
    OSError,
    TimeoutError,
)
_SERVICE: Final = "bedrock-runtime"
# Names of our own in what the SDK hands from one of its events to the next; no parameter and no field is called so.
_BODY: Final = "actumBody"
_ANSWER: Final = "actumAnswer"
_REFUSED: Final = 300


class Bedrock:
    """A model behind Bedrock's Converse.

    Credentials are found as every AWS program finds them (environment, profile, role), or by the `session` that is
    given. `region` defaults to the environment's AWS_REGION or AWS_DEFAULT_REGION; `base_url` to the region's own.
    `timeout` is in seconds and bounds each wait for the network. `config` is the SDK's own: proxies, pools, another
    HTTP client (`http_session_cls`). One client serves any number of calls at a time.
    """

    def __init__(
        self,
        model: str,
        *,
        region: str | None = None,
        access_key: str | None = None,
        secret_key: str | None = None,
        session_token: str | None = None,
        base_url: str | None = None,
        timeout: float = 600.0,
        session: AioSession | None = None,
        config: AioConfig | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._region = region or setting("AWS_REGION") or setting("AWS_DEFAULT_REGION")
        if not self._region and session is None:
            raise ProviderError(
                kind="model_request",
                message="no region: give region, or set AWS_REGION in the environment",
                provider=PROVIDER,
                operation="open",
            )
        self._model = model
        self._keys = (access_key, secret_key, session_token)
        self._base_url = base_url
        self._session = session
        own = AioConfig(read_timeout=timeout, connect_timeout=timeout, retries={"total_max_attempts": 1})
        self._config = own if config is None else own.merge(config)
        self._clock = clock or SystemClock()
        self._connections = PerLoop(self._connection)
        strike_tokens()

    def __repr__(self) -> str:
        return f"Bedrock(model={self._model!r}, region={self._region!r})"

    @property
    def model(self) -> str:
        """The service's name of the model, or the address (ARN) of a profile."""
        return self._model

    async def aclose(self) -> None:
        """Close the connections; the next call opens new ones."""
        opened = self._connections.take()
        if opened is not None:
            await opened.close()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer; see `ModelClient`."""
        return await complete(*self._call(request), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The answer in chunks; see `ModelClient`."""
        async with aclosing(stream(*self._call(request), request)) as chunks:
            async for chunk in chunks:
                yield chunk

    def _call(self, request: ModelRequest) -> tuple[Wire, "_Call"]:
        call = _Call(self._connections.get(), request.model)
        wire = Wire(
            provider=PROVIDER,
            encode=encode_converse,
            decode=lambda answer, encoded: decode_converse(answer, encoded, call.request_id),
            decoder=ConverseDecoder,
        )
        return wire, call

    def _connection(self) -> "_Connection":
        access, secret, token = self._keys
        opens = partial(
            (self._session or AioSession()).create_client,
            _SERVICE,
            region_name=self._region,
            endpoint_url=self._base_url,
            aws_access_key_id=access,
            aws_secret_access_key=secret,
            aws_session_token=token,
            config=self._config,
        )
        return _Connection(opens, self._clock, [each for each in (secret, token) if each])


class _Connection:
    """The SDK's client of one event loop, opened by the first call."""

    def __init__(self, opens: Any, clock: Clock, secrets: list[str]) -> None:  # noqa: ANN401 - the SDK's own context
        self._opens = opens
        self._clock = clock
        self._secrets = secrets
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._client: Any = None

    async def client(self) -> Any:  # noqa: ANN401 - the SDK makes its clients at run time
        async with self._opening:
            if self._client is None:
                opened = await self._stack.enter_async_context(self._opens())
                for event, handler in _HANDLERS.items():
                    opened.meta.events.register(event, handler)
                self._client = opened
        return self._client

    async def close(self) -> None:
        await self._stack.aclose()

    def translate(self, error: Exception, operation: str) -> ModelError:
        return provider_error(error, operation=operation, secrets=self._secrets, now=self._clock.now())


class _Call:
    """One call: `Transport` for the bytes of one body."""

    def __init__(self, connection: _Connection, model: str) -> None:
        self._connection = connection
        self._model = model
        self.request_id: str | None = None

    async def whole(self, body: bytes) -> bytes:
        """The answer's bytes."""
        try:
            client = await self._connection.client()
            answer = await client.converse(modelId=self._model, **{_BODY: body})
        except _RAISED as error:
            raise self._connection.translate(error, "complete") from None
        self.request_id = answer["ResponseMetadata"].get("RequestId")
        content: bytes = answer[_ANSWER]
        return content

    async def events(self, body: bytes) -> AsyncGenerator[Json, None]:
        """The events of a streamed answer, bytes in them as bytes."""
        try:
            client = await self._connection.client()
            answer = await client.converse_stream(modelId=self._model, **{_BODY: body})
            events = answer["stream"]
            try:
                yield {"ResponseMetadata": answer["ResponseMetadata"]}
                async for event in events:
                    yield event
            finally:
                # What was not read to its end is not taken for the next call.
                events.close()
        except _RAISED as error:
            raise self._connection.translate(error, "stream") from None


def _take_body(params: dict[str, Any], context: dict[str, Any], **_: object) -> None:
    context[_BODY] = params.pop(_BODY)


def _put_body(params: dict[str, Any], context: dict[str, Any], **_: object) -> None:
    params["body"] = context[_BODY]


def _keep_answer(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object) -> None:
    if response_dict["status_code"] < _REFUSED:
        customized_response_dict[_ANSWER] = response_dict["body"]
        # The SDK would read it into values that forget their spelling.
        response_dict["body"] = b"{}"


_HANDLERS: Final[dict[str, Callable[..., None]]] = {
    f"before-parameter-build.{_SERVICE}.Converse": _take_body,
    f"before-parameter-build.{_SERVICE}.ConverseStream": _take_body,
    f"before-call.{_SERVICE}.Converse": _put_body,
    f"before-call.{_SERVICE}.ConverseStream": _put_body,
    f"before-parse.{_SERVICE}.Converse": _keep_answer,
}
