"""The event history in an SQLite file."""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from actum.base.checks import Count, Identifier, identifier, optional_identifier
from actum.base.clock import from_millis, random_token, to_millis
from actum.base.errors import RecordConflict
from actum.base.value import Value, dump, load
from actum.memory.arguments import EventSearch, RunKey, checked_events, forgotten, group_digest, run_digest, same_run
from actum.memory.contract import FOUND_DEFAULT, MemoryStore
from actum.memory.entries import identity_digest
from actum.memory.events import Annotation, EventType, FoundEvent, MemoryEvent, Snapshot
from actum.memory.sqlite_file import MemoryFile
from actum.memory.sqlite_words import add_words, asked_for, drop_words
from actum.messages.message import Message

_RUN: Final = """
SELECT r.run, r.agent_id, g.session_id, g.root_run_id, r.history_run_id
FROM memory_runs r JOIN memory_groups g USING ("group") WHERE r.digest = ?
"""
_EVENTS: Final = """
SELECT e.event_id, e.type, e.at, e.fields, m.message_id, m.bytes
FROM memory_events e LEFT JOIN memory_messages m USING (message)
"""
_MESSAGES: Final = """
SELECT m.bytes FROM memory_events e JOIN memory_messages m USING (message)
WHERE e.run = ? GROUP BY e.message ORDER BY min(e.event)
"""
# The words are looked up first: every other condition is a filter on what they found.
_SEARCH: Final = """
SELECT w.rowid, w.rank, g.session_id, r.agent_id, r.run_id
FROM memory_event_words w
CROSS JOIN memory_events e ON e.event = w.rowid
CROSS JOIN memory_runs r ON r.run = e.run
CROSS JOIN memory_groups g ON g."group" = r."group"
WHERE memory_event_words MATCH :match AND r.tenant = :tenant
  AND (:session_id IS NULL OR g.session_id = :session_id)
  AND (:run_id IS NULL OR r.run_id = :run_id)
  AND (:agent_id IS NULL OR r.agent_id = :agent_id)
  AND (:since IS NULL OR e.at >= :since)
  AND (:until IS NULL OR e.at < :until)
ORDER BY w.rank, w.rowid LIMIT :limit
"""


class _Fields(Value):
    """What of an event stands in no column."""

    turn_id: Identifier | None = None
    part: Count | None = None
    seeded: bool = False
    note: str | None = None
    annotation: Annotation | None = None


class SQLiteMemoryStore(MemoryStore):
    """The event history in `file`."""

    def __init__(self, file: MemoryFile) -> None:
        self._file = file

    async def append_events(
        self,
        session_id: str | None,
        agent_id: str,
        run_id: str,
        events: Sequence[MemoryEvent],
        *,
        root_run_id: str | None = None,
        history_run_id: str | None = None,
        tenant: str | None = None,
    ) -> int:
        """Adds the events that are new."""
        key = RunKey.checked(session_id, agent_id, run_id, root_run_id, history_run_id, tenant)
        given = checked_events(events)
        return await self._file.write(lambda connection: _append(connection, key, given))

    async def load_run(
        self, agent_id: str, run_id: str, *, history: bool = True, tenant: str | None = None
    ) -> Snapshot:
        """The run's events."""
        agent, run, of = identifier("agent_id", agent_id), identifier("run_id", run_id), _checked(tenant)

        def read(connection: sqlite3.Connection) -> Snapshot:
            row = connection.execute(_RUN, (run_digest(of, run),)).fetchone()
            if row is None or row[1] != agent:
                return Snapshot(agent_id=agent, run_id=run, before=() if history else None)
            number, _, session_id, _, history_run_id = row
            rows = connection.execute(f"{_EVENTS} WHERE e.run = ? ORDER BY e.event", (number,))
            return Snapshot(
                agent_id=agent,
                run_id=run,
                session_id=session_id,
                events=tuple(_events(rows)),
                before=_before(connection, of, history_run_id) if history else None,
            )

        return await self._file.read(read)

    async def search(
        self,
        text: str,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        agent_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = FOUND_DEFAULT,
        tenant: str | None = None,
    ) -> tuple[FoundEvent, ...]:
        """The messages that hold every word."""
        asked = EventSearch.checked(
            text,
            session_id=session_id,
            run_id=run_id,
            agent_id=agent_id,
            since=since,
            until=until,
            limit=limit,
            tenant=tenant,
        )
        return await self._file.read(lambda connection: _search(connection, asked))

    async def forget(self, session_id: str, *, tenant: str | None = None) -> None:
        """Erases the session's events."""
        group = group_digest(_checked(tenant), session_id=identifier("session_id", session_id))
        await self._file.write(lambda connection: _forget(connection, group), erases=True)

    async def forget_one_shot(self, root_run_id: str, *, tenant: str | None = None) -> None:
        """Erases the tree's events."""
        group = group_digest(_checked(tenant), root_run_id=identifier("root_run_id", root_run_id))
        await self._file.write(lambda connection: _forget(connection, group), erases=True)


