"""A client around a client that learns how many calls at a time its provider bears.

Every call that is answered lets a little more run side by side; one that is refused for its rate halves it, and nothing
new starts before the wait that the provider asked for is over. Calls start in the order in which they came.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Final

from actum.base import clock
from actum.base.errors import ModelError, ProviderError
from actum.model.calls import PerLoop
from actum.model.client import ModelClient
from actum.model.request import ModelRequest
from actum.model.response import Chunk, ModelResponse

_HALF: Final = 0.5


class PacedModel:
    """At most `most` calls at a time, fewer while the provider says that they are too many."""

    def __init__(
        self,
        client: ModelClient,
        *,
        most: int = 64,
        watch: clock.Clock | None = None,
        wait: Callable[[float], Awaitable[None]] = clock.wait,
    ) -> None:
        self._client = client
        self._most = most
        self._clock = watch or clock.SystemClock()
        self._wait = wait
        self._allowed = float(most)
        self._quiet_until = 0.0
        self._gate = PerLoop(_Gate)

    @property
    def model(self) -> str:
        """The wrapped client's model."""
        return self._client.model

    @property
    def allowed(self) -> int:
        """How many calls may run at a time just now."""
        return max(1, int(self._allowed))

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The wrapped client's answer, when it is this call's turn."""
        async with self._turn():
            return await self._client.complete(request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The wrapped client's chunks, when it is this call's turn."""
        async with self._turn(), aclosing(self._client.stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        gate = self._gate.get()
        await gate.enter(self.allowed)
        try:
            # Another call may have been refused while this one waited, so it looks again after each wait.
            while (quiet := self._quiet_until - self._clock.monotonic()) > 0:
                await self._wait(quiet)
            yield
        except ModelError as error:
            if isinstance(error, ProviderError) and error.kind == "rate_limited":
                self._allowed = max(1.0, self._allowed * _HALF)
                self._quiet_until = max(self._quiet_until, self._clock.monotonic() + (error.retry_after or 0.0))
            raise
        else:
            self._allowed = min(float(self._most), self._allowed + 1 / self._allowed)
        finally:
            gate.leave(self.allowed)


class _Gate:
    """Counts who is inside and who waits; belongs to one event loop."""

    def __init__(self) -> None:
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self, allowed: int) -> None:
        """Go in, or wait until somebody's leaving lets this one in."""
        if self._inside < allowed and not any(not each.done() for each in self._waiting):
            self._inside += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # It was let in while it was cancelled: the place goes to the next one.
                self.leave(allowed)
            raise

    def leave(self, allowed: int) -> None:
        """Go out, and let in as many as are now allowed."""
        self._inside -= 1
        while self._waiting and self._inside < allowed:
            turn = self._waiting.popleft()
            # One that was cancelled while it waited is passed over.
            if not turn.done():
                self._inside += 1
                turn.set_result(None)
