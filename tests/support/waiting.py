"""The one place where a test may wait for real: for another process, which has no clock that we could turn."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(probe: Callable[[], T | None], *, timeout_s: float = 30.0, every_s: float = 0.01) -> T:
    """Ask until the answer is something, and return it; `TimeoutError` after `timeout_s` seconds.

    Blocks the caller: from async code call it through `asyncio.to_thread`.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        answer = probe()
        if answer:
            return answer
        if time.monotonic() > deadline:
            name = getattr(probe, "__qualname__", repr(probe))
            message = f"{name} still said {answer!r} after {timeout_s} s"
            raise TimeoutError(message)
        time.sleep(every_s)
