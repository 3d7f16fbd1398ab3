"""The rows of entries: however many there are, each verb finds its own by an index."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from actum.memory import sqlite_entry_rows as rows
from actum.memory.entries import EntrySource, MemoryEntry, MemoryScope, ScopeKey
from actum.memory.opening import open_memory
from actum.memory.vector_cache import VectorCache
from actum.testing.samples import at

HERE = ScopeKey(None, MemoryScope.USER, "ada")


def entry(key: str, value: str, run_id: str | None = None) -> MemoryEntry:
    source = EntrySource(run_id=run_id) if run_id is not None else None
    return MemoryEntry.for_user("ada", key=key, value=value, source=source, expires_at=at(1000))


def scans(connection: sqlite3.Connection, statement: str) -> list[str]:
    """The tables of rows that a statement would read from end to end."""
    plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}")
    steps = [str(step) for *_, step in plan]
    return [each for each in steps if each.startswith("SCAN") and "VIRTUAL TABLE" not in each]


async def test_no_verb_reads_through_the_rows_of_others(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with open_memory(f"sqlite:///{path}"):
        pass
    said: list[str] = []
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.set_trace_callback(said.append)
        vector = rows.Vector("unit", b"\0\0\x80?")
        for number, (key, value, run) in enumerate([("k", "a", None), ("k", "b", "r1"), ("m", "c", "r1")]):
            rows.store(connection, entry(key, value, run), None, vector, at(number))
        assert [each.value for each in rows.versions(connection, HERE, "k", at(3))] == ["a", "b"]
        assert len(rows.behind(connection, HERE, None, 10, at(3))) == 2
        numbers = rows.worded(connection, HERE, "b", 10, at(3))
        assert rows.covered(connection, HERE, "b", numbers) == numbers
        assert rows.near(connection, HERE, vector, 10, at(3), VectorCache(), 0)
        assert rows.delete_source(connection, None, "r1", None) == 2
        found = rows.present(connection, HERE, "k", at(3))
        assert found is not None
        assert found.value == "a"
        assert rows.delete(connection, HERE, "k", at(3)) == 1
        rows.store(connection, entry("k", "d"), None, vector, at(4))
        assert rows.delete_expired(connection, at(1000) + timedelta(seconds=1)) == 1
        assert rows.delete(connection, HERE, None, at(5)) == 0
        rows.forget(connection, HERE)
        connection.set_trace_callback(None)
        asked = [each for each in said if each.startswith(("SELECT", "UPDATE", "DELETE")) and "_config" not in each]
        assert len(asked) > 30
        assert {each: read for each in asked if (read := scans(connection, each))} == {}
