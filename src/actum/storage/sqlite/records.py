"""Slices of records out of SQLite: those of a scope, or of runs, of which many are read with one statement.

Records stand in the order of their positions within the scope. Those of a run stand from its first position to its end;
which of the records there are its own, the index tells.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, repeat
from operator import itemgetter
from typing import Final, TypeAlias

from actum.records.record import Record
from actum.storage.backend import UNENDED, PayloadSlice, RecordQuery, Slice
from actum.storage.slices import Room
from actum.storage.sqlite.chains import Span
from actum.storage.sqlite.facts import SQLiteFacts, scope_row
from actum.storage.sqlite.rows import RECORD_COLUMNS, Row, digest_of, named, records_in, type_names, type_number

# Runs by their ids whose records follow each other, the oldest first: one statement reads them in this order.
Runs: TypeAlias = Mapping[str, Span]

# So many runs are read with one statement.
_TOGETHER: Final = 32
# Passing over so many entries of the index costs no more than another statement.
_GAP: Final = 64
_PAYLOAD_COLUMNS: Final = "c.payload, c.position, c.type"


def records_of(connection: sqlite3.Connection, facts: SQLiteFacts, query: RecordQuery) -> Slice:
    """A slice of one scope's records; empty for a scope that is not there."""
    where = scope_row(connection, query.scope)
    if where is None:
        return Slice((), more=False, last=0)
    digest = digest_of(query.scope.session_id, query.scope.root_run_id)
    if query.runs is None:
        rows, names, more = _of_scope(connection, query, where[0])
        return Slice(tuple(_records(rows, names, digest)), more=more, last=where[1])
    records: list[Record] = []
    parts, more = _of_runs(connection, facts, query, where[0], RECORD_COLUMNS)
    for runs, rows in parts:
        names = {span.run: named(run_id, span.agent_id, query.scope.session_id) for run_id, span in runs.items()}
        records += _records(rows, names, digest)
    return Slice(tuple(records), more=more, last=where[1])


def payloads_of(connection: sqlite3.Connection, facts: SQLiteFacts, query: RecordQuery) -> PayloadSlice:
    """As `records_of`, of each record only its type and its payload."""
    where = scope_row(connection, query.scope)
    if where is None:
        return PayloadSlice((), (), more=False, through=None, last=0)
    if query.runs is None:
        room = Room(query)
        rows = room.take(connection.execute(*record_statement(query, where[0], columns=_PAYLOAD_COLUMNS, sound=False)))
        more = room.full
    else:
        parts, more = _of_runs(connection, facts, query, where[0], _PAYLOAD_COLUMNS)
        rows = [row for _, theirs in parts for row in theirs]
    types, payloads = type_names([row[2] for row in rows]), [row[0] for row in rows]
    return PayloadSlice(types, payloads, more=more, through=rows[-1][1] if rows else None, last=where[1])


def _records(rows: list[Row], names: Mapping[int, Record], digest: str) -> list[Record]:
    """Rows with the names of their runs, whose integers stand last in them unless all are of one run."""
    if len(names) == 1:
        return records_in(rows, repeat(next(iter(names.values())), len(rows)), digest)
    return records_in(rows, [names[row[-1]] for row in rows], digest)


def _of_scope(
    connection: sqlite3.Connection, query: RecordQuery, scope: int, *, sound: bool = True
) -> tuple[list[Row], dict[int, Record], bool]:
    """The rows of all runs, the names of those runs, and whether there are more rows."""
    room, names = Room(query), dict[int, Record]()
    rows = room.take(connection.execute(*record_statement(query, scope, sound=sound)))
    runs = {row[-1] for row in rows}
    for run in runs:
        for run_id, agent_id in connection.execute("SELECT run_id, agent_id FROM runs WHERE run = ?", (run,)):
            names[run] = named(run_id, agent_id, query.scope.session_id)
    if sound and len(names) < len(runs):
        # On a damaged file the row of a run may be missing: its records are passed over, and `verify` finds the gap.
        return _of_scope(connection, query, scope, sound=False)
    return rows, names, room.full


def _of_runs(
    connection: sqlite3.Connection,
    facts: SQLiteFacts,
    query: RecordQuery,
    scope: int,
    columns: str,
    most: int = _TOGETHER,
) -> tuple[list[tuple[Runs, list[Row]]], bool]:
    """The rows of some runs in parts, each with the runs that it was read for; and whether there are more rows."""
    room = Room(query)
    parts: list[tuple[Runs, list[Row]]] = []
    for runs in _together(facts, query, scope, most):
        rows = room.take(connection.execute(*record_statement(query, scope, runs, columns)))
        if len(runs) > 1 and _astray(runs, rows):
            return _of_runs(connection, facts, query, scope, columns, 1)
        parts.append((runs, rows))
        if room.full:
            break
    return parts, room.full


def _astray(runs: Runs, rows: Sequence[Row]) -> bool:
    """Whether a record stands behind its run's end, as on a damaged file; who reads that run alone never meets it."""
    ends = {span.run: span.ends for span in runs.values()}
    for run, theirs in groupby(rows, itemgetter(-1)):
        *_, last = theirs
        if last[1] > ends[run]:
            return True
    return False


def _together(facts: SQLiteFacts, query: RecordQuery, scope: int, most: int) -> Iterator[Runs]:
    """The runs asked for, at most so many together, and only such as one statement reads in their order.

    That is as long as each begins right behind the end of the one before it, as in most chains. Runs that are still to
    be walked to (an iterator) come one by one: none is asked for before its turn.
    """
    alone = query.backwards or not isinstance(query.runs, Sequence)
    runs: dict[str, Span] = {}
    ends = 0
    for run_id in query.runs or ():
        span = facts.span(run_id)
        if span is None or span.scope != scope:
            continue
        if runs and not ends < span.begins <= ends + _GAP:
            yield runs
            runs = {}
        runs[run_id] = span
        ends = span.ends
        if alone or len(runs) == most:
            yield runs
            runs = {}
    if runs:
        yield runs


def record_statement(
    query: RecordQuery, scope: int, runs: Runs | None = None, columns: str = RECORD_COLUMNS, *, sound: bool = True
) -> tuple[str, list[int | str]]:
    """The statement for a slice of one scope's records, all or those of these runs, and its values.

    Each row ends with its run's integer, unless there is one run. Where rows are not known to be `sound`, those of runs
    that are not there are passed over.
    """
    after, through = query.after, UNENDED if query.before is None else query.before - 1
    spans = () if runs is None else tuple(runs.values())
    if spans:
        after, through = max(after, spans[0].begins - 1), min(through, spans[-1].ends)
    values: list[int | str] = [scope, after, through]
    terms = ["c.scope = ? AND c.position > ? AND c.position <= ?"]
    if spans:
        terms.append(f"c.run IN ({', '.join('?' * len(spans))})" if len(spans) > 1 else "c.run = ?")
        values.extend([span.run for span in spans])
    if query.types is not None:
        numbers = [type_number(name) for name in dict.fromkeys(query.types)]
        terms.append(f"c.type IN ({', '.join('?' * len(numbers))})")
        values.extend(numbers)
    if not sound:
        terms.append("EXISTS (SELECT 1 FROM runs AS r WHERE r.run = c.run)")
    values.append(query.limit + 1)
    if len(spans) != 1:
        columns = f"{columns}, c.run"
    way = "DESC" if query.backwards else "ASC"
    return (
        f"SELECT {columns} FROM records AS c INDEXED BY records_by_position "  # noqa: S608 - every part is written here
        f"WHERE {' AND '.join(terms)} ORDER BY c.position {way} LIMIT ?"
    ), values
