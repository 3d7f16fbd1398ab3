"""How what has threads is ended, though its caller may be canceled meanwhile.

What is left half closed keeps its files open and would answer again. So a cancel is heard, and raised after the end.
"""

import asyncio
from collections.abc import Callable


async def end(stop: Callable[[], None]) -> None:
    """Waits until `stop`, which blocks, has ended in a thread. Raises what it raises; then a cancel that came."""
    # A future, for a task would be canceled with all others when the event loop is shut down.
    ending = asyncio.get_running_loop().run_in_executor(None, stop)
    canceled: asyncio.CancelledError | None = None
    while not ending.done():
        try:
            await asyncio.wait([ending])
        except asyncio.CancelledError as error:
            canceled = error
    ending.result()
    if canceled is not None:
        raise canceled
