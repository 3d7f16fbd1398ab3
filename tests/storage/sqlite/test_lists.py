"""Lists and slices are read along an index, in its order: no scan of a table, and nothing is sorted."""

import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from actum.base.value import replace
from actum.lifecycle.change import Scope
from actum.storage.backend import RecordQuery, RunQuery, SessionQuery
from actum.storage.sqlite.chains import Span
from actum.storage.sqlite.file import SQLiteFile
from actum.storage.sqlite.lists import run_statement, session_statement
from actum.storage.sqlite.records import record_statement
from actum.storage.sqlite.view import SQLiteView
from tests.support.rows import appended, at, new_record, run_row, session_row, started


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    file = SQLiteFile(tmp_path / "store.db")
    file.prepare()
    with file.connected("rw") as opened:
        yield opened


def plan_of(connection: sqlite3.Connection, statement: str, values: list[str | int]) -> list[str]:
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]


def assert_walks(plan: list[str], first: str) -> None:
    """The plan begins with this step; it reads no table as a whole and sorts nothing."""
    assert plan[0].startswith(first), plan
    assert not [step for step in plan if "TEMP B-TREE" in step], plan
    assert not [step for step in plan if step.startswith("SCAN") and "USING" not in step], plan
    assert not [step for step in plan[1:] if step.startswith("SCAN")], plan


AFTER = (at(1), "r1")


@pytest.mark.parametrize(
    "query, first",
    [
        (RunQuery(limit=9), "SCAN r USING INDEX runs_by_time"),
        (RunQuery(limit=9, after=AFTER), "SEARCH r USING INDEX runs_by_time ((started,run_id)>"),
        (RunQuery(limit=9, since=at(1)), "SEARCH r USING INDEX runs_by_time (started>?"),
        (RunQuery(limit=9, statuses=("running",)), "SEARCH r USING INDEX runs_by_status (status=?)"),
        (RunQuery(limit=9, statuses=("running",), after=AFTER), "SEARCH r USING INDEX runs_by_status (status=? AND"),
        (RunQuery(limit=9, statuses=("running",), since=at(1)), "SEARCH r USING INDEX runs_by_status (status=? AND"),
        (RunQuery(limit=9, statuses=("running", "failed"), after=AFTER), "SEARCH r USING INDEX runs_by_time ((started"),
        (RunQuery(limit=9, tenant="t"), "SEARCH r USING INDEX runs_by_tenant (tenant=?)"),
        (RunQuery(limit=9, tenant="t", statuses=("failed",)), "SEARCH r USING INDEX runs_by_tenant (tenant=?)"),
        (RunQuery(limit=9, agent_id="a", after=AFTER), "SEARCH r USING INDEX runs_by_agent (agent_id=? AND"),
        (RunQuery(limit=9, labels={"a": "1"}), "SEARCH l USING PRIMARY KEY (key=? AND value=?)"),
        (
            RunQuery(limit=9, labels={"a": "1"}, after=AFTER),
            "SEARCH l USING PRIMARY KEY (key=? AND value=? AND (started",
        ),
        (RunQuery(limit=9, labels={"a": "1", "b": "2"}), "SEARCH l USING PRIMARY KEY (key=? AND value=?)"),
        (RunQuery(limit=9, awaiting="questions", since=at(1)), "SEARCH a USING PRIMARY KEY (kind=? AND started>?)"),
    ],
)
def test_runs(connection: sqlite3.Connection, query: RunQuery, first: str) -> None:
    assert_walks(plan_of(connection, *run_statement(query)), first)


def test_runs_of_a_session(connection: sqlite3.Connection) -> None:
    for query in (
        RunQuery(limit=9, session_id="s1", statuses=("running", "failed")),
        RunQuery(limit=9, session_id="s1", labels={"a": "1"}, after=AFTER),
    ):
        assert_walks(plan_of(connection, *run_statement(query)), "SEARCH r USING INDEX runs_by_scope (scope=?")


