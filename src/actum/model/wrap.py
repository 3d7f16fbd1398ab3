"""Clients around a client: one that tries again, one that measures. Both are model clients themselves."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from actum.base import clock
from actum.base.errors import ModelError, ProviderError
from actum.model.client import ModelClient, is_retryable
from actum.model.request import ModelRequest
from actum.model.response import Chunk, ModelResponse, StopChunk, StopReason


class RetryingModel:
    """Calls again what failed for a reason that may pass, up to `attempts` calls in all.

    The wait before each new try doubles from `first_wait_s` to `longest_wait_s`, shortened by chance to between half
    and whole; a provider's `retry_after` is kept to, and one longer than `longest_wait_s` ends the trying. A stream is
    tried again only while none of its chunks was passed on.
    """

    def __init__(
        self,
        client: ModelClient,
        *,
        attempts: int = 4,
        first_wait_s: float = 0.5,
        longest_wait_s: float = 30.0,
        wait: Callable[[float], Awaitable[None]] = clock.wait,
        chance: Callable[[], float] = clock.chance,
    ) -> None:
        self._client = client
        self._attempts = attempts
        self._first_wait_s = first_wait_s
        self._longest_wait_s = longest_wait_s
        self._wait = wait
        self._chance = chance

    @property
    def model(self) -> str:
        """The wrapped client's model."""
        return self._client.model

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The whole answer of the first call that succeeds; the last error when none does."""
        tried = 0
        while True:
            try:
                return await self._client.complete(request)
            except ModelError as error:
                tried += 1
                pause = self._pause(error, tried)
                if pause is None:
                    raise
            await self._wait(pause)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The stream of the first call that begins to answer."""
        tried, begun = 0, False
        while True:
            try:
                async with aclosing(self._client.stream(request)) as chunks:
                    async for chunk in chunks:
                        begun = True
                        yield chunk
            except ModelError as error:
                tried += 1
                pause = None if begun else self._pause(error, tried)
                if pause is None:
                    raise
            else:
                return
            await self._wait(pause)

    def _pause(self, error: ModelError, tried: int) -> float | None:
        """Seconds until the next try; None when there is none."""
        if not is_retryable(error) or tried >= self._attempts:
            return None
        backoff = min(self._longest_wait_s, self._first_wait_s * 2 ** (tried - 1))
        asked = error.retry_after if isinstance(error, ProviderError) and error.retry_after is not None else 0.0
        return None if asked > self._longest_wait_s else max(asked, backoff * (0.5 + self._chance() / 2))


@dataclass(frozen=True, kw_only=True)
class CallTiming:
    """One model call, in milliseconds: how it ended (`stop`), or its error's kind; both None when it was left."""

    model: str
    streamed: bool
    duration_ms: int
    first_chunk_ms: int | None = None
    stop: StopReason | None = None
    error: str | None = None


class TimedModel:
    """Tells `report` the duration of each call, also of one that failed or was cancelled."""

    def __init__(self, client: ModelClient, watch: clock.Clock, report: Callable[[CallTiming], None]) -> None:
        self._client = client
        self._clock = watch
        self._report = report

    @property
    def model(self) -> str:
        """The wrapped client's model."""
        return self._client.model

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The wrapped client's answer."""
        begun = self._clock.monotonic()
        stop: StopReason | None = None
        error: str | None = None
        try:
            response = await self._client.complete(request)
            stop = response.stop
        except ModelError as failed:
            error = failed.kind
            raise
        else:
            return response
        finally:
            self._report(self._timing(request, begun, stop, error))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The wrapped client's chunks."""
        begun = self._clock.monotonic()
        first: float | None = None
        stop: StopReason | None = None
        error: str | None = None
        try:
            async with aclosing(self._client.stream(request)) as chunks:
                async for chunk in chunks:
                    first = self._clock.monotonic() if first is None else first
                    stop = chunk.stop if isinstance(chunk, StopChunk) else stop
                    yield chunk
        except ModelError as failed:
            error = failed.kind
            raise
        finally:
            self._report(self._timing(request, begun, stop, error, streamed=True, first=first))

    def _timing(
        self,
        request: ModelRequest,
        begun: float,
        stop: StopReason | None,
        error: str | None,
        *,
        streamed: bool = False,
        first: float | None = None,
    ) -> CallTiming:
        return CallTiming(
            model=request.model,
            streamed=streamed,
            duration_ms=round((self._clock.monotonic() - begun) * 1000),
            first_chunk_ms=None if first is None else round((first - begun) * 1000),
            stop=stop,
            error=error,
        )
