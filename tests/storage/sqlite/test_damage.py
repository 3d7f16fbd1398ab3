"""A damaged row leaves the store as an error that names it, out of every read that meets it."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from actum.base.errors import DurableDataError
from actum.lifecycle.change import Scope
from actum.storage.contract import OwnedStore
from actum.storage.opening import open_store
from actum.testing import samples

Read: TypeAlias = Callable[[OwnedStore], Awaitable[Any]]

RECORDS: dict[str, Read] = {
    "list_run_records": lambda store: store.list_run_records("r1"),
    "list_session_run_records": lambda store: store.list_session_run_records("s1"),
    "load_run_record": lambda store: store.load_run_record("r1", "k1"),
}
TRANSCRIPTS: dict[str, Read] = {
    "read_transcript": lambda store: store.read_transcript("r1"),
    "read_transcript_backwards": lambda store: store.read_transcript("r1", backwards=True),
}
RUNS: dict[str, Read] = {
    "load_run": lambda store: store.load_run("r1"),
    "list_run_records": lambda store: store.list_run_records("r1"),
    "read_transcript": lambda store: store.read_transcript("r1"),
    "read_messages": lambda store: store.read_messages("r1"),
    "list_runs": lambda store: store.list_runs("s1"),
    "find_runs": lambda store: store.find_runs(),
    "append_run_record": lambda store: store.append_run_record(samples.said(samples.root("r1").run, "new", "text")),
}
SESSIONS: dict[str, Read] = {
    "load_session": lambda store: store.load_session("s1"),
    "list_sessions": lambda store: store.list_sessions(),
    "list_runs": lambda store: store.list_runs("s1"),
    "load_run": lambda store: store.load_run("r1"),
    "end_session": lambda store: store.end_session("s1", samples.T0),
}
DEEP = "'" + "[" * 100_000 + "'"


@pytest.fixture
async def url(path: Path) -> str:
    """A store with the session `s1`, its run `r1`, and messages under the keys `k0` to `k2`."""
    async with open_store(f"sqlite:///{path}") as store:
        await store.create_session("s1", samples.T0, metadata={"team": "blue"})
        run = (await store.start_root_run(samples.root("r1"))).run
        await store.append_run_records([samples.said(run, f"k{n}", "text") for n in range(3)])
    return f"sqlite:///{path}"


@pytest.fixture
async def damaged(url: str, path: Path, damage: str) -> AsyncIterator[OwnedStore]:
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(f"UPDATE {damage}").rowcount == 1
    async with open_store(url) as store:
        yield store


def each(reads: dict[str, Read], damages: dict[str, str]) -> list[Any]:
    """Each read with each damage, and the field that the error names."""
    return [
        pytest.param(damage, read, field, id=f"{name}-{damage[:40]}")
        for name, read in reads.items()
        for damage, field in damages.items()
    ]


@pytest.mark.parametrize(
    "damage, read, field",
    [
        *each(
            RECORDS | TRANSCRIPTS,
            {
                "records SET timestamp = 9000000000000000000 WHERE event_key = 'k1'": "timestamp",
                "records SET timestamp = -70000000000000 WHERE event_key = 'k1'": "timestamp",
            },
        ),
        *each(
            RECORDS,
            {
                "records SET type = 99 WHERE event_key = 'k1'": "type",
                "records SET type = x'07' WHERE event_key = 'k1'": "type",
            },
        ),
    ],
)
async def test_a_damaged_record_is_named(damaged: OwnedStore, read: Read, field: str) -> None:
    with pytest.raises(DurableDataError) as caught:
        await read(damaged)
    error = caught.value
    assert (error.run_id, error.event_key, error.path) == ("r1", "k1", field)
    assert error.record_id == Scope("s1").record_id(3)
    assert error.record_type == ("transcript_messages_appended" if field == "timestamp" else None)
    assert "not" in error.rule


@pytest.mark.parametrize("damage", ["records SET type = 99 WHERE event_key = 'k1'"])
async def test_what_stands_before_a_damaged_record_is_read(damaged: OwnedStore) -> None:
    page = await damaged.list_run_records("r1", limit=2)
    assert [record.event_key for record in page.items][1:] == ["k0"]
    with pytest.raises(DurableDataError):
        await damaged.list_run_records("r1", cursor=page.cursor)
    rest = await damaged.list_run_records("r1", cursor=Scope("s1").record_id(3))
    assert [record.event_key for record in rest.items] == ["k2"]


@pytest.mark.parametrize(
    "damage, read, field",
    each(
        RUNS,
        {
            "runs SET status = 'zzz'": "status",
            "runs SET start_outcome = ''": "start_outcome",
            "runs SET started = 9000000000000000000": "started_at",
            "runs SET updated = 9000000000000000000": "updated_at",
            "runs SET ended = 9000000000000000000": "ended_at",
            "runs SET labels = '{'": "labels",
            "runs SET labels = '[\"a\"]'": "labels",
            "runs SET labels = '{\"a\": 1}'": "labels",
            f"runs SET labels = {DEEP}": "labels",
            "runs SET awaiting = '{}'": "awaiting",
            "runs SET awaiting = '[1]'": "awaiting",
            "runs SET awaiting = 'question'": "awaiting",
        },
    ),
)
async def test_a_damaged_run_is_named(damaged: OwnedStore, read: Read, field: str) -> None:
    with pytest.raises(DurableDataError) as caught:
        await read(damaged)
    assert (caught.value.run_id, caught.value.path) == ("r1", field)
    assert len(caught.value.rule) < 500


@pytest.mark.parametrize(
    "damage, read, field",
    each(
        SESSIONS,
        {
            "sessions SET status = 'zzz'": "status",
            "sessions SET created = 9000000000000000000": "created_at",
            "sessions SET ended = 9000000000000000000": "ended_at",
            "sessions SET metadata = '{'": "metadata",
            "sessions SET metadata = '7'": "metadata",
            f"sessions SET metadata = {DEEP}": "metadata",
        },
    ),
)
async def test_a_damaged_session_is_named(damaged: OwnedStore, read: Read, field: str) -> None:
    with pytest.raises(DurableDataError) as caught:
        await read(damaged)
    assert caught.value.path == f"sessions['s1'].{field}"


@pytest.mark.parametrize(
    "damage, read, field",
    [
        *each({"load_run": RUNS["load_run"]}, {"runs SET agent_id = CAST(x'ff' AS TEXT)": "agent_id"}),
        *each(RECORDS, {"records SET turn_id = CAST(x'61ff' AS TEXT) WHERE event_key = 'k1'": "turn_id"}),
    ],
)
async def test_a_text_that_is_no_utf_8_is_no_matter_of_trying_again(
    damaged: OwnedStore, path: Path, read: Read, field: str
) -> None:
    with pytest.raises(DurableDataError, match="UTF-8") as caught:
        await read(damaged)
    assert caught.value.path == str(path)
    assert field in caught.value.rule
