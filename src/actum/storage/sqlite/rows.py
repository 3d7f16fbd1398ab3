"""Rows of SQLite to values and back.

What is stored was checked when it was written, so nothing is checked again. A row of which no value can be made is
damaged: that is a DurableDataError, which names the row and the field that it does not fit.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from actum.base.clock import EPOCH, from_millis, to_millis
from actum.base.errors import DurableDataError, shortened
from actum.base.value import instants, replace
from actum.lifecycle.change import Placed, RunRow, SessionRow
from actum.lifecycle.states import Run, RunStatus, Session, SessionStatus, StartOutcome
from actum.records.record import HistoryRef, Record, position_in, record_id, scope_digest
from actum.records.types import RecordType
from actum.storage.sqlite.damage import UNFIT, Column, flaw_in

Row: TypeAlias = tuple[Any, ...]

# The numbers stand in files: a new type takes the next one, and none is ever given another meaning.
TYPE_NUMBERS: Final[dict[str, int]] = {
    RecordType.RUN_STARTED: 1,
    RecordType.RUN_SUSPENDED: 2,
    RecordType.RUN_COMPLETED: 3,
    RecordType.CHILD_RUN_LINKED: 4,
    RecordType.CANCELLATION_INTENT: 5,
    RecordType.TRANSCRIPT_MESSAGES_SEEDED: 6,
    RecordType.TRANSCRIPT_MESSAGES_APPENDED: 7,
    RecordType.RUN_REQUESTED: 8,
    RecordType.RUN_PHASE_CHANGED: 9,
    RecordType.PLAN_DECIDED: 10,
    RecordType.MODEL_RESPONDED: 11,
    RecordType.TOOL_CALL_SCHEDULED: 12,
    RecordType.TOOL_CALL_STARTED: 13,
    RecordType.TOOL_RESULT_RECEIVED: 14,
    RecordType.TOOL_AUTHORIZATION: 15,
    RecordType.INPUT_REQUESTED: 16,
    RecordType.INPUT_ANSWERED: 17,
    RecordType.TURN_SUPERSEDED: 18,
    RecordType.PROMPT_RENDERED: 19,
    RecordType.HISTORY_COMPRESSED: 20,
    RecordType.POLICY_DECISION: 21,
    RecordType.PLANNER_NOTE: 22,
    RecordType.USAGE: 23,
}


class _TypeNames(dict[int | str, str]):
    """The types by what stands in a row: their numbers, and any other type as its own text."""

    def __missing__(self, kind: int | str) -> str:
        if isinstance(kind, str):
            return kind
        # A number that no version gave a meaning is a damaged row, never a type.
        raise KeyError(kind)


_TYPE_NAMES: Final = _TypeNames({number: str(name) for name, number in TYPE_NUMBERS.items()})

_RUN_STATUS: Final = {status.value: status for status in RunStatus}
_SESSION_STATUS: Final = {status.value: status for status in SessionStatus}
_OUTCOME: Final = {outcome.value: outcome for outcome in StartOutcome}

RUN_COLUMNS: Final = (
    "r.run, r.scope, s.session_id, s.root_run_id, "
    "r.run_id, r.agent_id, r.tenant, r.parent_run_id, r.tool_call_id, r.predecessor_run_id, r.successor_run_id, "
    "r.chain_id, r.history_run_id, r.history_through, r.status, r.start_outcome, r.started, r.ended, r.end_position, "
    "r.updated, r.labels, r.cancellation_reason, r.owner, r.start_key, r.link_key, r.cancel_key, r.end_key, r.awaiting"
)
# The last position of the scope `s`.
LAST_POSITION: Final = "ifnull((SELECT max(position) FROM records WHERE scope = s.scope), 0)"
SESSION_COLUMNS: Final = (
    "e.tenant, e.status, e.created, e.ended, e.metadata, e.head_run_id, e.created_digest, e.session_id"
)
RECORD_COLUMNS: Final = "c.payload, c.position, c.type, c.turn_id, c.timestamp, c.event_key"

WRITTEN_RUN: Final = (
    "scope, run_id, agent_id, tenant, parent_run_id, tool_call_id, predecessor_run_id, successor_run_id, chain_id, "
    "history_run_id, history_through, status, start_outcome, started, ended, end_position, updated, labels, "
    "cancellation_reason, owner, start_key, link_key, cancel_key, end_key, awaiting"
)
WRITTEN_SESSION: Final = "scope, session_id, tenant, status, created, ended, metadata, head_run_id, created_digest"
WRITTEN_RECORD: Final = "scope, position, run, type, timestamp, event_key, turn_id, payload"


@lru_cache(maxsize=4096)
def digest_of(session_id: str | None, root_run_id: str | None) -> str:
    """The scope's name inside record ids; hashing it once a scope is enough."""
    return scope_digest(session_id=session_id, root_run_id=root_run_id)


