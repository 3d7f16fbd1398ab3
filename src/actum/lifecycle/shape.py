"""What a command must be before anything is read: its form, its bounds, and that its records say what it says.

`checked` gives the command back in its exact form. Everything here is refused as InvalidValue or TooLarge, and can be
judged without looking at a single stored fact.
"""

from collections.abc import Sequence
from typing import TypeVar, assert_never

from actum.base.checks import refuse
from actum.base.errors import TooLarge
from actum.base.limits import COMMAND_BYTES, COMMAND_RECORDS
from actum.base.value import Value, conform, load
from actum.lifecycle import commands as c
from actum.lifecycle.states import ENGINE_CANCELED, SESSION_ENDED, RunStatus
from actum.records.kinds import (
    CancellationIntent,
    ChildRunLinked,
    RunCompleted,
    RunStarted,
    RunSuspended,
    check_payload,
)
from actum.records.record import NewRecord
from actum.records.types import LIFECYCLE_TYPES, RecordType

V = TypeVar("V", bound=Value)


def checked(command: c.Command) -> c.Command:
    """The command in its exact form. Raises InvalidValue or TooLarge, naming the field."""
    command = conform(command)
    match command:
        case c.AppendRunRecords(records=records):  # first: most commands are appends
            _appends(records)
        case c.RootRunStart() | c.ChildRunStart() | c.OneShotRunStart() | c.OneShotChildRunStart():
            _start(command)
        case c.RunCancellation():
            _cancellation(command)
        case c.RunSuspension():
            _suspension(command)
        case c.RepairRunSuspension(suspension=suspension):
            _suspension(suspension)
        case c.RunTerminal():
            _terminal(command)
        case c.RepairRunTerminal(terminal=terminal):
            _terminal(terminal)
        case c.Advance():
            if (command.session_id is None) == (command.root_run_id is None):
                raise refuse("session_id", command.session_id, "is given exactly when root_run_id is not")
        case c.TakeRun() | c.CreateSession() | c.SetSessionMetadata() | c.EndSession():
            pass
        case c.PurgeSession() | c.PurgeOneShot():
            pass
        case _:
            assert_never(command)
    return command


def payload(record: NewRecord, kind: type[V]) -> V:
    """The payload of a lifecycle record that `checked` has passed."""
    return load(kind, record.payload)


def _start(command: c.Start) -> None:
    run, started = command.run, command.started
    of_session = isinstance(command, c.RootRunStart | c.ChildRunStart)
    of_parent = isinstance(command, c.ChildRunStart | c.OneShotChildRunStart)
    _given("run.session_id", run.session_id, wanted=of_session)
    _given("run.parent_run_id", run.parent_run_id, wanted=of_parent)
    if of_session or of_parent:
        _given("run.tenant", run.tenant, wanted=False)
    if not of_session:
        _given("run.predecessor_run_id", run.predecessor_run_id, wanted=False)
    if of_parent or not of_session or run.predecessor_run_id is not None:
        _given("run.follows", run.follows, wanted=False)
    if isinstance(command, c.OneShotRunStart):
        _given("run.history", run.history, wanted=False)
    if run.follows is not None and run.follows.supersede and run.follows.run_id is None:
        raise refuse("run.follows.run_id", None, "names the suspended head that is superseded")

    _of_start("started", started, run, RecordType.RUN_STARTED)
    says = payload(started, RunStarted)
    for name in ("parent_run_id", "predecessor_run_id", "history", "follows", "labels"):
        _agree(f"started payload.{name}", getattr(says, name), getattr(run, name))
    named: list[NewRecord] = [started]
    if isinstance(command, c.RootRunStart | c.ChildRunStart):
        _of_start("canceled", command.canceled, run, RecordType.RUN_COMPLETED)
        ends = payload(command.canceled, RunCompleted)
        _agree("canceled payload.status", ends.status, RunStatus.CANCELED)
        _agree("canceled payload.cancellation.reason", ends.cancellation and ends.cancellation.reason, SESSION_ENDED)
        _agree("canceled payload.labels", ends.labels, run.labels)
        named.append(command.canceled)
    if isinstance(command, c.ChildRunStart | c.OneShotChildRunStart):
        link = command.parent_linked
        _lifecycle("parent_linked", link, RecordType.CHILD_RUN_LINKED)
        _agree("parent_linked.run_id", link.run_id, run.parent_run_id)
        _agree("parent_linked.session_id", link.session_id, run.session_id)
        linked = payload(link, ChildRunLinked)
        _agree("parent_linked payload.child_run_id", linked.child_run_id, run.run_id)
        _agree("parent_linked payload.child_agent_id", linked.child_agent_id, run.agent_id)
        named.append(link)
    for i, record in enumerate(command.records):
        for name in ("run_id", "agent_id", "session_id"):
            _agree(f"records[{i}].{name}", getattr(record, name), getattr(run, name))
    _together(command.records, named)


