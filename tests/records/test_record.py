import pytest

from actum.base.checks import identifier
from actum.base.errors import InvalidCursor, InvalidValue, TooLarge
from actum.base.limits import PAYLOAD_BYTES
from actum.base.value import conform, replace
from actum.records.record import (
    NewRecord,
    Page,
    payload_bytes,
    position_of,
    positions_of,
    record_id,
    record_type,
    scope_digest,
)
from actum.records.types import CANCELLATION_RECORD_TYPE, RecordType
from tests.support.strategies import T0

NEW = NewRecord(event_key="k", run_id="r", agent_id="a", session_id="s", type="x.note", payload=b"{}", timestamp=T0)
DIGEST = scope_digest(session_id="s-1", root_run_id=None)


def test_a_new_record_in_form_is_taken_as_it_is() -> None:
    assert conform(NEW) is NEW


@pytest.mark.parametrize("field", ["event_key", "run_id", "agent_id", "session_id", "turn_id"])
def test_every_id_of_a_record_is_an_identifier(field: str) -> None:
    for wrong in ("", " ", "a\0", "\ud800", 7):
        with pytest.raises(InvalidValue) as refused:
            conform(replace(NEW, **{field: wrong}))
        assert refused.value.field == field


@pytest.mark.parametrize("name", [*map(str, RecordType), "x.a", "x.my-own.type_2", "x." + "n" * 128])
def test_a_type_is_one_of_ours_or_a_products_own(name: str) -> None:
    assert conform(replace(NEW, type=name)).type == name
    assert record_type("type", name) == name


@pytest.mark.parametrize(
    "name", ["", "x", "x.", "x. ", "x.é", "x.a\n", "X.a", "run_finished", "x." + "n" * 129, "x.-a", None, 7]
)
def test_another_type_is_refused(name: object) -> None:
    with pytest.raises(InvalidValue):
        record_type("type", name)


def test_a_type_given_as_a_member_becomes_its_text() -> None:
    assert type(conform(replace(NEW, type=RecordType.USAGE)).type) is str


def test_the_type_of_a_cancellation_is_known_by_name() -> None:
    assert str(CANCELLATION_RECORD_TYPE) == "runtime.cancellation_intent"


def test_a_payload_has_a_bound() -> None:
    largest = b" " * PAYLOAD_BYTES
    assert payload_bytes("payload", largest) is largest
    with pytest.raises(TooLarge) as refused:
        payload_bytes("payload", largest + b" ")
    assert (refused.value.size, refused.value.limit) == (PAYLOAD_BYTES + 1, PAYLOAD_BYTES)
    for wrong in ("{}", bytearray(b"{}"), None):
        with pytest.raises(InvalidValue):
            payload_bytes("payload", wrong)


@pytest.mark.parametrize("position", [0, 1, 10**17])
def test_the_position_of_a_record_is_found_in_its_id(position: int) -> None:
    assert position_of(record_id(DIGEST, position), DIGEST) == position


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "7",
        "-",
        f"{DIGEST}-",
        f"{DIGEST}--1",
        f"{DIGEST}-01",
        f"{DIGEST}-1 ",
        f"{DIGEST}-\u0661",
        f" {DIGEST}-1",
        f"{DIGEST}-1\n",
        DIGEST.upper() + "-1",
        f"{DIGEST}-" + "9" * 19,
        "x" * 10_000,
        None,
        7,
        b"1",
        "\0",
        "\ud800",
    ],
)
def test_what_is_no_cursor_of_records_is_refused(cursor: object) -> None:
    with pytest.raises(InvalidCursor):
        position_of(cursor, DIGEST)  # type: ignore[arg-type]  # the wrong types are the point


def test_a_cursor_of_another_scope_is_refused() -> None:
    other = scope_digest(session_id=None, root_run_id="s-1")
    assert other != DIGEST
    with pytest.raises(InvalidCursor, match="scope"):
        position_of(record_id(other, 1), DIGEST)


def test_the_name_of_a_scope_tells_nothing_else_about_it() -> None:
    strange = scope_digest(session_id="ж🔥 -", root_run_id=None)
    assert len(strange) == 16
    assert identifier("id", record_id(strange, 1))


def test_a_page_holds_its_items_oldest_first() -> None:
    page = Page(items=(NEW,), cursor="c", more=False)
    assert page.items == (NEW,)


def test_the_positions_of_many_records_are_found_together() -> None:
    positions = [0, 1, 9, 10, 7, 10**17, 10**18 - 1]
    assert positions_of([record_id(DIGEST, each) for each in positions], DIGEST) == positions
    assert positions_of([], DIGEST) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        f"{DIGEST}-",
        f"{DIGEST}-01",
        f"{DIGEST}--1",
        f"{DIGEST}-+1",
        f"{DIGEST}-1_0",
        f"{DIGEST}-1 ",
        f"{DIGEST}-\u0661",
        f"{DIGEST}-{10**18}",
        f"{DIGEST}-1\n",
        f"{DIGEST}-1\n{DIGEST}-2",
        f"x{DIGEST}-1",
        record_id("0" * 16, 1),
        record_id("f" * 16, 1),
    ],
)
@pytest.mark.parametrize("others", [0, 1, 5])
def test_one_wrong_id_among_many_is_refused_like_a_lone_one(wrong: str, others: int) -> None:
    ids = [record_id(DIGEST, each) for each in range(others)]
    for several in ([*ids, wrong], [wrong, *ids], [*ids, wrong, *ids]):
        with pytest.raises(InvalidCursor) as refused:
            positions_of(several, DIGEST)
        with pytest.raises(InvalidCursor) as alone:
            position_of(wrong, DIGEST)
        assert refused.value.fields() == alone.value.fields()
