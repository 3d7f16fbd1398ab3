"""A worker dies at every call to its store while a run waits, is answered, withdrawn or superseded; another goes on."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from actum.base.errors import AlreadyAnswered, UnknownItem
from actum.lifecycle.states import RunStatus
from actum.messages.message import user
from actum.planning.planner import AwaitInput, PlanResult
from actum.records.failures import ToolFailureKind
from actum.records.record import Follows, HistoryRef
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from tests.support.chains import Chain, chain_of
from tests.support.frail import MortalBackend
from tests.support.scenario import RUN, SESSION, Cast, Worker, asks, begun, onward, playing, uses

Act: TypeAlias = Callable[[Worker], Awaitable[object]]

before_and_after = pytest.mark.parametrize(
    "after", [pytest.param(False, marks=pytest.mark.slow), True], ids=["before", "after"]
)
UNKNOWN = str(ToolFailureKind.OUTCOME_UNKNOWN)


def story() -> Cast:
    """One call that runs at once, two that wait; then a question; then the answer."""
    question = PlanResult.awaiting(AwaitInput.clarification("sure?"))
    cast = Cast(onward(uses("quick", "a", "b"), question, "done"))
    return cast.returns("quick", 1, idempotent=True).returns("a", 2, confirm=True).returns("b", 3, confirm=True)


async def until_it_waits(worker: Worker) -> None:
    """The story's run as the head, until it waits; a repeat finds it."""
    await worker.client.run(SESSION, [user("go")], run_id=RUN, follows=Follows())


async def answer_all(worker: Worker) -> None:
    """Everything that the story waits for, one item after the other, by the same persons with the same words."""
    while True:
        items = await worker.runtime.pending(run_id=RUN)
        if not items:
            return
        item = min(items, key=lambda each: str(each.tool_call_id or each.prompt))
        answer = True if item.tool_call_id is not None else "yes"
        await worker.runtime.continue_run(RUN, {item.item_id: answer}, by="ada")


async def whole(worker: Worker) -> None:
    """The story from its beginning to its end."""
    await until_it_waits(worker)
    await answer_all(worker)


async def withdrawn(worker: Worker) -> None:
    """The story, given up while it waits."""
    await until_it_waits(worker)
    await worker.runtime.withdraw(RUN, "no more")


async def superseded(worker: Worker) -> None:
    """The story, given up for another turn."""
    await until_it_waits(worker)
    head = await worker.store.load_run(RUN)
    assert head.end_record_id is not None
    await worker.client.run(
        SESSION,
        [user("something else")],
        run_id="next",
        follows=Follows(run_id=RUN, supersede=True),
        history=HistoryRef(run_id=RUN, through=head.end_record_id),
    )


async def dies(mortal: MortalBackend, cast: Cast, act: Act) -> bool:
    """A worker that does this until its store dies, and it with it; False when it came to the end first."""
    worker = Worker(LocalStore(mortal), cast)
    doing = asyncio.ensure_future(act(worker))
    dying = asyncio.ensure_future(mortal.died.wait())
    await asyncio.wait({doing, dying}, return_when=asyncio.FIRST_COMPLETED)
    died = mortal.died.is_set()
    if not died:
        await doing
    for task in (doing, dying):
        task.cancel()
    await asyncio.gather(doing, dying, return_exceptions=True)
    await worker.runtime.close()
    return died


async def second_life(store: OwnedStore, cast: Cast, act: Act) -> None:
    """Another worker takes up what runs, and does the same again."""
    async with playing(store, cast) as worker:
        await worker.recover()
        await act(worker)


async def every_death(act: Act, after: bool, cast: Callable[[], Cast] = story) -> list[tuple[Chain, Cast, OwnedStore]]:  # noqa: FBT001 - the test's own parameter
    """What came of the story for every call at which its first worker died."""
    ends: list[tuple[Chain, Cast, OwnedStore]] = []
    died_at = 0
    while True:
        backend = MemoryBackend()
        store, told = await begun(backend), cast()
        died_at += 1
        if not await dies(MortalBackend(backend, dies_at=died_at, after=after), told, act):
            return ends
        await second_life(store, told, act)
        ends.append((await chain_of(store, RUN), told, store))


@before_and_after
async def test_a_death_at_any_call_loses_no_answer_and_runs_no_tool_twice(*, after: bool) -> None:
    ends = await every_death(whole, after)
    assert len(ends) > 60
    unknown: set[str] = set()
    for chain, cast, _ in ends:
        assert chain.statuses[-1] is RunStatus.COMPLETED
        assert chain.messages[-1].text == "done"
        assert [message.text for message in chain.messages if message.text] == ["go", "yes", "done"]
        assert list(chain.results) == ["quick", "a", "b"]
        # A worker that died between the claim of a call and its tool leaves a call that was never made: unknown, too.
        assert all(cast.ran[call] == 1 or chain.results[call].is_error for call in "ab")
        assert max(cast.ran[call] for call in "ab") <= 1
        unknown |= {call for call, part in chain.results.items() if part.is_error}
        assert all(part.content["error"] == UNKNOWN for part in chain.results.values() if part.is_error)
    assert unknown == {"a", "b"}


