import asyncio
from collections.abc import Awaitable

import pytest

from actum.runtime.apart import OutOfTime, apart


async def _gives(value: object) -> object:
    return value


async def _raises(error: BaseException) -> object:
    raise error


async def _for_ever(told: asyncio.Event) -> object:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        told.set()
        raise
    return "never"


async def test_an_answer_comes_back() -> None:
    assert await apart(_gives(7)) == 7
    assert await apart(_gives(None), within_s=60) is None


@pytest.mark.parametrize("error", [ValueError("x"), asyncio.CancelledError(), GeneratorExit()])
async def test_what_is_raised_comes_back_as_it_is(error: BaseException) -> None:
    assert type(await apart(_raises(error))) is type(error)


async def test_work_without_an_answer_in_time_is_told_to_stop() -> None:
    told = asyncio.Event()
    assert await apart(_for_ever(told), within_s=0.001) == OutOfTime(0.001)
    assert told.is_set()


async def test_whoever_asks_may_be_cancelled_and_takes_the_work_along() -> None:
    told = asyncio.Event()
    asking = asyncio.ensure_future(apart(_for_ever(told)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert told.is_set()


@pytest.mark.parametrize("leaving", [KeyboardInterrupt(), SystemExit(3)])
async def test_an_interpreter_on_its_way_out_is_let_go(leaving: BaseException) -> None:
    async def answer() -> object:
        return leaving

    work: Awaitable[object] = answer()
    with pytest.raises(type(leaving)):
        await apart(work)
