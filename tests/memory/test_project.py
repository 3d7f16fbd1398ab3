"""Events out of records, and the messages that come back out of events."""

import pytest

from actum.base.errors import DurableDataError
from actum.memory.events import EventType, messages_of
from actum.memory.project import events_of, history_of
from actum.messages.message import Message, Role, assistant, system, tool_results, user
from actum.messages.parts import CacheCheckpointPart, ImagePart, ThinkingPart, ToolResultPart, tool_use
from actum.records import makers
from actum.records.record import HistoryRef, Record, record_id, scope_digest
from actum.records.types import RecordType
from actum.testing.samples import at

DIGEST = scope_digest(session_id="s1", root_run_id=None)


def record(type: str, payload: bytes, position: int = 7) -> Record:
    return Record(
        id=record_id(DIGEST, position),
        event_key="k" * 512,
        run_id="r1",
        agent_id="helper",
        session_id="s1",
        turn_id="t1",
        type=type,
        payload=payload,
        timestamp=at(3),
    )


def appended(*messages: Message) -> Record:
    return record(RecordType.TRANSCRIPT_MESSAGES_APPENDED, makers.transcript_messages_appended(messages=messages))


CALL = tool_use("c1", "fs.read", {"path": "a"})


@pytest.mark.parametrize(
    "message, told",
    [
        (user("hi"), [("user_message", None)]),
        (system("rules"), [("system_message", None)]),
        (user(ImagePart(uri="u"), "look", "again"), [("user_message", None)]),
        (
            assistant(ThinkingPart(redacted=b"x"), "text", CALL, CALL),
            [("thinking", 0), ("assistant_message", None), ("tool_call", 2), ("tool_call", 3)],
        ),
        (assistant(CALL), [("tool_call", 0)]),
        (tool_results(ToolResultPart(tool_use_id="c1", content=0)), [("tool_result", 0)]),
        (
            user(ToolResultPart(tool_use_id="c1"), "and also"),
            [("tool_result", 0), ("user_message", None)],
        ),
        (assistant(CacheCheckpointPart()), [("assistant_message", None)]),
        (Message(role=Role.ASSISTANT, parts=()), [("assistant_message", None)]),
    ],
)
def test_a_message_gives_an_event_for_each_thing_it_does(message: Message, told: list[tuple[str, int | None]]) -> None:
    events = events_of(appended(message))
    assert [(each.type, each.part) for each in events] == told
    assert {each.message_id for each in events} == {f"{record_id(DIGEST, 7)}.0"}
    assert all(each.message == message for each in events)
    assert messages_of(events) == (message,)


def test_ids_are_short_unique_and_the_same_again() -> None:
    source = appended(user("a"), assistant("b", CALL), user("c"))
    events = events_of(source)
    ids = [each.event_id for each in events]
    assert len(set(ids)) == len(ids) == 4
    assert max(map(len, ids)) < 64
    assert events_of(source) == events
    assert {(each.at, each.turn_id, each.seeded) for each in events} == {(at(3), "t1", False)}


def test_equal_messages_are_messages_of_their_own() -> None:
    assert messages_of(events_of(appended(user("a"), user("a")))) == (user("a"), user("a"))


def test_seeds_are_marked() -> None:
    payload = makers.transcript_messages_seeded(messages=(user("before"),))
    (event,) = events_of(record(RecordType.TRANSCRIPT_MESSAGES_SEEDED, payload))
    assert event.seeded


def test_a_note_is_an_event_without_a_message() -> None:
    (event,) = events_of(record(RecordType.PLANNER_NOTE, makers.planner_note(note="")))
    assert (event.type, event.note, event.message) == (EventType.PLANNER_NOTE, "", None)


def test_other_records_tell_nothing() -> None:
    assert events_of(record("x.note", b'{"text":"hi"}')) == ()
    assert events_of(record(RecordType.RUN_STARTED, makers.run_started())) == ()


def test_a_start_names_its_history() -> None:
    started = makers.run_started(history=HistoryRef(run_id="r0", through="x-9"))
    assert history_of(record(RecordType.RUN_STARTED, started)) == "r0"
    assert history_of(record(RecordType.RUN_STARTED, makers.run_started())) is None
    assert history_of(appended(user("hi"))) is None


def test_bytes_that_do_not_fit_are_told_with_their_record() -> None:
    with pytest.raises(DurableDataError) as caught:
        events_of(record(RecordType.TRANSCRIPT_MESSAGES_APPENDED, b'{"messages":1}'))
    assert caught.value.record_id == record_id(DIGEST, 7)
