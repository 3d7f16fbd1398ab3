"""Reading somebody else's JSON: every field is read once, and one that nobody reads is refused with its path.

Values keep their own spelling until they are read, so a tool's input can be taken as its very bytes. `null` is absent.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from actum.base.checks import refuse
from actum.base.errors import InvalidValue
from actum.base.value import Json, Verbatim, items, load_json, members, verbatim
from actum.messages.message import Message

_NULL: Final = b"null"


@dataclass(frozen=True)
class Note:
    """What did not come along, or came in another form: where it stood, and what became of it."""

    path: str
    says: str


@dataclass(frozen=True)
class Imported:
    """Messages out of another format; `notes` name all that they do not hold."""

    messages: tuple[Message, ...]
    notes: tuple[Note, ...]


class Fields:
    """The members of one JSON object, the notes of its document, and which members were read."""

    def __init__(self, path: str, spelled: bytes, members: dict[str, Verbatim], notes: list[Note]) -> None:
        self.path = path
        self.notes = notes
        self._spelled = spelled
        self._unread = {name: bytes(raw) for name, raw in members.items()}
        self._inside: list[Fields] = []

    def at(self, name: str) -> str:
        """The path of a member."""
        return f"{self.path}.{name}" if self.path and name else self.path or name

    def names(self) -> list[str]:
        """The members that are not null and were not read."""
        return [name for name, raw in self._unread.items() if raw != _NULL]

    def has(self, name: str) -> bool:
        """Whether an unread member is there."""
        return self._unread.get(name, _NULL) != _NULL

    def is_text(self, name: str) -> bool:
        """Whether an unread member is text."""
        return self._unread.get(name, b"").startswith(b'"')

    def raw(self, name: str) -> bytes:
        """A member as it is spelled. Raises InvalidValue when there is none."""
        spelled = self._unread.pop(name, _NULL)
        if spelled == _NULL:
            raise refuse(self.at(name), None, "is given")
        return spelled

    def json(self, name: str) -> Json:
        """A member's value, None when there is none."""
        return load_json(self._unread.pop(name, _NULL))

    def text(self, name: str) -> str:
        """A text that must be there."""
        given = self.json(name)
        if not isinstance(given, str):
            raise refuse(self.at(name), given, "is text")
        return given

    def text_or_none(self, name: str) -> str | None:
        """A text, or None."""
        return self.text(name) if self.has(name) else None

    def flag(self, name: str) -> bool:
        """A truth value, false when there is none."""
        given = self.json(name)
        if given not in (None, True, False):
            raise refuse(self.at(name), given, "is true or false")
        return given is True

    def number(self, name: str) -> int:
        """A whole number that must be there."""
        given = self.json(name)
        if type(given) is not int:
            raise refuse(self.at(name), given, "is a whole number")
        return given

    def data(self, name: str) -> bytes:
        """Bytes, which stand as base64."""
        given = self.text(name)
        try:
            return base64.b64decode(given, validate=True)
        except (binascii.Error, ValueError):
            raise refuse(self.at(name), given, "is base64") from None

    def inside(self, name: str) -> "Fields":
        """An object that must be there."""
        return self._object(self.at(name), self.raw(name))

    def objects(self, name: str) -> "Iterator[Fields]":
        """The objects of a list; none when there is none."""
        for index, raw in enumerate(self._list(name)):
            yield self._object(f"{self.at(name)}[{index}]", raw)

    def texts(self, name: str) -> list[str]:
        """The texts of a list."""
        given = [load_json(raw) for raw in self._list(name)]
        if not all(isinstance(each, str) for each in given):
            raise refuse(self.at(name), given, "is a list of texts")
        return given

    def whole(self) -> bytes:
        """The object itself as it is spelled; its members count as read."""
        self._unread = {}
        return self._spelled

    def note(self, name: str, says: str) -> None:
        """Tell what becomes of a member, or of the object itself for an empty name."""
        self.notes.append(Note(self.at(name), says))

    def leave(self, *names: str) -> None:
        """Leave known members out that no message holds; each one that says something is noted."""
        for name in names:
            spelled = self._unread.pop(name, _NULL)
            if spelled not in (_NULL, b"[]", b"{}", b'""', b"false"):
                self.note(name, "left out")

    def done(self) -> None:
        """Raises InvalidValue for the first member that nobody read, however deep it stands."""
        for name, spelled in self._unread.items():
            if spelled != _NULL:
                raise refuse(self.at(name), spelled.decode(), "is a field that this format has and Actum knows")
        for each in self._inside:
            each.done()

    def unknown(self, name: str, value: str, known: str) -> InvalidValue:
        """The error for a kind of thing that no part holds."""
        return refuse(self.at(name), value, f"is one of those that a transcript holds: {known}")

    def _list(self, name: str) -> list[bytes]:
        spelled = self._unread.pop(name, _NULL)
        if spelled == _NULL:
            return []
        if not spelled.startswith(b"["):
            raise refuse(self.at(name), spelled.decode(), "is a list")
        return [bytes(each) for each in items(spelled)]

    def _object(self, path: str, spelled: bytes) -> "Fields":
        if not spelled.startswith(b"{"):
            raise refuse(path, spelled.decode(), "is an object")
        made = Fields(path, spelled, members(spelled), self.notes)
        self._inside.append(made)
        return made


def document_of(data: bytes) -> Fields:
    """A document to read: a list stands under the empty name, an object's members under their own.

    Its syntax is checked here, all else where it is read: inside a tool's input a model may name a key twice.
    """
    whole = bytes(verbatim(data))
    return Fields("", whole, members(whole) if whole.startswith(b"{") else {"": Verbatim(whole)}, [])
