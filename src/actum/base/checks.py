"""Checks of single values: identifiers, instants, text, labels. Each gives the value back in its exact form.

A check is `(path, value) -> value`; as `Annotated[str, identifier]` it becomes part of a field's type, which
`plans.conform` then keeps.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, TypeVar

from actum.base.errors import InvalidValue, TooLarge, shortened
from actum.base.limits import (
    COUNT_MAX,
    IDENTIFIER_BYTES,
    LABEL_ENTRIES,
    LABEL_KEY_BYTES,
    LABEL_VALUE_BYTES,
    REASON_BYTES,
)

T = TypeVar("T")


def refuse(path: str, value: object, rule: str) -> InvalidValue:
    """The error for a value that breaks `rule`."""
    return InvalidValue(field=path, value=shortened(value), rule=rule)


def utf8(path: str, value: object) -> bytes:
    """The UTF-8 bytes of a text; refused when it is no text or holds a lone surrogate."""
    if not isinstance(value, str):
        raise refuse(path, value, "is text")
    try:
        return str.encode(value)
    except UnicodeEncodeError:
        raise refuse(path, value, "is valid Unicode, without lone surrogates") from None


def plain(value: str) -> str:
    """The text itself of a text of any subclass, whatever `str()` makes of it: of an enumeration, say, its name."""
    return str.__str__(value)


def text(path: str, value: object) -> str:
    """Any text that Unicode can spell."""
    if type(value) is str and value.isascii():
        return value
    return _exactly_text(value, utf8(path, value))


def _exactly_text(value: object, data: bytes) -> str:
    # The same object where it is plain text already; the text of a subclass, such as a StrEnum.
    return value if type(value) is str else data.decode()


def _plain_text(path: str, value: object, limit: int) -> str:
    data = utf8(path, value)
    if len(data) > limit:
        raise TooLarge(field=path, size=len(data), limit=limit)
    if b"\0" in data:
        raise refuse(path, value, "holds no NUL character")
    return _exactly_text(value, data)


def identifier(path: str, value: object) -> str:
    """An exact identity: 1 to 512 UTF-8 bytes, not only blanks, no NUL; never trimmed or normalised."""
    # Nearly every one is short and plain: that is seen at once. The others hear what is wrong with them below.
    if (
        type(value) is str
        and value.isascii()
        and len(value) <= IDENTIFIER_BYTES
        and "\0" not in value
        and value.strip()
    ):
        return value
    exact = text(path, value)
    if not exact or exact.isspace():
        raise refuse(path, value, "is not empty and not only blanks")
    if "\0" in exact:
        raise refuse(path, value, "holds no NUL character")
    size = len(exact) if exact.isascii() else len(exact.encode())
    if size > IDENTIFIER_BYTES:
        raise refuse(path, value, f"has at most {IDENTIFIER_BYTES} UTF-8 bytes, not {size}")
    return exact


def instant(path: str, value: object) -> datetime:
    """An aware instant of whole milliseconds, given back in UTC."""
    exact = value if type(value) is datetime and value.tzinfo is UTC else _in_utc(path, value)
    # Looked at in UTC: an offset may be as fine as microseconds.
    if exact.microsecond % 1000:
        raise refuse(path, value, "has whole milliseconds; `actum.now()` gives such instants")
    return exact


def _in_utc(path: str, value: object) -> datetime:
    if not isinstance(value, datetime):
        raise refuse(path, value, "is a datetime")
    if value.utcoffset() is None:
        raise refuse(path, value, "carries its UTC offset; a naive time means another instant elsewhere")
    try:
        there = value.astimezone(UTC)
    except OverflowError:
        raise refuse(path, value, "lies between the years 1 and 9999 in UTC") from None
    return datetime.combine(there.date(), there.time(), tzinfo=UTC)


def reason(path: str, value: object) -> str:
    """A caller's reason: not blank, at most 4,096 UTF-8 bytes, no NUL."""
    given = _plain_text(path, value, REASON_BYTES)
    if not given.strip():
        raise refuse(path, value, "is not empty and not only blanks")
    return given


def labels(path: str, value: object) -> dict[str, str]:
    """Text to text: at most 64 entries, keys to 256 and values to 2,048 UTF-8 bytes.

    Given back as a sorted copy: their order means nothing, and the caller's mapping stays the caller's.
    """
    if not isinstance(value, dict):
        raise refuse(path, value, "is a mapping of text to text")
    if len(value) > LABEL_ENTRIES:
        raise TooLarge(field=path, size=len(value), limit=LABEL_ENTRIES, unit="entries")
    exact = {}
    for key, entry in value.items():
        name = _plain_text(f"{path} key", key, LABEL_KEY_BYTES)
        if not name.strip():
            raise refuse(f"{path} key", key, "is not empty and not only blanks")
        exact[name] = _plain_text(f"{path}[{name!r}]", entry, LABEL_VALUE_BYTES)
    return dict(sorted(exact.items()))


def several(path: str, values: object, kind: type[T], what: str) -> tuple[T, ...]:
    """The items of a list of `what`, each of them a `kind`. A text or a mapping is no list."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise refuse(path, values, f"is a list of {what}")
    given = tuple(values)
    for index, value in enumerate(given):
        if not isinstance(value, kind):
            raise refuse(f"{path}[{index}]", value, f"is of the type {kind.__name__}")
    return given


def count(path: str, value: object) -> int:
    """A whole number from 0 to 2**63 - 1."""
    if type(value) is not int or not 0 <= value <= COUNT_MAX:
        raise refuse(path, value, f"is a whole number from 0 to {COUNT_MAX}")
    return value


def optional_identifier(path: str, value: object) -> str | None:
    """An identifier, or None; never an empty text in place of None."""
    return None if value is None else identifier(path, value)


Identifier = Annotated[str, identifier]
Instant = Annotated[datetime, instant]
Reason = Annotated[str, reason]
Labels = Annotated[dict[str, str], labels]
Count = Annotated[int, count]
