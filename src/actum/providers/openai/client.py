"""Chat Completions over the official SDK: one call, errors typed. Trying again is `RetryingModel`'s, not the SDK's."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any, Final

from actum.base.clock import Clock, SystemClock
from actum.base.environment import setting
from actum.base.errors import InvalidValue, MissingExtra, ModelError, ProviderError
from actum.base.value import load_json
from actum.model.encoded import Encoded
from actum.model.request import ModelRequest
from actum.model.response import Chunk, ModelResponse
from actum.providers.openai.chat import encode_chat
from actum.providers.openai.decode import ChatDecoder, decode_chat

try:
    import httpx2
    import openai

    from actum.providers.openai.errors import provider_error
except ImportError as missing:  # pragma: no cover - seen where the extra is not installed
    raise MissingExtra(extra="openai", needed_for="models of OpenAI and of compatible servers") from missing

_RAISED: Final = (openai.OpenAIError, httpx2.HTTPError, json.JSONDecodeError)


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
        key = api_key or setting("OPENAI_API_KEY")
        if not key:
            raise ProviderError(
                kind="authentication",
                message="no API key: give api_key, or set OPENAI_API_KEY in the environment",
                provider="openai-chat",
                operation="open",
            )
        self._model = model
        self._key = key
        self._base_url = base_url or setting("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        self._timeout = timeout
        self._http_client = http_client
        self._clock = clock or SystemClock()
        self._sdk: tuple[asyncio.AbstractEventLoop, openai.AsyncOpenAI] | None = None

    def __repr__(self) -> str:
        return f"OpenAIChat(model={self._model!r}, base_url={self._base_url!r})"

    @property
    def model(self) -> str:
        """The provider's name of the model."""
        return self._model

    async def aclose(self) -> None:
        """Close the connections; the next call opens new ones."""
        opened, self._sdk = self._sdk, None
        if opened is not None and self._http_client is None and opened[0] is asyncio.get_running_loop():
            await opened[1].close()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer; see `ModelClient`."""
        encoded = encode_chat(request)
        try:
            answer = await self._completions().with_raw_response.create(**_arguments(encoded))
            content = answer.content
        except _RAISED as error:
            raise self._error(error, "complete") from None
        try:
            return decode_chat(load_json(content), encoded)
        except (InvalidValue, ModelError) as error:
            raise self._malformed(error, "complete") from None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The answer in chunks; see `ModelClient`."""
        encoded = encode_chat(request, stream=True)
        decoder = ChatDecoder(encoded)
        try:
            async with await self._completions().create(**_arguments(encoded)) as events:
                for chunk in decoder.begin():
                    yield chunk
                async for event in events:
                    for chunk in decoder.event(event.model_dump(exclude_unset=True, warnings=False)):
                        yield chunk
        except _RAISED as error:
            raise self._error(error, "stream") from None
        except ModelError as error:
            raise self._malformed(error, "stream") from None

    def _completions(self) -> Any:  # noqa: ANN401 - the body goes through as it was encoded, past the SDK's own types
        loop = asyncio.get_running_loop()
        if self._sdk is None or self._sdk[0] is not loop:
            # Connections belong to the loop that opened them; a program may run one loop after the other.
            sdk = openai.AsyncOpenAI(
                api_key=self._key,
                base_url=self._base_url,
                timeout=self._timeout,
                max_retries=0,
                http_client=self._http_client,
            )
            self._sdk = loop, sdk
        return self._sdk[1].chat.completions

    def _error(self, error: Exception, operation: str) -> ModelError:
        return provider_error(error, operation=operation, secret=self._key, now=self._clock.now())

    def _malformed(self, error: InvalidValue | ModelError, operation: str) -> ModelError:
        says = error.message if isinstance(error, ModelError) else str(error)
        return ProviderError(kind="malformed_response", message=says, provider="openai-chat", operation=operation)


def _arguments(encoded: Encoded) -> dict[str, Any]:
    """The body as the SDK's arguments: what it does not know, and what it would put into another form, goes beside."""
    rest = dict(encoded.body)
    named = {name: rest.pop(name) for name in ("model", "messages")}
    if rest.pop("stream", False):
        named["stream"] = True
    return {**named, "extra_body": rest}
