"""How what has threads is ended, though its caller may be canceled meanwhile.

What is left half closed keeps its files open and would answer again. So a cancel is heard, and raised after the end.
"""

import asyncio
from collections.abc import Callable

from actum.base.clock import next_round


async def end(stop: Callable[[], None]) -> None:
    """Waits until `stop`, which blocks, has ended in a thread. Raises what it raises; then a cancel that came.

    One round of the event loop passes first: what was accepted in this one is on its way then.
    """
    canceled: asyncio.CancelledError | None = None
    try:
        await next_round()
    except asyncio.CancelledError as error:
        canceled = error
    # A future, for a task would be canceled with all others when the event loop is shut down.
    ending = asyncio.get_running_loop().run_in_executor(None, stop)
    while not ending.done():
        try:
            await asyncio.wait([ending])
        except asyncio.CancelledError as error:
            canceled = error
    ending.result()
    if canceled is not None:
        raise canceled
