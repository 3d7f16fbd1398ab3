"""The only reader of time, identity and chance. Everything else takes them as arguments."""

import asyncio
import secrets
import time
import types
import uuid
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND: Final = timedelta(milliseconds=1)


class Clock(Protocol):
    """Time as an argument."""

    def now(self) -> datetime:
        """The present instant: aware, UTC, whole milliseconds."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for measuring a duration."""
        ...


class Ids(Protocol):
    """Identity and chance as an argument."""

    def new(self, kind: str) -> str:
        """A fresh identifier that no other call gave; `kind` is its readable beginning, such as `run`."""
        ...


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        """The present instant: aware, UTC, whole milliseconds."""
        return now()

    # Seconds that never go back.
    monotonic = staticmethod(time.monotonic)


class SystemIds:
    """Random identifiers: 122 bits of chance behind a readable beginning."""

    def new(self, kind: str) -> str:
        """A fresh identifier, such as `run-2f1c…`."""
        return f"{kind}-{uuid.uuid4().hex}"


def now() -> datetime:
    """The present instant in UTC, in whole milliseconds: the form that every timestamp of Actum has."""
    return EPOCH + time.time_ns() // 1_000_000 * MILLISECOND


def to_millis(instant: datetime) -> int:
    """Whole milliseconds since 1970 of an aware instant, exact for every year."""
    return (instant - EPOCH) // MILLISECOND


def from_millis(millis: int) -> datetime:
    """The instant, in UTC, of whole milliseconds since 1970."""
    return EPOCH + millis * MILLISECOND


def random_token() -> str:
    """128 bits of chance as text, for marks that no other process can make by accident."""
    return secrets.token_hex(16)


def chance() -> float:
    """A number from 0 to below 1, for waits that shall not fall together."""
    return secrets.randbelow(1 << 53) / (1 << 53)


async def wait(seconds: float) -> None:
    """Wait for real. Whatever waits takes this function as an argument, so that a test need not."""
    await asyncio.sleep(seconds)


@types.coroutine
def next_round() -> Generator[None, None, None]:
    """Lets the event loop turn to its other tasks once."""
    yield
