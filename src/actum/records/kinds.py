"""One payload value per record type: the durable JSON format. A change here is a migration of stored data.

Every payload is strict: one JSON value, no unknown fields, no `null` in a declared field. `payload_of` reads the
payload of a record, `check_payload` is what the store asks of a new one.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Final, Literal

from actum.base.checks import Count, Identifier, Instant, Labels, Reason, refuse
from actum.base.errors import ContractError, DurableDataError, InvalidValue, TooLarge
from actum.base.value import ABSENT, Json, Value, Verbatim, in_utf8, load, load_all, load_json, spelled_here
from actum.messages.message import Message
from actum.messages.parts import DocumentPart, ImagePart, ToolResultPart
from actum.records.failures import Failure, ToolFailure
from actum.records.record import Follows, HistoryRef, NewRecord, Record, record_type
from actum.records.types import RecordType


class Phase(StrEnum):
    """Where a run stands, for people; never state."""

    PROMPTED = "prompted"
    PLANNING = "planning"
    EXECUTING_TOOLS = "executing_tools"
    SYNTHESIZING = "synthesizing"


class PendingKind(StrEnum):
    """What a suspended run waits for."""

    CLARIFICATION = "clarification"
    QUESTIONS = "questions"
    CONFIRMATION = "confirmation"
    EXTERNAL_TOOLS = "external_tools"


class RunStarted(Value):
    """A run exists."""

    parent_run_id: Identifier | None = None
    predecessor_run_id: Identifier | None = None
    history: HistoryRef | None = None
    follows: Follows | None = None
    labels: Labels = {}


class PendingItem(Value):
    """One thing that a suspended run waits for."""

    item_id: Identifier
    kind: PendingKind


class RunSuspended(Value):
    """The run stopped to wait; its answer starts a new run."""

    suspension_id: Identifier
    version: Count
    pending: tuple[PendingItem, ...]
    required_tools: tuple[str, ...] = ()


class Cancellation(Value):
    """Why a run was canceled: a caller's reason, or `session_ended`, or `engine_canceled`."""

    reason: Reason


class RunCompleted(Value):
    """The run ended. Completed has neither, failed a `failure`, canceled a `cancellation`."""

    status: Literal["completed", "failed", "canceled"]
    failure: Failure | None = None
    cancellation: Cancellation | None = None
    labels: Labels = {}

    def __post_init__(self) -> None:
        if (self.status == "failed") != (self.failure is not None):
            raise refuse("failure", self.failure, "stands on a failed run, and only there")
        if (self.status == "canceled") != (self.cancellation is not None):
            raise refuse("cancellation", self.cancellation, "stands on a canceled run, and only there")


class ChildRunLinked(Value):
    """A tool use of this run is answered by a child run."""

    tool_name: Identifier
    tool_call_id: Identifier
    child_run_id: Identifier
    child_agent_id: Identifier


class CancellationIntent(Value):
    """Somebody asked for the run's cancellation; the first reason stays."""

    reason: Reason
    by: Identifier | None = None


class MessagesSeeded(Value):
    """Messages that existed before the run, beyond its history; context, never news."""

    messages: tuple[Message, ...]


class MessagesAppended(Value):
    """Messages that the run added to its transcript."""

    messages: tuple[Message, ...]
    response_id: Identifier | None = None


class RunRequested(Value):
    """All that recovery needs to go on with a run."""

    agent_version: str
    request_digest: str
    options: dict[str, Json] = {}


class RunPhaseChanged(Value):
    """The run entered a phase."""

    phase: Phase


class PlanDecided(Value):
    """What the planner decided at a step; `selected_response` names the model response that the transcript took.

    With `synthesize_after_tools` the plan after these calls is the run's last.
    """

    step: Count
    kind: Literal["tool_calls", "final_response", "final_tool_result", "await_input"]
    call_ids: tuple[Identifier, ...] = ()
    selected_response: Identifier | None = None
    synthesize_after_tools: bool = False


class ModelResponded(Value):
    """A model's response that the plan did not select."""

    request_digest: str
    response: Json


class ToolCallScheduled(Value):
    """A tool use was accepted. `model_tool_call_id` is the model's own id where ours differs."""

    tool_call_id: Identifier
    model_tool_call_id: str | None = None
    tool_name: str
    input: Verbatim = ABSENT
    step: Count

    def __post_init__(self) -> None:
        in_utf8("input", self.input)


