"""What is JSON, and what is not: values as Python has them, and bytes before and after a decoder reads them.

A decoder keeps the syntax. What it lets pass is refused here: other types in a JSON position, NaN, non-text keys, lone
surrogates, integers beyond their bound, deep nesting.
"""

import json
import math
import re
from typing import Any, Final

from actum.base.checks import refuse
from actum.base.limits import INTEGER_DIGITS, JSON_DEPTH

# Possessive: it walks a text of 16 MiB without remembering where it has been.
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
# msgspec counts the sign as a digit: it reads 4,300 digits, but not behind a minus. Such an integer is shown to it as a
# number that it gives away as text. No float can be meant by that spelling: it would be out of range.
_LOWEST = re.compile(_STRINGS.pattern + rb"|(-[0-9]{%d})(?![0-9.eE])" % INTEGER_DIGITS, re.DOTALL)
_SHOWN = re.compile(rb"-[0-9]{%d}e0" % INTEGER_DIGITS)
TEN_TO_BOUND: Final = 10**INTEGER_DIGITS


class Pairs(list[tuple[str, Any]]):
    """A JSON object as it was spelled: its pairs in order, duplicates included."""


def json_value(path: str, value: Any, limit: int = JSON_DEPTH) -> Any:  # noqa: ANN401 - the JSON edge
    """Any JSON value of at most `limit` levels, unchanged; refused with the path of what is none."""
    flaw = _flaw(value, limit)
    if flaw is not None:
        inside, wrong, rule = flaw
        raise refuse(path + inside, wrong, rule)
    return value


def _flaw(value: Any, room: int) -> tuple[str, object, str] | None:  # noqa: ANN401 - the JSON edge
    """Where in `value` something is no JSON, what it is, and what it breaks; the path is made on the way back."""
    kind = type(value)
    if kind is str:
        return None if value.isascii() else _text_flaw("", value)
    if value is None or kind is bool:
        return None
    if kind is int:
        fits = -TEN_TO_BOUND < value < TEN_TO_BOUND
        return None if fits else ("", value, f"has at most {INTEGER_DIGITS} digits")
    if kind is float:
        return None if math.isfinite(value) else ("", value, "is a finite number")
    if kind is not list and kind is not dict:
        return "", value, "is a JSON value: null, true, false, a number, text, a list or an object"
    if room <= 0:
        return "", kind.__name__, f"nests at most {JSON_DEPTH} levels in all"
    return _list_flaw(value, room) if kind is list else _object_flaw(value, room)


def _list_flaw(value: list[Any], room: int) -> tuple[str, object, str] | None:
    for i, item in enumerate(value):
        flaw = _flaw(item, room - 1)
        if flaw is not None:
            return f"[{i}]{flaw[0]}", flaw[1], flaw[2]
    return None


def _object_flaw(value: dict[Any, Any], room: int) -> tuple[str, object, str] | None:
    for key, item in value.items():
        if type(key) is not str:
            return " key", key, "is text"
        flaw = None if key.isascii() else _text_flaw(" key", key)
        if flaw is not None:
            return flaw
        flaw = _flaw(item, room - 1)
        if flaw is not None:
            return f".{key}{flaw[0]}", flaw[1], flaw[2]
    return None


def _text_flaw(where: str, value: str) -> tuple[str, object, str] | None:
    try:
        value.encode()
    except UnicodeEncodeError:
        return where, value, "is valid Unicode, without lone surrogates"
    return None


def not_too_deep(path: str, data: bytes, limit: int = JSON_DEPTH) -> None:
    """Refuses JSON bytes that nest beyond `limit` levels, before any decoder recurses into them."""
    if too_deep(data, limit):
        raise refuse(path, data, f"nests at most {JSON_DEPTH} levels in all")


def too_deep(data: bytes, limit: int = JSON_DEPTH) -> bool:
    """Whether JSON bytes nest beyond `limit` levels."""
    # What begins a level is taken out and not counted: it is found three times as quickly.
    if len(data) - len(data.replace(b"[", b"").replace(b"{", b"")) <= limit:
        return False
    depth = 0
    for mark in re.findall(rb"[\[\]{}]", _STRINGS.sub(b"", data)):
        depth += 1 if mark in b"[{" else -1
        if depth > limit:
            return True
    return False


def lowest_shown(data: bytes) -> bytes:
    """`data` with every negative integer of the greatest length spelled so that `lowest_or_float` meets it."""
    return _LOWEST.sub(lambda found: found[1] + b"e0" if found[1] else found[0], data)


def lowest_hidden(data: bytes) -> bytes:
    """`data`, which comes from `lowest_shown`, in its first spelling."""
    return _SHOWN.sub(lambda found: found[0].removesuffix(b"e0"), data)


def lowest_or_float(number: str) -> int | float:
    """The number that a decoder gave away as text. Raises ValueError for one that no float can hold."""
    if _SHOWN.fullmatch(number.encode()):
        return int(number.removesuffix("e0"))
    value = float(number)
    if not math.isfinite(value):
        raise ValueError("Number out of range")
    return value


def shows_lowest(data: bytes) -> bool:
    """Whether these bytes have such a spelling already, so that nobody could tell it from ours."""
    return _SHOWN.search(data) is not None


def spelling(data: bytes) -> Any:  # noqa: ANN401 - the JSON edge
    """How the JSON `data`, which a strict decoder has accepted, was spelled: `Pairs` for objects, text for numbers."""
    return json.loads(data, object_pairs_hook=Pairs, parse_int=str, parse_float=str)
