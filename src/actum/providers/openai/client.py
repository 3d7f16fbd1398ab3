"""OpenAI's two interfaces over the official SDK: one call, errors typed, nothing tried again."""

import json
from collections.abc import AsyncGenerator
from typing import Final

from actum.base.clock import Clock, SystemClock
from actum.base.environment import setting
from actum.base.errors import MissingExtra, ProviderError
from actum.base.value import load_json
from actum.model.calls import PerLoop, SDKTransport, Wire, complete, stream
from actum.model.request import ModelRequest
from actum.model.response import Chunk, ModelResponse
from actum.providers.openai.chat import PROVIDER as CHAT
from actum.providers.openai.chat import encode_chat
from actum.providers.openai.decode import ChatDecoder, decode_chat
from actum.providers.openai.responses import PROVIDER as RESPONSES
from actum.providers.openai.responses import encode_responses
from actum.providers.openai.responses_decode import ResponsesDecoder, decode_responses

try:
    import httpx2
    import openai

    from actum.providers.openai.errors import provider_error
except ImportError as missing:  # pragma: no cover - seen where the extra is not installed
    raise MissingExtra(extra="openai", needed_for="models of OpenAI and of compatible servers") from missing

_RAISED: Final = (openai.OpenAIError, httpx2.HTTPError, json.JSONDecodeError)
_CHAT: Final = Wire(
    provider=CHAT,
    encode=encode_chat,
    decode=lambda answer, encoded: decode_chat(load_json(answer), encoded),
    decoder=ChatDecoder,
)
_RESPONSES: Final = Wire(
    provider=RESPONSES,
    encode=encode_responses,
    decode=lambda answer, encoded: decode_responses(load_json(answer), encoded),
    decoder=ResponsesDecoder,
)


class _Connection:
    """Where the calls of one client go, and with which key."""

    def __init__(
        self,
        wire: Wire,
        path: str,
        *,
        api_key: str | None,
        base_url: str | None,
        timeout: float,
        http_client: httpx2.AsyncClient | None,
        clock: Clock | None,
    ) -> None:
        self._key = api_key or setting("OPENAI_API_KEY") or ""
        if not self._key:
            raise ProviderError(
                kind="authentication",
                message="no API key: give api_key, or set OPENAI_API_KEY in the environment",
                provider=wire.provider,
                operation="open",
            )
        self._provider = wire.provider
        self.base_url = base_url or setting("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        self._timeout = timeout
        self._http_client = http_client
        self._clock = clock or SystemClock()
        self._sdk = PerLoop(self._open)
        self.transport = SDKTransport(
            sdk=self._sdk.get,
            path=path,
            response=httpx2.Response,
            stream=openai.AsyncStream[object],
            raised=_RAISED,
            translate=self._translate,
        )

    def _open(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self.base_url,
            timeout=self._timeout,
            max_retries=0,
            # The SDK's own client would close itself when it is collected, in whatever loop then runs.
            http_client=self._http_client or openai.DefaultAsyncHttpxClient(),
        )

    def _translate(self, error: Exception, operation: str) -> ProviderError:
        now = self._clock.now()
        return provider_error(error, provider=self._provider, operation=operation, secret=self._key, now=now)

    async def aclose(self) -> None:
        opened = self._sdk.take()
        if opened is not None and self._http_client is None:
            await opened.close()


class OpenAIChat:
    """A model behind OpenAI's Chat Completions, or behind a server that speaks them (`base_url`).

    `api_key` and `base_url` default to the environment's OPENAI_API_KEY and OPENAI_BASE_URL. `timeout` is in seconds
    and bounds each wait for the network. An `http_client` that is given stays the caller's to close. One client serves
    any number of calls at a time.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 600.0,
        http_client: httpx2.AsyncClient | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._model = model
        self._connection = _Connection(
            _CHAT,
            "/chat/completions",
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            http_client=http_client,
            clock=clock,
        )

    def __repr__(self) -> str:
        return f"OpenAIChat(model={self._model!r}, base_url={self._connection.base_url!r})"

    @property
    def model(self) -> str:
        """The provider's name of the model."""
        return self._model

    async def aclose(self) -> None:
        """Close the connections; the next call opens new ones."""
        await self._connection.aclose()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer; see `ModelClient`."""
        return await complete(_CHAT, self._connection.transport, request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The answer in chunks; see `ModelClient`."""
        return stream(_CHAT, self._connection.transport, request)


class OpenAIResponses:
    """A model behind OpenAI's Responses; takes the same as `OpenAIChat`.

    Nothing is kept at OpenAI (`store` is false): the whole transcript goes with each call, reasoning encrypted.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 600.0,
        http_client: httpx2.AsyncClient | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._model = model
        self._connection = _Connection(
            _RESPONSES,
            "/responses",
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            http_client=http_client,
            clock=clock,
        )

    def __repr__(self) -> str:
        return f"OpenAIResponses(model={self._model!r}, base_url={self._connection.base_url!r})"

    @property
    def model(self) -> str:
        """The provider's name of the model."""
        return self._model

    async def aclose(self) -> None:
        """Close the connections; the next call opens new ones."""
        await self._connection.aclose()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer; see `ModelClient`."""
        return await complete(_RESPONSES, self._connection.transport, request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The answer in chunks; see `ModelClient`."""
        return stream(_RESPONSES, self._connection.transport, request)