def type_names(stored: Iterable[int | str]) -> list[str]:
    """The record types that are stored so. Raises DurableDataError for a number that is none."""
    try:
        return [_TYPE_NAMES[each] for each in stored]
    except KeyError as error:
        raise DurableDataError(path="type", rule=f"{_IS_TYPE}, not {shortened(error.args[0])}") from error


def type_number(name: str) -> int | str:
    """How a record type is stored: its number, or its own text."""
    return TYPE_NUMBERS.get(name, name)


def run_of(row: Row) -> RunRow:
    """A row of RUN_COLUMNS as a value. Raises DurableDataError for a damaged one."""
    try:
        return _run(row)
    except UNFIT as error:
        flaw = flaw_in(row, _RUN_READ)
        if flaw is None:
            raise
        raise DurableDataError(run_id=row[4], path=flaw.path, rule=flaw.rule) from error


def _run(row: Row) -> RunRow:
    session_id, root_run_id = row[2:4]
    run_id, agent_id, tenant, parent_run_id, tool_call_id, predecessor_run_id, successor_run_id, chain_id = row[4:12]
    history_run_id, history_through, status, outcome, started, ended, end_position, updated, labels = row[12:21]
    cancellation_reason, owner, start_key, link_key, cancel_key, end_key, awaiting = row[21:]
    started_at = from_millis(started)
    run = Run(
        run_id=run_id,
        agent_id=agent_id,
        session_id=session_id,
        tenant=tenant,
        parent_run_id=parent_run_id,
        tool_call_id=tool_call_id,
        predecessor_run_id=predecessor_run_id,
        successor_run_id=successor_run_id,
        chain_id=chain_id or run_id,
        history=None if history_run_id is None else HistoryRef(run_id=history_run_id, through=history_through),
        status=_RUN_STATUS[status],
        start_outcome=_OUTCOME[outcome],
        started_at=started_at,
        ended_at=None if ended is None else from_millis(ended),
        end_record_id=None if end_position is None else record_id(digest_of(session_id, root_run_id), end_position),
        updated_at=started_at if updated == started else from_millis(updated),
        labels={} if labels is None else _entries(labels),
        cancellation_reason=cancellation_reason,
        owner=owner,
    )
    return RunRow(
        run,
        root_run_id,
        start_key,
        link_key,
        cancel_key,
        end_key,
        () if awaiting is None else _kinds(awaiting),
    )


def session_of(row: Row) -> SessionRow:
    """A row of SESSION_COLUMNS as a value. Raises DurableDataError for a damaged one."""
    try:
        return _session(row)
    except UNFIT as error:
        flaw = flaw_in(row, _SESSION_READ)
        if flaw is None:
            raise
        raise DurableDataError(path=f"sessions[{shortened(row[7])}].{flaw.path}", rule=flaw.rule) from error


def _session(row: Row) -> SessionRow:
    tenant, status, created, ended, metadata, head_run_id, created_digest, session_id = row
    session = Session(
        session_id=session_id,
        tenant=tenant,
        status=_SESSION_STATUS[status],
        created_at=from_millis(created),
        ended_at=None if ended is None else from_millis(ended),
        metadata={} if metadata is None else _entries(metadata),
        head_run_id=head_run_id,
    )
    return SessionRow(session, created_digest)


def named(run_id: str, agent_id: str, session_id: str | None) -> Record:
    """The names that all records of one run share, as a record of which nothing else is filled in."""
    return Record(
        id="",
        event_key="",
        run_id=run_id,
        agent_id=agent_id,
        session_id=session_id,
        type="",
        payload=b"",
        timestamp=EPOCH,
    )


def records_in(rows: Sequence[Row], names: Iterable[Record], digest: str) -> list[Record]:
    """Rows that begin with RECORD_COLUMNS as values, each with the names of its run (`named`).

    Raises DurableDataError for the first damaged one. There may be a thousand rows: a value that takes over its run's
    names is made in a third of the time of a new one.
    """
    runs = tuple(names)
    try:
        return _records(rows, runs, digest)
    except UNFIT as error:
        for row, run in zip(rows, runs, strict=True):
            flaw = flaw_in(row, _RECORD_READ)
            if flaw is not None:
                raise DurableDataError(
                    run_id=run.run_id,
                    event_key=row[5],
                    record_id=record_id(digest, row[1]),
                    record_type=row[2] if isinstance(row[2], str) else _TYPE_NAMES.get(row[2]),
                    path=flaw.path,
                    rule=flaw.rule,
                ) from error
        raise


