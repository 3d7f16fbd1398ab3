"""The rules' one door: which rule judges which command."""

from typing import assert_never

from actum.lifecycle import appends, sessions, starts, stops
from actum.lifecycle import commands as c
from actum.lifecycle.change import Change, Seen


def decide(command: c.Command, seen: Seen) -> Change:  # noqa: C901, PLR0911 - one case a command, nothing else
    """What this command changes, given these facts. Raises a ContractError when the rules refuse it."""
    match command:
        case c.AppendRunRecords():  # first: most commands are appends
            return appends.append(command, seen)
        case c.RootRunStart() | c.ChildRunStart() | c.OneShotRunStart() | c.OneShotChildRunStart():
            return starts.start(command, seen)
        case c.RunCancellation():
            return stops.cancel(command, seen)
        case c.RunSuspension() | c.RunTerminal():
            return stops.stop(command, seen)
        case c.RepairRunSuspension(suspension=stop) | c.RepairRunTerminal(terminal=stop):
            return stops.repair(stop, seen)
        case c.TakeRun():
            return sessions.take(command, seen)
        case c.CreateSession():
            return sessions.create(command, seen)
        case c.SetSessionMetadata():
            return sessions.set_metadata(command, seen)
        case c.EndSession():
            return sessions.end(command, seen)
        case c.PurgeSession():
            return sessions.purge(command, seen)
        case c.PurgeOneShot():
            return sessions.purge_one_shot(command, seen)
        case c.Advance():
            return sessions.advance(command, seen)
        case _:
            assert_never(command)