def _of_start(path: str, record: NewRecord, run: c.RunStart, kind: RecordType) -> None:
    _lifecycle(path, record, kind)
    for name in ("run_id", "agent_id", "session_id"):
        _agree(f"{path}.{name}", getattr(record, name), getattr(run, name))
    _agree(f"{path}.timestamp", record.timestamp, run.started_at)


def _appends(records: tuple[NewRecord, ...]) -> None:
    if not records:
        raise refuse("records", records, "holds at least one record")
    for i, record in enumerate(records[1:], 1):
        _agree(f"records[{i}].run_id", record.run_id, records[0].run_id)
    _together(records, ())


def _cancellation(command: c.RunCancellation) -> None:
    if command.reason == ENGINE_CANCELED:
        raise refuse("reason", command.reason, "is a caller's own reason; an engine's cancel has no intent")
    _lifecycle("record", command.record, RecordType.CANCELLATION_INTENT)
    _agree("record.run_id", command.record.run_id, command.run_id)
    _agree("record payload.reason", payload(command.record, CancellationIntent).reason, command.reason)


def _suspension(command: c.RunSuspension) -> None:
    _lifecycle("record", command.record, RecordType.RUN_SUSPENDED)
    if command.record.session_id is None:
        raise refuse("record.session_id", None, "names a session: a one-shot run cannot suspend")
    _ends(command)
    says = payload(command.record, RunSuspended)
    _agree("record payload.suspension_id", says.suspension_id, command.suspension.suspension_id)
    items = [item.item_id for item in says.pending]
    if len(set(items)) != len(items):
        raise refuse("record payload.pending", items, "names each item once")


def _terminal(command: c.RunTerminal) -> None:
    if command.status in (RunStatus.RUNNING, RunStatus.SUSPENDED):
        raise refuse("status", command.status, "is completed, failed or canceled")
    _lifecycle("record", command.record, RecordType.RUN_COMPLETED)
    _ends(command)
    _agree("record payload.status", payload(command.record, RunCompleted).status, command.status)


def _ends(command: c.RunSuspension | c.RunTerminal) -> None:
    _agree("record.run_id", command.record.run_id, command.run_id)
    for i, record in enumerate(command.records):
        _agree(f"records[{i}].run_id", record.run_id, command.run_id)
    _together(command.records, (command.record,))


def _lifecycle(path: str, record: NewRecord, kind: RecordType) -> None:
    _agree(f"{path}.type", record.type, kind)
    check_payload(record)


def _together(records: tuple[NewRecord, ...], proofs: Sequence[NewRecord]) -> None:
    """Ordinary records, no key twice, all within the bounds of one command."""
    every = (*proofs, *records) if proofs else records
    if len(every) > COMMAND_RECORDS:
        raise TooLarge(field="records", size=len(every), limit=COMMAND_RECORDS, unit="records")
    size = 0
    for record in every:
        size += len(record.payload)
    if size > COMMAND_BYTES:
        raise TooLarge(field="records", size=size, limit=COMMAND_BYTES)
    for i, record in enumerate(records):
        if record.type in LIFECYCLE_TYPES:
            raise refuse(
                f"records[{i}].type", record.type, "is no lifecycle type; those are stored by their operations"
            )
        check_payload(record)
    if len(every) == 1:
        return
    names = [(record.run_id, record.event_key) for record in every]
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise refuse("event_key", twice[1], "stands once in a command")


def _given(path: str, value: object, *, wanted: bool) -> None:
    if (value is not None) != wanted:
        raise refuse(
            path, value, "is given for this kind of start" if wanted else "is not given for this kind of start"
        )


def _agree(path: str, value: object, wanted: object) -> None:
    if value != wanted:
        raise refuse(path, value, f"equals what the command says: {wanted!r:.80}")
