"""Text for a terminal. What is stored was written by others: it may say anything, but it may not move the cursor."""

import sys
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest
from typing import IO, Final

from rich.console import Console
from rich.text import Text

# An id may hold what would begin another line, or another column.
_BREAKS: Final = str.maketrans({"\n": "\\x0a", "\t": "\\x09"})
# Blanks between two columns; and a width, that of an instant, below which no column is pressed.
_GAP: Final = 2
_NARROW: Final = 24
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
    """A list of ids and words in columns: what is too long for a terminal goes on below, nothing is cut.

    Each row may have a `note`: on a terminal it stands below its row, in a pipe it is the row's last column.
    """

    def __init__(self, out: Console, columns: Sequence[str], note: str) -> None:
        self._out = out
        self._note = note
        self._below = out.width != _UNBOUNDED
        heading = columns if self._below else (*columns, note)
        self._rows: list[tuple[tuple[Text, ...], str | None]] = [(tuple(cell(each, "bold") for each in heading), None)]

    def add(self, *cells: Text, note: str | None = None) -> None:
        """One more row."""
        self._rows.append((cells, note) if self._below else ((*cells, one_line(note)), None))

    def print(self) -> None:
        """Prints the rows, without blanks behind them."""
        widths = self._widths()
        for cells, note in self._rows:
            folded = [each.wrap(self._out, width, overflow="fold") for each, width in zip(cells, widths, strict=True)]
            for pieces in zip_longest(*folded):
                line = Text()
                for piece, width in zip(pieces, widths, strict=True):
                    shown = Text() if piece is None else piece
                    line += shown + " " * (width - shown.cell_len + _GAP)
                line.rstrip()
                self._out.print(line, soft_wrap=True)
            if note is not None:
                show(self._out, one_line(f"{self._note.lower()} {note}", "dim"), _GAP)

    def _widths(self) -> list[int]:
        """A width for each column: as wide as its longest cell, unless the console is narrower."""
        widths = [max(each.cell_len for each in column) for column in zip(*[row for row, _ in self._rows], strict=True)]
        room = self._out.width - _GAP * (len(widths) - 1)
        while sum(widths) > room and max(widths) > _NARROW:
            widths[widths.index(max(widths))] -= 1
        return widths


def cell(value: object, style: str = "") -> Text:
    """A cell, or any piece of text that is not ours."""
    return Text("-" if value is None else plain(value), style=style)


def one_line(value: object, style: str = "") -> Text:
    """An id, or any other name that is not ours: its line breaks and tabs are shown by their codes too."""
    return Text("-" if value is None else plain(value).translate(_BREAKS), style=style)


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
