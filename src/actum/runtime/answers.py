"""What a run came to, as the answer of a tool call: a child's end in its parent's words, and back."""

from typing import Final

from actum.base.errors import InvalidValue
from actum.base.value import Json, dump, dump_json, load_json
from actum.loop.journal import Call, Journal
from actum.messages.message import Message, assistant
from actum.messages.parts import DocumentPart, ImagePart
from actum.records.failures import FailureKind, Issue, Recovery, ToolFailure, ToolFailureKind, cut_message
from actum.tools.call import RESULT_BYTES, ToolOutcome

# What a parent's model hears of a child that failed; any other kind is the child's own affair: `internal`.
_KINDS: Final = {
    FailureKind.REFUSAL: ToolFailureKind.DOMAIN_REJECTION,
    FailureKind.CONTENT_FILTER: ToolFailureKind.DOMAIN_REJECTION,
    FailureKind.TIMEOUT: ToolFailureKind.TIMEOUT,
    FailureKind.PROVIDER: ToolFailureKind.UNAVAILABLE,
    FailureKind.RECOVERY: ToolFailureKind.OUTCOME_UNKNOWN,
}
# What a result's part needs in its message beside its content and its id.
PART_BYTES: Final = 128
# The meta of a message that is a tool's result: how its text is to be read.
_FORM: Final = "tool_result"


def outcome_of(agent_id: str, journal: Journal) -> ToolOutcome | None:
    """What the call of a child run is answered with; None while the child runs, or waits."""
    ended = journal.ended
    if ended is None:
        return None
    if ended.failure is not None:
        kind = _KINDS.get(ended.failure.kind, ToolFailureKind.INTERNAL)
        says = f"{agent_id} failed ({ended.failure.kind}): {ended.failure.message}"
        return ToolOutcome(failure=ToolFailure(kind=kind, message=cut_message(says)))
    if ended.cancellation is not None:
        says = f"{agent_id} was canceled: {ended.cancellation.reason}"
        return ToolOutcome(failure=ToolFailure(kind=ToolFailureKind.CANCELED, message=cut_message(says)))
    last = journal.messages[-1]
    results = [part for part in last.tool_results if not part.is_error]
    if results:
        # A terminal tool ended the child, so its result is the answer.
        return ToolOutcome(content=results[-1].content, attachments=results[-1].attachments)
    return said(last)


def room_of(journal: Journal, call: Call) -> int:
    """How many bytes of JSON a result may have, so that all results of its group fit into their one message."""
    group = journal.group_of(call.call_id)
    ids = sum(len(dump_json(journal.calls[each].part.id)) for each in group.call_ids)
    return (RESULT_BYTES - ids) // len(group.call_ids) - PART_BYTES


def within(outcome: ToolOutcome, room: int, name: str) -> ToolOutcome:
    """The outcome, or the failure that answers in its place when its content has no room."""
    size = len(dump_json(outcome.content)) + sum(len(dump(each)) for each in outcome.attachments)
    if size <= room:
        return outcome
    says = f"The result of {name} has {size} bytes of JSON; at most {room} are taken"
    return ToolOutcome(failure=ToolFailure(kind=ToolFailureKind.MALFORMED_RESULT, message=says))


def saying(outcome: ToolOutcome) -> Message:
    """A planner's final tool result as the message that ends its run: text for people, whole for `said`."""
    failure = outcome.failure
    if failure is not None:
        meta: dict[str, Json] = {_FORM: "failure", "recovery": str(failure.recovery)}
        return assistant(dump_json(failure.content).decode(), meta=meta)
    if isinstance(outcome.content, str) and outcome.content:
        return assistant(outcome.content, *outcome.attachments)
    return assistant(dump_json(outcome.content).decode(), *outcome.attachments, meta={_FORM: "json"})


def said(message: Message) -> ToolOutcome:
    """The outcome that a run's last message is; an ordinary answer is its text."""
    form = (message.meta or {}).get(_FORM)
    attachments = tuple(part for part in message.parts if isinstance(part, ImagePart | DocumentPart))
    if form is not None:
        try:
            content = load_json(message.text.encode())
            if form == "json":
                return ToolOutcome(content=content, attachments=attachments)
            return ToolOutcome(failure=_failure(content, (message.meta or {}).get("recovery")))
        except (InvalidValue, KeyError, TypeError, ValueError):
            pass  # a model's own message with such a meta: then its text is what it says
    return ToolOutcome(content=message.text, attachments=attachments)


def _failure(content: Json, recovery: Json) -> ToolFailure:
    issues = tuple(Issue(path=each["path"], rule=each["rule"]) for each in content.get("issues", ()))
    kind = ToolFailureKind(content["error"])
    return ToolFailure(kind=kind, message=content["message"], recovery=Recovery(recovery), issues=issues)
