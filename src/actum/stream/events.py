"""What watchers see: a pure projection of records to events, and the deltas between them.

An event's id is the id of its record and its number among that record's events: `<record id>.<n>`. So the same records
always give the same events, and an id is a place from which a watcher goes on. Messages that existed before a run are
context, never news: seeds make no event. A delta is no event of a record: it has no id, and may be lost.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias, TypeVar

from actum.base.checks import Count, Identifier, Instant
from actum.base.errors import InvalidCursor, shortened
from actum.base.limits import CURSOR_CHARS
from actum.base.value import ABSENT, Json, Value, Verbatim, in_utf8
from actum.messages.message import Message, Role
from actum.messages.parts import DocumentPart, ImagePart, ThinkingPart
from actum.records import kinds
from actum.records.failures import Failure, ToolFailure
from actum.records.record import Record, position_of, record_id
from actum.records.types import RecordType

E = TypeVar("E")

WorkflowPhase: TypeAlias = Literal[
    "prompted", "planning", "executing_tools", "synthesizing", "suspended", "completed", "failed", "canceled"
]
FinalStatus: TypeAlias = Literal["suspended", "completed", "failed", "canceled"]

_EVENT_ID = re.compile(r"([0-9a-f]{16}-[0-9]{1,18})\.(0|[1-9][0-9]{0,8})", re.ASCII)


class StreamEvent(Value):
    """What every event and delta says: of which run it is."""

    run_id: Identifier
    agent_id: Identifier
    session_id: Identifier | None = None
    turn_id: Identifier | None = None

    @property
    def type(self) -> str:
        """The event's type, as its JSON has it."""
        return str(type(self).__struct_config__.tag)


class AssistantDelta(StreamEvent, tag_field="type", tag="assistant_delta"):
    """A piece of an answer while it grows; replaced by the `assistant_turn` that settles it.

    `text` stands at `offset` (characters) of the answer's part number `part`, which is answer text or thinking. Pieces
    belong together when `attempt` is the same; a new one begins the answer anew. `after` is the record behind which the
    model was asked: the run's first turn behind it, or its end, settles this.
    """

    response_id: str | None = None
    attempt: Identifier
    part: Count
    kind: Literal["text", "thinking"] = "text"
    offset: Count
    text: str
    after: Identifier

    @property
    def id(self) -> None:
        """A delta is no place to go on from."""
        return


class RecordedEvent(StreamEvent):
    """An event of a record: `id` is a place to go on from, `timestamp` the record's."""

    id: Identifier
    timestamp: Instant


class WorkflowEvent(RecordedEvent, tag_field="type", tag="workflow"):
    """The run entered a phase, or came to its end: then the phase is its `status`."""

    phase: WorkflowPhase
    status: FinalStatus | None = None
    failure: Failure | None = None
    cancellation: kinds.Cancellation | None = None


class AssistantTurn(RecordedEvent, tag_field="type", tag="assistant_turn"):
    """An assistant message of the transcript, verbatim. It settles every delta of its run before it."""

    message: Message
    response_id: Identifier | None = None


class ThinkingEvent(RecordedEvent, tag_field="type", tag="thinking"):
    """The thinking in the turn that follows; without `text` where only its provider can read it."""

    text: str | None = None


class ToolStart(RecordedEvent, tag_field="type", tag="tool_start"):
    """A tool use was accepted."""

    tool_call_id: Identifier
    tool_name: str
    input: Verbatim = ABSENT

    def __post_init__(self) -> None:
        in_utf8("input", self.input)


class ToolUpdate(RecordedEvent, tag_field="type", tag="tool_update"):
    """The tool runs now; a second time when an idempotent call is made again after a crash."""

    tool_call_id: Identifier
    state: Literal["running"] = "running"


class ToolEnd(RecordedEvent, tag_field="type", tag="tool_end"):
    """A tool use was answered, by `content` or by a `failure`. `duration_ms` is in milliseconds."""

    tool_call_id: Identifier
    content: Json = None
    attachments: tuple[ImagePart | DocumentPart, ...] = ()
    failure: ToolFailure | None = None
    duration_ms: Count = 0


class InputRequestedEvent(RecordedEvent, tag_field="type", tag="input_requested"):
    """The run asks for input. `asked_by` is the run that asked first, where it is not this one."""

    item_id: Identifier
    kind: kinds.PendingKind
    prompt: str | None = None
    tool_call_id: Identifier | None = None
    data: dict[str, Json] | None = None
    asked_by: Identifier | None = None


class InputAnsweredEvent(RecordedEvent, tag_field="type", tag="input_answered"):
    """An item was answered; what the answer was is not said here."""

    item_id: Identifier
    by: Identifier | None = None


class ToolAuthorizationEvent(RecordedEvent, tag_field="type", tag="tool_authorization"):
    """A person or rule allowed or denied one call."""

    tool_call_id: Identifier
    decision: Literal["approved", "denied"]
    by: Identifier


class UsageEvent(RecordedEvent, tag_field="type", tag="usage"):
    """Tokens of one model call; a missing count is unknown, not 0."""

    model: str
    input: Count | None = None
    output: Count | None = None
    cache_read: Count | None = None
    cache_write: Count | None = None
    step: Count


class PromptRenderedEvent(RecordedEvent, tag_field="type", tag="prompt_rendered"):
    """A prompt template was rendered."""

    prompt_id: Identifier
    version: str
    scope: str | None = None


