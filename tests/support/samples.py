"""One full example of every part and of every payload: each field set, nothing at its default."""

from datetime import UTC, datetime

from actum.base.value import Value, Verbatim
from actum.messages.message import Message, Role, assistant, user
from actum.messages.parts import (
    CacheCheckpointPart,
    CharRange,
    ChunkRange,
    Citation,
    CitationsPart,
    DocumentPart,
    ImagePart,
    PageRange,
    Part,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
)
from actum.records import kinds
from actum.records.failures import Failure, FailureKind, Issue, Recovery, ToolFailure, ToolFailureKind
from actum.records.record import Follows, HistoryRef

PIXEL = b"\x89PNG\r\n\x1a\n"
ODD = 'ж🔥 "quoted" \\ \0 \u2028 \x7f'

PARTS: dict[str, Part] = {
    "text": TextPart(text=ODD),
    "thinking.text": ThinkingPart(text="", signature="c2ln", provider="anthropic"),
    "thinking.redacted": ThinkingPart(redacted=b"opaque-reasoning-bytes\x00\x01\xfe\xff", provider="bedrock"),
    "image.bytes": ImagePart(bytes=PIXEL, format="png", metadata={"width": 1, "alt": None}),
    "image.uri": ImagePart(uri="s3://pictures/1", format="webp"),
    "document.bytes": DocumentPart(format="pdf", bytes=b"%PDF-1.4\n", name="Q1: budget #3.pdf", context="c", cite=True),
    "document.text": DocumentPart(format="txt", text="plain"),
    "document.chunks": DocumentPart(format="md", chunks=("one", "")),
    "document.uri": DocumentPart(format="html", uri="https://example.com/"),
    "citations": CitationsPart(
        text="It is so.",
        citations=(
            Citation(title="t", source="s", location=CharRange(start=0, end=9), excerpt="e"),
            Citation(location=ChunkRange(start=1, end=2)),
            Citation(location=PageRange(start=1, end=1)),
        ),
    ),
    "tool_use.input": ToolUsePart(
        id="t1",
        name="fs.edit",
        input=Verbatim(b'{ "a": 1.0, "a": 10e2,\n "b": "\\u0436" }'),
        signature="g",
        provider="p",
    ),
    "tool_use.input_text": ToolUsePart(id="t1", name="fs.edit", input_text='{"path": "a.tx'),
    "tool_result": ToolResultPart(
        tool_use_id="t1",
        content={"c": [7, 7.5, None, True, "", {}, []], "big": 2**70},
        attachments=(ImagePart(bytes=PIXEL, format="png"), DocumentPart(format="csv", text="a,b")),
        is_error=True,
    ),
    "cache_checkpoint": CacheCheckpointPart(),
}

AT = datetime(2025, 6, 5, 13, 0, 0, 123_000, tzinfo=UTC)
MESSAGES: tuple[Message, ...] = (
    user("hi", PARTS["image.bytes"], meta={"from": "web"}),
    assistant(PARTS["thinking.text"], "hm", PARTS["tool_use.input"]),
    Message(role=Role.USER, parts=(PARTS["tool_result"], CacheCheckpointPart())),
)
TOOL_FAILURE = ToolFailure(
    kind=ToolFailureKind.INVALID_CALL,
    message="The path is missing.",
    recovery=Recovery.CORRECT_CALL,
    issues=(Issue(path="path", rule="is required"),),
)
LABELS = {"a": "1", "b": ""}

# By record type, and what is special about the example where a type has several.
PAYLOADS: dict[str, Value] = {
    "run_started": kinds.RunStarted(
        parent_run_id="p",
        predecessor_run_id="q",
        history=HistoryRef(run_id="h", through="0123456789abcdef-7"),
        follows=Follows(run_id="f", supersede=True),
        labels=LABELS,
    ),
    "run_suspended": kinds.RunSuspended(
        suspension_id="s",
        version=1,
        pending=(kinds.PendingItem(item_id="i", kind=kinds.PendingKind.CONFIRMATION),),
        required_tools=("fs.edit",),
    ),
    "run_completed.completed": kinds.RunCompleted(status="completed", labels=LABELS),
    "run_completed.failed": kinds.RunCompleted(
        status="failed", failure=Failure(kind=FailureKind.PROVIDER, message="m", code="provider_error")
    ),
    "run_completed.canceled": kinds.RunCompleted(
        status="canceled", cancellation=kinds.Cancellation(reason="user_requested")
    ),
    "child_run_linked": kinds.ChildRunLinked(tool_name="ask", tool_call_id="t1", child_run_id="c", child_agent_id="b"),
    "runtime.cancellation_intent": kinds.CancellationIntent(reason="user_requested", by="u"),
    "transcript_messages_seeded": kinds.MessagesSeeded(messages=MESSAGES[:1]),
    "transcript_messages_appended": kinds.MessagesAppended(messages=MESSAGES, response_id="r"),
    "run_requested": kinds.RunRequested(agent_version="v", request_digest="d", options={"max_tool_calls": 5}),
    "run_phase_changed": kinds.RunPhaseChanged(phase=kinds.Phase.EXECUTING_TOOLS),
    "plan_decided": kinds.PlanDecided(
        step=1, kind="tool_calls", call_ids=("t1", "t2"), selected_response="r", synthesize_after_tools=True
    ),
    "model_responded": kinds.ModelResponded(request_digest="d", response={"text": "x"}),
    "tool_call_scheduled": kinds.ToolCallScheduled(
        tool_call_id="t1", model_tool_call_id="m1", tool_name="fs.edit", input=Verbatim(b'{ "a": 1.0 }'), step=2
    ),
    "tool_call_started": kinds.ToolCallStarted(tool_call_id="t1", attempt="x"),
    "tool_result_received.content": kinds.ToolResultReceived(
        tool_call_id="t1",
        call_run_id="r",
        content=[None],
        attachments=(ImagePart(bytes=PIXEL, format="png"),),
        duration_ms=12,
    ),
    "tool_result_received.failure": kinds.ToolResultReceived(tool_call_id="t1", call_run_id="r", failure=TOOL_FAILURE),
    "tool_authorization": kinds.ToolAuthorization(
        tool_call_id="t1",
        arguments_digest="d",
        tool_version="1",
        policy_version="2",
        decision="approved",
        by="u",
        at=AT,
        expires_at=AT.replace(year=2026),
    ),
    "input_requested": kinds.InputRequested(
        item_id="i",
        run_id="r0",
        kind=kinds.PendingKind.QUESTIONS,
        prompt="Which?",
        tool_call_id="t1",
        data={"choices": ["a"]},
    ),
    "input_answered": kinds.InputAnswered(item_id="i", answer_digest="d", by="u"),
    "turn_superseded": kinds.TurnSuperseded(run_id="r", call_ids=("t1",)),
    "prompt_rendered": kinds.PromptRendered(prompt_id="p", version="3", scope="s"),
    "history_compressed": kinds.HistoryCompressed(through="0123456789abcdef-7", summary="s", tokens=100),
    "policy_decision": kinds.PolicyDecision(rule="max_tool_calls", decision="refused", reason="5 of 5"),
    "planner_note": kinds.PlannerNote(note=ODD, labels=LABELS),
    "usage": kinds.UsageCounted(model="m", input=25, output=15, cache_read=10, cache_write=5, step=1),
}


def type_of(name: str) -> str:
    """The record type, or the part's `type`, that an example is of."""
    for kind in ("completed", "failed", "canceled", "content", "failure"):
        name = name.removesuffix(f".{kind}") if not name.startswith("runtime.") else name
    return name
