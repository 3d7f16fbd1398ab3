"""Lists of sessions and runs out of SQLite: each filter has an index that ends in the list's order."""

import sqlite3
from typing import Final

from actum.base.clock import to_millis
from actum.lifecycle.change import RunRow, SessionRow
from actum.lifecycle.commands import CountBy, ScopeBehind
from actum.storage.backend import RunQuery, SessionQuery
from actum.storage.sqlite.rows import LAST_POSITION, RUN_COLUMNS, SESSION_COLUMNS, run_of, session_of

Statement = tuple[str, list[str | int]]

_COUNTED: Final[dict[CountBy, str]] = {
    "status": "r.status",
    "agent_id": "r.agent_id",
    "tenant": "r.tenant",
    "session_id": "s.session_id",
}
_BEHIND: Final = f"""
SELECT s.session_id, s.root_run_id, ifnull(d.position, 0), {LAST_POSITION} AS last
FROM scopes AS s
LEFT JOIN consumers AS d ON d.consumer = ? AND d.scope = s.scope
LEFT JOIN sessions AS e ON e.scope = s.scope
LEFT JOIN runs AS r ON r.run_id = s.root_run_id
WHERE last > ifnull(d.position, 0) AND (? IS NULL OR ? = ifnull(e.tenant, r.tenant))
ORDER BY s.scope LIMIT ?
"""  # noqa: S608 - a constant of ours


class _Where:
    """Terms of a WHERE clause with their values."""

    def __init__(self) -> None:
        self.terms: list[str] = []
        self.values: list[str | int] = []

    def add(self, term: str, *values: str | int) -> None:
        self.terms.append(term)
        self.values.extend(values)

    @property
    def text(self) -> str:
        return " WHERE " + " AND ".join(self.terms) if self.terms else ""


def sessions_of(connection: sqlite3.Connection, query: SessionQuery) -> tuple[SessionRow, ...]:
    """Session rows in list order."""
    statement, values = session_statement(query)
    return tuple(session_of(row) for row in connection.execute(statement, values))


def session_statement(query: SessionQuery) -> Statement:
    """The statement for a list of sessions, led by its narrowest filter: a metadata entry, the tenant, the status."""
    where = _Where()
    entries = list(query.metadata.items())
    table, time, name = "sessions AS e INDEXED BY sessions_by_time", "e.created", "e.session_id"
    if entries:
        table = "session_metadata AS m CROSS JOIN sessions AS e ON e.scope = m.scope"
        time, name = "m.created", "m.session_id"
        where.add("m.key = ? AND m.value = ?", *entries[0])
    elif query.tenant is not None:
        table = "sessions AS e INDEXED BY sessions_by_tenant"
    elif query.status is not None:
        table = "sessions AS e INDEXED BY sessions_by_status"
    for entry in entries[1:]:
        where.add(
            "EXISTS (SELECT 1 FROM session_metadata AS o WHERE o.key = ? AND o.value = ? "
            "AND o.created = e.created AND o.session_id = e.session_id)",
            *entry,
        )
    if query.tenant is not None:
        where.add("e.tenant = ?", query.tenant)
    if query.status is not None:
        where.add("e.status = ?", query.status)
    if query.after is not None:
        where.add(f"({time}, {name}) > (?, ?)", to_millis(query.after[0]), query.after[1])
    text = f"SELECT {SESSION_COLUMNS} FROM {table}{where.text} ORDER BY {time}, {name} LIMIT ?"  # noqa: S608 - every part is written here
    return text, [*where.values, query.limit]


def runs_of(connection: sqlite3.Connection, query: RunQuery) -> tuple[RunRow, ...]:
    """Run rows in list order."""
    statement, values = run_statement(query)
    return tuple(run_of(row) for row in connection.execute(statement, values))


