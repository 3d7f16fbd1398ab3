"""The rows of entries: one function for what each verb does inside its transaction."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from actum.base.clock import from_millis, random_token, to_millis
from actum.base.errors import SessionPurged
from actum.base.limits import PAGE_BYTES
from actum.base.value import dump_json, load_json
from actum.memory.entries import EntrySource, MemoryEntry, ScopeKey, StoredEntry, alive, decide_store, identity_digest
from actum.memory.search import VectorBlock, covering, nearest_in, word_weight
from actum.memory.sqlite_words import add_words, asked_for, drop_words, holding
from actum.memory.terms import entry_text, telling_terms
from actum.memory.vector_cache import Searched, VectorCache

_COLUMNS: Final = "entry, key, version, stored, expires, source_run, source_record, value"
_ALIVE: Final = "(expires IS NULL OR expires > ?)"
_WORDED: Final = """
SELECT w.rowid FROM memory_entry_words w CROSS JOIN memory_entries e ON e.entry = w.rowid
WHERE memory_entry_words MATCH ? AND e.scope = ? AND e.present = 1 AND (e.expires IS NULL OR e.expires > ?)
ORDER BY w.rank, w.rowid LIMIT ?
"""
_BARE: Final = """
SELECT e.entry, e.key, e.value FROM memory_entries e
WHERE e.present = 1 AND (e.expires IS NULL OR e.expires > ?) AND NOT EXISTS
    (SELECT 1 FROM memory_vectors v WHERE v.entry = e.entry AND v.embedder = ?)
ORDER BY e.entry LIMIT ?
"""
# The newest version of a key that is left without a present one.
_LEFT: Final = """
SELECT e.entry, e.value, s.secret FROM memory_entries e JOIN memory_scopes s USING (scope)
WHERE e.scope = ? AND e.key = ? AND e.present = 0
    AND NOT EXISTS (SELECT 1 FROM memory_entries p WHERE p.scope = ? AND p.key = ? AND p.present = 1)
ORDER BY e.version DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector of length 1 as 32-bit floats, and the name of the embedder that made it."""

    embedder: str
    data: bytes


@dataclass(frozen=True, slots=True)
class _Scope:
    scope: int
    version: int
    secret: str | None
    forgotten: bool
    # Grows with every change of the scope's vectors: the sum of two counts that never shrink.
    changes: int


def store(
    connection: sqlite3.Connection, entry: MemoryEntry, expected: int | None, vector: Vector | None, now: datetime
) -> StoredEntry:
    """What `EntryStore.store` says."""
    place = ScopeKey(entry.tenant, entry.scope, entry.scope_id)
    here = _scope(connection, place)
    if here is not None and here.forgotten:
        raise SessionPurged(session_id=entry.scope_id)
    row = _newest(connection, here, entry.key)
    newest = _entry(place, row) if row is not None else None
    current = newest if newest is not None and alive(newest, now) else None
    new = decide_store(current, entry, expected, next_version=here.version + 1 if here is not None else 1, now=now)
    if new is current:
        return new
    scope, secret = _made(connection, place, here)
    if row is not None and current is None:
        # An expired entry does not come back as history.
        _erase(connection, "scope = ? AND key = ?", (scope, entry.key))
    elif row is not None:
        _unindex(connection, "entry = ?", (row[0],))
        connection.execute("UPDATE memory_entries SET present = 0 WHERE entry = ?", (row[0],))
    number = _insert(connection, scope, new)
    add_words(connection, "memory_entry_words", number, secret, entry_text(new.key, new.value))
    if vector is not None:
        connection.execute(
            "INSERT INTO memory_vectors (scope, embedder, entry, floats) VALUES (?, ?, ?, ?)",
            (scope, vector.embedder, number, vector.data),
        )
    connection.execute("UPDATE memory_scopes SET version = ? WHERE scope = ?", (new.version, scope))
    return new


def present(connection: sqlite3.Connection, place: ScopeKey, key: str, now: datetime) -> StoredEntry | None:
    """The newest version, when it lives."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM memory_entries WHERE scope = (SELECT scope FROM memory_scopes WHERE digest = ?) "  # noqa: S608 - fixed columns
        "AND key = ? AND present = 1",
        (place.digest, key),
    ).fetchone()
    entry = _entry(place, row) if row is not None else None
    return entry if entry is not None and alive(entry, now) else None


