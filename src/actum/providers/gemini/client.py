"""Gemini over the official SDK: one call, errors typed, nothing tried again.

The SDK makes the address, shows the key and reads the stream. The body goes out as it was encoded: the SDK's HTTP
client is one of ours, which puts it in the place of the SDK's own.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, Final

from actum.base.clock import Clock, SystemClock
from actum.base.environment import setting
from actum.base.errors import MissingExtra, ProviderError
from actum.base.value import Json
from actum.model.calls import PerLoop, Wire, complete, stream
from actum.model.request import ModelRequest
from actum.model.response import Chunk, ModelResponse
from actum.providers.gemini.contents import PROVIDER
from actum.providers.gemini.decode import GeminiDecoder, decode_gemini
from actum.providers.gemini.encode import encode_gemini

try:
    import httpx2
    from google import genai
    from google.genai import errors, types

    from actum.providers.gemini.errors import provider_error
except ImportError as missing:  # pragma: no cover - seen where the extra is not installed
    raise MissingExtra(extra="gemini", needed_for="models of Google Gemini") from missing

_RAISED: Final = (errors.APIError, errors.UnknownApiResponseError, httpx2.HTTPError, httpx2.StreamError)
# What the SDK's reading of a stream's event trips over when the event is none: pydantic's error is a ValueError.
_TRIPPED: Final = (AttributeError, KeyError, TypeError, ValueError)
_WIRE: Final = Wire(provider=PROVIDER, encode=encode_gemini, decode=decode_gemini, decoder=GeminiDecoder)
# What the SDK is asked to send, and what is sent in its place.
_IN_PLACE_OF: Final = "-"


class _Sending:
    """One request on its way through the SDK: its body, and the answer as it came."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.answer: httpx2.Response | None = None

    async def aclose(self) -> None:
        # The SDK reads through generators of its own, which do not close one another.
        if self.answer is not None:
            await self.answer.aclose()


_SENDING: Final[ContextVar[_Sending]] = ContextVar("what is being sent to Gemini")


class Gemini:
    """A model behind Google's Gemini API.

    `api_key` defaults to the environment's GEMINI_API_KEY or GOOGLE_API_KEY, `base_url` to Google's own. `timeout` is
    in seconds and bounds each wait for the network. An `http_client` that is given stays the caller's to close. One
    client serves any number of calls at a time.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        api_version: str = "v1beta",
        timeout: float = 600.0,
        http_client: httpx2.AsyncClient | None = None,
        clock: Clock | None = None,
    ) -> None:
        key = api_key or setting("GEMINI_API_KEY") or setting("GOOGLE_API_KEY")
        if not key:
            raise ProviderError(
                kind="authentication",
                message="no API key: give api_key, or set GEMINI_API_KEY in the environment",
                provider=PROVIDER,
                operation="open",
            )
        self._model = model
        self._key = key
        self._base_url = base_url or "https://generativelanguage.googleapis.com"
        self._api_version = api_version
        self._timeout = timeout
        self._http_client = http_client
        self._clock = clock or SystemClock()
        self._connections = PerLoop(self._connection)

    def __repr__(self) -> str:
        return f"Gemini(model={self._model!r}, base_url={self._base_url!r})"

    @property
    def model(self) -> str:
        """The provider's name of the model."""
        return self._model

    async def aclose(self) -> None:
        """Close the connections; the next call opens new ones."""
        opened = self._connections.take()
        if opened is not None and self._http_client is None:
            await opened.http.aclose()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer; see `ModelClient`."""
        return await complete(_WIRE, _Call(self, request.model), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The answer in chunks; see `ModelClient`."""
        async with aclosing(stream(_WIRE, _Call(self, request.model), request)) as chunks:
            async for chunk in chunks:
                yield chunk

    def connection(self) -> "_Connection":
        """The running loop's connection."""
        return self._connections.get()

    def translate(self, error: Exception, operation: str) -> ProviderError:
        """The typed error behind one of the SDK's."""
        return provider_error(error, operation=operation, secret=self._key, now=self._clock.now())

    def _connection(self) -> "_Connection":
        http = self._http_client or httpx2.AsyncClient(timeout=self._timeout)
        options = types.HttpOptions(
            base_url=self._base_url,
            api_version=self._api_version,
            retry_options=types.HttpRetryOptions(attempts=1),
            httpx_async_client=httpx2.AsyncClient(transport=_Through(http, self._timeout)),
        )
        return _Connection(http, genai.Client(api_key=self._key, http_options=options, vertexai=False))


class _Connection:
    """The SDK's client of one event loop, and the HTTP client under it."""

    def __init__(self, http: httpx2.AsyncClient, sdk: genai.Client) -> None:
        self.http = http
        self.models = sdk.aio.models


class _Through(httpx2.AsyncBaseTransport):
    """Sends the SDK's requests through another client, each with the body that it stands for."""

    def __init__(self, http: httpx2.AsyncClient, timeout: float) -> None:
        self._http = http
        # Not an option of the SDK, which would tell the service to end the whole answer by then.
        self._timeout = httpx2.Timeout(timeout).as_dict()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        sending = _SENDING.get()
        headers = [(name, value) for name, value in request.headers.multi_items() if name != "content-length"]
        sent = httpx2.Request(
            request.method,
            request.url,
            headers=headers,
            content=sending.body,
            extensions={**request.extensions, "timeout": self._timeout},
        )
        answer = sending.answer = await self._http.send(sent, stream=True)
        return httpx2.Response(
            answer.status_code, headers=answer.headers, stream=answer.stream, extensions=answer.extensions
        )


class _Call:
    """One call: `Transport` for the bytes of one body."""

    def __init__(self, client: Gemini, model: str) -> None:
        self._client = client
        self._model = model

    async def whole(self, body: bytes) -> bytes:
        """The answer's bytes."""
        try:
            _SENDING.set(_Sending(body))
            answer = await self._client.connection().models.generate_content(
                model=self._model, contents=_IN_PLACE_OF, config=_config(should_return_http_response=True)
            )
        except _RAISED as error:
            raise self._client.translate(error, "complete") from None
        told = answer.sdk_http_response
        return (told.body or "").encode() if told is not None else b""

    async def events(self, body: bytes) -> AsyncGenerator[Json, None]:
        """The events of a streamed answer, each as plain JSON, bytes in it as bytes."""
        sending = _Sending(body)
        try:
            _SENDING.set(sending)
            events = await self._client.connection().models.generate_content_stream(
                model=self._model, contents=_IN_PLACE_OF, config=_config()
            )
            async for event in events:
                yield event.model_dump(by_alias=True, exclude_unset=True, exclude={"sdk_http_response"}, warnings=False)
        except (*_RAISED, *_TRIPPED) as error:
            raise self._client.translate(error, "stream") from None
        finally:
            await sending.aclose()


def _config(**more: Any) -> types.GenerateContentConfig:  # noqa: ANN401 - the SDK's own options
    alone = types.AutomaticFunctionCallingConfig(disable=True)
    return types.GenerateContentConfig(automatic_function_calling=alone, automatic_continuation=False, **more)
