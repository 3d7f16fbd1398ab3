import sqlite3
from collections.abc import AsyncIterator
from operator import methodcaller
from pathlib import Path

import pytest

from actum.lifecycle.change import Change, RunRow, Scope
from actum.lifecycle.states import Suspension
from actum.storage.sqlite.backend import SQLiteBackend
from tests.support.rows import appended, new_record, run_row, session_row, started


@pytest.fixture
async def backend(path: Path) -> AsyncIterator[SQLiteBackend]:
    opened = await SQLiteBackend.open(path)
    yield opened
    await opened.close()


async def apply(backend: SQLiteBackend, *changes: Change) -> None:
    for change in changes:
        await backend.write(methodcaller("apply", change), 0)


def rows_of(path: Path) -> dict[str, int]:
    """How many rows stand in each table, beside the list of migrations."""
    connection = sqlite3.connect(path)
    try:
        listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'migrations'")
        return {
            name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608 - names of tables
            for (name,) in listed.fetchall()
        }
    finally:
        connection.close()


def where(path: Path, secret: bytes) -> list[str]:
    """The files of the store in which these bytes stand."""
    return [each.name for each in path.parent.iterdir() if each.is_file() and secret in each.read_bytes()]


def full(name: str, scope: Scope, secret: str) -> list[Change]:
    """Everything that a scope can hold, each with the secret in it."""
    runs = tuple(
        RunRow(
            run_row(
                f"{name}-run{i}-{secret}",
                session_id=scope.session_id,
                root=scope.root_run_id,
                agent_id=f"agent-{secret}",
                tenant=f"tenant-{secret}",
                labels={f"label-{secret}": secret, "n": str(i)},
            ).run,
            scope.root_run_id,
            f"start-{secret}",
            awaiting=("questions",),
        )
        for i in range(3)
    )
    session = None
    if scope.session_id is not None:
        session = session_row(
            scope.session_id, tenant=f"tenant-{secret}", metadata={f"user-{secret}": secret, "a": "b"}
        )
    records = [
        new_record(
            run.run.run_id,
            f"key-{i}-{secret}",
            session_id=scope.session_id,
            agent_id=run.run.agent_id,
            turn_id=f"turn-{secret}",
            type=f"x.{secret}" if i % 2 else "transcript_messages_appended",
            payload=f'"{secret}{"." * size}"'.encode(),
        )
        for run in runs
        for i, size in enumerate((10, 300, 900, 6000, 50))
    ]
    suspension = Suspension(suspension_id=f"wait-{secret}", data=secret.encode() * 999)
    return [
        Change(None, scope=scope, session=session, runs=runs),
        appended(records, scope=scope),
        Change(None, scope=scope, suspension=(runs[0].run.run_id, suspension)),
        Change(None, scope=scope, advance=(f"consumer-{secret}", 4)),
    ]


@pytest.mark.parametrize("one_shot", [False, True])
async def test_a_purge_leaves_no_row_but_the_tombstones(backend: SQLiteBackend, path: Path, *, one_shot: bool) -> None:
    await apply(backend, *full("other", Scope("other"), "plain"))
    before = rows_of(path)
    scope = Scope(root_run_id="o1") if one_shot else Scope("s1")
    await apply(backend, *full("mine", scope, "secret"))
    filled = {table for table, rows in rows_of(path).items() if rows > before[table]}
    assert filled == set(before) - {"tombstones"} - ({"sessions", "session_metadata"} if one_shot else set())
    await apply(backend, Change(None, purge=scope))
    assert rows_of(path) == {**before, "tombstones": 3 if one_shot else 1}


@pytest.mark.slow
async def test_purged_bytes_are_in_no_file_of_the_store(backend: SQLiteBackend, path: Path) -> None:
    """Scopes are written by turns, so that each page holds rows of several; then they go one by one."""
    names = [f"secret{i:02}Q" for i in range(24)]
    changes = [
        full(f"n{i}", Scope(f"s-{name}") if i % 3 else Scope(root_run_id=f"o-{name}"), name)
        for i, name in enumerate(names)
    ]
    for step in zip(*changes, strict=True):
        await apply(backend, *step)
    for i, name in sorted(enumerate(names), key=lambda each: (each[0] * 7) % 24):
        assert where(path, name.encode())
        await apply(backend, Change(None, purge=Scope(f"s-{name}") if i % 3 else Scope(root_run_id=f"o-{name}")))
        assert where(path, name.encode()) == []
    assert set(rows_of(path).items()) - {("tombstones", 16 + 8 * 3)} == {
        (table, 0) for table in rows_of(path) if table != "tombstones"
    }


async def test_a_reader_of_an_older_state_delays_the_erasure_of_the_log_alone(
    backend: SQLiteBackend, path: Path
) -> None:
    await apply(backend, *full("mine", Scope("s1"), "secretQ"))
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM runs").fetchone()
    await apply(backend, Change(None, purge=Scope("s1")))
    assert rows_of(path)["runs"] == 0
    assert where(path, b"secretQ")
    reader.close()
    # The next commit, whoever writes it, does what was left.
    await apply(backend, started(session_row("s2")))
    assert where(path, b"secretQ") == []


async def test_an_id_may_be_used_in_another_scope_after_an_index_was_rewritten(
    backend: SQLiteBackend, path: Path
) -> None:
    """Labels and metadata that change leave no entry of their old values behind."""
    await apply(backend, started(session_row(metadata={"a": "1"}), run_row(labels={"l": "1"}, awaiting=("questions",))))
    await apply(backend, started(session_row(metadata={"b": "2"}), run_row(labels={"m": "2", "n": "3"})))
    rows = rows_of(path)
    assert (rows["session_metadata"], rows["run_labels"], rows["run_awaiting"]) == (1, 2, 0)


@pytest.mark.parametrize("column", ["labels", "awaiting"])
@pytest.mark.parametrize("damage", ["{", "7", '{"k": 1}', "[[]]", None])
async def test_what_a_damaged_run_was_found_by_is_erased_too(
    backend: SQLiteBackend, path: Path, column: str, damage: str | None
) -> None:
    await apply(backend, *full("mine", Scope("s1"), "secretQ"))
    with sqlite3.connect(path) as damaged:
        damaged.execute(f"UPDATE runs SET {column} = ? WHERE run = 2", (damage,))  # noqa: S608 - a name of the table above
    damaged.close()
    await apply(backend, Change(None, purge=Scope("s1")))
    left = rows_of(path)
    assert {name for name, count in left.items() if count} == {"tombstones"}
    assert where(path, b"secretQ") == []
