"""The full-text index of the memories: digests of words under a secret, in FTS5.

A word's digest under one secret matches under no other. So the rows of a tenant or a scope are found inside the query,
how rare a word is counts within them alone, and nothing in a query is an operator.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from actum.memory.terms import asked_terms, telling_terms, terms

Index: TypeAlias = Literal["memory_event_words", "memory_entry_words"]

_DIGEST_BYTES = 6


def add_words(connection: sqlite3.Connection, index: Index, row: int, secret: str, text: str) -> None:
    """Makes the row findable by the words of its text."""
    words = _digests(secret, terms(text))
    connection.execute(f"INSERT INTO {index} (rowid, words) VALUES (?, ?)", (row, words))  # noqa: S608 - one of two names


def drop_words(connection: sqlite3.Connection, index: Index, row: int, secret: str, text: str) -> None:
    """Takes the row out of the index; `text` is what it was added with."""
    words = _digests(secret, terms(text))
    connection.execute(f"INSERT INTO {index} ({index}, rowid, words) VALUES ('delete', ?, ?)", (row, words))  # noqa: S608 - one of two names


def asked_for(secret: str, query: str, *, every: bool) -> str | None:
    """The match expression for a query: every word of it, or any that tells something; None when it has no word."""
    asked = asked_terms(query) if every else telling_terms(query)
    return _digests(secret, asked, " " if every else " OR ") if asked else None


def holding(
    connection: sqlite3.Connection, index: Index, secret: str, term: str, rows: Sequence[int]
) -> tuple[int, set[int]]:
    """How many rows under this secret hold the word, and which of `rows` do."""
    match, marks = _digests(secret, [term]), ", ".join("?" * len(rows))
    count, those = connection.execute(
        f"SELECT count(*), group_concat(rowid) FILTER (WHERE rowid IN ({marks})) FROM {index} WHERE {index} MATCH ?",  # noqa: S608 - marks and one of two names
        (*rows, match),
    ).fetchone()
    return int(count), {int(each) for each in those.split(",")} if those else set()


def _digests(secret: str, words: Iterable[str], between: str = " ") -> str:
    key = bytes.fromhex(secret)
    return between.join(
        [hashlib.blake2b(each.encode(), key=key, digest_size=_DIGEST_BYTES).hexdigest() for each in words]
    )