class ToolCallStarted(Value):
    """One attempt owns the call: only the attempt that is stored here may run the tool."""

    tool_call_id: Identifier
    attempt: Identifier


class ToolResultReceived(Value):
    """A tool use was answered: by `content`, or by a `failure`. `duration_ms` is in milliseconds."""

    tool_call_id: Identifier
    call_run_id: Identifier
    content: Json = None
    attachments: tuple[ImagePart | DocumentPart, ...] = ()
    failure: ToolFailure | None = None
    duration_ms: Count = 0

    def __post_init__(self) -> None:
        if self.failure is not None and (self.content is not None or self.attachments):
            raise refuse("content", self.content, "does not stand beside a failure")

    def part(self, tool_use_id: str) -> ToolResultPart:
        """The part that answers the model's tool use in the transcript; `verify` holds the two against each other."""
        if self.failure is not None:
            return ToolResultPart(tool_use_id=tool_use_id, content=self.failure.content, is_error=True)
        return ToolResultPart(tool_use_id=tool_use_id, content=self.content, attachments=self.attachments)


class ToolAuthorization(Value):
    """Evidence that a person or rule allowed or denied one call."""

    tool_call_id: Identifier
    arguments_digest: str
    tool_version: str
    policy_version: str
    decision: Literal["approved", "denied"]
    by: Identifier
    at: Instant
    expires_at: Instant | None = None


class InputRequested(Value):
    """The run asks for input. `prompt` is for the person, `data` what the form needs.

    `run_id` is the run that asked first, where it is not this one: an earlier run of the chain, or a child.
    """

    item_id: Identifier
    kind: PendingKind
    run_id: Identifier | None = None
    prompt: str | None = None
    tool_call_id: Identifier | None = None
    data: dict[str, Json] | None = None


class InputAnswered(Value):
    """An item was answered; the digest names the answer's bytes."""

    item_id: Identifier
    answer_digest: str
    by: Identifier | None = None


class TurnSuperseded(Value):
    """A new turn took the place of a suspended one; these calls of it were closed."""

    run_id: Identifier
    call_ids: tuple[Identifier, ...]


class PromptRendered(Value):
    """A prompt template was rendered."""

    prompt_id: Identifier
    version: str
    scope: str | None = None


class HistoryCompressed(Value):
    """The planner's view of older turns: a summary in place of everything up to `through`.

    That is a record id, and `.n` behind it when only the first n messages of the record are meant. `tokens` is how many
    the summary has, as its model counted; a count that it did not give is unknown, not 0.
    """

    through: Identifier
    summary: str
    tokens: Count | None = None


class PolicyDecision(Value):
    """A policy allowed, limited or refused something."""

    rule: str
    decision: str
    reason: str


class PlannerNote(Value):
    """A planner's note for people; never a part of the transcript."""

    note: str
    labels: Labels = {}


class UsageCounted(Value):
    """Tokens of one model call. A missing count is unknown, not 0."""

    model: str
    input: Count | None = None
    output: Count | None = None
    cache_read: Count | None = None
    cache_write: Count | None = None
    step: Count


PAYLOADS: Final[dict[RecordType, type[Value]]] = {
    RecordType.RUN_STARTED: RunStarted,
    RecordType.RUN_SUSPENDED: RunSuspended,
    RecordType.RUN_COMPLETED: RunCompleted,
    RecordType.CHILD_RUN_LINKED: ChildRunLinked,
    RecordType.CANCELLATION_INTENT: CancellationIntent,
    RecordType.TRANSCRIPT_MESSAGES_SEEDED: MessagesSeeded,
    RecordType.TRANSCRIPT_MESSAGES_APPENDED: MessagesAppended,
    RecordType.RUN_REQUESTED: RunRequested,
    RecordType.RUN_PHASE_CHANGED: RunPhaseChanged,
    RecordType.PLAN_DECIDED: PlanDecided,
    RecordType.MODEL_RESPONDED: ModelResponded,
    RecordType.TOOL_CALL_SCHEDULED: ToolCallScheduled,
    RecordType.TOOL_CALL_STARTED: ToolCallStarted,
    RecordType.TOOL_RESULT_RECEIVED: ToolResultReceived,
    RecordType.TOOL_AUTHORIZATION: ToolAuthorization,
    RecordType.INPUT_REQUESTED: InputRequested,
    RecordType.INPUT_ANSWERED: InputAnswered,
    RecordType.TURN_SUPERSEDED: TurnSuperseded,
    RecordType.PROMPT_RENDERED: PromptRendered,
    RecordType.HISTORY_COMPRESSED: HistoryCompressed,
    RecordType.POLICY_DECISION: PolicyDecision,
    RecordType.PLANNER_NOTE: PlannerNote,
    RecordType.USAGE: UsageCounted,
}

