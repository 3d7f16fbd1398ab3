"""Faults before, during and after a commit: nothing is half-written, and the same command again puts it right."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from actum.base.errors import StoreUnavailable
from actum.lifecycle import commands as c
from actum.storage.backend import Backend
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.testing import samples
from actum.testing.changes import Proved
from actum.testing.contract import scenes
from actum.testing.contract.scenes import execute
from actum.testing.contract.variations import PROVED
from actum.testing.faults import Fault, FaultyBackend
from actum.testing.history import lost, outcome, read_everything

nothing_written = pytest.mark.parametrize("fault", [Fault.BEFORE, Fault.DURING])
each_operation = pytest.mark.parametrize("operation", PROVED)


async def _create(_: OwnedStore) -> c.AdminCommand:
    return c.CreateSession(session_id="s9", created_at=samples.T0, metadata={"user_id": "u1"})


async def _describe(store: OwnedStore) -> c.AdminCommand:
    await scenes.session(store)
    return c.SetSessionMetadata(session_id="s1", metadata={"user_id": "u2"})


async def _end(store: OwnedStore) -> c.AdminCommand:
    await scenes.running(store)
    return c.EndSession(session_id="s1", ended_at=samples.at(60))


async def _purge(store: OwnedStore) -> c.AdminCommand:
    run = await scenes.suspended(store)
    await scenes.end(store, (await store.start_root_run(samples.continuation("r2", run))).run)
    await scenes.over(store)
    return c.PurgeSession(session_id="s1")


async def _purge_tree(store: OwnedStore) -> c.AdminCommand:
    root = await scenes.one_shot(store, "o1")
    child = await store.start_one_shot_child_run(samples.one_shot_child("o2", root))
    await scenes.end(store, child.run)
    await scenes.end(store, root)
    return c.PurgeOneShot(run_id="o1")


ADMINISTERED: Final[dict[str, Callable[[OwnedStore], Awaitable[c.AdminCommand]]]] = {
    "create session": _create,
    "set metadata": _describe,
    "end session": _end,
    "purge session": _purge,
    "purge one-shot": _purge_tree,
}


class FaultPromises:
    """What a database failure leaves behind. The fixture `backend` gives an empty backend that nobody else uses."""

    @pytest.fixture
    def faulty(self, backend: Backend) -> FaultyBackend:
        """The backend, failing on cue."""
        return FaultyBackend(backend)

    @pytest.fixture
    def broken(self, faulty: FaultyBackend) -> OwnedStore:
        """A store over the failing backend."""
        return LocalStore(faulty)

    @nothing_written
    @each_operation
    async def test_a_failed_write_leaves_nothing_and_succeeds_the_next_time(
        self, broken: OwnedStore, faulty: FaultyBackend, operation: str, fault: Fault
    ) -> None:
        command = await PROVED[operation](broken)
        await _fails_without_a_trace(broken, faulty, command, fault)
        assert all(each.inserted for each in scenes.appended(await execute(broken, command)))
        await scenes.sound(broken)

    @each_operation
    async def test_a_lost_answer_is_given_again(
        self, broken: OwnedStore, faulty: FaultyBackend, operation: str
    ) -> None:
        command = await PROVED[operation](broken)
        faulty.fail(Fault.AFTER)
        with pytest.raises(StoreUnavailable):
            await execute(broken, command)
        kept = await read_everything(broken)
        again = await execute(broken, command)
        assert not any(each.inserted for each in scenes.appended(again))
        assert await read_everything(broken) == kept
        await scenes.sound(broken)

    @nothing_written
    @pytest.mark.parametrize("operation", ADMINISTERED)
    async def test_administration_fails_whole_too(
        self, broken: OwnedStore, faulty: FaultyBackend, operation: str, fault: Fault
    ) -> None:
        command = await ADMINISTERED[operation](broken)
        await _fails_without_a_trace(broken, faulty, command, fault)
        before = await read_everything(broken)
        await execute(broken, command)
        assert await read_everything(broken) != before
        await scenes.sound(broken)

    @pytest.mark.parametrize("operation", ADMINISTERED)
    async def test_administration_with_a_lost_answer_is_repeated(
        self, broken: OwnedStore, faulty: FaultyBackend, operation: str
    ) -> None:
        command = await ADMINISTERED[operation](broken)
        faulty.fail(Fault.AFTER)
        with pytest.raises(StoreUnavailable):
            await execute(broken, command)
        kept = await read_everything(broken)
        await execute(broken, command)
        assert await read_everything(broken) == kept

    async def test_neighbours_of_a_failed_write_are_not_touched(
        self, broken: OwnedStore, faulty: FaultyBackend
    ) -> None:
        run = await scenes.running(broken)
        faulty.fail(*(None if n % 3 else Fault.DURING for n in range(30)))
        writes = [broken.append_run_record(samples.note(run, f"k{n:02}")) for n in range(30)]
        answers = await asyncio.gather(*(outcome(write) for write in writes))
        failed = [n for n, answer in enumerate(answers) if isinstance(answer, StoreUnavailable)]
        assert len(failed) == 10
        acknowledged = {("r1", f"k{n:02}"): a.id for n, a in enumerate(answers) if isinstance(a, c.Appended)}
        assert lost(await read_everything(broken), acknowledged) == []
        assert len(await scenes.kept_keys(broken, run)) == 21
        for n in failed:
            assert (await broken.append_run_record(samples.note(run, f"k{n:02}"))).inserted
        await scenes.sound(broken)


async def _fails_without_a_trace(
    store: OwnedStore, faulty: FaultyBackend, command: Proved | c.AdminCommand, fault: Fault
) -> None:
    before = await read_everything(store)
    faulty.fail(fault)
    with pytest.raises(StoreUnavailable):
        await execute(store, command)
    assert await read_everything(store) == before
