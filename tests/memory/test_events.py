"""The shapes of events and annotations."""

import pytest

from actum.base.errors import InvalidValue, TooLarge
from actum.base.value import dump, load
from actum.memory.events import Annotation, EventType, MemoryEvent, Snapshot
from actum.messages.message import assistant, user
from actum.messages.parts import ThinkingPart, tool_use
from actum.testing.samples import at

CALL = assistant("text", tool_use("c1", "clock", {}))


@pytest.mark.parametrize(
    "fields",
    [
        {"type": EventType.USER_MESSAGE},
        {"type": EventType.USER_MESSAGE, "message": user("hi")},
        {"type": EventType.USER_MESSAGE, "message_id": "m"},
        {"type": EventType.USER_MESSAGE, "message_id": "m", "message": user("hi"), "part": 0},
        {"type": EventType.TOOL_CALL, "message_id": "m", "message": CALL},
        {"type": EventType.TOOL_CALL, "message_id": "m", "message": CALL, "part": 0},
        {"type": EventType.TOOL_CALL, "message_id": "m", "message": CALL, "part": 2},
        {"type": EventType.TOOL_CALL, "message_id": "m", "message": CALL, "part": -1},
        {"type": EventType.TOOL_RESULT, "message_id": "m", "message": CALL, "part": 1},
        {"type": EventType.THINKING, "message_id": "m", "message": CALL, "part": 1},
        {"type": EventType.PLANNER_NOTE},
        {"type": EventType.PLANNER_NOTE, "note": "n", "message_id": "m", "message": user("hi")},
        {"type": EventType.PLANNER_NOTE, "note": "n", "part": 0},
        {"type": EventType.USER_MESSAGE, "message_id": "m", "message": user("hi"), "note": "n"},
        {"type": EventType.ANNOTATION},
        {"type": EventType.ANNOTATION, "note": "n"},
        {"type": EventType.USER_MESSAGE, "message_id": "m", "message": user("hi"), "annotation": Annotation(rating=1)},
    ],
)
def test_an_event_that_tells_two_things_or_none_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        MemoryEvent(event_id="e", at=at(0), **fields)  # type: ignore[arg-type]  # a table of fields


@pytest.mark.parametrize(
    "fields", [{}, {"by": "u"}, {"rating": 1, "turn_id": "t", "message_id": "m"}, {"rating": None, "turn_id": "t"}]
)
def test_an_annotation_says_something_of_one_thing(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        Annotation(**fields)  # type: ignore[arg-type]  # a table of fields


@pytest.mark.parametrize(
    "wrong", [{"rating": 1.5}, {"rating": True}, {"comment": " "}, {"comment": "x" * 5000}, {"tag": ""}]
)
def test_an_annotations_fields_have_bounds(wrong: dict[str, object]) -> None:
    with pytest.raises((InvalidValue, TooLarge)):
        dump(Annotation(**wrong))  # type: ignore[arg-type]  # the wrong type is the point


def test_an_event_survives_its_bytes() -> None:
    thinking = assistant(ThinkingPart(redacted=b"\x00"), "a\0b")
    event = MemoryEvent(event_id="e", type=EventType.THINKING, at=at(1), message_id="m", message=thinking, part=0)
    assert load(MemoryEvent, dump(event)) == event
    assert event.text == ""
    snapshot = Snapshot(agent_id="a", run_id="r", events=(event,))
    assert load(Snapshot, dump(snapshot)) == snapshot


def test_an_annotation_may_rate_with_nothing() -> None:
    assert Annotation(rating=0).rating == 0
