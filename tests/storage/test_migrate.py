from pathlib import Path

import pytest

from actum.base.errors import NotAStore, SchemaTooNew
from actum.storage.migrate import Migration, migrations, pending


def step(number: int, sql: str = "SELECT 1;") -> Migration:
    return Migration(number, f"{number:04}_x.sql", sql, f"digest{number}")


STEPS = step(1), step(2), step(3)


def test_what_is_pending_follows_what_was_applied() -> None:
    assert pending(STEPS, 0, {}, "here") == STEPS
    assert pending(STEPS, 2, {1: "digest1", 2: "digest2"}, "here") == STEPS[2:]
    assert pending(STEPS, 3, {1: "digest1", 2: "digest2", 3: "digest3"}, "here") == ()


def test_a_store_with_more_steps_is_newer() -> None:
    with pytest.raises(SchemaTooNew) as caught:
        pending(STEPS, 4, {}, "here")
    assert (caught.value.found, caught.value.supported) == (4, 3)


@pytest.mark.parametrize("digests", [{}, {1: "digest1"}, {1: "other", 2: "digest2"}])
def test_a_step_of_another_text_is_no_step_of_ours(digests: dict[int, str]) -> None:
    with pytest.raises(NotAStore) as caught:
        pending(STEPS, 2, digests, "here")
    assert caught.value.location == "here"


def test_statements_come_one_by_one_without_the_remarks_between() -> None:
    sql = "-- what it is; and why\n\nCREATE TABLE a (\n    x TEXT -- a; b\n);\nINSERT INTO a VALUES ('--;\n');\n"
    assert list(step(1, sql).statements()) == [
        "CREATE TABLE a (\n    x TEXT -- a; b\n);",
        "INSERT INTO a VALUES ('--;\n');",
    ]


TRIGGER = "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT 2; END;"


@pytest.mark.parametrize(
    "sql, statements",
    [
        ("SELECT 1; SELECT 2;\n", ["SELECT 1;", "SELECT 2;"]),
        (f"{TRIGGER} SELECT 3;", [TRIGGER, "SELECT 3;"]),
        ("/* a; b\n */ SELECT 1; -- c; d\n  -- e\n\tSELECT 2;", ["SELECT 1;", "SELECT 2;"]),
        ("SELECT 1;\n\n-- the end; at last\n/* and\nthis; */ ", ["SELECT 1;"]),
        ("-- nothing yet", []),
        ("", []),
    ],
)
def test_statements_end_at_their_own_mark_wherever_lines_end(sql: str, statements: list[str]) -> None:
    assert list(step(1, sql).statements()) == statements


@pytest.mark.parametrize(
    "tail", ["CREATE TABLE b (x)", "SELECT ';'", "/* open;", f"{TRIGGER[:-6]}", "SELECT 2 -- and no more;"]
)
def test_a_statement_without_its_mark_is_never_dropped(tail: str) -> None:
    with pytest.raises(ValueError, match=r"0001_x\.sql ends within a statement"):
        list(step(1, f"SELECT 1;\n{tail}\n").statements())


def test_the_steps_are_numbered_without_a_gap() -> None:
    assert [each.number for each in migrations("sqlite")] == list(range(1, len(migrations("sqlite")) + 1))


@pytest.mark.parametrize("names", [["0002_b.sql"], ["0001_a.sql", "0003_c.sql"], ["0001_a.sql", "0001_b.sql"]])
def test_a_gap_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]) -> None:
    folder = tmp_path / "sql" / "odd"
    folder.mkdir(parents=True)
    for name in [*names, "README.md", "1_short.sql"]:
        (folder / name).write_text("SELECT 1;\n")
    monkeypatch.setattr("actum.storage.migrate.resources.files", lambda _: tmp_path)
    with pytest.raises(ValueError, match="not numbered"):
        migrations.__wrapped__("odd")
