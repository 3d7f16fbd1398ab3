"""Messages: a role and its parts, in order. Makers take texts and parts as they come."""

from enum import StrEnum

from actum.base.value import Json, Value
from actum.messages.parts import CitationsPart, Part, TextPart, ToolResultPart, ToolUsePart


class Role(StrEnum):
    """Who speaks. System messages lead a transcript; tool results are spoken by the user's side."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Message(Value):
    """One message of a transcript. `meta` is the product's own JSON object; no provider sees it."""

    role: Role
    parts: tuple[Part, ...]
    meta: dict[str, Json] | None = None

    @property
    def text(self) -> str:
        """The message's answer text: its text and citation parts joined; thinking and cache marks are no text."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart | CitationsPart))

    @property
    def tool_uses(self) -> tuple[ToolUsePart, ...]:
        """The tool uses of the message, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolUsePart))

    @property
    def tool_results(self) -> tuple[ToolResultPart, ...]:
        """The tool results of the message, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolResultPart))


def user(*parts: str | Part, meta: dict[str, Json] | None = None) -> Message:
    """A user message of these texts and parts."""
    return Message(role=Role.USER, parts=_parts(parts), meta=meta)


def assistant(*parts: str | Part, meta: dict[str, Json] | None = None) -> Message:
    """An assistant message of these texts and parts."""
    return Message(role=Role.ASSISTANT, parts=_parts(parts), meta=meta)


def system(*parts: str | Part, meta: dict[str, Json] | None = None) -> Message:
    """A system message of these texts and parts."""
    return Message(role=Role.SYSTEM, parts=_parts(parts), meta=meta)


def tool_results(*results: ToolResultPart, meta: dict[str, Json] | None = None) -> Message:
    """The one user message that answers a group of tool uses."""
    return Message(role=Role.USER, parts=results, meta=meta)


def _parts(given: tuple[str | Part, ...]) -> tuple[Part, ...]:
    return tuple(TextPart(text=part) if isinstance(part, str) else part for part in given)
