"""Numbered .sql files, each applied once, in order, and known by its hash. A database's own file runs them."""

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from actum.base.errors import NotAStore, SchemaTooNew, shortened

_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql", re.ASCII)
# Blanks and remarks, as they stand between statements.
_REMARKS = re.compile(r"(?:\s|--[^\n]*|/\*.*?\*/)*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of a schema. `digest` is the SHA-256 of its text."""

    number: int
    name: str
    sql: str
    digest: str

    def statements(self) -> Iterator[str]:
        """The statements one by one: a transaction around them is the caller's, which a whole script would end.

        Raises ValueError for a last statement without its `;`, which the database would never be told.
        """
        begins = _behind_remarks(self.sql, 0)
        for mark in re.finditer(";", self.sql):
            # A `;` also stands in texts, remarks and triggers; one in the remarks before a statement is passed by.
            statement = self.sql[begins : mark.end()]
            if statement and sqlite3.complete_statement(statement):
                yield statement
                begins = _behind_remarks(self.sql, mark.end())
        if begins < len(self.sql):
            raise ValueError(f"{self.name} ends within a statement; `;` is missing: {shortened(self.sql[begins:])}")


@cache
def migrations(dialect: str) -> tuple[Migration, ...]:
    """The steps for `dialect` (`sqlite`), from the first; their numbers have no gap."""
    folder = resources.files("actum.storage") / "sql" / dialect
    named = sorted((match[0], int(match[1])) for file in folder.iterdir() if (match := _NAME.fullmatch(file.name)))
    steps = []
    for name, number in named:
        data = (folder / name).read_bytes()
        steps.append(Migration(number, name, data.decode(), hashlib.sha256(data).hexdigest()))
    if [step.number for step in steps] != list(range(1, len(steps) + 1)):
        raise ValueError(f"the migrations of {dialect} are not numbered 1, 2, 3, …: {[step.name for step in steps]}")
    return tuple(steps)


def pending(
    steps: tuple[Migration, ...], version: int, digests: Mapping[int, str], location: str
) -> tuple[Migration, ...]:
    """The steps that a store of this version still lacks; `digests` are of those that it has had.

    Raises SchemaTooNew when it has more than we know, NotAStore when one of them was another text.
    """
    if version > len(steps):
        raise SchemaTooNew(found=version, supported=len(steps))
    for step in steps[:version]:
        if digests.get(step.number) != step.digest:
            raise NotAStore(location=location, reason=f"its schema was not made by {step.name} as this Actum knows it")
    return steps[version:]


def _behind_remarks(sql: str, begins: int) -> int:
    remarks = _REMARKS.match(sql, begins)
    return begins if remarks is None else remarks.end()
