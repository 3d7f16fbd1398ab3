"""Commands that differ from a given one: in one field, or in the key of the record that proves them."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeAlias, TypeVar

from actum.base.value import Value, replace
from actum.lifecycle import commands as c
from actum.records.record import Follows, HistoryRef, NewRecord

Proved: TypeAlias = (
    c.RootRunStart
    | c.ChildRunStart
    | c.OneShotRunStart
    | c.OneShotChildRunStart
    | c.AppendRunRecords
    | c.RunCancellation
    | c.RunSuspension
    | c.RunTerminal
    | c.RepairRunSuspension
    | c.RepairRunTerminal
)
P = TypeVar("P", bound=Value)

# What stands in for a field that the command leaves out.
_IN_PLACE_OF_NONE: Final[dict[str, object]] = {
    "turn_id": "turn-x",
    "tenant": "tenant-x",
    "session_id": "session-x",
    "parent_run_id": "run-x",
    "predecessor_run_id": "run-x",
    "history": HistoryRef(run_id="run-x", through="0123456789abcdef-1"),
    "follows": Follows(),
    "expected": "owner-x",
}


def changed_in_one_field(value: P, path: str = "") -> Iterator[tuple[str, P]]:
    """Every value that differs from this one in one field, however deep, with the path of that field."""
    for name in value.__struct_fields__:
        before = getattr(value, name)
        where = f"{path}.{name}" if path else name
        if isinstance(before, Value):
            inside = changed_in_one_field(before, where)
            yield from ((deeper, replace(value, **{name: other})) for deeper, other in inside)
        elif isinstance(before, tuple):
            for n, item in enumerate(before):
                for deeper, other in changed_in_one_field(item, f"{where}[{n}]"):
                    yield deeper, replace(value, **{name: (*before[:n], other, *before[n + 1 :])})
        elif (after := _another(name, before)) is not None:
            yield where, replace(value, **{name: after})


def _another(name: str, value: object) -> object:
    match value:
        case None:
            return _IN_PLACE_OF_NONE.get(name)
        case bool():
            return not value
        case Enum():
            return next(each for each in type(value) if each is not value)
        case int():
            return value + 1
        case str():
            return f"{value}x" if name != "type" else "x.another"
        case bytes():
            return value + b" "
        case datetime():
            return value + timedelta(seconds=1)
        case dict():
            return {**value, "changed": "x"}
        case _:
            raise TypeError(f"no other value for {name}: {value!r}")


def under_key(command: Proved, key: str) -> Proved:
    """The same change, proved by a record under another key."""
    match command:
        case c.RepairRunSuspension():
            inside = command.suspension
            return replace(command, suspension=replace(inside, record=_keyed(inside.record, key)))
        case c.RepairRunTerminal():
            return replace(command, terminal=replace(command.terminal, record=_keyed(command.terminal.record, key)))
        case c.RunCancellation() | c.RunSuspension() | c.RunTerminal():
            return replace(command, record=_keyed(command.record, key))
        case c.AppendRunRecords():
            return replace(command, records=(_keyed(command.records[0], key), *command.records[1:]))
        case _:
            return replace(command, started=_keyed(command.started, key))


def _keyed(record: NewRecord, key: str) -> NewRecord:
    return replace(record, event_key=key)
