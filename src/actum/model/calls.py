"""Calls over a vendor's SDK, one way for all of them: encoded here, sent as the very bytes, decoded here.

The SDK brings its transport, its authentication and its reading of event streams. It neither tries again (that is
`RetryingModel`'s) nor puts a body into another form.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from actum.base.errors import InvalidValue, ModelError, ProviderError
from actum.base.value import Json
from actum.model.encoded import Encoded
from actum.model.request import ModelRequest
from actum.model.response import Chunk, ModelResponse


class StreamDecoder(Protocol):
    """Reads the events of one streamed answer, one after the other."""

    def begin(self) -> Iterator[Chunk]:
        """What is known before the first event."""
        ...

    def event(self, event: Json) -> Iterator[Chunk]:
        """The chunks in one event. Raises ModelError for one without sense, or one that tells of a failure."""
        ...


class Encode(Protocol):
    """Request -> body; raises before anything is sent."""

    def __call__(self, request: ModelRequest, *, stream: bool = False) -> Encoded:
        """The body, for a whole answer or for a stream."""
        ...


@dataclass(frozen=True)
class Wire:
    """How one interface is spoken: where its calls go, and the pure functions around them."""

    provider: str
    encode: Encode
    decode: Callable[[bytes, Encoded], ModelResponse]
    decoder: Callable[[Encoded], StreamDecoder]


class Transport(Protocol):
    """What sends bytes to one address of a vendor and gives the answer back. It raises ModelErrors and no others."""

    async def whole(self, body: bytes) -> bytes:
        """The answer's bytes."""
        ...

    def events(self, body: bytes) -> AsyncGenerator[Json, None]:
        """The events of a streamed answer; closing the generator ends the network call."""
        ...


async def complete(wire: Wire, transport: Transport, request: ModelRequest) -> ModelResponse:
    """The whole answer; see `ModelClient`."""
    encoded = wire.encode(request)
    answer = await transport.whole(encoded.data)
    try:
        return wire.decode(answer, encoded)
    except (InvalidValue, ModelError) as error:
        raise _malformed(error, wire.provider, "complete") from None


async def stream(wire: Wire, transport: Transport, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
    """The answer in chunks; see `ModelClient`."""
    encoded = wire.encode(request, stream=True)
    decoder = wire.decoder(encoded)
    begun = False
    async with aclosing(transport.events(encoded.data)) as events:
        async for event in events:
            try:
                chunks = [*(() if begun else decoder.begin()), *decoder.event(event)]
            except (InvalidValue, ModelError) as error:
                raise _malformed(error, wire.provider, "stream") from None
            begun = True
            for chunk in chunks:
                yield chunk
    if not begun:
        for chunk in decoder.begin():
            yield chunk


def _malformed(error: InvalidValue | ModelError, provider: str, operation: str) -> ProviderError:
    if isinstance(error, ProviderError):
        return error
    kind, says = (error.kind, error.message) if isinstance(error, ModelError) else ("malformed_response", str(error))
    return ProviderError(kind=kind, message=says, provider=provider, operation=operation)


T = TypeVar("T")


class PerLoop(Generic[T]):
    """One thing for each event loop, such as connections: they belong to the loop that opened them.

    A program may run one loop after the other; the thing of a loop that is gone is dropped.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: tuple[asyncio.AbstractEventLoop, T] | None = None

    def get(self) -> T:
        """The running loop's own."""
        loop = asyncio.get_running_loop()
        if self._made is None or self._made[0] is not loop:
            self._made = loop, self._make()
        return self._made[1]

    def take(self) -> T | None:
        """The running loop's own, which is forgotten here; None without one."""
        made, self._made = self._made, None
        return made[1] if made is not None and made[0] is asyncio.get_running_loop() else None


@dataclass(frozen=True)
class SDKTransport:
    """Bytes to one `path` over an SDK, whose errors, those in `raised`, `translate` turns into typed ones.

    `sdk` gives the running loop's client, which has the `post` that the SDKs of OpenAI and Anthropic share; `response`
    and `stream` are the classes in which it gives an answer unread, and event by event.
    """

    sdk: Callable[[], Any]
    path: str
    response: type
    stream: type
    raised: tuple[type[Exception], ...]
    translate: Callable[[Exception, str], ModelError]

    async def whole(self, body: bytes) -> bytes:
        """The answer's bytes."""
        try:
            answer = await self.sdk().post(self.path, content=body, cast_to=self.response)
        except self.raised as error:
            raise self.translate(error, "complete") from None
        content: bytes = answer.content
        return content

    async def events(self, body: bytes) -> AsyncGenerator[Json, None]:
        """The events of a streamed answer, each as plain JSON."""
        try:
            async with await self.sdk().post(
                self.path, content=body, cast_to=object, stream=True, stream_cls=self.stream
            ) as events:
                async for event in events:
                    yield event
        except self.raised as error:
            raise self.translate(error, "stream") from None
