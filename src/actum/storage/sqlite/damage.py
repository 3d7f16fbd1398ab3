"""Where a damaged row does not fit. Asked only when no value could be made of the row: sound rows cost nothing."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from actum.base.errors import shortened
from actum.base.value import Fact

# What reading a damaged column may raise: a number may be out of range, a text may be no JSON, or nest too deep.
UNFIT: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)


class Column(Fact, frozen=True):
    """A column of a row: its place there, its field of the value, how it is read, and what a sound row holds."""

    index: int
    path: str
    read: Callable[[Any], object]
    rule: str
    optional: bool = False


class Flaw(Fact, frozen=True):
    """The field of a value that its row does not fit, and the rule that the row breaks."""

    path: str
    rule: str


def flaw_in(row: Sequence[Any], columns: Sequence[Column]) -> Flaw | None:
    """The first of these columns that cannot be read; None when all can."""
    for column in columns:
        stored = row[column.index]
        if stored is None and column.optional:
            continue
        try:
            column.read(stored)
        except UNFIT:
            return Flaw(column.path, f"{column.rule}, not {shortened(stored)}")
    return None
