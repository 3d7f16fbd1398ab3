"""Slices of records out of SQLite: those of a scope, or of runs, of which many are read with one statement."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Final

from actum.records.record import Record
from actum.storage.backend import RecordQuery, Slice
from actum.storage.slices import Room
from actum.storage.sqlite_reads import SQLiteFacts, scope_row
from actum.storage.sqlite_rows import RECORD_COLUMNS, Row, digest_of, named, records_in, type_number

# So many runs are read with one statement.
_TOGETHER: Final = 32


def records_of(connection: sqlite3.Connection, facts: SQLiteFacts, query: RecordQuery) -> Slice:
    """A slice of one scope's records; empty for a scope that is not there."""
    where = scope_row(connection, query.scope)
    if where is None:
        return Slice((), more=False, last=0)
    scope, last = where
    room = Room(query)
    rows, names = list[Row](), list[Iterable[Record]]()
    if query.runs is None:
        statement, values = record_statement(query)
        rows = room.take(connection.execute(statement, (scope, *values)))
        names.append(_each(rows, _named(connection, rows, query.scope.session_id)))
    else:
        for runs in _together(facts, query, scope):
            statement, values = record_statement(query, len(runs))
            theirs = room.take(connection.execute(statement, (*runs, *values)))
            rows += theirs
            names.append(_each(theirs, runs))
            if room.full:
                break
    digest = digest_of(query.scope.session_id, query.scope.root_run_id)
    return Slice(tuple(records_in(rows, chain.from_iterable(names), digest)), more=room.full, last=last)


def _each(rows: Sequence[Row], runs: Mapping[int, Record]) -> Iterable[Record]:
    """The names of each row's run, whose integer stands last in the row unless all are of one."""
    if len(runs) == 1:
        (run,) = runs.values()
        return repeat(run, len(rows))
    return [runs[row[-1]] for row in rows]


def _together(facts: SQLiteFacts, query: RecordQuery, scope: int) -> Iterator[dict[int, Record]]:
    """The runs asked for, as many together as one statement reads in their order: their names by their integers.

    A run has a greater integer than those before it in its chain; where one has not, a new statement begins with it.
    Runs that are still to be walked to (an iterator) come one by one: none is asked for before its turn.
    """
    alone = query.backwards or not isinstance(query.runs, Sequence)
    runs: dict[int, Record] = {}
    newest = 0
    for run_id in query.runs or ():
        names = facts.names(run_id)
        if names is None or names[1] != scope:
            continue
        if runs and names[0] <= newest:
            yield runs
            runs = {}
        newest = names[0]
        runs[newest] = named(run_id, names[2], query.scope.session_id)
        if alone or len(runs) == _TOGETHER:
            yield runs
            runs = {}
    if runs:
        yield runs


def _named(connection: sqlite3.Connection, rows: Sequence[Row], session_id: str | None) -> dict[int, Record]:
    """The names of the runs whose integers stand last in these rows."""
    names: dict[int, Record] = {}
    for run in {row[-1] for row in rows}:
        for run_id, agent_id in connection.execute("SELECT run_id, agent_id FROM runs WHERE run = ?", (run,)):
            names[run] = named(run_id, agent_id, session_id)
    return names


def record_statement(query: RecordQuery, runs: int = 1) -> tuple[str, list[int | str]]:
    """The statement for a slice and its values but the first: the integers of so many runs, or of the scope.

    Of the scope, or of several runs, each row ends with its run's integer.
    """
    values: list[int | str] = [query.after]
    terms = ["c.position > ?"]
    if query.before is not None:
        terms.append("c.position < ?")
        values.append(query.before)
    if query.types is not None:
        numbers = [type_number(name) for name in dict.fromkeys(query.types)]
        terms.append(f"c.type IN ({', '.join('?' * len(numbers))})")
        values.extend(numbers)
    values.append(query.limit + 1)
    where, way = " AND ".join(terms), "DESC" if query.backwards else "ASC"
    if query.runs is None:
        return (
            # On a damaged file a run's row may be missing: its records are passed over, and `verify` finds the gap.
            f"SELECT {RECORD_COLUMNS}, r.run FROM records AS c INDEXED BY records_by_position "  # noqa: S608 - every part is written here
            f"CROSS JOIN runs AS r ON r.run = c.run WHERE c.scope = ? AND {where} ORDER BY c.position {way} LIMIT ?"
        ), values
    if runs == 1:
        return (
            f"SELECT {RECORD_COLUMNS} FROM records AS c INDEXED BY records_by_run "  # noqa: S608 - as above
            f"WHERE c.run = ? AND {where} ORDER BY c.position {way} LIMIT ?"
        ), values
    return (
        f"SELECT {RECORD_COLUMNS}, c.run FROM records AS c INDEXED BY records_by_run "  # noqa: S608 - as above
        f"WHERE c.run IN ({', '.join('?' * runs)}) AND {where} ORDER BY c.run {way}, c.position {way} LIMIT ?"
    ), values
