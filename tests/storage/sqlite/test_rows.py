from itertools import repeat

import pytest

from actum.base.clock import from_millis
from actum.base.errors import DurableDataError
from actum.records.record import Record
from actum.records.types import RecordType
from actum.storage.sqlite.rows import TYPE_NUMBERS, named, packed, records_in, type_names, type_number


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
    with pytest.raises(DurableDataError) as caught:
        records_in([(b"{}", 1, 99, None, 0, "k")], [named("r1", "helper", "s1")], DIGEST)
    assert caught.value.path == "type"
    with pytest.raises(DurableDataError, match="not 99"):
        type_names([7, 99])


def test_the_first_damaged_row_among_many_is_named_with_its_own_run() -> None:
    rows = [(b"{}", n, 7 if n != 700 else 99, None, n if n != 900 else 2**62, f"k{n}") for n in range(1000)]
    runs = [named(f"r{n % 7}", "helper", "s1") for n in range(1000)]
    for names in (runs, iter(runs)):
        with pytest.raises(DurableDataError) as caught:
            records_in(rows, names, DIGEST)
        error = caught.value
        assert (error.run_id, error.event_key, error.record_id) == ("r0", "k700", f"{DIGEST}-700")
    with pytest.raises(DurableDataError) as caught:
        records_in(rows[701:], repeat(runs[0], 299), DIGEST)
    assert (caught.value.event_key, caught.value.path) == ("k900", "timestamp")


def test_a_call_that_is_wrong_is_no_damage() -> None:
    with pytest.raises(ValueError, match="shorter"):
        records_in([(b"{}", 1, 7, None, 0, "k")], [], DIGEST)
