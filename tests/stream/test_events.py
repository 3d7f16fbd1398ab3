from datetime import UTC, datetime

import pytest

from actum.base.errors import DurableDataError, InvalidCursor
from actum.base.value import Value, dump, load_json
from actum.messages.message import assistant, tool_results, user
from actum.messages.parts import ImagePart, ThinkingPart, ToolResultPart, tool_use
from actum.records import makers
from actum.records.failures import Failure, FailureKind, ToolFailure, ToolFailureKind
from actum.records.kinds import Cancellation, PendingItem, PendingKind, Phase
from actum.records.record import Record, record_id
from actum.records.types import RecordType
from actum.stream.events import STREAMED_TYPES, AssistantDelta, RecordedEvent, before, event_place, events_of

AT = datetime(2025, 1, 1, tzinfo=UTC)
SCOPE = "0123456789abcdef"


def record(kind: RecordType | str, payload: bytes, position: int = 7) -> Record:
    return Record(
        id=record_id(SCOPE, position),
        event_key="k",
        run_id="r",
        agent_id="a",
        session_id="s",
        turn_id="t",
        type=str(kind),
        payload=payload,
        timestamp=AT,
    )


def shown(events: tuple[RecordedEvent, ...]) -> list[dict[str, object]]:
    """The events' JSON without what all of them say alike."""
    alike = ("run_id", "agent_id", "session_id", "turn_id", "timestamp", "id")
    return [{name: value for name, value in load_json(dump(event)).items() if name not in alike} for event in events]


CALL = makers.tool_call_scheduled(tool_call_id="c", tool_name="add", input=tool_use("c", "add", {"a": 1}).input, step=0)
FAILURE = ToolFailure(kind=ToolFailureKind.TIMEOUT, message="slow")

PROJECTIONS = [
    (
        RecordType.RUN_PHASE_CHANGED,
        makers.run_phase_changed(phase=Phase.SYNTHESIZING),
        [{"type": "workflow", "phase": "synthesizing"}],
    ),
    (
        RecordType.RUN_COMPLETED,
        makers.run_completed(status="completed"),
        [
            {"type": "workflow", "phase": "completed", "status": "completed"},
            {"type": "run_stream_end", "status": "completed"},
        ],
    ),
    (
        RecordType.RUN_COMPLETED,
        makers.run_completed(status="failed", failure=Failure(kind=FailureKind.LIMIT, message="too much")),
        [
            {
                "type": "workflow",
                "phase": "failed",
                "status": "failed",
                "failure": {"kind": "limit", "message": "too much"},
            },
            {"type": "run_stream_end", "status": "failed"},
        ],
    ),
    (
        RecordType.RUN_COMPLETED,
        makers.run_completed(status="canceled", cancellation=Cancellation(reason="enough")),
        [
            {"type": "workflow", "phase": "canceled", "status": "canceled", "cancellation": {"reason": "enough"}},
            {"type": "run_stream_end", "status": "canceled"},
        ],
    ),
    (
        RecordType.RUN_SUSPENDED,
        makers.run_suspended(
            suspension_id="x", version=1, pending=(PendingItem(item_id="i", kind=PendingKind.QUESTIONS),)
        ),
        [
            {"type": "workflow", "phase": "suspended", "status": "suspended"},
            {"type": "run_stream_end", "status": "suspended"},
        ],
    ),
    (
        RecordType.TOOL_CALL_SCHEDULED,
        CALL,
        [{"type": "tool_start", "tool_call_id": "c", "tool_name": "add", "input": {"a": 1}}],
    ),
    (
        RecordType.TOOL_CALL_STARTED,
        makers.tool_call_started(tool_call_id="c", attempt="x"),
        [{"type": "tool_update", "tool_call_id": "c"}],
    ),
    (
        RecordType.TOOL_RESULT_RECEIVED,
        makers.tool_result_received(
            tool_call_id="c", call_run_id="r", content=[1], attachments=(ImagePart(uri="u"),), duration_ms=3
        ),
        [
            {
                "type": "tool_end",
                "tool_call_id": "c",
                "content": [1],
                "attachments": [{"type": "image", "uri": "u"}],
                "duration_ms": 3,
            }
        ],
    ),
    (
        RecordType.TOOL_RESULT_RECEIVED,
        makers.tool_result_received(tool_call_id="c", call_run_id="r", failure=FAILURE),
        [{"type": "tool_end", "tool_call_id": "c", "failure": {"kind": "timeout", "message": "slow"}}],
    ),
    (
        RecordType.TOOL_AUTHORIZATION,
        makers.tool_authorization(
            tool_call_id="c",
            arguments_digest="d",
            tool_version="1",
            policy_version="2",
            decision="denied",
            by="eve",
            at=AT,
        ),
        [{"type": "tool_authorization", "tool_call_id": "c", "decision": "denied", "by": "eve"}],
    ),
    (
        RecordType.INPUT_REQUESTED,
        makers.input_requested(item_id="i", kind=PendingKind.CLARIFICATION, prompt="Which?", data={"n": 1}),
        [{"type": "input_requested", "item_id": "i", "kind": "clarification", "prompt": "Which?", "data": {"n": 1}}],
    ),
    (
        RecordType.INPUT_ANSWERED,
        makers.input_answered(item_id="i", answer_digest="d", by="eve"),
        [{"type": "input_answered", "item_id": "i", "by": "eve"}],
    ),
    (
        RecordType.USAGE,
        makers.usage(model="m", input=1, cache_read=0, step=2),
        [{"type": "usage", "model": "m", "input": 1, "cache_read": 0, "step": 2}],
    ),
    (
        RecordType.PROMPT_RENDERED,
        makers.prompt_rendered(prompt_id="p", version="3"),
        [{"type": "prompt_rendered", "prompt_id": "p", "version": "3"}],
    ),
    (
        RecordType.CHILD_RUN_LINKED,
        makers.child_run_linked(tool_name="ask", tool_call_id="c", child_run_id="r2", child_agent_id="b"),
        [
            {
                "type": "child_run_linked",
                "tool_name": "ask",
                "tool_call_id": "c",
                "child_run_id": "r2",
                "child_agent_id": "b",
            }
        ],
    ),
]