def _checked(tenant: str | None) -> str | None:
    return optional_identifier("tenant", tenant)


def _append(connection: sqlite3.Connection, key: RunKey, events: tuple[MemoryEvent, ...]) -> int:
    group, is_forgotten = _group_of(connection, key)
    if is_forgotten:
        raise forgotten(key)
    tenant, secret = _tenant_of(connection, key.tenant)
    run = _run_of(connection, key, tenant, group)
    return sum(_add(connection, key.run_id, run, secret, event) for event in events)


def _group_of(connection: sqlite3.Connection, key: RunKey) -> tuple[int, bool]:
    row = connection.execute('SELECT "group", forgotten FROM memory_groups WHERE digest = ?', (key.group,)).fetchone()
    if row is not None:
        return row[0], bool(row[1])
    made = connection.execute(
        "INSERT INTO memory_groups (digest, session_id, root_run_id) VALUES (?, ?, ?)",
        (key.group, key.session_id, key.root_run_id),
    )
    return int(made.lastrowid or 0), False


def _tenant_of(connection: sqlite3.Connection, tenant: str | None) -> tuple[int, str]:
    digest = identity_digest("tenant", tenant)
    row = connection.execute("SELECT tenant, secret FROM memory_tenants WHERE digest = ?", (digest,)).fetchone()
    if row is not None:
        return row[0], row[1]
    secret = random_token()
    made = connection.execute(
        "INSERT INTO memory_tenants (digest, name, secret) VALUES (?, ?, ?)", (digest, tenant, secret)
    )
    return int(made.lastrowid or 0), secret


def _run_of(connection: sqlite3.Connection, key: RunKey, tenant: int, group: int) -> int:
    row = connection.execute(_RUN, (key.digest,)).fetchone()
    if row is None:
        made = connection.execute(
            'INSERT INTO memory_runs (digest, tenant, "group", run_id, agent_id, history_run_id) '
            "VALUES (?, ?, ?, ?, ?, ?)",
            (key.digest, tenant, group, key.run_id, key.agent_id, key.history_run_id),
        )
        return int(made.lastrowid or 0)
    run, agent_id, session_id, root_run_id, before = row
    stored = RunKey(
        tenant=key.tenant,
        run_id=key.run_id,
        agent_id=agent_id,
        session_id=session_id,
        root_run_id=root_run_id,
        history_run_id=before,
    )
    history = same_run(stored, key, before)
    if history != before:
        connection.execute("UPDATE memory_runs SET history_run_id = ? WHERE run = ?", (history, run))
    return int(run)


def _add(connection: sqlite3.Connection, run_id: str, run: int, secret: str, event: MemoryEvent) -> bool:
    """Whether the event was new."""
    digest = hashlib.sha256(dump(event)).digest()
    row = connection.execute(
        "SELECT digest FROM memory_events WHERE run = ? AND event_id = ?", (run, event.event_id)
    ).fetchone()
    if row is not None:
        if row[0] != digest:
            raise RecordConflict(run_id=run_id, event_key=event.event_id, field="event")
        return False
    message = _message_of(connection, run_id, run, event)
    fields = _Fields(
        turn_id=event.turn_id, part=event.part, seeded=event.seeded, note=event.note, annotation=event.annotation
    )
    made = connection.execute(
        "INSERT INTO memory_events (run, event_id, type, at, message, digest, fields) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (run, event.event_id, str(event.type), to_millis(event.at), message, digest, dump(fields)),
    )
    if event.text and not event.seeded:
        add_words(connection, "memory_event_words", int(made.lastrowid or 0), secret, event.text)
    return True


