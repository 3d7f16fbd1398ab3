"""What each command locks and reads. Naming a row here is all that a rule must do to be shown it."""

from typing import assert_never

from actum.lifecycle import commands as c
from actum.lifecycle.change import Keys, Scope
from actum.records.record import NewRecord


def keys_of(command: c.Command) -> Keys:  # noqa: PLR0911 - one case a command
    """The scope, rows and stored records that `decide` needs for this command."""
    match command:
        case c.AppendRunRecords(records=records):  # first: most commands are appends
            run_id = records[0].run_id
            return Keys(scope_of=run_id, runs=(run_id,), records=_names(records))
        case c.RootRunStart() | c.ChildRunStart() | c.OneShotRunStart() | c.OneShotChildRunStart():
            return _start(command)
        case c.RunCancellation(run_id=run_id, record=record):
            return Keys(scope_of=run_id, runs=(run_id,), records=_names((record,)))
        case c.RunSuspension() | c.RunTerminal():
            return _stop(command)
        case c.RepairRunSuspension(suspension=stop) | c.RepairRunTerminal(terminal=stop):
            return _stop(stop)
        case c.TakeRun(run_id=run_id):
            return Keys(scope_of=run_id, runs=(run_id,))
        case c.CreateSession(session_id=name) | c.SetSessionMetadata(session_id=name) | c.EndSession(session_id=name):
            return Keys(scope=Scope(session_id=name))
        case c.PurgeSession(session_id=name):
            return Keys(scope=Scope(session_id=name), running=True)
        case c.PurgeOneShot(run_id=run_id):
            return Keys(scope_of=run_id, runs=(run_id,), running=True)
        case c.Advance(consumer=consumer, session_id=session_id, root_run_id=root):
            scope = Scope(session_id=session_id, root_run_id=root)
            return Keys(scope=scope, runs=(root,) if root else (), consumer=consumer)
        case _:
            assert_never(command)


def _start(command: c.Start) -> Keys:
    run = command.run
    candidates: tuple[NewRecord, ...] = (command.started, *command.records)
    if isinstance(command, c.RootRunStart | c.ChildRunStart):
        candidates = (*candidates, command.canceled)
    if isinstance(command, c.ChildRunStart | c.OneShotChildRunStart):
        candidates = (*candidates, command.parent_linked)
    named = (run.run_id, run.parent_run_id, run.predecessor_run_id, run.history.run_id if run.history else None)
    one_shot_child = isinstance(command, c.OneShotChildRunStart)
    root = run.run_id if isinstance(command, c.OneShotRunStart) else None
    return Keys(
        scope=None if one_shot_child else Scope(session_id=run.session_id, root_run_id=root),
        scope_of=run.parent_run_id if one_shot_child else None,
        runs=tuple(dict.fromkeys(name for name in named if name is not None)),
        parents_of=(run.predecessor_run_id,) if run.predecessor_run_id else (),
        records=_names(candidates),
    )


def _stop(command: c.RunSuspension | c.RunTerminal) -> Keys:
    run_id = command.run_id
    suspends = isinstance(command, c.RunSuspension)
    return Keys(
        scope_of=run_id,
        runs=(run_id,),
        records=_names((command.record, *command.records)),
        suspension_of=run_id if suspends else None,
    )


def _names(records: tuple[NewRecord, ...]) -> tuple[tuple[str, str], ...]:
    return tuple([(record.run_id, record.event_key) for record in records])