def versions(connection: sqlite3.Connection, place: ScopeKey, key: str, now: datetime) -> tuple[StoredEntry, ...]:
    """The living versions, when the newest lives."""
    newest = present(connection, place, key, now)
    if newest is None:
        return ()
    older = connection.execute(
        f"SELECT {_COLUMNS} FROM memory_entries WHERE scope = (SELECT scope FROM memory_scopes WHERE digest = ?) "  # noqa: S608 - fixed columns
        f"AND key = ? AND present = 0 AND {_ALIVE} ORDER BY version",
        (place.digest, key, to_millis(now)),
    )
    return (*(_entry(place, row) for row in older), newest)


def behind(
    connection: sqlite3.Connection, place: ScopeKey, after: str | None, count: int, now: datetime
) -> list[StoredEntry]:
    """At most `count` living entries behind a key, by key; it stops behind the one that fills a page's bytes."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM memory_entries WHERE scope = (SELECT scope FROM memory_scopes WHERE digest = ?) "  # noqa: S608 - fixed columns
        f"AND present = 1 AND key > ? AND {_ALIVE} ORDER BY key LIMIT ?",
        (place.digest, after or "", to_millis(now), count),
    )
    entries: list[StoredEntry] = []
    size = 0
    for row in found:
        entries.append(_entry(place, row))
        if size >= PAGE_BYTES:
            break
        size += len(row[-1])
    return entries


def numbered(connection: sqlite3.Connection, place: ScopeKey, number: int) -> StoredEntry:
    """The entry in this row."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM memory_entries WHERE entry = ?", (number,)).fetchone()  # noqa: S608 - fixed columns
    return _entry(place, row)


def worded(connection: sqlite3.Connection, place: ScopeKey, query: str, limit: int, now: datetime) -> list[int]:
    """The rows that hold a word of the query, the best first."""
    here = _scope(connection, place)
    match = asked_for(here.secret, query, every=False) if here is not None and here.secret is not None else None
    if here is None or match is None:
        return []
    found = connection.execute(_WORDED, (match, here.scope, to_millis(now), limit))
    return [row[0] for row in found]


def covered(connection: sqlite3.Connection, place: ScopeKey, query: str, numbers: list[int]) -> list[int]:
    """Of these rows those that hold enough of the query's words, in their order; see `search.covering`."""
    here = _scope(connection, place)
    if here is None or here.secret is None or not numbers:
        return []
    asked = telling_terms(query)
    total = connection.execute(
        "SELECT count(*) FROM memory_entries WHERE scope = ? AND present = 1", (here.scope,)
    ).fetchone()[0]
    held = {each: holding(connection, "memory_entry_words", here.secret, each, numbers) for each in asked}
    weights = {term: word_weight(total, count) for term, (count, _) in held.items()}
    said = {number: {term for term, (_, those) in held.items() if number in those} for number in numbers}
    return covering(asked, weights, said)


def near(
    connection: sqlite3.Connection,
    place: ScopeKey,
    vector: Vector,
    limit: int,
    now: datetime,
    cache: VectorCache,
    erasures: int,
) -> list[int]:
    """The rows whose vectors are nearest, the nearest first. `erasures` are the cache's before the transaction."""
    here = _scope(connection, place)
    if here is None:
        return []
    gone = connection.execute(
        "SELECT entry FROM memory_entries WHERE expires <= ? AND scope = ?", (to_millis(now), here.scope)
    )
    expired = {row[0] for row in gone}
    searched = Searched(place.digest, vector.embedder, len(vector.data))
    block = cache.get(searched, here.changes)
    if block is None:
        found = connection.execute(
            "SELECT entry, floats FROM memory_vectors WHERE scope = ? AND embedder = ?", (here.scope, vector.embedder)
        )
        block = VectorBlock[int].of(found, len(vector.data))
        cache.keep(searched, here.changes, block, erasures=erasures)
    return nearest_in(vector.data, block.without(expired) if expired else block, limit)


