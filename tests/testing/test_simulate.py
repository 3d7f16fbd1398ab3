"""The simulator itself: it finds a store that breaks its promise, shortens the walk and prints what replays."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

import pytest

from actum.base.value import replace
from actum.lifecycle import commands as c
from actum.lifecycle.states import RunStatus
from actum.storage.backend import Backend
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing import samples
from actum.testing.simulate import Disagreement, Pair, Pairs, replay, walk_together

R = TypeVar("R")


class ForgetfulStore(LocalStore):
    """A store with one fault: it says that a repeated record is new."""

    async def execute(self, command: c.Operation[R]) -> R:
        answer = await super().execute(command)
        if isinstance(answer, tuple):
            return tuple(replace(each, inserted=True) for each in answer)  # type: ignore[return-value]  # the same kind
        return answer


class LenientStore(LocalStore):
    """A store with another fault: a run that ends canceled is said to have completed."""

    async def execute(self, command: c.Operation[R]) -> R:
        if isinstance(command, c.RunTerminal) and command.status is RunStatus.CANCELED:
            ending = samples.completed(await self.load_run(command.run_id))
            return await super().execute(ending)  # type: ignore[arg-type]  # the fault is the point
        return await super().execute(command)


def pairs_of(kind: Callable[[Backend], OwnedStore]) -> Pairs:
    @asynccontextmanager
    async def pair() -> AsyncIterator[Pair]:
        yield Pair(LocalStore(MemoryBackend()), kind(MemoryBackend()))

    def pairs() -> AbstractAsyncContextManager[Pair]:
        return pair()

    return pairs


async def first_disagreement(run: Callable[[int], Awaitable[None]]) -> str:
    for seed in range(30):
        try:
            await run(seed)
        except Disagreement as error:
            return str(error)
    return ""


async def test_stores_that_agree_pass() -> None:
    for seed in range(10):
        await walk_together(seed, 60, pairs_of(LocalStore))


@pytest.mark.parametrize("broken", [ForgetfulStore, LenientStore])
async def test_a_broken_store_is_found_and_its_trace_is_short_and_replays(
    broken: Callable[[Backend], OwnedStore],
) -> None:
    pairs = pairs_of(broken)
    found = await first_disagreement(lambda seed: walk_together(seed, 60, pairs))
    headline, _, rest = found.partition("\n")
    assert "seed " in headline
    trace = "\n".join(line for line in rest.splitlines() if line.startswith("{"))
    assert 1 <= len(trace.splitlines()) <= 6
    with pytest.raises(Disagreement):
        await replay(trace, pairs)
    await replay(trace, pairs_of(LocalStore))


async def test_a_seed_is_a_walk() -> None:
    async def told() -> str:
        return await first_disagreement(lambda seed: walk_together(seed, 60, pairs_of(ForgetfulStore)))

    first = await told()
    assert first
    assert await told() == first
