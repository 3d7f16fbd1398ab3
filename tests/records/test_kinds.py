import pytest

from actum.base.errors import DurableDataError, InvalidValue, TooLarge
from actum.base.value import Value, dump, load
from actum.messages.message import user
from actum.records import kinds
from actum.records.failures import Failure, FailureKind
from actum.records.kinds import PAYLOADS, Cancellation, RunCompleted, ToolResultReceived, check_payload, payload_of
from actum.records.types import RecordType
from tests.support.samples import PAYLOADS as EXAMPLES
from tests.support.samples import TOOL_FAILURE, type_of
from tests.support.strategies import record


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_payload_is_read_by_the_type_of_its_record(name: str) -> None:
    made = dump(EXAMPLES[name])
    for payload in (made, bytes(bytearray(made))):
        stored = record(type_of(name), payload, position=1)
        assert payload_of(stored) == EXAMPLES[name]
        check_payload(stored)


def test_bytes_that_were_made_for_one_type_are_judged_for_another() -> None:
    usage = dump(kinds.UsageCounted(model="m", step=0))
    check_payload(record("usage", usage, position=1))
    with pytest.raises(InvalidValue, match="record 'k-1' \\(run_started\\)"):
        check_payload(record("run_started", usage, position=1))


BROKEN = {
    "unknown_field": b'{"labels":{},"colour":"red"}',
    "two_values": b"{} {}",
    "trailing_garbage": b"{}x",
    "not_object": b"[]",
    "null": b"null",
    "duplicate_key": b'{"parent_run_id":"r1","parent_run_id":"r2"}',
    "wrong_type": b'{"parent_run_id":7}',
    "blank_id": b'{"parent_run_id":" "}',
    "empty": b"",
    "not_utf8": b'{"parent_run_id":"\xff"}',
}


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_stored_bytes_that_do_not_fit_are_an_error_that_names_the_record(name: RecordType, data: bytes) -> None:
    stored = record(name, data, position=7)
    with pytest.raises(DurableDataError) as refused:
        payload_of(stored)
    error = refused.value
    assert (error.run_id, error.event_key, error.record_id, error.record_type) == ("run-1", "k-7", stored.id, name)
    with pytest.raises(InvalidValue) as not_taken:
        check_payload(stored)
    assert not_taken.value.field.startswith(f"record 'k-7' ({name}): ")


def test_a_missing_field_is_taken_only_where_its_type_says_so() -> None:
    assert payload_of(record("run_started", b"{}", position=1)) == kinds.RunStarted()
    for name in set(PAYLOADS) - {RecordType.RUN_STARTED}:
        with pytest.raises(DurableDataError):
            payload_of(record(name, b"{}", position=1))


@pytest.mark.parametrize(
    "data, value", [(b"{}", {}), (b"[1]", [1]), (b'""', ""), (b"false", False), (b'{"a":null}', {"a": None})]
)
def test_a_products_own_record_carries_any_json_but_null(data: bytes, value: object) -> None:
    assert payload_of(record("x.note", data, position=1)) == value


@pytest.mark.parametrize("data", [b"null", b"", b"{", b'{"a":1,"a":1}', b"NaN", b"{}{}"])
def test_a_products_own_record_is_strict_too(data: bytes) -> None:
    with pytest.raises(DurableDataError):
        payload_of(record("x.note", data, position=1))
    with pytest.raises(InvalidValue, match="record 'k-1'"):
        check_payload(record("x.note", data, position=1))


@pytest.mark.parametrize("name", ["run_finished", "note", "", "X.note"])
def test_a_type_that_nobody_knows_is_an_error(name: str) -> None:
    with pytest.raises(DurableDataError) as refused:
        payload_of(record(name, b"{}", position=1))
    assert refused.value.path == "type"
    with pytest.raises(InvalidValue):
        check_payload(record(name, b"{}", position=1))


def test_labels_beyond_their_bound_are_refused_with_the_record_named() -> None:
    many = b'{"labels":{%s}}' % b",".join(b'"%d":""' % i for i in range(65))
    with pytest.raises(TooLarge) as refused:
        check_payload(record("run_started", many, position=1))
    assert refused.value.field == "record 'k-1' (run_started): labels"
    assert (refused.value.size, refused.value.limit, refused.value.unit) == (65, 64, "entries")
    with pytest.raises(DurableDataError):
        payload_of(record("run_started", many, position=1))


FAILURE = Failure(kind=FailureKind.TOOL, message="m")
REASON = Cancellation(reason="user_requested")


@pytest.mark.parametrize(
    "status, failure, cancellation, field",
    [
        ("completed", FAILURE, None, "failure"),
        ("completed", None, REASON, "cancellation"),
        ("failed", None, None, "failure"),
        ("failed", FAILURE, REASON, "cancellation"),
        ("canceled", None, None, "cancellation"),
        ("canceled", FAILURE, REASON, "failure"),
    ],
)
def test_an_end_says_what_its_status_needs_and_no_more(
    status: str, failure: Failure | None, cancellation: Cancellation | None, field: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        RunCompleted(status=status, failure=failure, cancellation=cancellation)  # type: ignore[arg-type]  # drawn from a table
    assert refused.value.field == field


def test_a_result_is_content_or_a_failure() -> None:
    with pytest.raises(InvalidValue):
        ToolResultReceived(tool_call_id="t1", call_run_id="r", content="x", failure=TOOL_FAILURE)
    assert ToolResultReceived(tool_call_id="t1", call_run_id="r").content is None


def test_every_record_type_has_one_payload() -> None:
    assert set(PAYLOADS) == set(RecordType)
    assert len(set(PAYLOADS.values())) == len(PAYLOADS)
    assert all(issubclass(kind, Value) for kind in PAYLOADS.values())


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 5_000_000])
def test_a_large_text_is_stored_whole(size: int) -> None:
    payload = kinds.MessagesAppended(messages=(user("ж" * (size // 2) + "x" * (size % 2)),))
    assert load(kinds.MessagesAppended, dump(payload)) == payload
