"""Random walks over memory and SQLite together. ACTUM_SIMULATION=seeds:steps makes the search longer."""

import os
import random
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from actum.storage.local import LocalStore
from actum.storage.opening import open_store
from actum.storage.sqlite.backend import SQLiteBackend
from actum.testing.faults import FaultyBackend
from actum.testing.simulate import Pair, Pairs, walk_together

SEEDS, STEPS = (int(each) for each in (os.environ.get("ACTUM_SIMULATION") or "300:60").split(":"))
# A longer search also goes where no search has been; its seeds are printed with what they find.
FIRST = random.SystemRandom().randrange(10**9) if os.environ.get("ACTUM_SIMULATION") else 0
PARTS = 10

each_part = pytest.mark.parametrize("part", range(PARTS))


def seeds(part: int) -> range:
    return range(FIRST + part, FIRST + SEEDS, PARTS)


def fresh(tmp_path: Path, *, faulty: bool = False) -> Pairs:
    """Pairs of a memory store and a SQLite file that nobody has seen."""
    count = iter(range(10**9))

    @asynccontextmanager
    async def pair() -> AsyncIterator[Pair]:
        async with AsyncExitStack() as stack:
            first = await stack.enter_async_context(open_store("memory:"))
            backend = await SQLiteBackend.open(tmp_path / f"{next(count)}.db")
            stack.push_async_callback(backend.close)
            failing = FaultyBackend(backend)
            yield Pair(first, LocalStore(failing), failing if faulty else None)

    def pairs() -> AbstractAsyncContextManager[Pair]:
        return pair()

    return pairs


@pytest.mark.slow
@each_part
async def test_memory_and_sqlite_agree_on_every_walk(tmp_path: Path, part: int) -> None:
    pairs = fresh(tmp_path)
    for seed in seeds(part):
        await walk_together(seed, STEPS, pairs)


@pytest.mark.slow
@each_part
async def test_faults_change_no_walk(tmp_path: Path, part: int) -> None:
    pairs = fresh(tmp_path, faulty=True)
    for seed in seeds(part)[::3]:
        await walk_together(seed, STEPS, pairs)