@before_and_after
async def test_a_withdrawal_is_finished_however_its_worker_dies(*, after: bool) -> None:
    for chain, cast, _ in await every_death(withdrawn, after):
        assert chain.statuses == [RunStatus.SUSPENDED, RunStatus.CANCELED]
        assert chain.logs[-1].run.cancellation_reason == "no more"
        assert chain.results["quick"].content == 1
        assert {chain.results[call].content["error"] for call in "ab"} == {"canceled"}
        assert set(cast.ran) == {"quick"}


@before_and_after
async def test_a_turn_that_supersedes_comes_about_once_however_its_worker_dies(*, after: bool) -> None:
    for chain, cast, store in await every_death(superseded, after):
        assert chain.statuses == [RunStatus.SUSPENDED]
        following = await chain_of(store, "next")
        assert {following.results[call].content["error"] for call in "ab"} == {"canceled"}
        assert (await store.load_session(SESSION)).head_run_id == "next"
        assert set(cast.ran) == {"quick"}


def family() -> Cast:
    """Two agents that each wait for a word about a call of their own."""
    cast = Cast(onward(asks("left", "right"), "done"))
    for name in ("left", "right"):
        child = Cast(onward(uses(f"{name}-work"), f"{name} done"), agent_id=name)
        cast.asking(child.returns(f"{name}-work", name, confirm=True))
    return cast


@pytest.mark.slow
@before_and_after
async def test_children_that_wait_are_answered_however_workers_die(*, after: bool) -> None:
    for chain, cast, _ in await every_death(whole, after, family):
        assert chain.statuses[-1] is RunStatus.COMPLETED
        assert list(chain.results) == ["left", "right"]
        for child in cast.asked:
            assert max(child.ran.values(), default=0) <= 1


# Two who answer at once


async def both(store: OwnedStore, cast: Cast, first: Act, second: Act) -> list[object]:
    """Two workers that do something at once, over one store."""
    async with playing(store, cast) as one, playing(store, cast) as other:
        return list(await asyncio.gather(first(one), second(other), return_exceptions=True))


async def answered(runtime: Runtime, call: str, by: str) -> str:
    (item,) = [each for each in await runtime.pending(run_id=RUN) if each.tool_call_id == call]
    return (await runtime.continue_run(RUN, {item.item_id: True}, by=by)).run_id


async def test_two_persons_who_answer_different_items_at_once_both_succeed() -> None:
    store, cast = await begun(MemoryBackend()), story()
    async with playing(store, cast) as worker:
        await until_it_waits(worker)
    runs = await both(
        store,
        cast,
        lambda worker: answered(worker.runtime, "a", "ada"),
        lambda worker: answered(worker.runtime, "b", "bob"),
    )
    assert all(isinstance(each, str) for each in runs), runs
    assert len(set(runs)) == 2
    chain = await chain_of(store, RUN)
    assert chain.statuses == [RunStatus.SUSPENDED] * 3
    assert cast.ran == {"quick": 1, "a": 1, "b": 1}


async def test_of_two_who_answer_the_same_item_one_is_told_and_a_repeat_is_the_same_run() -> None:
    store, cast = await begun(MemoryBackend()), story()
    async with playing(store, cast) as worker:
        await until_it_waits(worker)
    runs = await both(
        store,
        cast,
        lambda worker: answered(worker.runtime, "a", "ada"),
        lambda worker: answered(worker.runtime, "a", "eve"),
    )
    assert sorted(type(each).__name__ for each in runs) == ["AlreadyAnswered", "str"]
    assert cast.ran == {"quick": 1, "a": 1}
    async with playing(store, cast) as worker:
        (item,) = [each for each in await worker.runtime.pending(run_id=RUN) if each.tool_call_id == "b"]

    async def repeat(worker: Worker) -> str:
        return (await worker.runtime.continue_run(RUN, {item.item_id: True}, by="bob")).run_id

    runs = await both(store, cast, repeat, repeat)
    assert len(set(runs)) == 1
    assert cast.ran == {"quick": 1, "a": 1, "b": 1}
    await chain_of(store, RUN)


async def test_an_answer_and_a_withdrawal_at_once_leave_one_of_them() -> None:
    for turn in range(2):
        store, cast = await begun(MemoryBackend()), story()
        async with playing(store, cast) as worker:
            await until_it_waits(worker)
        acts: list[Act] = [
            lambda worker: answered(worker.runtime, "a", "ada"),
            lambda worker: worker.runtime.withdraw(RUN, "no more"),
        ]
        first, second = acts if turn == 0 else reversed(acts)
        ends = await both(store, cast, first, second)
        refused = [each for each in ends if isinstance(each, BaseException)]
        assert all(isinstance(each, AlreadyAnswered | UnknownItem) for each in refused), refused
        chain = await chain_of(store, RUN)
        assert chain.statuses[-1] is RunStatus.CANCELED
