"""The Messages API over the official SDK: one call, errors typed, nothing tried again."""

import json
from collections.abc import AsyncGenerator
from typing import Final

from actum.base.clock import Clock, SystemClock
from actum.base.environment import setting
from actum.base.errors import MissingExtra, ProviderError
from actum.model.calls import PerLoop, SDKTransport, Wire, complete, stream
from actum.model.request import ModelRequest
from actum.model.response import Chunk, ModelResponse
from actum.providers.anthropic.decode import MessagesDecoder, decode
from actum.providers.anthropic.encode import PROVIDER, encode

try:
    import anthropic
    import httpx2

    from actum.providers.anthropic.errors import provider_error
except ImportError as missing:  # pragma: no cover - seen where the extra is not installed
    raise MissingExtra(extra="anthropic", needed_for="models of Anthropic and of compatible servers") from missing

_WIRE: Final = Wire(provider=PROVIDER, encode=encode, decode=decode, decoder=MessagesDecoder)


class Anthropic:
    """A model behind Anthropic's Messages API, or behind a server that speaks it (`base_url`).

    `api_key` and `base_url` default to the environment's ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL; the address is
    without `/v1`. `timeout` is in seconds and bounds each wait for the network. An `http_client` that is given stays
    the caller's to close. One client serves any number of calls at a time.
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
        self._key = api_key or setting("ANTHROPIC_API_KEY") or ""
        if not self._key:
            raise ProviderError(
                kind="authentication",
                message="no API key: give api_key, or set ANTHROPIC_API_KEY in the environment",
                provider=PROVIDER,
                operation="open",
            )
        self._model = model
        self._base_url = base_url or setting("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        self._timeout = timeout
        self._http_client = http_client
        self._clock = clock or SystemClock()
        self._sdk = PerLoop(self._open)
        self._transport = SDKTransport(
            sdk=self._sdk.get,
            path="/v1/messages",
            response=httpx2.Response,
            stream=anthropic.AsyncStream[object],
            raised=(anthropic.AnthropicError, httpx2.HTTPError, json.JSONDecodeError),
            translate=self._translate,
        )

    def __repr__(self) -> str:
        return f"Anthropic(model={self._model!r}, base_url={self._base_url!r})"

    @property
    def model(self) -> str:
        """The provider's name of the model."""
        return self._model

    async def aclose(self) -> None:
        """Close the connections; the next call opens new ones."""
        opened = self._sdk.take()
        if opened is not None and self._http_client is None:
            await opened.close()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer; see `ModelClient`."""
        return await complete(_WIRE, self._transport, request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The answer in chunks; see `ModelClient`."""
        return stream(_WIRE, self._transport, request)

    def _open(self) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(
            api_key=self._key,
            base_url=self._base_url,
            timeout=self._timeout,
            max_retries=0,
            # The SDK's own client would close itself when it is collected, in whatever loop then runs.
            http_client=self._http_client or anthropic.DefaultAsyncHttpxClient(),
        )

    def _translate(self, error: Exception, operation: str) -> ProviderError:
        return provider_error(error, operation=operation, secret=self._key, now=self._clock.now())
