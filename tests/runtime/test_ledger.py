"""A journal is read on; what this process stored itself is known without reading, if nothing of others is between."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import pytest

from actum.base.clock import SystemClock
from actum.base.errors import RecordConflict
from actum.base.value import replace
from actum.lifecycle.commands import Appended
from actum.lifecycle.states import Run
from actum.loop.journal import Journal
from actum.records.makers import usage
from actum.records.record import NewRecord
from actum.records.types import RecordType
from actum.runtime.ledger import Ledger, OpenRun
from actum.storage.backend import Backend, View
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing import samples
from tests.support.frail import Gate
from tests.support.scenario import begun

T = TypeVar("T")


class SlowReads(MemoryBackend):
    """A backend whose next read has its answer and does not give it before the gate is open."""

    gate: Gate | None = None

    async def read(self, work: Callable[[View], T]) -> T:
        """The read."""
        answer = await super().read(work)
        gate, self.gate = self.gate, None
        if gate is not None:
            await gate.passed()
        return answer


class Told:
    """A run that one ledger works on, and what others store beside it."""

    def __init__(self, store: OwnedStore, backend: Backend, run: Run) -> None:
        self.store, self.run = store, run
        self.ledger = Ledger(LocalStore(backend), SystemClock(), lambda _run, _session: None)

    def used(self, step: int) -> NewRecord:
        """A record of the run that its journal shows."""
        payload = usage(model="m", step=step)
        return samples.record(self.run, f"u{step}", type=RecordType.USAGE, payload=payload)

    async def elsewhere(self, step: int) -> None:
        """Another process stores something of the run."""
        await self.store.append_run_record(self.used(step))


@pytest.fixture
def backend() -> SlowReads:
    return SlowReads()


@pytest.fixture
async def told(backend: SlowReads) -> Told:
    store = await begun(backend)
    started = await store.start_root_run(samples.root("r1", "s1"))
    return Told(store, backend, started.run)


def steps(here: OpenRun) -> list[int]:
    return [each.step for each in here.journal.usage]


async def folded_alone(told: Told) -> Journal:
    """The journal as somebody reads it who has it from the store alone."""
    other = Ledger(told.store, SystemClock(), lambda _run, _session: None)
    return (await other.open("r1")).journal


async def test_what_was_stored_here_is_known_at_once(told: Told) -> None:
    here = await told.ledger.open("r1")
    await told.ledger.append(here, [told.used(0), told.used(1)])
    assert steps(here) == [0, 1]
    assert here.current
    assert here.journal == await folded_alone(told)


async def test_one_who_goes_on_after_a_write_of_his_own_reads_nothing_once(told: Told) -> None:
    here = await told.ledger.open("r1")
    await told.ledger.append(here, [told.used(0)])
    await told.elsewhere(1)
    assert steps(await told.ledger.resume("r1")) == [0]
    assert steps(await told.ledger.resume("r1")) == [0, 1]


async def test_what_others_stored_before_a_write_is_read_before_it(told: Told) -> None:
    here = await told.ledger.open("r1")
    await told.elsewhere(0)
    await told.ledger.append(here, [told.used(1)])
    assert not here.current
    assert steps(here) == []
    assert steps(await told.ledger.resume("r1")) == [0, 1]
    assert here.journal == await folded_alone(told)


async def test_a_record_that_was_stored_before_is_not_known_twice(told: Told) -> None:
    here = await told.ledger.open("r1")
    await told.ledger.append(here, [told.used(0)])
    await told.ledger.append(here, [told.used(0), told.used(1)])
    assert not here.current
    assert steps(await told.ledger.resume("r1")) == [0, 1]


async def test_a_refused_write_is_not_known(told: Told) -> None:
    here = await told.ledger.open("r1")
    await told.ledger.append(here, [told.used(0)])
    with pytest.raises(RecordConflict):
        await told.ledger.append(here, [replace(told.used(0), turn_id="other")])
    assert steps(await told.ledger.open("r1")) == [0]


async def test_a_reading_that_is_under_way_reads_each_record_once(told: Told, backend: SlowReads) -> None:
    here = await told.ledger.open("r1")
    held = backend.gate = Gate()
    reading = asyncio.create_task(told.ledger.open("r1"))
    await held.reached.wait()
    await told.ledger.append(here, [told.used(0)])
    held.opened.set()
    assert steps(await reading) == []
    assert steps(await told.ledger.open("r1")) == [0]


async def test_a_run_that_was_started_here_is_known_from_its_start(told: Told) -> None:
    start = samples.root("r2", "s1")
    command = replace(start, records=(samples.note(start.run, "n1"),))
    started = await told.store.start_root_run(command)
    told.ledger.adopt(started.run, (command.started, *command.records), (started.started, *started.records))
    here = await told.ledger.resume("r2")
    assert here.run == started.run
    assert here.journal.started is not None
    assert here.journal.cursor == started.records[-1].id


async def test_a_start_with_a_gap_is_read(told: Told) -> None:
    start = samples.root("r2", "s1")
    command = replace(start, records=(samples.note(start.run, "n1"),))
    started = await told.store.start_root_run(command)
    apart = (started.started, Appended(id=f"{started.started.id}0", inserted=True))
    told.ledger.adopt(started.run, (command.started, *command.records), apart)
    assert not told.ledger.is_open("r2")
    assert (await told.ledger.resume("r2")).journal.cursor == started.records[-1].id
