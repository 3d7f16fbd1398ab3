"""Owners of runs: who drives a run is a compare-and-set, and a dead owner is known to be dead."""

import asyncio
from typing import TypeVar

import pytest

from actum.base.errors import InvalidValue, RunNotFound, RunNotRunning, RunPurged
from actum.base.value import replace
from actum.lifecycle import commands as c
from actum.lifecycle.states import RunStatus, StartOutcome
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused, unchanged

S = TypeVar("S", bound=c.RootRunStart | c.ChildRunStart | c.OneShotRunStart | c.OneShotChildRunStart)


def _owned(command: S, owner: str | None) -> S:
    return replace(command, run=replace(command.run, owner=owner))


class FirstOwnerPromises:
    """A start may say who drives the run from its first moment."""

    async def test_every_kind_of_start_has_its_owner(self, store: OwnedStore) -> None:
        parent, alone = await scenes.running(store, "parent"), await scenes.one_shot(store)
        starts: tuple[c.Start, ...] = (
            samples.root("r1"),
            samples.child("r2", parent),
            samples.one_shot("r3"),
            samples.one_shot_child("r4", alone),
        )
        for command in starts:
            started = await scenes.execute(store, _owned(command, "owner-1"))
            assert isinstance(started, c.Started)
            assert started.run.owner == "owner-1"
            assert await store.load_run(command.run.run_id) == started.run

    @pytest.mark.parametrize("owner", [None, "owner-1", "owner-2"])
    async def test_a_repeat_leaves_the_owner_and_tells_who_it_is(self, store: OwnedStore, owner: str | None) -> None:
        await scenes.session(store)
        await store.start_root_run(_owned(samples.root("r1"), "owner-1"))
        assert (await store.take_run("r1", "owner-3", "owner-1")).taken
        async with unchanged(store):
            again = await store.start_root_run(_owned(samples.root("r1"), owner))
        assert (again.started.inserted, again.run.owner) == (False, "owner-3")

    async def test_a_run_that_stops_at_its_start_is_nobodys(self, store: OwnedStore) -> None:
        await scenes.over(store)
        stopped = await store.start_root_run(_owned(samples.root("r1"), "owner-1"))
        assert (stopped.outcome, stopped.run.owner) == (StartOutcome.STOP, None)
        assert (await store.load_run("r1")).owner is None

    async def test_an_owner_is_an_identifier(self, store: OwnedStore) -> None:
        await scenes.session(store)
        for wrong in ("", " ", "x" * 513):
            async with refused(store, InvalidValue) as error:
                await store.start_root_run(_owned(samples.root("r1"), wrong))
            assert error.value.field == "run.owner"


class TakeRunPromises:
    """Taking over a running run."""

    async def test_a_run_without_an_owner_is_taken(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        taken = await store.take_run("r1", "owner-1")
        assert taken == c.Taken(taken=True, owner="owner-1")
        stored = await store.load_run("r1")
        assert (stored.owner, stored.updated_at) == ("owner-1", run.updated_at)
        assert await scenes.kept_keys(store, run) == ["start"]

    async def test_losing_is_a_result(self, store: OwnedStore) -> None:
        await scenes.running(store)
        await store.take_run("r1", "owner-1")
        async with unchanged(store):
            for expected in (None, "owner-2", "nobody"):
                assert await store.take_run("r1", "owner-3", expected) == c.Taken(taken=False, owner="owner-1")

    async def test_the_expected_owner_is_followed(self, store: OwnedStore) -> None:
        await scenes.running(store)
        await store.take_run("r1", "owner-1")
        assert await store.take_run("r1", "owner-2", "owner-1") == c.Taken(taken=True, owner="owner-2")
        assert (await store.load_run("r1")).owner == "owner-2"

    async def test_a_lost_answer_is_given_again(self, store: OwnedStore) -> None:
        await scenes.running(store)
        for owner, expected in (("owner-1", None), ("owner-2", "owner-1")):
            first = await store.take_run("r1", owner, expected)
            async with unchanged(store):
                assert await store.take_run("r1", owner, expected) == first
            assert first.taken

    async def test_nobody_is_not_somebody(self, store: OwnedStore) -> None:
        await scenes.running(store)
        async with unchanged(store):
            assert await store.take_run("r1", "owner-1", "ghost") == c.Taken(taken=False, owner=None)

    async def test_one_of_many_takes_it(self, store: OwnedStore) -> None:
        await scenes.running(store)
        answers = await asyncio.gather(*(store.take_run("r1", f"owner-{n}") for n in range(20)))
        winners = [n for n, each in enumerate(answers) if each.taken]
        assert len(winners) == 1
        assert {each.owner for each in answers} == {f"owner-{winners[0]}"}

    @pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED, RunStatus.SUSPENDED])
    async def test_a_final_run_is_not_taken(self, store: OwnedStore, status: RunStatus) -> None:
        await scenes.ended(store, status=status)
        async with refused(store, RunNotRunning):
            await store.take_run("r1", "owner-1")

    async def test_an_owner_does_not_outlive_its_turn_in_the_runs_proofs(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        await store.take_run("r1", "owner-1")
        again = await store.start_root_run(samples.root("r1"))
        assert (again.started.inserted, again.run.owner) == (False, "owner-1")
        assert (await scenes.end(store, run)).status is RunStatus.COMPLETED

    async def test_a_run_that_is_not_there_is_not_taken(self, store: OwnedStore) -> None:
        async with refused(store, RunNotFound):
            await store.take_run("nobody", "owner-1")
        await scenes.end(store, await scenes.one_shot(store, "o1"))
        await store.purge_one_shot("o1")
        async with refused(store, RunPurged):
            await store.take_run("o1", "owner-1")


class OwnerPromises:
    """Proof of life."""

    async def test_an_owner_lives_as_long_as_it_is_held(self, store: OwnedStore) -> None:
        async with store.hold_owner() as owner:
            assert await store.owner_alive(owner)
            async with store.hold_owner() as other:
                assert other != owner
                assert await store.owner_alive(other)
            assert not await store.owner_alive(other)
            assert await store.owner_alive(owner)
        assert not await store.owner_alive(owner)

    @pytest.mark.parametrize("owner", ["nobody", "../x", "a/b", ".", "x" * 512])
    async def test_an_owner_that_never_was_is_not_alive(self, store: OwnedStore, owner: str) -> None:
        assert not await store.owner_alive(owner)
