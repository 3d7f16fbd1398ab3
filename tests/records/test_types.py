from actum.records.types import LIFECYCLE_TYPES, TRANSCRIPT_TYPES, RecordType, is_record_type


def test_the_lifecycle_types_are_the_five() -> None:
    assert {str(name) for name in LIFECYCLE_TYPES} == {
        "run_started",
        "run_suspended",
        "run_completed",
        "child_run_linked",
        "runtime.cancellation_intent",
    }


def test_only_two_types_speak_in_a_transcript() -> None:
    assert {str(name) for name in TRANSCRIPT_TYPES} == {"transcript_messages_seeded", "transcript_messages_appended"}


def test_every_type_of_ours_is_known() -> None:
    assert all(is_record_type(name) for name in RecordType)
    assert is_record_type("x.own")
    assert not is_record_type("own")
