import io
from datetime import UTC, datetime, timedelta, timezone

import pytest
from rich.console import Console
from rich.text import Text

from actum.cli.text import instant, plain, show, table


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


def test_a_long_id_is_folded_in_a_table() -> None:
    out = io.StringIO()
    made = table("RUN", "STARTED")
    made.add_row("x" * 90, "2025-01-02T03:04:05.060Z")
    Console(file=out, width=80).print(made)
    assert out.getvalue().count("x") == 90
    assert "2025-01-02T03:04:05.060Z" in out.getvalue()