_TRANSCRIPT_PAYLOADS: Final[dict[str, type[MessagesSeeded | MessagesAppended]]] = {
    str(RecordType.TRANSCRIPT_MESSAGES_SEEDED): MessagesSeeded,
    str(RecordType.TRANSCRIPT_MESSAGES_APPENDED): MessagesAppended,
}
_PAYLOADS_BY_NAME: Final = {str(name): kind for name, kind in PAYLOADS.items()}


def check_payload(record: NewRecord) -> None:
    """Refuses a new record whose payload is no value that its type prescribes, within its bounds.

    Raises InvalidValue or TooLarge, naming the record in the field.
    """
    kind = _PAYLOADS_BY_NAME.get(record.type)
    if kind is not None and spelled_here(kind, record.payload):
        return  # a maker's own bytes were put into form when they were made
    try:
        _decoded(record)
    except InvalidValue as error:
        raise InvalidValue(field=_inside(record, error.field), value=error.value, rule=error.rule) from None
    except TooLarge as error:
        field = _inside(record, error.field)
        raise TooLarge(field=field, size=error.size, limit=error.limit, unit=error.unit) from None


def _inside(record: NewRecord, field: str) -> str:
    return f"record {record.event_key!r} ({record.type}): {field}"


def payload_of(record: Record) -> Value | Json:
    """The decoded payload of a stored record. Raises DurableDataError, naming the record, for bytes that do not fit."""
    if not isinstance(record, Record):
        raise refuse("record", record, "is a record of a store")
    try:
        return _decoded(record)
    except ContractError as error:
        raise _damaged(record, error) from error


def messages_of(record: Record) -> tuple[Message, ...]:
    """The messages of a stored transcript record; none of any other. Raises DurableDataError, naming the record."""
    kind = _TRANSCRIPT_PAYLOADS.get(record.type)
    if kind is None:
        return ()
    try:
        return load(kind, record.payload).messages
    except ContractError as error:
        raise _damaged(record, error) from error


def messages_in(records: Iterable[Record]) -> list[Message]:
    """The messages of stored records, one after the other: what `messages_of` gives for each, in half the time."""
    together = tuple(records)
    try:
        return messages_spelled([record.type for record in together], [record.payload for record in together])
    except ContractError:
        # Which of them it is, and what is wrong with it, is told of each alone.
        for record in together:
            messages_of(record)
        raise


def messages_spelled(types: Sequence[str], payloads: Sequence[bytes]) -> list[Message]:
    """The messages that stored records of these types and payloads carry, one after the other.

    Raises InvalidValue or TooLarge, without a word about which record it is, for a payload that does not fit.
    """
    messages: list[Message] = []
    begin = 0
    for name, group in groupby(types):
        end = begin + len(list(group))
        kind = _TRANSCRIPT_PAYLOADS.get(name)
        if kind is not None:
            for payload in load_all(kind, payloads[begin:end]):
                messages += payload.messages
        begin = end
    return messages


def _damaged(record: Record, error: ContractError) -> DurableDataError:
    return DurableDataError(
        run_id=record.run_id,
        event_key=record.event_key,
        record_id=record.id,
        record_type=record.type,
        path=getattr(error, "field", "payload"),
        rule=getattr(error, "rule", str(error)),
    )


def _decoded(record: NewRecord) -> Value | Json:
    kind = _PAYLOADS_BY_NAME.get(record.type)
    if kind is not None:
        return load(kind, record.payload)
    record_type("type", record.type)
    value = load_json(record.payload)
    if value is None:
        raise refuse("payload", None, "is not null")
    return value
