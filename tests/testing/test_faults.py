"""A backend that fails on cue."""

import pytest

from actum.base.errors import RunNotFound, StoreUnavailable
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing import samples
from actum.testing.faults import Fault, FaultyBackend


@pytest.fixture
def faulty() -> FaultyBackend:
    return FaultyBackend(MemoryBackend())


@pytest.mark.parametrize("fault", [Fault.BEFORE, Fault.DURING])
async def test_before_and_during_nothing_is_written(faulty: FaultyBackend, fault: Fault) -> None:
    store = LocalStore(faulty)
    faulty.fail(fault)
    with pytest.raises(StoreUnavailable, match="on cue"):
        await store.start_one_shot_run(samples.one_shot("o1"))
    with pytest.raises(RunNotFound):
        await store.load_run("o1")


async def test_after_the_commit_everything_is(faulty: FaultyBackend) -> None:
    store = LocalStore(faulty)
    faulty.fail(Fault.AFTER)
    with pytest.raises(StoreUnavailable):
        await store.start_one_shot_run(samples.one_shot("o1"))
    assert (await store.load_run("o1")).run_id == "o1"


async def test_cues_are_met_in_order_and_can_be_taken_back(faulty: FaultyBackend) -> None:
    store = LocalStore(faulty)
    faulty.fail(None, Fault.BEFORE, Fault.BEFORE)
    await store.start_one_shot_run(samples.one_shot("o1"))
    with pytest.raises(StoreUnavailable):
        await store.start_one_shot_run(samples.one_shot("o2"))
    faulty.forget()
    await store.start_one_shot_run(samples.one_shot("o2"))