def run_statement(query: RunQuery) -> Statement:
    """The statement for a list of runs, led by its narrowest filter: the session, a label, what they wait for, ..."""
    statuses = None if query.statuses is None else tuple(dict.fromkeys(query.statuses))
    where = _Where()
    labels = list(query.labels.items())
    table, time, name = "runs AS r INDEXED BY runs_by_time", "r.started", "r.run_id"
    if query.session_id is not None:
        table = "runs AS r INDEXED BY runs_by_scope"
        where.add("r.scope = (SELECT scope FROM scopes WHERE session_id = ?)", query.session_id)
    elif labels:
        table = "run_labels AS l CROSS JOIN runs AS r ON r.run = l.run"
        time, name = "l.started", "l.run_id"
        where.add("l.key = ? AND l.value = ?", *labels.pop(0))
    elif query.awaiting is not None:
        table = "run_awaiting AS a CROSS JOIN runs AS r ON r.run = a.run"
        time, name = "a.started", "a.run_id"
        where.add("a.kind = ?", query.awaiting)
    elif query.agent_id is not None:
        table = "runs AS r INDEXED BY runs_by_agent"
    elif query.tenant is not None:
        table = "runs AS r INDEXED BY runs_by_tenant"
    elif statuses is not None and len(statuses) == 1:
        table = "runs AS r INDEXED BY runs_by_status"
    _narrow(where, query, labels, statuses)
    if query.since is not None:
        where.add(f"{time} >= ?", to_millis(query.since))
    if query.after is not None:
        where.add(f"({time}, {name}) > (?, ?)", to_millis(query.after[0]), query.after[1])
    text = (
        f"SELECT {RUN_COLUMNS} FROM {table} CROSS JOIN scopes AS s ON s.scope = r.scope"  # noqa: S608 - every part is written here
        f"{where.text} ORDER BY {time}, {name} LIMIT ?"
    )
    return text, [*where.values, query.limit]


def _narrow(where: _Where, query: RunQuery, labels: list[tuple[str, str]], statuses: tuple[str, ...] | None) -> None:
    for entry in labels:
        where.add(
            "EXISTS (SELECT 1 FROM run_labels AS o WHERE o.key = ? AND o.value = ? "
            "AND o.started = r.started AND o.run_id = r.run_id)",
            *entry,
        )
    if query.awaiting is not None:
        where.add(
            "EXISTS (SELECT 1 FROM run_awaiting AS w WHERE w.kind = ? "
            "AND w.started = r.started AND w.run_id = r.run_id)",
            query.awaiting,
        )
    if query.agent_id is not None:
        where.add("r.agent_id = ?", query.agent_id)
    if query.tenant is not None:
        where.add("r.tenant = ?", query.tenant)
    if statuses is not None and len(statuses) == 1:
        where.add("r.status = ?", statuses[0])
    elif statuses is not None:
        where.add(f"r.status IN ({', '.join('?' * len(statuses))})", *statuses)


def counts_of(connection: sqlite3.Connection, by: CountBy, tenant: str | None) -> dict[str | None, int]:
    """How many runs there are for each value of a field."""
    column = _COUNTED[by]
    join = " CROSS JOIN scopes AS s ON s.scope = r.scope" if by == "session_id" else ""
    where = "" if tenant is None else " WHERE r.tenant = ?"
    text = f"SELECT {column}, count(*) FROM runs AS r{join}{where} GROUP BY {column}"  # noqa: S608 - every part is written here
    return dict(connection.execute(text, () if tenant is None else (tenant,)))


def behind_of(connection: sqlite3.Connection, consumer: str, limit: int, tenant: str | None) -> tuple[ScopeBehind, ...]:
    """Scopes that the consumer has not handled to their end, oldest first."""
    rows = connection.execute(_BEHIND, (consumer, tenant, tenant, limit))
    return tuple(
        ScopeBehind(session_id=session_id, root_run_id=root, position=position, last=last)
        for session_id, root, position, last in rows
    )
