"""Somebody else's code, run in a task of its own, so that neither side can end the other."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final

# How long work that was told to stop may take to do so, before it is let go.
STOPPING_S: Final = 5.0


@dataclass(frozen=True)
class OutOfTime:
    """The work did not answer within so many seconds, and was told to stop."""

    within_s: float


async def apart(asked: Awaitable[object], within_s: float | None = None) -> object:
    """What the work returned, the exception that it raised, or OutOfTime.

    Raises CancelledError when the asking task is cancelled; then the work is too, and let go if it will not stop.
    """
    asking = asyncio.ensure_future(_answer(asked))
    try:
        await asyncio.wait({asking}, timeout=within_s)
        in_time = asking.done()
    finally:
        if not asking.done():
            asking.cancel()
            await asyncio.wait({asking}, timeout=STOPPING_S)
    if not in_time:
        return OutOfTime(within_s or 0.0)
    # The work may cancel the task that it finds itself in; that is how it failed and stops nobody else.
    answer: object = asyncio.CancelledError() if asking.cancelled() else asking.result()
    if isinstance(answer, KeyboardInterrupt | SystemExit):
        raise answer
    return answer


async def _answer(asked: Awaitable[object]) -> object:
    try:
        return await asked
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        return error
