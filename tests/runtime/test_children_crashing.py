"""A tree whose worker dies at every call to its store, and two workers at one tree: one story, told once."""

import asyncio

import pytest

from actum.base.errors import NotFound
from actum.lifecycle.states import RunStatus
from actum.messages.message import user
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from tests.support.frail import MortalBackend, until_dead
from tests.support.runlogs import log_of
from tests.support.scenario import RUN, SESSION, Cast, Worker, asks, begun, onward, playing, uses
from tests.support.trees import lawful, ran_at_most_once


def story() -> tuple[Cast, Cast, Cast]:
    """A root that asks two agents, one of which edits with a person's word, the other through an agent of its own."""
    deep = Cast(onward(uses("look"), "seen"), agent_id="deep").returns("look", "a view")
    sub = Cast(onward(uses("edit"), "edited it"), agent_id="sub").returns("edit", "edited", confirm=True)
    middle = Cast(onward(asks("deep"), "it was seen"), agent_id="middle").asking(deep)
    return Cast(onward(asks("sub", "middle"), "done")).asking(sub).asking(middle), sub, deep


async def to_the_end(store: OwnedStore, worker: Worker) -> None:
    """Begins the story or goes on with it, and answers what it waits for."""
    try:
        await store.load_run(RUN)
    except NotFound:
        await worker.play()
    else:
        await worker.recover()
    for item in await worker.runtime.pending(SESSION):
        await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")


async def told(store: OwnedStore) -> dict[str, object]:
    """What the newest run of the root's chain came to."""
    runs = await lawful(store)
    newest = next(run for run in runs if run.parent_run_id is None and run.successor_run_id is None)
    assert newest.status is RunStatus.COMPLETED
    log = await log_of(store, newest.run_id)
    assert log.messages[-1].text == "done"
    return {call_id: part.content for call_id, part in log.results.items()}


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_death_at_any_call_changes_nothing_but_what_is_unknown(*, after: bool) -> None:
    died_at, died = 0, True
    while died:
        died_at += 1
        store = await begun(backend := MemoryBackend())
        root, sub, deep = story()
        mortal = MortalBackend(backend, dies_at=died_at, after=after)
        worker = Worker(LocalStore(mortal), root)
        died = await until_dead(mortal, to_the_end(LocalStore(mortal), worker))
        await worker.runtime.close()
        async with playing(store, root) as second:
            await to_the_end(store, second)
        results = await told(store)
        assert results["sub"] == "edited it"
        assert results["middle"] == "it was seen"
        await ran_at_most_once(store, root, sub, deep)
        assert sub.ran["edit"] <= 1
    assert died_at > 60


async def test_two_workers_at_one_tree_tell_one_story() -> None:
    store = await begun(MemoryBackend())
    root, sub, deep = story()
    async with playing(store, root) as left, playing(store, root) as right:
        outs = await asyncio.gather(
            *(each.client.run(SESSION, [user("go")], run_id=RUN) for each in (left, right)),
        )
        assert [out.status for out in outs] == [RunStatus.SUSPENDED] * 2
        (item,) = await left.runtime.pending(SESSION)
        ends = await asyncio.gather(
            *(each.runtime.continue_run(RUN, {item.item_id: True}, by="ada") for each in (left, right))
        )
    assert ends[0] == ends[1]
    assert ends[0].text == "done"
    assert (sub.ran, deep.ran) == ({"edit": 1}, {"look": 1})
    await told(store)