class ChildRunLinkedEvent(RecordedEvent, tag_field="type", tag="child_run_linked"):
    """A tool use is answered by a child run, which has a stream of its own."""

    tool_name: Identifier
    tool_call_id: Identifier
    child_run_id: Identifier
    child_agent_id: Identifier


class RunStreamEnd(RecordedEvent, tag_field="type", tag="run_stream_end"):
    """The run's last event."""

    status: FinalStatus


# The types of records that make events; a watcher need not read the others.
STREAMED_TYPES: Final = (
    RecordType.RUN_SUSPENDED,
    RecordType.RUN_COMPLETED,
    RecordType.CHILD_RUN_LINKED,
    RecordType.TRANSCRIPT_MESSAGES_APPENDED,
    RecordType.RUN_PHASE_CHANGED,
    RecordType.TOOL_CALL_SCHEDULED,
    RecordType.TOOL_CALL_STARTED,
    RecordType.TOOL_RESULT_RECEIVED,
    RecordType.TOOL_AUTHORIZATION,
    RecordType.INPUT_REQUESTED,
    RecordType.INPUT_ANSWERED,
    RecordType.PROMPT_RENDERED,
    RecordType.USAGE,
)


def events_of(record: Record) -> tuple[RecordedEvent, ...]:
    """The events of a record, in order; none for a record that is no news to a watcher.

    Raises DurableDataError, naming the record, for bytes that do not fit.
    """
    if record.type not in STREAMED_TYPES:
        return ()
    payload = kinds.payload_of(record)
    made = _life(record, payload) if isinstance(payload, _LIFE) else _work(record, payload)
    return tuple(made)


def event_place(event_id: str) -> tuple[str, int]:
    """The record id and the number of an event's id. Raises InvalidCursor for what no event has as its id."""
    short = type(event_id) is str and len(event_id) <= CURSOR_CHARS
    match = _EVENT_ID.fullmatch(event_id) if short else None
    if match is None:
        raise InvalidCursor(cursor=shortened(event_id), rule="is the id of an event")
    place(match[1])
    return match[1], int(match[2])


def place(record_id: str) -> int:
    """The position of a record within its scope. Raises InvalidCursor for an id that no store gave."""
    return position_of(record_id, record_id.partition("-")[0])


def before(at: str) -> str:
    """The cursor right before a record: a list goes on with the record itself."""
    return record_id(at.partition("-")[0], place(at) - 1)


_LIFE: Final = (kinds.RunPhaseChanged, kinds.RunSuspended, kinds.RunCompleted, kinds.ChildRunLinked)


def _life(record: Record, payload: object) -> Iterator[RecordedEvent]:
    match payload:
        case kinds.RunPhaseChanged(phase=phase):
            yield _event(WorkflowEvent, record, phase=str(phase))
        case kinds.RunSuspended():
            yield _event(WorkflowEvent, record, phase="suspended", status="suspended")
            yield _event(RunStreamEnd, record, 1, status="suspended")
        case kinds.RunCompleted(status=status, failure=failure, cancellation=cancellation):
            yield _event(WorkflowEvent, record, phase=status, status=status, failure=failure, cancellation=cancellation)
            yield _event(RunStreamEnd, record, 1, status=status)
        case kinds.ChildRunLinked():
            yield _same(ChildRunLinkedEvent, record, payload)
        case _:
            pass


def _work(record: Record, payload: object) -> Iterator[RecordedEvent]:
    match payload:
        case kinds.MessagesAppended():
            yield from _turns(record, payload)
        case kinds.ToolCallScheduled(tool_call_id=call_id, tool_name=name, input=given):
            yield _event(ToolStart, record, tool_call_id=call_id, tool_name=name, input=given)
        case kinds.ToolCallStarted(tool_call_id=call_id):
            yield _event(ToolUpdate, record, tool_call_id=call_id)
        case kinds.ToolResultReceived():
            yield _same(ToolEnd, record, payload)
        case kinds.ToolAuthorization():
            yield _same(ToolAuthorizationEvent, record, payload)
        case kinds.InputRequested():
            fields = {name: getattr(payload, name) for name in ("item_id", "kind", "prompt", "tool_call_id", "data")}
            yield _event(InputRequestedEvent, record, **fields, asked_by=payload.run_id)
        case kinds.InputAnswered():
            yield _same(InputAnsweredEvent, record, payload)
        case kinds.PromptRendered():
            yield _same(PromptRenderedEvent, record, payload)
        case kinds.UsageCounted():
            yield _same(UsageEvent, record, payload)
        case _:
            pass


def _turns(record: Record, appended: kinds.MessagesAppended) -> Iterator[RecordedEvent]:
    number = 0
    for message in appended.messages:
        if message.role is not Role.ASSISTANT:
            continue
        for part in message.parts:
            if isinstance(part, ThinkingPart):
                yield _event(ThinkingEvent, record, number, text=part.text)
                number += 1
        yield _event(AssistantTurn, record, number, message=message, response_id=appended.response_id)
        number += 1


def _event(kind: Callable[..., E], record: Record, number: int = 0, /, **fields: object) -> E:
    return kind(
        id=f"{record.id}.{number}",
        timestamp=record.timestamp,
        run_id=record.run_id,
        agent_id=record.agent_id,
        session_id=record.session_id,
        turn_id=record.turn_id,
        **fields,
    )


def _same(kind: type[RecordedEvent], record: Record, payload: Value) -> RecordedEvent:
    """An event that says of its record what both have a field for."""
    shared = [name for name in kind.__struct_fields__ if name in payload.__struct_fields__]
    return _event(kind, record, **{name: getattr(payload, name) for name in shared})
