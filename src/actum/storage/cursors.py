"""Cursors of session and run lists: opaque text that carries its list, its filters and the last item seen.

A cursor is refused by another list, and by the same list with other filters: a page would silently miss items.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from datetime import datetime

from actum.base.clock import from_millis, to_millis
from actum.base.errors import InvalidCursor, InvalidValue, shortened
from actum.base.limits import CURSOR_CHARS
from actum.base.value import Json, dump_json, load_json


def list_digest(name: str, filters: Mapping[str, Json]) -> str:
    """The name of a list with its filters."""
    return hashlib.sha256(dump_json([name, dict(sorted(filters.items()))])).hexdigest()[:16]


def list_cursor(digest: str, after: tuple[datetime, str] | None) -> str:
    """The cursor behind the item of this time and id; None stands before the first item."""
    place = [] if after is None else [to_millis(after[0]), after[1]]
    return base64.urlsafe_b64encode(dump_json([digest, *place])).decode()


def after_of(cursor: str | None, digest: str) -> tuple[datetime, str] | None:
    """Where a list goes on. Raises InvalidCursor for another form, list or filters."""
    if cursor is None:
        return None
    if type(cursor) is not str or len(cursor) > CURSOR_CHARS:
        raise InvalidCursor(cursor=shortened(cursor), rule="is a cursor of this list")
    try:
        match load_json(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)):
            case [str(name)] if name == digest:
                return None
            case [str(name), int(millis), str(item)] if name == digest:
                return from_millis(millis), item
    except (binascii.Error, ValueError, OverflowError, InvalidValue):
        pass
    raise InvalidCursor(cursor=shortened(cursor), rule="is a cursor of this list with these filters")
