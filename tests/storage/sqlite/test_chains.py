"""What a reading connection keeps of history chains never outlives a commit of somebody else."""

import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from actum.storage.sqlite.chains import Chains
from actum.storage.sqlite.file import SQLiteFile
from actum.storage.sqlite.view import SQLiteView
from tests.support.rows import chained, run_row, session_row, started


@pytest.fixture
def file(tmp_path: Path) -> SQLiteFile:
    file = SQLiteFile(tmp_path / "store.db")
    file.prepare()
    with file.connected("rw") as writer:
        SQLiteView(writer).apply(started(session_row(), *chained(5)))
    return file


@pytest.fixture
def connection(file: SQLiteFile) -> Iterator[sqlite3.Connection]:
    with file.connected("rw") as opened:
        yield opened


def told(connection: sqlite3.Connection) -> list[str]:
    """The statements that the connection runs from now on, all but the question whether somebody wrote."""
    statements: list[str] = []
    connection.set_trace_callback(lambda text: None if "data_version" in text else statements.append(text))
    return statements


def names(chains: Chains, run_id: str = "h4") -> list[str]:
    return [link[0] for link in chains.walk(run_id)]


WHOLE = ["h4", "h3", "h2", "h1", "h0"]


def test_a_chain_is_read_once(connection: sqlite3.Connection) -> None:
    chains, statements = Chains(connection), told(connection)
    first = list(chains.walk("h4"))
    assert len(statements) == 1
    assert first[1] == ("h3", 4)
    # What is known whole is given at once.
    assert chains.walk("h4") == first
    assert list(chains.walk("h2")) == first[2:]
    assert list(chains.walk("h4")) == first
    assert len(statements) == 1
    span = chains.span("h3")
    assert span is not None
    assert (span.agent_id, span.begins, span.ends) == ("helper", 1, 4)
    assert chains.span("elsewhere") is None


def test_a_walk_that_was_left_is_gone_on_with_where_it_ended(connection: sqlite3.Connection) -> None:
    chains, statements = Chains(connection), told(connection)
    assert len(list(islice(chains.walk("h4"), 2))) == 2
    assert names(chains) == WHOLE
    assert names(chains) == WHOLE
    assert len(statements) == 2


def test_the_older_part_of_a_chain_too_long_to_keep_is_read_each_time(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actum.storage.sqlite.chains._KEPT", 2)
    chains, statements = Chains(connection), told(connection)
    assert [names(chains), names(chains), names(chains)] == [WHOLE] * 3
    assert len(statements) == 3


def test_a_chain_too_long_to_keep_makes_room_for_the_next(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actum.storage.sqlite.chains._KEPT", 2)
    chains, statements = Chains(connection), told(connection)
    assert names(chains) == WHOLE
    for _ in range(3):
        assert names(chains, "h1") == ["h1", "h0"]
    assert len(statements) == 2


def test_what_another_connection_has_written_is_read(file: SQLiteFile, connection: sqlite3.Connection) -> None:
    chains = Chains(connection)
    assert names(chains) == WHOLE
    with file.connected("rw") as writer:
        writer.execute("UPDATE runs SET history_run_id = NULL, end_position = 3 WHERE run_id = 'h3'")
    assert list(chains.walk("h4")) == [("h4", 5), ("h3", 3)]
    assert names(chains) == ["h4", "h3"]


def test_in_one_state_of_the_rows_a_chain_stays_what_it_was(file: SQLiteFile, connection: sqlite3.Connection) -> None:
    chains = Chains(connection)
    connection.execute("BEGIN")
    assert names(chains) == WHOLE
    with file.connected("rw") as writer:
        writer.execute("UPDATE runs SET history_run_id = NULL WHERE run_id = 'h3'")
    assert names(chains) == WHOLE
    connection.execute("ROLLBACK")
    assert names(chains) == ["h4", "h3"]


def test_who_writes_on_the_same_connection_forgets(connection: sqlite3.Connection) -> None:
    view = SQLiteView(connection)
    assert tuple(view.chain("x")) == ()
    assert [name for name, _ in view.chain("h4")] == WHOLE
    view.apply(started(session_row(), run_row("h4", end_position=5)))
    assert tuple(view.chain("h4")) == (("h4", 5),)


def test_a_circle_is_left_also_where_its_links_are_known(file: SQLiteFile, connection: sqlite3.Connection) -> None:
    with file.connected("rw") as writer:
        writer.execute("UPDATE runs SET history_run_id = 'h4' WHERE run_id = 'h2'")
    chains = Chains(connection)
    assert [names(chains), names(chains)] == [["h4", "h3", "h2"]] * 2
    assert [names(chains, "h2"), names(chains, "h2")] == [["h2"]] * 2
