"""A walk goes everywhere: every command and every read, lawful ones and others, and the same way for the same seed."""

from collections import Counter
from random import Random
from typing import get_args

from actum.base.errors import ActumError
from actum.lifecycle import commands as c
from actum.storage.contract import OwnedStore
from actum.storage.opening import open_store
from actum.testing.contract import scenes
from actum.testing.faults import Fault
from actum.testing.history import outcome
from actum.testing.walk import Read, Step, Walk


async def walked(seed: int, length: int) -> list[tuple[Step, object]]:
    walk, taken = Walk(Random(seed)), []  # noqa: S311 - to be repeated, not to be secret
    async with open_store("memory:") as store:
        for _ in range(length):
            step = walk.step()
            answer = await answered(store, step)
            walk.learn(answer)
            taken.append((step, answer))
    return taken


async def answered(store: OwnedStore, step: Step) -> object:
    seen = store.bound(step.tenant) if step.tenant else store
    if isinstance(step.call, Read):
        return await outcome(getattr(seen, step.call.name)(**step.call.given))
    return await outcome(scenes.execute(seen, step.call))


async def test_a_seed_is_a_walk() -> None:
    async def steps(seed: int) -> list[Step]:
        return [step for step, _ in await walked(seed, 60)]

    assert await steps(7) == await steps(7)
    assert await steps(7) != await steps(8)


async def test_every_command_is_asked_and_succeeds_somewhere() -> None:
    asked: Counter[str] = Counter()
    done: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    for seed in range(60):
        for step, answer in await walked(seed, 60):
            name = step.call.name if isinstance(step.call, Read) else type(step.call).__name__
            asked[name] += 1
            if isinstance(answer, ActumError):
                refusals[answer.code] += 1
            else:
                done[name] += 1
    assert {kind.__name__ for kind in get_args(c.Command)} <= set(done)
    assert set(asked) == set(done)
    assert done.total() > asked.total() * 0.4
    # The refusals that take a story to get to.
    assert {
        "cancellation_conflict",
        "cancellation_requested",
        "continuation_refused",
        "head_moved",
        "history_refused",
        "record_conflict",
        "run_busy",
        "run_purged",
        "session_busy",
        "session_purged",
        "successor_conflict",
        "suspension_conflict",
        "terminal_conflict",
    } <= set(refusals)


def test_faults_come_only_when_they_are_asked_for() -> None:
    def faults(*, faulty: bool) -> set[Fault | None]:
        walk = Walk(Random(1), faults=faulty)  # noqa: S311 - to be repeated, not to be secret
        return {walk.step().fault for _ in range(300)}

    assert faults(faulty=False) == {None}
    assert faults(faulty=True) == {None, *Fault}