@pytest.mark.parametrize("kind, payload, expected", PROJECTIONS, ids=[str(each[0]) for each in PROJECTIONS])
def test_a_record_has_its_events(kind: RecordType, payload: bytes, expected: list[dict[str, object]]) -> None:
    assert shown(events_of(record(kind, payload))) == expected


def test_every_type_that_makes_events_is_shown_here() -> None:
    assert {each[0] for each in PROJECTIONS} | {RecordType.TRANSCRIPT_MESSAGES_APPENDED} == set(STREAMED_TYPES)


def test_a_turn_comes_after_its_thinking() -> None:
    said = assistant(ThinkingPart(text="hm", signature="s", provider="p"), ThinkingPart(redacted=b"\0"), "yes")
    payload = makers.transcript_messages_appended(messages=(said,), response_id="resp")
    events = events_of(record(RecordType.TRANSCRIPT_MESSAGES_APPENDED, payload))
    assert [event.type for event in events] == ["thinking", "thinking", "assistant_turn"]
    assert [getattr(event, "text", None) for event in events[:2]] == ["hm", None]
    assert [getattr(events[2], name) for name in ("message", "response_id")] == [said, "resp"]
    assert [event.id for event in events] == [f"{SCOPE}-7.{n}" for n in range(3)]


def test_what_a_user_or_a_tool_says_is_no_turn() -> None:
    given = (user("hi"), tool_results(ToolResultPart(tool_use_id="c", content=1)))
    payload = makers.transcript_messages_appended(messages=given)
    assert events_of(record(RecordType.TRANSCRIPT_MESSAGES_APPENDED, payload)) == ()


def test_seeds_are_no_news() -> None:
    payload = makers.transcript_messages_seeded(messages=(user("hi"), assistant("hello")))
    assert events_of(record(RecordType.TRANSCRIPT_MESSAGES_SEEDED, payload)) == ()


def test_a_products_own_record_is_not_shown() -> None:
    assert events_of(record("x.mine", b"{}")) == ()


def test_an_event_says_of_which_run_it_is_and_when() -> None:
    event = events_of(record(RecordType.TOOL_CALL_SCHEDULED, CALL))[0]
    assert (event.run_id, event.agent_id, event.session_id, event.turn_id) == ("r", "a", "s", "t")
    assert event.timestamp == AT


def test_a_delta_has_no_id() -> None:
    delta = AssistantDelta(run_id="r", agent_id="a", attempt="x", part=0, offset=0, text="he", after=f"{SCOPE}-3")
    assert delta.id is None
    assert "id" not in load_json(dump(delta))
    assert delta.type == "assistant_delta"


def test_a_record_that_cannot_be_read_is_named() -> None:
    with pytest.raises(DurableDataError) as broken:
        events_of(record(RecordType.USAGE, b"{"))
    assert broken.value.record_id == f"{SCOPE}-7"


def test_an_events_id_names_its_record_and_its_number() -> None:
    assert event_place(f"{SCOPE}-12.3") == (f"{SCOPE}-12", 3)
    assert before(f"{SCOPE}-12") == f"{SCOPE}-11"


@pytest.mark.parametrize(
    "odd", ["", f"{SCOPE}-12", f"{SCOPE}-012.0", f"{SCOPE}-1.00", f"{SCOPE}-1.-1", f"{SCOPE.upper()}-1.0", "x" * 5000]
)
def test_what_is_no_events_id_is_refused(odd: str) -> None:
    with pytest.raises(InvalidCursor):
        event_place(odd)


def test_events_are_values() -> None:
    event = events_of(record(RecordType.TOOL_CALL_SCHEDULED, CALL))[0]
    assert isinstance(event, Value)
    assert dump(event) == dump(events_of(record(RecordType.TOOL_CALL_SCHEDULED, CALL))[0])