@pytest.mark.parametrize(
    "query, first",
    [
        (SessionQuery(limit=9), "SCAN e USING INDEX sessions_by_time"),
        (SessionQuery(limit=9, after=AFTER), "SEARCH e USING INDEX sessions_by_time ((created,session_id)>"),
        (SessionQuery(limit=9, status="active"), "SEARCH e USING INDEX sessions_by_status (status=?)"),
        (SessionQuery(limit=9, tenant="t", status="active"), "SEARCH e USING INDEX sessions_by_tenant (tenant=?)"),
        (SessionQuery(limit=9, metadata={"a": "1"}, after=AFTER), "SEARCH m USING PRIMARY KEY (key=? AND value=? AND"),
        (SessionQuery(limit=9, metadata={"a": "1", "b": "2"}), "SEARCH m USING PRIMARY KEY (key=? AND value=?)"),
    ],
)
def test_sessions(connection: sqlite3.Connection, query: SessionQuery, first: str) -> None:
    assert_walks(plan_of(connection, *session_statement(query)), first)


TRANSCRIPT = ("transcript_messages_seeded", "transcript_messages_appended")
RUNS = {f"r{i}": Span(i, 1, "agent", 10 * i, 10 * i + 9) for i in range(1, 4)}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("types", [None, ("usage",), ("usage", *TRANSCRIPT), TRANSCRIPT, TRANSCRIPT[1:]])
@pytest.mark.parametrize("runs", [0, 1, 2, 3])
def test_records(connection: sqlite3.Connection, runs: int, types: tuple[str, ...] | None, *, backwards: bool) -> None:
    query = RecordQuery(scope=Scope("s1"), types=types, limit=9, backwards=backwards)
    some = dict(islice(RUNS.items(), runs)) or None
    plan = plan_of(connection, *record_statement(query, 1, some))
    assert_walks(plan, "SEARCH c USING INDEX records_by_position (scope=? AND position>? AND position<?)")


def test_records_of_runs_are_looked_for_where_those_are() -> None:
    query = RecordQuery(scope=Scope("s1"), after=3, limit=9)
    assert record_statement(query, 1, RUNS)[1][:3] == [1, 9, 39]
    assert record_statement(replace(query, after=12, before=38), 1, RUNS)[1][:3] == [1, 12, 37]


@pytest.mark.parametrize("between, statements", [(0, 1), (63, 1), (64, 2)])
def test_what_lies_between_two_runs_is_not_passed_over(
    connection: sqlite3.Connection, between: int, statements: int
) -> None:
    view = SQLiteView(connection)
    view.apply(started(session_row(), run_row("r1", end_position=1)))
    view.apply(appended([new_record("r1")]))
    view.apply(started(session_row(), run_row("r2")))
    view.apply(appended([new_record("r2", f"k{i}") for i in range(between)], after=1))
    view.apply(started(session_row(), run_row("r3")))
    view.apply(appended([new_record("r3")], after=between + 1))
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    found = view.records(RecordQuery(scope=Scope("s1"), runs=["r1", "r3"], limit=9))
    assert [record.run_id for record in found.records] == ["r1", "r3"]
    assert sum("FROM records AS c" in each for each in asked) == statements


def test_a_record_behind_its_runs_end_is_never_read_with_the_run(connection: sqlite3.Connection) -> None:
    """No rule allows it; on a damaged file it changes nothing, however many runs are read together."""
    view = SQLiteView(connection)
    view.apply(started(session_row(), run_row("r1", end_position=1)))
    view.apply(appended([new_record("r1", "a")]))
    view.apply(started(session_row(), run_row("r2", end_position=4)))
    view.apply(appended([new_record("r2", "b"), new_record("r1", "astray"), new_record("r2", "c")], after=1))
    for limit in (1, 2, 3, 9):
        query = RecordQuery(scope=Scope("s1"), runs=["r1", "r2"], limit=limit)
        found = view.records(query)
        assert [record.event_key for record in found.records] == ["a", "b", "c"][:limit]
        assert found.more is (limit < 3)
        assert view.payloads(query).more is found.more
        assert len(view.payloads(query).payloads) == len(found.records)