def _records(rows: Sequence[Row], runs: Sequence[Record], digest: str) -> list[Record]:
    times = instants([row[4] for row in rows])
    return [
        replace(
            run,
            id=f"{digest}-{row[1]}",
            event_key=row[5],
            turn_id=row[3],
            type=_TYPE_NAMES[row[2]],
            payload=row[0],
            timestamp=timestamp,
        )
        for row, timestamp, run in zip(rows, times, runs, strict=True)
    ]


def run_values(row: RunRow, scope: int) -> Row:
    """The values for WRITTEN_RUN."""
    run = row.run
    return (
        scope,
        run.run_id,
        run.agent_id,
        run.tenant,
        run.parent_run_id,
        run.tool_call_id,
        run.predecessor_run_id,
        run.successor_run_id,
        None if run.chain_id == run.run_id else run.chain_id,
        None if run.history is None else run.history.run_id,
        None if run.history is None else run.history.through,
        run.status.value,
        run.start_outcome.value,
        to_millis(run.started_at),
        None if run.ended_at is None else to_millis(run.ended_at),
        None if run.end_record_id is None else position_in(run.end_record_id),
        to_millis(run.updated_at),
        packed(run.labels),
        run.cancellation_reason,
        run.owner,
        row.start_key,
        row.link_key,
        row.cancel_key,
        row.end_key,
        json.dumps(row.awaiting) if row.awaiting else None,
    )


def session_values(row: SessionRow, scope: int) -> Row:
    """The values for WRITTEN_SESSION."""
    session = row.session
    return (
        scope,
        session.session_id,
        session.tenant,
        session.status.value,
        to_millis(session.created_at),
        None if session.ended_at is None else to_millis(session.ended_at),
        packed(session.metadata),
        session.head_run_id,
        row.created_digest,
    )


def record_values(placed: Placed, scope: int, run: int) -> Row:
    """The values for WRITTEN_RECORD."""
    record = placed.record
    return (
        scope,
        placed.position,
        run,
        TYPE_NUMBERS.get(record.type, record.type),
        to_millis(record.timestamp),
        record.event_key,
        record.turn_id,
        record.payload,
    )


def packed(entries: Mapping[str, str]) -> str | None:
    """Labels or metadata as one text; None for none."""
    return json.dumps(entries, ensure_ascii=False, sort_keys=True) if entries else None


def _entries(stored: str) -> dict[str, str]:
    """Labels or metadata, as `packed` made them. Raises ValueError for another text."""
    entries = json.loads(stored)
    if type(entries) is not dict or not all(type(text) is str for text in entries.values()):
        raise ValueError(stored)
    return entries


def _kinds(stored: str) -> tuple[str, ...]:
    """What a run waits for. Raises ValueError for another text."""
    kinds = json.loads(stored)
    if type(kinds) is not list or not all(type(kind) is str for kind in kinds):
        raise ValueError(stored)
    return tuple(kinds)


# What is asked of a row of which no value could be made.
_IS_TYPE: Final = "is the number of a record type, or another type's text"
_IS_INSTANT: Final = "is a number of milliseconds within the years 1 to 9999"
_IS_ENTRIES: Final = "is a JSON object of texts"
_RUN_READ: Final = (
    Column(14, "status", _RUN_STATUS.__getitem__, "is a status of a run"),
    Column(15, "start_outcome", _OUTCOME.__getitem__, "is an outcome of a start"),
    Column(16, "started_at", from_millis, _IS_INSTANT),
    Column(17, "ended_at", from_millis, _IS_INSTANT, optional=True),
    Column(19, "updated_at", from_millis, _IS_INSTANT),
    Column(20, "labels", _entries, _IS_ENTRIES, optional=True),
    Column(27, "awaiting", _kinds, "is a JSON list of kinds", optional=True),
)
_SESSION_READ: Final = (
    Column(1, "status", _SESSION_STATUS.__getitem__, "is a status of a session"),
    Column(2, "created_at", from_millis, _IS_INSTANT),
    Column(3, "ended_at", from_millis, _IS_INSTANT, optional=True),
    Column(4, "metadata", _entries, _IS_ENTRIES, optional=True),
)
_RECORD_READ: Final = (
    Column(2, "type", _TYPE_NAMES.__getitem__, _IS_TYPE),
    Column(4, "timestamp", from_millis, _IS_INSTANT),
)
