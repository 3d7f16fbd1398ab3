"""What the event history holds: events with their messages verbatim, annotations, and snapshots of runs.

A message gives one event for each thing that it does: it speaks, thinks, calls a tool, brings a result. All events of
one message share its `message_id` and carry the whole message, so that none of them loses a byte of it.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from actum.base.checks import Count, Identifier, Instant, Reason, refuse
from actum.base.value import Value
from actum.messages.message import Message
from actum.messages.parts import ThinkingPart, ToolResultPart, ToolUsePart


class EventType(StrEnum):
    """What an event tells."""

    USER_MESSAGE = "user_message"
    ASSISTANT_MESSAGE = "assistant_message"
    SYSTEM_MESSAGE = "system_message"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    THINKING = "thinking"
    PLANNER_NOTE = "planner_note"
    ANNOTATION = "annotation"


# What a search looks at: the words that people and models said to each other.
SPOKEN: Final = frozenset({EventType.USER_MESSAGE, EventType.ASSISTANT_MESSAGE})
_OF_A_PART: Final[dict[EventType, type]] = {
    EventType.TOOL_CALL: ToolUsePart,
    EventType.TOOL_RESULT: ToolResultPart,
    EventType.THINKING: ThinkingPart,
}
_WITHOUT_MESSAGE: Final = frozenset({EventType.PLANNER_NOTE, EventType.ANNOTATION})


class Annotation(Value):
    """What somebody thinks of a run, or of one turn or message of it; never shown to a model.

    At least one of `rating` (a whole number on the product's own scale), `comment` and `tag` is given. `by` says who.
    """

    rating: int | None = None
    comment: Reason | None = None
    tag: Identifier | None = None
    turn_id: Identifier | None = None
    message_id: Identifier | None = None
    by: Identifier | None = None

    def __post_init__(self) -> None:
        if self.rating is None and self.comment is None and self.tag is None:
            raise refuse("annotation", None, "holds a rating, a comment or a tag")
        if self.turn_id is not None and self.message_id is not None:
            raise refuse("annotation.message_id", self.message_id, "does not stand beside a turn_id")


class MemoryEvent(Value):
    """One thing that happened in a run. `event_id` is its identity within the run.

    `part` is the index of the message's part that a tool call, tool result or thinking event tells. `seeded` marks
    what existed before the run. `note` stands on a planner note, `annotation` on an annotation; neither has a message.
    """

    event_id: Identifier
    type: EventType
    at: Instant
    turn_id: Identifier | None = None
    message_id: Identifier | None = None
    message: Message | None = None
    part: Count | None = None
    seeded: bool = False
    note: str | None = None
    annotation: Annotation | None = None

    def __post_init__(self) -> None:
        if (self.message is None) != (self.type in _WITHOUT_MESSAGE):
            raise refuse("message", self.type, "stands on every event but a planner note and an annotation")
        if (self.message is None) != (self.message_id is None):
            raise refuse("message_id", self.message_id, "stands beside a message, and only there")
        if (self.note is not None) != (self.type == EventType.PLANNER_NOTE):
            raise refuse("note", self.note, "stands on a planner note, and only there")
        if (self.annotation is not None) != (self.type == EventType.ANNOTATION):
            raise refuse("annotation", self.annotation, "stands on an annotation, and only there")
        if self.part is not None or self.type in _OF_A_PART:
            _names_its_part(self)

    @property
    def text(self) -> str:
        """The words of a user or assistant message, which a search looks at; empty for any other event."""
        return self.message.text if self.message is not None and self.type in SPOKEN else ""


class Snapshot(Value):
    """The events of one run, in the order in which they were stored; of an unknown run none.

    `before` is the transcript that the run went on from, None when it was not asked for.
    """

    agent_id: Identifier
    run_id: Identifier
    session_id: Identifier | None = None
    events: tuple[MemoryEvent, ...] = ()
    before: tuple[Message, ...] | None = None

    def messages(self, *, history: bool = False) -> tuple[Message, ...]:
        """The messages that the run added; with `history` its whole transcript, as the provider saw it.

        Raises InvalidValue when the history is asked for and the snapshot was loaded without it.
        """
        if not history:
            return messages_of(event for event in self.events if not event.seeded)
        if self.before is None:
            raise refuse("history", history, "is loaded with the snapshot: load_run(…, history=True)")
        return (*self.before, *messages_of(self.events))

    @property
    def annotations(self) -> tuple[Annotation, ...]:
        """What was said about the run, its turns and its messages."""
        return tuple(event.annotation for event in self.events if event.annotation is not None)


class FoundEvent(Value):
    """An event that a search found, and where it belongs. A greater `score` fits better, within one search only."""

    session_id: Identifier | None = None
    agent_id: Identifier
    run_id: Identifier
    event: MemoryEvent
    score: float


def messages_of(events: Iterable[MemoryEvent]) -> tuple[Message, ...]:
    """The messages of these events, each once, in their order."""
    found = {event.message_id: event.message for event in events if event.message is not None}
    return tuple(found.values())


def _names_its_part(event: MemoryEvent) -> None:
    kind = _OF_A_PART.get(event.type)
    parts = event.message.parts if event.message is not None else ()
    fits = kind is not None and type(event.part) is int and 0 <= event.part < len(parts)
    if not fits or kind is None or not isinstance(parts[event.part or 0], kind):
        raise refuse("part", event.part, "is the index of the tool use, result or thinking that the event tells")
