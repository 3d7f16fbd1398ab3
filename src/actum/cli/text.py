"""Text for a terminal. What is stored was written by others: it may say anything, but it may not move the cursor."""

import sys
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import IO, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

# Columns of instants, which read badly when they are folded.
TIMES: Final = frozenset({"CREATED", "STARTED"})
# Wider than any line: what is no terminal has no width, and whoever reads a pipe by lines wants whole ones.
_UNBOUNDED: Final = 1 << 20
# Invisible marks that reorder what a reader sees.
_TURNING: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(value: object) -> str:
    """`value` on its own lines, with every control character shown by its code."""
    return "".join(each if _harmless(each) else _shown(each) for each in str(value))


def instant(value: datetime | None) -> str | None:
    """An instant as ISO 8601 in UTC, with milliseconds."""
    return None if value is None else value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Out(Console):
    """A console that leaves a broken pipe to the program; rich would end it with the code of found problems."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Where text is shown: coloured and wrapped on a terminal, plain and in whole lines in a pipe."""
    # Asked of the file itself: whoever forces colours into a pipe has no terminal yet. A closed one is no file at all.
    file: IO[str] | None = sys.stderr if stderr else sys.stdout
    width = None if file is not None and file.isatty() else _UNBOUNDED
    return _Out(stderr=stderr, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


class Rows:
    """A table of ids and words, the first column an id: what is too long goes on below, nothing is cut.

    Each row may have a `note`: on a terminal it stands below its row, in a pipe it is the row's last column.
    """

    def __init__(self, out: Console, columns: Sequence[str], note: str) -> None:
        self._out = out
        self._below = out.width != _UNBOUNDED
        self._table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for name in (*columns, *([] if self._below else [note])):
            self._table.add_column(name, overflow="fold", min_width=24 if name in TIMES else None)
        self._said = note.lower()

    def add(self, *cells: Text, note: str | None = None) -> None:
        """One more row."""
        if not self._below:
            self._table.add_row(*cells, cell(note))
            return
        self._table.add_row(*cells)
        if note is not None:
            self._table.add_row(cell(f"  {self._said} {note}", "dim"))

    def print(self) -> None:
        """Prints the rows, without blanks behind them."""
        for segments in self._out.render_lines(self._table, pad=False):
            line = Text.assemble(*[(each.text, each.style or "") for each in segments])
            line.rstrip()
            self._out.print(line, soft_wrap=True)


def cell(value: object, style: str = "") -> Text:
    """A cell, or any piece of text that is not ours."""
    return Text("-" if value is None else plain(value), style=style)


def show(out: Console, text: Text, indent: int = 0) -> None:
    """Prints text wrapped to the console's width, where it has one: so many blanks before each line, none behind it."""
    for line in text.wrap(out, max(out.width - indent, 20)):
        shown = Text(" " * indent) + line
        shown.rstrip()
        out.print(shown, soft_wrap=True)


def tell(text: str) -> None:
    """Says on standard output what a command did, in a line of its own."""
    console().print(Text(plain(text)), soft_wrap=True)


def many(count: int, noun: str) -> str:
    """So many of these: `1 run`, `1,200 runs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _harmless(each: str) -> bool:
    return each in "\n\t" or not (unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") or each in _TURNING)


def _shown(each: str) -> str:
    code = ord(each)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"  # noqa: PLR2004 - how Python spells them
