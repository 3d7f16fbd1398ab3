"""Text for a terminal. What is stored was written by others: it may say anything, but it may not move the cursor."""

import unicodedata
from datetime import datetime
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

# Columns of instants, which read badly when they are folded.
TIMES: Final = frozenset({"CREATED", "STARTED"})
# Invisible marks that reorder what a reader sees.
_TURNING: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(value: object) -> str:
    """`value` on its own lines, with every control character shown by its code."""
    return "".join(each if _harmless(each) else _shown(each) for each in str(value))


def instant(value: datetime | None) -> str | None:
    """An instant as ISO 8601 in UTC, with milliseconds."""
    return None if value is None else value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def console(*, stderr: bool = False) -> Console:
    """Where text is shown: coloured on a terminal, plain in a pipe."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)


def table(*columns: str) -> Table:
    """A table of ids and words, the first column an id: what is too long goes on below, nothing is cut."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        made.add_column(name, overflow="fold", min_width=24 if name in TIMES else None)
    return made


def cell(value: object, style: str = "") -> Text:
    """A cell, or any piece of text that is not ours."""
    return Text("-" if value is None else plain(value), style=style)


def show(out: Console, text: Text, indent: int = 0) -> None:
    """Prints text wrapped to the console's width, each line behind so many blanks and nothing behind it."""
    for line in text.wrap(out, max(out.width - indent, 20)):
        line.rstrip()
        out.print(Text(" " * indent) + line, soft_wrap=True)


def _harmless(each: str) -> bool:
    return each in "\n\t" or not (unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") or each in _TURNING)


def _shown(each: str) -> str:
    code = ord(each)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"  # noqa: PLR2004 - how Python spells them
