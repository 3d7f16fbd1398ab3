"""Tests never sleep: a real wait in a test, or in product code that a test runs, fails that test.

Waiting makes a suite slow and its verdict a matter of luck. A test that needs time to pass holds a manual clock; a test
that needs another process to get somewhere uses tests/support/waiting.py.

The guard stands in for `asyncio.sleep` and `time.sleep` and looks at who calls. Libraries may wait as they like, and so
may base/clock.py, the one file of the product that waits for real, and waiting.py. `sleep(0)` only lets others run.
"""

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable

ROOT = Path(__file__).resolve().parents[2]
WATCHED = (ROOT / "src" / "actum", ROOT / "tests")
MAY_WAIT = (ROOT / "src" / "actum" / "base" / "clock.py", ROOT / "tests" / "support" / "waiting.py")


class SleptInTestError(BaseException):
    """A wait that a test may not make. No `except Exception` may swallow it, as it may not swallow a cancellation."""


class QuietClock:
    """The guard. `waits` lists what was caught since `begin`, so that a swallowed error still fails the test."""

    def __init__(self) -> None:
        self.waits: list[str] = []
        self._async_sleep = asyncio.sleep
        self._sleep = time.sleep

    def install(self) -> None:
        """Stand in for both sleeps. Called before any test module is imported."""

        def guarded_async_sleep(delay: float, result: object = None) -> "Awaitable[object]":
            self._judge("asyncio.sleep", delay)
            return self._async_sleep(delay, result)

        def guarded_sleep(delay: float) -> None:
            self._judge("time.sleep", delay)
            self._sleep(delay)

        setattr(asyncio, "sleep", guarded_async_sleep)  # noqa: B010 - a plain assignment would not type-check
        setattr(time, "sleep", guarded_sleep)  # noqa: B010 - the same

    def begin(self) -> None:
        """Forget earlier waits: a test answers for its own."""
        self.waits.clear()

    def _judge(self, what: str, delay: float) -> None:
        caller = sys._getframe(2)  # noqa: SLF001 - the one way to see who calls
        file = Path(caller.f_code.co_filename)
        if delay <= 0 or file in MAY_WAIT or not any(file.is_relative_to(each) for each in WATCHED):
            return
        wait = f"{file.relative_to(ROOT)}:{caller.f_lineno} calls {what}({delay})"
        self.waits.append(wait)
        raise SleptInTestError(wait)


quiet_clock = QuietClock()
