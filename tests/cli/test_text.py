import io
from datetime import UTC, datetime, timedelta, timezone

import pytest
from rich.console import Console
from rich.text import Text

from actum.cli.text import Rows, cell, console, instant, one_line, plain, show


@pytest.mark.parametrize(
    "given, shown",
    [
        ("plain ж 🔥", "plain ж 🔥"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\rb\x00\x9b", "a\\x0db\\x00\\x9b"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\ud800", "\\ud800"),
        ("\u2028", "\\u2028"),
    ],
)
def test_no_stored_text_moves_the_cursor(given: str, shown: str) -> None:
    assert plain(given) == shown


def test_an_instant_has_milliseconds_and_its_zone() -> None:
    moment = datetime(2025, 1, 2, 3, 4, 5, 60_000, tzinfo=UTC)
    assert instant(moment) == "2025-01-02T03:04:05.060Z"
    assert instant(None) is None
    assert instant((moment - timedelta(milliseconds=60)).astimezone(UTC)) == "2025-01-02T03:04:05.000Z"
    assert instant(moment.astimezone(timezone(timedelta(hours=1)))) == "2025-01-02T04:04:05.060+01:00"


def test_text_is_wrapped_behind_its_indent_without_trailing_blanks() -> None:
    out = io.StringIO()
    show(Console(file=out, width=24), Text("one two three four five six seven"), 4)
    assert out.getvalue() == "    one two three four\n    five six seven\n"


def test_text_in_a_pipe_keeps_its_own_lines(capsys: pytest.CaptureFixture[str]) -> None:
    long = "word " * 60 + "end"
    show(console(), Text(f"{long}\n\nsecond"), 2)
    assert capsys.readouterr().out == f"  {long}\n\n  second\n"


def test_a_terminal_folds_a_long_id_and_shows_a_note_below_its_row() -> None:
    out = io.StringIO()
    rows = Rows(Console(file=out, width=80), ("RUN", "STARTED"), "WAITS FOR")
    rows.add(cell("x" * 90), cell("2025-01-02T03:04:05.060Z"), note="a confirmation")
    rows.print()
    shown = out.getvalue().splitlines()
    assert out.getvalue().count("x") == 90
    assert "2025-01-02T03:04:05.060Z" in shown[1]
    assert shown[-1] == "  waits for a confirmation"
    assert max(len(line) for line in shown) <= 80
    assert [line for line in shown if line != line.rstrip()] == []


def test_a_pipe_gets_a_row_in_one_line_however_long(capsys: pytest.CaptureFixture[str]) -> None:
    rows = Rows(console(), ("RUN",), "WAITS FOR")
    rows.add(cell("x" * 900), note="a confirmation")
    rows.add(cell("y"))
    rows.print()
    shown = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert shown == [["RUN", "WAITS FOR"], ["x" * 900, "a confirmation"], ["y", "-"]]


def test_an_id_with_a_line_break_begins_no_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    rows = Rows(console(), ("RUN", "STATUS"), "HEAD")
    rows.add(one_line("a\nb\tc"), one_line("running"), note="d\ne")
    rows.print()
    assert capsys.readouterr().out == "RUN          STATUS   HEAD\na\\x0ab\\x09c  running  d\\x0ae\n"


def test_a_note_has_the_whole_width_of_the_terminal() -> None:
    out = io.StringIO()
    rows = Rows(Console(file=out, width=60), ("RUN", "STATUS"), "WAITS FOR")
    rows.add(cell("r1"), cell("suspended"), note="a confirmation (delete_everything)")
    rows.print()
    assert out.getvalue() == "RUN  STATUS\nr1   suspended\n  waits for a confirmation (delete_everything)\n"
