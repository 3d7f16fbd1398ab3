"""Records: the immutable facts of a run, and the pages in which they are read.

A record is identified by its run and its event key. The store numbers records within their scope (a session, or the
root run of a one-shot tree), without gaps, in commit order; `Record.id` is opaque text of that position.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Final, Generic, TypeVar

from actum.base.checks import Identifier, Instant, plain, refuse
from actum.base.errors import InvalidCursor, TooLarge, shortened
from actum.base.limits import CURSOR_CHARS, PAYLOAD_BYTES
from actum.base.value import Value
from actum.records.types import is_record_type

T = TypeVar("T")

SCOPE_DIGITS: Final = 16
_RECORD_ID = re.compile(rf"([0-9a-f]{{{SCOPE_DIGITS}}})-(0|[1-9][0-9]{{0,17}})", re.ASCII)
# Many of them, a line each. Possessive: it takes no note of where it has been.
_RECORD_IDS = re.compile(rf"(?:[0-9a-f]{{{SCOPE_DIGITS}}}-(?:0|[1-9][0-9]{{0,17}})\n)*+", re.ASCII)


def record_type(path: str, value: object) -> str:
    """One of `RecordType`, or a product's own type: `x.` and a name of letters, digits, dots, dashes, underscores."""
    if not isinstance(value, str) or not is_record_type(exact := plain(value)):
        raise refuse(path, value, "is a record type of Actum, or an own type that begins with 'x.'")
    return exact


def payload_bytes(path: str, value: object) -> bytes:
    """The bytes of one JSON value, at most 16 MiB."""
    if type(value) is not bytes:
        raise refuse(path, value, "is bytes of JSON")
    if len(value) > PAYLOAD_BYTES:
        raise TooLarge(field=path, size=len(value), limit=PAYLOAD_BYTES)
    return value


class NewRecord(Value):
    """A record as a caller gives it. `payload` is the JSON that its type prescribes, as bytes."""

    event_key: Identifier
    run_id: Identifier
    agent_id: Identifier
    session_id: Identifier | None = None
    turn_id: Identifier | None = None
    type: Annotated[str, record_type]
    payload: Annotated[bytes, payload_bytes]
    timestamp: Instant


class Record(NewRecord):
    """A record as the store keeps it; `id` is its position as opaque text, and itself a cursor."""

    id: str


class HistoryRef(Value):
    """What a run goes on from: the transcript of `run_id`, up to and including its end record `through`."""

    run_id: Identifier
    through: Identifier


class Follows(Value):
    """The head that a new run claims to follow; None for a session without one.

    `supersede` takes the place of a suspended head.
    """

    run_id: Identifier | None = None
    supersede: bool = False


class Page(Value, Generic[T]):
    """A part of a list, in the list's order. `cursor` is always set: what comes after it this page has not read."""

    items: tuple[T, ...]
    cursor: str
    more: bool


@lru_cache(maxsize=4096)
def scope_digest(*, session_id: str | None, root_run_id: str | None) -> str:
    """The name of a scope inside record ids: 16 hexadecimal digits that tell nothing else about it."""
    kind, name = ("session", session_id) if session_id is not None else ("run", root_run_id)
    return hashlib.sha256(f"{kind}\0{name}".encode()).hexdigest()[:SCOPE_DIGITS]


def record_id(digest: str, position: int) -> str:
    """The id of the record at `position` of the scope with this digest; position 0 stands before the first record."""
    return f"{digest}-{position}"


def position_in(own_id: str) -> int:
    """The position in a record id that a store itself has given; one from outside is for `position_of` to judge."""
    return int(own_id[SCOPE_DIGITS + 1 :])


def following(cursor: str, count: int) -> list[str]:
    """The ids that a scope's next `count` records get; `cursor` is the id of its last one, or a cursor at its end."""
    digest, position = cursor[:SCOPE_DIGITS], position_in(cursor)
    return [record_id(digest, position + i) for i in range(1, count + 1)]


def position_of(cursor: str, digest: str) -> int:
    """The position that a record id or a record cursor names. Raises InvalidCursor for another form or scope."""
    match = _RECORD_ID.fullmatch(cursor) if type(cursor) is str and len(cursor) <= CURSOR_CHARS else None
    if match is None:
        raise InvalidCursor(cursor=shortened(cursor), rule="is a record id or a cursor of a record list")
    if match[1] != digest:
        raise InvalidCursor(cursor=shortened(cursor), rule="belongs to the scope that is read")
    return int(match[2])


def positions_of(ids: Sequence[str], digest: str) -> list[int]:
    """What `position_of` gives for each of these, in a third of the time."""
    lines = "\n".join((*ids, ""))
    if _RECORD_IDS.fullmatch(lines) and lines.count("\n") == lines.count(f"{digest}-") == len(ids):
        return [int(each[SCOPE_DIGITS + 1 :]) for each in ids]
    return [position_of(each, digest) for each in ids]
