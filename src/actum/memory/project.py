"""Memory events out of records, pure. The same record always gives the same events, with the same ids."""

import itertools
from collections.abc import Iterator

from actum.memory.events import EventType, MemoryEvent
from actum.messages.message import Message, Role
from actum.messages.parts import CacheCheckpointPart, ThinkingPart, ToolResultPart, ToolUsePart
from actum.records.kinds import MessagesAppended, MessagesSeeded, PlannerNote, RunStarted, payload_of
from actum.records.record import Record
from actum.records.types import TRANSCRIPT_TYPES, RecordType

_SPEAKING = {
    Role.USER: EventType.USER_MESSAGE,
    Role.ASSISTANT: EventType.ASSISTANT_MESSAGE,
    Role.SYSTEM: EventType.SYSTEM_MESSAGE,
}


def events_of(record: Record) -> tuple[MemoryEvent, ...]:
    """The events that a record tells; most records tell none. Raises DurableDataError for bytes that do not fit."""
    if record.type == RecordType.PLANNER_NOTE:
        note = payload_of(record)
        if isinstance(note, PlannerNote):
            return (_event(record, "0", EventType.PLANNER_NOTE, note=note.note),)
    if record.type in TRANSCRIPT_TYPES:
        payload = payload_of(record)
        if isinstance(payload, MessagesSeeded | MessagesAppended):
            seeded = isinstance(payload, MessagesSeeded)
            told = (_told(record, i, message, seeded=seeded) for i, message in enumerate(payload.messages))
            return tuple(itertools.chain.from_iterable(told))
    return ()


def history_of(record: Record) -> str | None:
    """The run that the record's run goes on from, told by its start."""
    if record.type != RecordType.RUN_STARTED:
        return None
    payload = payload_of(record)
    return payload.history.run_id if isinstance(payload, RunStarted) and payload.history is not None else None


def _told(record: Record, index: int, message: Message, *, seeded: bool) -> Iterator[MemoryEvent]:
    """The events of one message, in the order of its parts; at least one, so that no message is lost."""
    message_id = f"{record.id}.{index}"
    kinds = list(_kinds(message))
    for n, (kind, part) in enumerate(kinds or [(_SPEAKING[message.role], None)]):
        yield _event(
            record,
            f"{index}.{n}",
            kind,
            message=message,
            message_id=message_id,
            part=part,
            seeded=seeded,
        )


def _kinds(message: Message) -> Iterator[tuple[EventType, int | None]]:
    spoke = False
    for i, part in enumerate(message.parts):
        match part:
            case ThinkingPart():
                yield EventType.THINKING, i
            case ToolUsePart():
                yield EventType.TOOL_CALL, i
            case ToolResultPart():
                yield EventType.TOOL_RESULT, i
            case CacheCheckpointPart():
                continue  # a mark for the provider; it says nothing
            case _:
                if not spoke:
                    yield _SPEAKING[message.role], None
                spoke = True


def _event(
    record: Record,
    place: str,
    kind: EventType,
    *,
    message: Message | None = None,
    message_id: str | None = None,
    part: int | None = None,
    seeded: bool = False,
    note: str | None = None,
) -> MemoryEvent:
    # A record's id is short whatever its key is, and unique in its scope; so is what is made of it.
    return MemoryEvent(
        event_id=f"{record.id}.{place}",
        type=kind,
        at=record.timestamp,
        turn_id=record.turn_id,
        message=message,
        message_id=message_id,
        part=part,
        seeded=seeded,
        note=note,
    )
