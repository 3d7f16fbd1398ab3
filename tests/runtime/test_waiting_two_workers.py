"""Two workers take answers and go on with one suspended run at once: every interleaving comes to the same."""

import asyncio
from collections.abc import Coroutine, Iterator
from itertools import chain, repeat
from typing import Any

import pytest

from actum.base.errors import AlreadyAnswered
from actum.lifecycle.states import RunStatus
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from tests.support.chains import chain_of
from tests.support.frail import TurnBackend, Turnstile
from tests.support.scenario import RUN, WATCH_S, Cast, Waits, Worker, begun, onward, playing, uses
from tests.support.worker_store import WorkerStore


class TurnWaits(Waits):
    """Pauses that wait for their turn, too."""

    def __init__(self, turnstile: Turnstile, name: str) -> None:
        super().__init__()
        self._turnstile = turnstile
        self._name = name

    async def __call__(self, seconds: float) -> None:
        """Waits for so many seconds of the story."""
        if seconds == WATCH_S:
            await super().__call__(seconds)
        else:
            await self._turnstile.pause(self._name)


def story() -> Cast:
    cast = Cast(onward(uses("a", "b"), "done"))
    return cast.returns("a", 1, confirm=True).returns("b", 2, confirm=True)


class Two:
    """Two workers, `A` and `B`, over a store without owners, in which the story waits for two words."""

    def __init__(self, backend: MemoryBackend, cast: Cast) -> None:
        self.turnstile = Turnstile("A", "B")
        self.a, self.b = (
            Worker(
                WorkerStore(LocalStore(TurnBackend(backend, self.turnstile, name))),
                cast,
                waits=TurnWaits(self.turnstile, name),
            )
            for name in "AB"
        )

    async def played(self, order: Iterator[str], *work: Coroutine[Any, Any, object]) -> list[object]:
        """What each of these came to, in this order of calls to the store."""
        doing = [asyncio.ensure_future(each) for each in work]
        while not all(task.done() for task in doing):
            if not await self.turnstile.release(next(order)):
                assert all(task.done() for task in doing), "nobody can go on"
        ends = await asyncio.gather(*doing, return_exceptions=True)
        closing = asyncio.ensure_future(asyncio.gather(self.a.runtime.close(), self.b.runtime.close()))
        while not closing.done():
            await self.turnstile.release("A")
        await closing
        return list(ends)


def switched(first: int) -> Iterator[str]:
    """A for so many calls, then B for a long while, and then by turns."""
    return chain(repeat("A", first), repeat("B", 200), (name for _ in repeat(None) for name in "AB"))


async def waiting() -> tuple[MemoryBackend, Cast, dict[str, str]]:
    """The story, waiting, and the ids of its items by call."""
    backend, cast = MemoryBackend(), story()
    store = await begun(backend)
    async with playing(store, cast) as worker:
        await worker.play()
        items = {str(each.tool_call_id): each.item_id for each in await worker.runtime.pending(run_id=RUN)}
    return backend, cast, items


async def said(worker: Worker, answers: dict[str, object], by: str) -> str:
    return (await worker.runtime.continue_run(RUN, answers, by=by)).run_id


@pytest.mark.parametrize("block", range(3))
async def test_the_same_words_said_twice_at_once_are_one_run(block: int) -> None:
    for first in range(block, 40, 3):
        backend, cast, items = await waiting()
        two = Two(backend, cast)
        words: dict[str, object] = {items["a"]: True, items["b"]: False}
        ends = await two.played(switched(first), said(two.a, words, "ada"), said(two.b, words, "ada"))
        assert isinstance(ends[0], str), ends
        assert ends[0] == ends[1]
        told = await chain_of(LocalStore(backend), RUN)
        assert told.statuses == [RunStatus.SUSPENDED, RunStatus.COMPLETED]
        assert told.results["b"].content["error"] == "denied"
        assert cast.ran == {"a": 1}


@pytest.mark.parametrize("block", range(3))
async def test_two_who_answer_different_items_both_succeed_in_any_order(block: int) -> None:
    for first in range(block, 40, 3):
        backend, cast, items = await waiting()
        two = Two(backend, cast)
        ends = await two.played(
            switched(first), said(two.a, {items["a"]: True}, "ada"), said(two.b, {items["b"]: True}, "bob")
        )
        assert all(isinstance(each, str) for each in ends), ends
        told = await chain_of(LocalStore(backend), RUN)
        assert told.statuses == [RunStatus.SUSPENDED, RunStatus.SUSPENDED, RunStatus.COMPLETED]
        assert cast.ran == {"a": 1, "b": 1}


@pytest.mark.parametrize("block", range(3))
async def test_of_two_who_answer_one_item_the_second_is_told_in_any_order(block: int) -> None:
    for first in range(block, 40, 3):
        backend, cast, items = await waiting()
        two = Two(backend, cast)
        ends = await two.played(
            switched(first), said(two.a, {items["a"]: True}, "ada"), said(two.b, {items["a"]: False}, "bob")
        )
        refused = [each for each in ends if isinstance(each, AlreadyAnswered)]
        assert len(refused) == 1, ends
        told = await chain_of(LocalStore(backend), RUN)
        assert told.statuses == [RunStatus.SUSPENDED, RunStatus.SUSPENDED]
        assert cast.ran["a"] <= 1
