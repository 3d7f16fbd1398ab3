import pytest

from actum.base.clock import from_millis
from actum.records.record import Record
from actum.records.types import RecordType
from actum.storage.sqlite_rows import TYPE_NUMBERS, named, packed, records_in, type_number


def test_every_type_has_a_number_of_its_own() -> None:
    assert set(TYPE_NUMBERS) == set(RecordType)
    assert sorted(TYPE_NUMBERS.values()) == list(range(1, len(RecordType) + 1))


def test_the_numbers_that_stand_in_files_stay() -> None:
    known = [
        *("run_started", "run_suspended", "run_completed", "child_run_linked", "runtime.cancellation_intent"),
        *("transcript_messages_seeded", "transcript_messages_appended", "run_requested", "run_phase_changed"),
        *("plan_decided", "model_responded", "tool_call_scheduled", "tool_call_started", "tool_result_received"),
        *("tool_authorization", "input_requested", "input_answered", "turn_superseded", "prompt_rendered"),
        *("history_compressed", "policy_decision", "planner_note", "usage"),
    ]
    assert [type_number(name) for name in known] == list(range(1, 24))
    assert type_number("x.own") == "x.own"


def test_packed_text_is_the_same_for_the_same_entries() -> None:
    assert packed({}) is None
    assert packed({"b": "ж", "a": ""}) == packed({"a": "", "b": "ж"}) == '{"a": "", "b": "ж"}'


DIGEST = "0123456789abcdef"


def test_a_row_becomes_a_record_of_its_run() -> None:
    rows = [(b"{}", 7, 6, "turn-1", -1, "k1"), (b"1", 9, "x.own", None, 250_000_000_000_001, "k2")]
    names = [named("r1", "helper", "s1"), named("r2", "other", None)]
    assert records_in(rows, names, DIGEST) == [
        Record(
            id=f"{DIGEST}-7",
            event_key="k1",
            run_id="r1",
            agent_id="helper",
            session_id="s1",
            turn_id="turn-1",
            type="transcript_messages_seeded",
            payload=b"{}",
            timestamp=from_millis(-1),
        ),
        Record(
            id=f"{DIGEST}-9",
            event_key="k2",
            run_id="r2",
            agent_id="other",
            type="x.own",
            payload=b"1",
            timestamp=from_millis(250_000_000_000_001),
        ),
    ]


def test_a_number_without_a_meaning_is_no_type() -> None:
    with pytest.raises(KeyError):
        records_in([(b"{}", 1, 99, None, 0, "k")], [named("r1", "helper", "s1")], DIGEST)