def delete(connection: sqlite3.Connection, place: ScopeKey, key: str | None, now: datetime) -> int:
    """Erases one entry, or with no key the scope's; gives how many living entries there were."""
    here = _scope(connection, place)
    if here is None:
        return 0
    which, values = ("scope = ?", (here.scope,)) if key is None else ("scope = ? AND key = ?", (here.scope, key))
    living = connection.execute(
        f"SELECT count(*) FROM memory_entries WHERE {which} AND present = 1 AND {_ALIVE}",  # noqa: S608 - fixed conditions
        (*values, to_millis(now)),
    ).fetchone()[0]
    _erase(connection, which, values)
    if key is None:
        # The number of its last version stays, so that none is used twice; nothing else does.
        connection.execute("UPDATE memory_scopes SET name = NULL, secret = NULL WHERE scope = ?", (here.scope,))
    return int(living)


def delete_source(connection: sqlite3.Connection, tenant: str | None, run_id: str, record_id: str | None) -> int:
    """Erases what a run, or one record of it, wrote; what was there before becomes present again."""
    which = (
        "source_run = ? AND (? IS NULL OR source_record = ?) "
        "AND EXISTS (SELECT 1 FROM memory_scopes s WHERE s.scope = memory_entries.scope AND s.tenant = ?)"
    )
    values = (run_id, record_id, record_id, identity_digest("tenant", tenant))
    hit = connection.execute(f"SELECT DISTINCT scope, key FROM memory_entries WHERE {which}", values).fetchall()  # noqa: S608 - fixed conditions
    gone = _erase(connection, which, values)
    for scope, key in hit:
        left = connection.execute(_LEFT, (scope, key, scope, key)).fetchone()
        if left is not None:
            number, value, secret = left
            connection.execute("UPDATE memory_entries SET present = 1 WHERE entry = ?", (number,))
            add_words(connection, "memory_entry_words", number, secret, entry_text(key, load_json(value)))
    return gone


def delete_expired(connection: sqlite3.Connection, now: datetime) -> int:
    """Erases expired versions, and with an expired newest version the whole entry."""
    moment = to_millis(now)
    whole = connection.execute("SELECT scope, key FROM memory_entries WHERE present = 1 AND expires <= ?", (moment,))
    gone = sum(_erase(connection, "scope = ? AND key = ?", row) for row in whole.fetchall())
    return gone + _erase(connection, "expires <= ?", (moment,))


def forget(connection: sqlite3.Connection, place: ScopeKey) -> None:
    """Erases the scope and leaves its digest, which refuses later entries."""
    here = _scope(connection, place)
    if here is not None:
        _erase(connection, "scope = ?", (here.scope,))
    connection.execute(
        "INSERT INTO memory_scopes (digest, tenant, kind, forgotten) VALUES (?, ?, ?, 1) "
        "ON CONFLICT (digest) DO UPDATE SET forgotten = 1, name = NULL, secret = NULL",
        (place.digest, identity_digest("tenant", place.tenant), str(place.scope)),
    )


def bare(connection: sqlite3.Connection, embedder: str, limit: int, now: datetime) -> list[tuple[int, str]]:
    """Rows without a vector of this embedder, and what they say."""
    found = connection.execute(_BARE, (to_millis(now), embedder, limit))
    return [(number, entry_text(key, load_json(value))) for number, key, value in found]


def add_vectors(connection: sqlite3.Connection, embedder: str, made: Sequence[tuple[int, bytes]]) -> int:
    """Stores the vectors of rows that are still present; gives how many."""
    added = 0
    for number, data in made:
        added += connection.execute(
            "INSERT OR IGNORE INTO memory_vectors (scope, embedder, entry, floats) "
            "SELECT scope, ?, entry, ? FROM memory_entries "
            "WHERE entry = ? AND present = 1",
            (embedder, data, number),
        ).rowcount
    return added


