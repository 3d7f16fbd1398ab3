import asyncio
import threading

import pytest

from actum.base.ending import end


async def test_it_waits_for_the_end() -> None:
    ended: list[str] = []
    await end(lambda: ended.append("ended"))
    assert ended == ["ended"]


async def test_what_the_end_raises_is_raised() -> None:
    def stop() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await end(stop)


async def test_a_cancel_is_raised_once_it_has_ended() -> None:
    begun, go_on, ended = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait()
        ended.set()

    ending = asyncio.create_task(end(stop))
    await begun.wait()
    for _ in range(3):
        ending.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not ending.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert ended.is_set()
