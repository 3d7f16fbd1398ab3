"""The reader of histories sees every kind of damage that it promises to see."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace as with_fields

import pytest

from actum.base.value import replace
from actum.lifecycle.states import Run, RunStatus, Session
from actum.records.record import Record
from actum.storage.opening import open_store
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.history import Kept, findings, lost, read_everything


@pytest.fixture
async def kept() -> AsyncIterator[Kept]:
    """A session with a chain of three, a child, a canceled run and a stop."""
    async with open_store("memory:") as store:
        head = await scenes.head(store, "h1")
        child = await store.start_child_run(samples.child("c1", head))
        await scenes.end(store, child.run)
        waiting = await scenes.end(store, head, RunStatus.SUSPENDED)
        on = (await store.start_root_run(samples.continuation("h2", waiting))).run
        await store.append_run_records(samples.notes(on, "a", "b"))
        done = await scenes.end(store, on)
        asked = (await store.start_root_run(samples.following("h3", done))).run
        asked = (await store.record_run_cancellation(samples.cancellation(asked))).run
        await scenes.end(store, asked, RunStatus.CANCELED)
        await scenes.suspended(store, "w1")
        await store.end_session("s1", samples.at(60))
        await store.start_root_run(samples.root("late"))
        yield await read_everything(store)


def changed_run(kept: Kept, run_id: str, **fields: object) -> Kept:
    runs = tuple(replace(run, **fields) if run.run_id == run_id else run for run in kept.runs)
    return with_fields(kept, runs=runs)


def changed_records(kept: Kept, change: Callable[[list[Record]], list[Record]]) -> Kept:
    return with_fields(kept, records={scope: tuple(change(list(each))) for scope, each in kept.records.items()})


def of_key(key: str) -> Callable[[list[Record]], list[Record]]:
    return lambda records: [each for each in records if each.event_key != key]


def swapped(records: list[Record]) -> list[Record]:
    return [records[1], records[0], *records[2:]]


def doubled(records: list[Record]) -> list[Record]:
    return [*records, records[-1]]


def headed(kept: Kept, head: str) -> Kept:
    sessions: tuple[Session, ...] = tuple(replace(each, head_run_id=head) for each in kept.sessions)
    return with_fields(kept, sessions=sessions)


DAMAGE: dict[str, Callable[[Kept], Kept]] = {
    "a lost record": lambda kept: changed_records(kept, of_key("a")),
    "a lost last record": lambda kept: changed_records(kept, lambda records: records[:-1]),
    "a doubled record": lambda kept: changed_records(kept, doubled),
    "another order": lambda kept: changed_records(kept, swapped),
    "a lost link": lambda kept: changed_records(kept, of_key("link:c1")),
    "a lost run": lambda kept: with_fields(kept, runs=tuple(run for run in kept.runs if run.run_id != "h2")),
    "a lost child": lambda kept: with_fields(kept, runs=tuple(run for run in kept.runs if run.run_id != "c1")),
    "a doubled run": lambda kept: with_fields(kept, runs=(*kept.runs, kept.runs[0])),
    "a running run that ended": lambda kept: changed_run(kept, "h2", status=RunStatus.RUNNING),
    "another end": lambda kept: changed_run(kept, "h2", status=RunStatus.FAILED),
    "another end record": lambda kept: changed_run(kept, "h2", end_record_id=kept.run("h1").end_record_id),
    "another end time": lambda kept: changed_run(kept, "h2", ended_at=samples.at(777)),
    "another change time": lambda kept: changed_run(kept, "h2", updated_at=samples.at(777)),
    "another label": lambda kept: changed_run(kept, "h2", labels={"kind": "x"}),
    "another reason": lambda kept: changed_run(kept, "h3", cancellation_reason="boredom"),
    "a reason out of nowhere": lambda kept: changed_run(kept, "h2", cancellation_reason="boredom"),
    "a stop that lost its reason": lambda kept: changed_run(kept, "late", cancellation_reason=None),
    "a stop that proceeded": lambda kept: changed_run(kept, "late", start_outcome="proceed"),
    "a lost checkpoint": lambda kept: with_fields(kept, checkpoints={}),
    "a lost successor": lambda kept: changed_run(kept, "h1", successor_run_id=None),
    "two successors": lambda kept: changed_run(kept, "w1", successor_run_id="h2"),
    "another chain": lambda kept: changed_run(kept, "h2", chain_id="h2"),
    "another parent": lambda kept: changed_run(kept, "c1", parent_run_id="h2"),
    "another call": lambda kept: changed_run(kept, "c1", tool_call_id="call-9"),
    "a head that is not there": lambda kept: headed(kept, "nobody"),
    "a head that is a child": lambda kept: headed(kept, "c1"),
    "a head that never went on": lambda kept: headed(kept, "late"),
}


async def test_a_sound_history_has_no_findings(kept: Kept) -> None:
    assert findings(kept) == []


@pytest.mark.parametrize("damage", DAMAGE)
async def test_damage_is_found(kept: Kept, damage: str) -> None:
    assert findings(DAMAGE[damage](kept)) != []


async def test_what_was_acknowledged_and_is_not_there_is_lost(kept: Kept) -> None:
    run: Run = kept.run("h2")
    acknowledged = {(each.run_id, each.event_key): each.id for each in kept.of(run)}
    assert lost(kept, acknowledged) == []
    assert len(lost(changed_records(kept, of_key("a")), acknowledged)) == 1
    assert len(lost(kept, acknowledged | {("h2", "never"): "0123456789abcdef-1"})) == 1
    assert len(lost(kept, acknowledged | {("h2", "a"): "0123456789abcdef-1"})) == 1