def _scope(connection: sqlite3.Connection, place: ScopeKey) -> _Scope | None:
    row = connection.execute(
        "SELECT scope, version, secret, forgotten, version + vector_changes FROM memory_scopes WHERE digest = ?",
        (place.digest,),
    ).fetchone()
    return None if row is None else _Scope(row[0], row[1], row[2], bool(row[3]), row[4])


def _newest(connection: sqlite3.Connection, here: _Scope | None, key: str) -> tuple[Any, ...] | None:
    """The row of the newest version, living or not. Where there is none there are no older ones either."""
    if here is None:
        return None
    row: tuple[Any, ...] | None = connection.execute(
        f"SELECT {_COLUMNS} FROM memory_entries WHERE scope = ? AND key = ? AND present = 1",  # noqa: S608 - fixed columns
        (here.scope, key),
    ).fetchone()
    return row


def _made(connection: sqlite3.Connection, place: ScopeKey, here: _Scope | None) -> tuple[int, str]:
    """The scope's number and secret, made when it has none."""
    if here is not None and here.secret is not None:
        return here.scope, here.secret
    secret, name = random_token(), dump_json([place.tenant, place.scope_id]).decode()
    row = connection.execute(
        "INSERT INTO memory_scopes (digest, tenant, kind, name, secret) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (digest) DO UPDATE SET name = excluded.name, secret = excluded.secret RETURNING scope",
        (place.digest, identity_digest("tenant", place.tenant), str(place.scope), name, secret),
    ).fetchone()
    return int(row[0]), secret


def _insert(connection: sqlite3.Connection, scope: int, entry: StoredEntry) -> int:
    source = entry.source
    made = connection.execute(
        "INSERT INTO memory_entries "
        "(scope, key, version, present, stored, expires, source_run, source_record, value) "
        "VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?)",
        (
            scope,
            entry.key,
            entry.version,
            to_millis(entry.stored_at),
            None if entry.expires_at is None else to_millis(entry.expires_at),
            None if source is None else source.run_id,
            None if source is None else source.record_id,
            dump_json(entry.value),
        ),
    )
    return int(made.lastrowid or 0)


def _entry(place: ScopeKey, row: tuple[Any, ...]) -> StoredEntry:
    _, key, version, stored, expires, source_run, source_record, value = row
    return StoredEntry(
        scope=place.scope,
        scope_id=place.scope_id,
        key=key,
        value=load_json(value),
        tenant=place.tenant,
        source=None if source_run is None else EntrySource(run_id=source_run, record_id=source_record),
        expires_at=None if expires is None else from_millis(expires),
        version=version,
        stored_at=from_millis(stored),
    )


def _erase(connection: sqlite3.Connection, which: str, values: tuple[Any, ...]) -> int:
    """Deletes the rows that fit, with all that points to them; gives how many."""
    _unindex(connection, f"present = 1 AND {which}", values)
    # Two statements, for the two halves of the rows stand in indexes of their own.
    return sum(
        connection.execute(f"DELETE FROM memory_entries WHERE present = {half} AND {which}", values).rowcount  # noqa: S608 - fixed conditions
        for half in (0, 1)
    )


def _unindex(connection: sqlite3.Connection, which: str, values: tuple[Any, ...]) -> None:
    """Takes the rows that fit out of the word index and out of the vectors."""
    found = connection.execute(
        f"SELECT entry, key, value, (SELECT secret FROM memory_scopes s WHERE s.scope = memory_entries.scope) "  # noqa: S608 - fixed conditions
        f"FROM memory_entries WHERE {which}",
        values,
    ).fetchall()
    for number, key, value, secret in found:
        drop_words(connection, "memory_entry_words", number, secret, entry_text(key, load_json(value)))
        connection.execute("DELETE FROM memory_vectors WHERE entry = ?", (number,))
