from actum.records.types import RecordType
from actum.storage.sqlite_rows import TYPE_NUMBERS, packed, type_number


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