def _message_of(connection: sqlite3.Connection, run_id: str, run: int, event: MemoryEvent) -> int | None:
    if event.message is None:
        return None
    data = dump(event.message)
    row = connection.execute(
        "SELECT message, bytes FROM memory_messages WHERE run = ? AND message_id = ?", (run, event.message_id)
    ).fetchone()
    if row is None:
        made = connection.execute(
            "INSERT INTO memory_messages (run, message_id, bytes) VALUES (?, ?, ?)", (run, event.message_id, data)
        )
        return made.lastrowid
    if row[1] != data:
        raise RecordConflict(run_id=run_id, event_key=event.event_id, field="message")
    return int(row[0])


def _events(rows: sqlite3.Cursor) -> Iterator[MemoryEvent]:
    # A message is decoded once; all of its events carry the same object.
    messages: dict[str, Message] = {}
    for event_id, kind, at, fields, message_id, data in rows:
        told = load(_Fields, fields)
        if message_id is not None and message_id not in messages:
            messages[message_id] = load(Message, data)
        yield MemoryEvent(
            event_id=event_id,
            type=EventType(kind),
            at=from_millis(at),
            turn_id=told.turn_id,
            message_id=message_id,
            message=None if message_id is None else messages[message_id],
            part=told.part,
            seeded=told.seeded,
            note=told.note,
            annotation=told.annotation,
        )


def _before(connection: sqlite3.Connection, tenant: str | None, run_id: str | None) -> tuple[Message, ...]:
    chain: list[list[Message]] = []
    seen: set[str] = set()
    # What events name need not be true; a ring of histories has no beginning.
    while run_id is not None and run_id not in seen:
        seen.add(run_id)
        row = connection.execute(_RUN, (run_digest(tenant, run_id),)).fetchone()
        if row is None:
            break
        chain.append([load(Message, data) for (data,) in connection.execute(_MESSAGES, (row[0],))])
        run_id = row[4]
    return tuple(message for messages in reversed(chain) for message in messages)


def _search(connection: sqlite3.Connection, asked: EventSearch) -> tuple[FoundEvent, ...]:
    digest = identity_digest("tenant", asked.tenant)
    row = connection.execute("SELECT tenant, secret FROM memory_tenants WHERE digest = ?", (digest,)).fetchone()
    match = asked_for(row[1], asked.text, every=True) if row is not None else None
    if match is None:
        return ()
    values = {
        "match": match,
        "tenant": row[0],
        "session_id": asked.session_id,
        "run_id": asked.run_id,
        "agent_id": asked.agent_id,
        "since": None if asked.since is None else to_millis(asked.since),
        "until": None if asked.until is None else to_millis(asked.until),
        "limit": asked.limit,
    }
    found = []
    for number, rank, session_id, agent_id, run_id in connection.execute(_SEARCH, values).fetchall():
        rows = connection.execute(f"{_EVENTS} WHERE e.event = ?", (number,))
        event = next(_events(rows))
        found.append(
            FoundEvent(session_id=session_id, agent_id=agent_id, run_id=run_id, event=event, score=-float(rank))
        )
    return tuple(found)


def _forget(connection: sqlite3.Connection, group: bytes) -> None:
    connection.execute(
        "INSERT INTO memory_groups (digest, forgotten) VALUES (?, 1) "
        "ON CONFLICT (digest) DO UPDATE SET forgotten = 1, session_id = NULL, root_run_id = NULL",
        (group,),
    )
    runs = connection.execute(
        'SELECT r.run, t.secret FROM memory_runs r JOIN memory_tenants t USING (tenant) WHERE r."group" = '
        '(SELECT "group" FROM memory_groups WHERE digest = ?)',
        (group,),
    ).fetchall()
    for run, secret in runs:
        numbers = [row[0] for row in connection.execute("SELECT event FROM memory_events WHERE run = ?", (run,))]
        for number in numbers:
            event = next(_events(connection.execute(f"{_EVENTS} WHERE e.event = ?", (number,))))
            if event.text and not event.seeded:
                drop_words(connection, "memory_event_words", number, secret, event.text)
        for table in ("memory_events", "memory_messages", "memory_runs"):
            connection.execute(f"DELETE FROM {table} WHERE run = ?", (run,))  # noqa: S608 - one of three names
