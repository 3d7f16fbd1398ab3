"""Ids, values and queries that are easily taken for something else."""

from typing import Final

from actum.base.value import Json

# Ids that some database, pattern or normal form takes for one another. Each is an identity of its own.
NEAR: Final = (
    "s1",
    "s",
    "s10",
    "S1",
    "s1 ",
    " s1",
    "s_",
    "s%",
    "s*",
    "s?",
    ".*",
    "%",
    "*",
    "_",
    "'",
    '"',
    "\\",
    "null",
    "None",
    "caf\u00e9",
    "cafe\u0301",
    "CAF\u00c9",
    "stra\u00dfe",
    "strasse",
    "\u0130",
    "i\u0307",
    "\uff53\uff11",
    "0",
    "00",
)
NO_IDS: Final = ("", " ", "\t\n", "a\0b", "\ud800", "x" * 513, None, 1, b"s1", ["s1"])
FALSY: Final[tuple[Json, ...]] = (None, "", False, 0, 0.0, [], {})
OPERATORS: Final = (
    "",
    " ",
    "*",
    "%",
    '"',
    '"dark',
    "'",
    "dark OR light",
    "NOT dark",
    "dark*",
    "NEAR(dark light)",
    "key:dark",
    "-dark",
    "^dark",
    "(",
    "{key}: dark",
    "; DROP TABLE memory_entries; --",
    "\0",
    "dark\0mode",
    "\U0001f600",
)
