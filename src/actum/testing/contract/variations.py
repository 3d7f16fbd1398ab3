"""The operations that leave a proof, each in a situation where it succeeds, and every single-field change of them."""

from collections.abc import Awaitable, Callable
from typing import Final

from actum.base.value import replace
from actum.lifecycle import commands as c
from actum.lifecycle.states import RunStatus
from actum.records.record import NewRecord
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.changes import Proved
from actum.testing.contract import scenes


async def _root(store: OwnedStore) -> Proved:
    await scenes.session(store)
    start = samples.root("r1", labels={"kind": "chat"})
    return scenes.with_records(start, *samples.notes(start, "a", "b"))


async def _follower(store: OwnedStore) -> Proved:
    head = await scenes.end(store, await scenes.head(store))
    return samples.following("r1", head)


async def _superseder(store: OwnedStore) -> Proved:
    head = await scenes.end(store, await scenes.head(store), RunStatus.SUSPENDED)
    return samples.following("r1", head, supersede=True)


async def _continuation(store: OwnedStore) -> Proved:
    return samples.continuation("r1", await scenes.suspended(store, "r0"))


async def _child(store: OwnedStore) -> Proved:
    return samples.child("r1", await scenes.running(store, "r0"), labels={"kind": "help"})


async def _one_shot(_: OwnedStore) -> Proved:
    start = samples.one_shot("o1")
    return replace(start, records=samples.notes(start, "a"))


async def _one_shot_child(store: OwnedStore) -> Proved:
    return samples.one_shot_child("o1", await scenes.one_shot(store, "o0"))


async def _append(store: OwnedStore) -> Proved:
    run = await scenes.running(store)
    return c.AppendRunRecords(records=(samples.said(run, "said", "hi"), samples.note(run, "noted")))


async def _cancellation(store: OwnedStore) -> Proved:
    return samples.cancellation(await scenes.running(store), "user_requested", by="somebody")


async def _suspension(store: OwnedStore) -> c.RunSuspension:
    run = await scenes.running(store)
    return samples.suspension(run, records=samples.notes(run, "a"))


async def _completion(store: OwnedStore) -> c.RunTerminal:
    run = await scenes.running(store, labels={"kind": "chat"})
    return samples.completed(run, records=samples.notes(run, "a", "b"))


async def _failure(store: OwnedStore) -> c.RunTerminal:
    return samples.failed(await scenes.running(store))


async def _canceled_end(store: OwnedStore) -> c.RunTerminal:
    return samples.canceled(await scenes.canceling(store))


async def _repaired_suspension(store: OwnedStore) -> Proved:
    return c.RepairRunSuspension(suspension=await _suspension(store))


async def _repaired_end(store: OwnedStore) -> Proved:
    return c.RepairRunTerminal(terminal=await _completion(store))


PROVED: Final[dict[str, Callable[[OwnedStore], Awaitable[Proved]]]] = {
    "root start": _root,
    "following start": _follower,
    "superseding start": _superseder,
    "continuation": _continuation,
    "child start": _child,
    "one-shot start": _one_shot,
    "one-shot child start": _one_shot_child,
    "append": _append,
    "cancellation": _cancellation,
    "suspension": _suspension,
    "completion": _completion,
    "failure": _failure,
    "canceled end": _canceled_end,
    "repaired suspension": _repaired_suspension,
    "repaired end": _repaired_end,
}


def subject(command: Proved) -> str:
    """The run that a command is about."""
    match command:
        case c.AppendRunRecords():
            return command.records[0].run_id
        case c.RepairRunSuspension():
            return command.suspension.run_id
        case c.RepairRunTerminal():
            return command.terminal.run_id
        case c.RunCancellation() | c.RunSuspension() | c.RunTerminal():
            return command.run_id
        case _:
            return command.run.run_id


async def finished(store: OwnedStore, run_id: str) -> None:
    """Brings a run to its end, if it has none."""
    run = await store.load_run(run_id)
    if run.status is RunStatus.RUNNING:
        reason = run.cancellation_reason
        status = RunStatus.CANCELED if reason else RunStatus.COMPLETED
        await store.record_run_terminal(samples.ending(run, status, reason=reason, key="the-end", seconds=30))


def more_records(command: Proved) -> Proved | None:
    """The same change with one more record beside it; None when it takes none."""
    extra = samples.NOTE
    match command:
        case c.RepairRunSuspension():
            inside = command.suspension
            return replace(command, suspension=replace(inside, records=(*inside.records, _beside(inside.record))))
        case c.RepairRunTerminal():
            end = command.terminal
            return replace(command, terminal=replace(end, records=(*end.records, _beside(end.record))))
        case c.RunSuspension() | c.RunTerminal():
            return replace(command, records=(*command.records, _beside(command.record)))
        case c.RunCancellation() | c.AppendRunRecords():
            return None
        case _:
            beside = replace(_beside(command.started), type=extra)
            return replace(command, records=(*command.records, beside))


def _beside(record: NewRecord) -> NewRecord:
    return replace(record, event_key="one-more", type=samples.NOTE, payload=b"{}")
