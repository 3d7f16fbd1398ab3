"""Backends that die, that are away for a while, and that take turns.

A process that dies in mid-turn is, seen from its database, a caller that never calls again: a `MortalBackend` answers
nothing any more from the chosen call on, and whoever waits for it waits until it is thrown away.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from actum.base.errors import ActumError, StoreUnavailable
from actum.storage.backend import Backend, Transaction, View
from actum.storage.owners import Owners

T = TypeVar("T")


class Gate:
    """A place where something waits until the test opens it."""

    def __init__(self, value: object = None) -> None:
        self.value = value
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def passed(self) -> object:
        """Waits here; the gate's value, or its error."""
        self.reached.set()
        await self.opened.wait()
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


class MortalBackend:
    """A backend that dies at its call number `dies_at`, counted from 1: before it is carried out, or `after`."""

    def __init__(self, backend: Backend, *, dies_at: int = 0, after: bool = False) -> None:
        self._backend = backend
        self._dies_at = dies_at
        self._after = after
        self.calls = 0
        self.died = asyncio.Event()

    def die_at(self, call: int, *, after: bool) -> None:
        """Dies at this call instead."""
        self._dies_at, self._after = call, after

    @property
    def owners(self) -> Owners:
        """Who holds owner ids."""
        return self._backend.owners

    async def write(self, work: Callable[[Transaction], T], size: int) -> T:
        """The write, while it lives."""
        return await self._alive(lambda: self._backend.write(work, size))

    async def read(self, work: Callable[[View], T]) -> T:
        """The read, while it lives."""
        return await self._alive(lambda: self._backend.read(work))

    async def close(self) -> None:
        """The backend inside is others' too."""

    async def _alive(self, call: Callable[[], Awaitable[T]]) -> T:
        self.calls += 1
        if self.calls == self._dies_at:
            if self._after:
                with suppress(ActumError):  # a refusal, too, is an answer that does not arrive any more
                    await call()
            self.died.set()
        if not self.died.is_set():
            answer = await call()
            if not self.died.is_set():
                return answer
        return await _never()


async def until_dead(mortal: MortalBackend, work: Coroutine[Any, Any, object]) -> bool:
    """Does the work until it is done or its backend dies, which is then the answer. Raises what the work raised."""
    working = asyncio.ensure_future(work)
    dying = asyncio.ensure_future(mortal.died.wait())
    await asyncio.wait({working, dying}, return_when=asyncio.FIRST_COMPLETED)
    dead = mortal.died.is_set()
    for task in (working, dying):
        task.cancel()
    await asyncio.gather(working, dying, return_exceptions=True)
    if not dead:
        working.result()
    return dead


class AwayBackend:
    """A backend that is not reachable while `away` is above 0: each call takes one off.

    With `lost` a write is carried out and only its answer does not arrive. From write `away_from` on (counted from 1),
    three calls meet it away.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.away = 0
        self.lost = False
        self.reads_too = True
        self.refused = 0
        self.away_from = 0
        self._writes = 0

    @property
    def owners(self) -> Owners:
        """Who holds owner ids."""
        return self._backend.owners

    async def write(self, work: Callable[[Transaction], T], size: int) -> T:
        """The write, unless it is away."""
        self._writes += 1
        if self._writes == self.away_from:
            self.away = 3
        if self.away and self.lost:
            await self._backend.write(work, size)
        self._refuse()
        return await self._backend.write(work, size)

    async def read(self, work: Callable[[View], T]) -> T:
        """The read, unless it is away."""
        if self.reads_too:
            self._refuse()
        return await self._backend.read(work)

    async def close(self) -> None:
        """The backend inside is others' too."""

    def _refuse(self) -> None:
        if self.away:
            self.away -= 1
            self.refused += 1
            raise StoreUnavailable(reason="a fault on cue")


class HeldBackend:
    """A backend that holds chosen writes until the test opens their gates."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._gates: dict[int, Gate] = {}
        self.writes = 0

    def hold_write(self, number: int) -> Gate:
        """The gate before the write of this number, counted from 1."""
        return self._gates.setdefault(number, Gate())

    @property
    def owners(self) -> Owners:
        """Who holds owner ids."""
        return self._backend.owners

    async def write(self, work: Callable[[Transaction], T], size: int) -> T:
        """The write, once its gate is open."""
        self.writes += 1
        gate = self._gates.get(self.writes)
        if gate is not None:
            await gate.passed()
        return await self._backend.write(work, size)

    async def read(self, work: Callable[[View], T]) -> T:
        """The read, at once."""
        return await self._backend.read(work)

    async def close(self) -> None:
        """The backend inside is others' too."""


@dataclass(eq=False)
class _Turn:
    """Somebody who waits, to make a call or to end a pause."""

    name: str
    pause: bool
    come: asyncio.Event = field(default_factory=asyncio.Event)


class Turnstile:
    """Lets the store calls of several workers through one at a time, in the order that a test chooses.

    Everything between two calls of a worker happens before anybody's next one, so a schedule is an interleaving and
    replays exactly. A pause lasts longer than any call: it ends when no worker has a call to make. Whoever is none of
    the workers named here comes when the schedule says so, or when nobody else can go on.
    """

    def __init__(self, *workers: str) -> None:
        self._workers = workers
        self._waiting: list[_Turn] = []
        self.passed: list[str] = []

    async def turn(self, name: str) -> None:
        """Waits until it is this worker's turn."""
        await self._wait(_Turn(name, pause=False))

    async def pause(self, name: str) -> None:
        """Waits until nobody has a call to make."""
        await self._wait(_Turn(name, pause=True))

    async def release(self, prefer: str) -> bool:
        """Lets one call through, the preferred worker's if it has one, and says whether there was any."""
        await settled()
        chosen = min(self._waiting, key=lambda turn: self._rank(turn, prefer), default=None)
        if chosen is None:
            return False
        chosen.come.set()
        self._waiting.remove(chosen)
        self.passed.append(chosen.name)
        return True

    def _rank(self, turn: _Turn, prefer: str) -> tuple[bool, bool, bool, str]:
        preferred = turn.name == prefer and not turn.pause
        return not preferred, turn.name not in self._workers, turn.pause, turn.name

    async def _wait(self, turn: _Turn) -> None:
        self._waiting.append(turn)
        try:
            await turn.come.wait()
        finally:
            if turn in self._waiting:
                self._waiting.remove(turn)


class TurnBackend:
    """A backend whose every call waits for its worker's turn."""

    def __init__(self, backend: Backend, turnstile: Turnstile, name: str) -> None:
        self._backend = backend
        self._turnstile = turnstile
        self._name = name

    @property
    def owners(self) -> Owners:
        """Who holds owner ids."""
        return self._backend.owners

    async def write(self, work: Callable[[Transaction], T], size: int) -> T:
        """The write, when it is this worker's turn."""
        await self._turnstile.turn(self._name)
        return await self._backend.write(work, size)

    async def read(self, work: Callable[[View], T]) -> T:
        """The read, when it is this worker's turn."""
        await self._turnstile.turn(self._name)
        return await self._backend.read(work)

    async def close(self) -> None:
        """The backend inside is others' too."""


async def settled() -> None:
    """Until nothing in this loop can go on without an answer from outside."""
    for _ in range(40):
        await asyncio.sleep(0)


async def _never() -> T:
    await asyncio.get_running_loop().create_future()
    raise AssertionError
