from datetime import UTC, datetime, timedelta, timezone
from enum import Enum, StrEnum
from zoneinfo import ZoneInfo

import pytest

from actum.base.checks import (
    count,
    identifier,
    instant,
    labels,
    optional_identifier,
    plain,
    reason,
    several,
    text,
    utf8,
)
from actum.base.errors import InvalidValue, TooLarge


class Named(StrEnum):
    RUN = "run-1"


class Words(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "name", ["a", " a ", "a\n", "é", "e\u0301", "日本", "x" * 512, "ж" * 256, "🔥" * 128, "0", "\u200b"]
)
def test_an_identifier_is_taken_exactly(name: str) -> None:
    assert identifier("run_id", name) is name


@pytest.mark.parametrize(
    "name", ["", " ", "\t\n", "\u2003", "\xa0 \u3000", "\x1f", "a\0", "\0", "\ud800", "a\udfffb", "x" * 513, "ж" * 257]
)
def test_what_is_no_identifier_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        identifier("run_id", name)
    assert refused.value.field == "run_id"


@pytest.mark.parametrize("value", [None, 1, True, b"a", ["a"], object()])
def test_an_identifier_is_text(value: object) -> None:
    with pytest.raises(InvalidValue, match="is text"):
        identifier("run_id", value)


@pytest.mark.parametrize("check", [identifier, text, reason])
def test_a_kind_of_text_becomes_plain_text(check: object) -> None:
    for given in (Named.RUN, Words("run-1")):
        exact = check("field", given)  # type: ignore[operator]  # the three have one signature
        assert type(exact) is str
        assert exact == "run-1"


def test_the_text_of_a_subclass_is_what_it_holds() -> None:
    class Named(str, Enum):  # noqa: UP042 - the older kind, whose `str()` is its name
        IT = "it"

    class Lies(str):
        __slots__ = ()

        def encode(self, *_: object, **__: object) -> bytes:
            return b"\xff"

        def __str__(self) -> str:
            return "another"

    for given in (Named.IT, Lies("it")):
        assert (type(plain(given)), plain(given)) == (str, "it")
        assert identifier("id", given) == text("text", given) == reason("reason", given) == "it"
        assert utf8("text", given) == b"it"


def test_no_identifier_is_none_and_never_an_empty_text() -> None:
    assert optional_identifier("parent_run_id", None) is None
    with pytest.raises(InvalidValue):
        optional_identifier("parent_run_id", "")


@pytest.mark.parametrize("value", ["", "\0", "\ufeff", "🔥", "a\nb"])
def test_any_text_is_taken_exactly(value: str) -> None:
    assert text("text", value) is value


def test_a_reason_has_a_bound_in_bytes() -> None:
    assert reason("reason", "ж" * 2048) == "ж" * 2048
    with pytest.raises(TooLarge) as refused:
        reason("reason", "ж" * 2048 + "x")
    assert (refused.value.field, refused.value.size, refused.value.limit) == ("reason", 4097, 4096)
    for blank in ("", "  ", "a\0"):
        with pytest.raises(InvalidValue):
            reason("reason", blank)


class TestInstants:
    IST = timezone(timedelta(hours=5, minutes=30))

    def test_equal_instants_are_equal_whatever_their_offset(self) -> None:
        there = instant("at", datetime(2025, 6, 5, 18, 30, tzinfo=self.IST))
        assert there == datetime(2025, 6, 5, 13, 0, tzinfo=UTC)
        assert there.tzinfo is UTC

    def test_the_hour_that_comes_twice_is_two_hours(self) -> None:
        zone = ZoneInfo("America/New_York")
        try:
            first, second = (instant("at", datetime(2025, 11, 2, 1, 30, tzinfo=zone, fold=fold)) for fold in (0, 1))
        except LookupError:
            pytest.skip("this machine has no time zone data")
        assert second - first == timedelta(hours=1)
        east, west = (
            instant("at", datetime(2025, 11, 2, 1, 30, tzinfo=timezone(timedelta(hours=hours)))) for hours in (-4, -5)
        )
        assert west - east == timedelta(hours=1)

    def test_the_first_and_the_last_instant_are_taken(self) -> None:
        for extreme in (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)):
            assert instant("at", extreme) is extreme

    @pytest.mark.parametrize(
        "wrong",
        [
            datetime(2025, 6, 5, 13, 0),  # noqa: DTZ001 - a naive time is the point
            datetime(2025, 6, 5, 13, 0, 0, 123_456, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            datetime(2025, 6, 5, 13, 0, tzinfo=timezone(timedelta(microseconds=1))),
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
            datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5))),
            "2025-06-05T13:00:00Z",
            1_749_128_400,
            None,
        ],
    )
    def test_what_is_no_exact_instant_is_refused(self, wrong: object) -> None:
        with pytest.raises(InvalidValue) as refused:
            instant("at", wrong)
        assert refused.value.field == "at"

    def test_a_finer_offset_may_still_name_a_whole_millisecond(self) -> None:
        odd = datetime(2025, 6, 5, 13, 0, 0, 1, tzinfo=timezone(timedelta(microseconds=1)))
        assert instant("at", odd) == datetime(2025, 6, 5, 13, 0, tzinfo=UTC)

    def test_a_kind_of_datetime_becomes_a_plain_one(self) -> None:
        class Moment(datetime):
            pass

        exact = instant("at", Moment(2025, 6, 5, 13, 0, tzinfo=UTC))
        assert type(exact) is datetime
        assert exact == datetime(2025, 6, 5, 13, 0, tzinfo=UTC)


class TestLabels:
    def test_labels_are_a_sorted_copy(self) -> None:
        given = {"b": "2", "a": ""}
        exact = labels("labels", given)
        assert list(exact.items()) == [("a", ""), ("b", "2")]
        assert exact is not given

    @pytest.mark.parametrize(
        "wrong, field",
        [
            ([("a", "1")], "labels"),
            ({"a": 1}, "labels['a']"),
            ({"a": None}, "labels['a']"),
            ({"a": ["deep"]}, "labels['a']"),
            ({"a": "\0"}, "labels['a']"),
            ({"a": "\ud800"}, "labels['a']"),
            ({1: "a"}, "labels key"),
            ({"": "a"}, "labels key"),
            ({"\u3000": "a"}, "labels key"),
            ({"\udc00": "a"}, "labels key"),
            ({"a\0": "a"}, "labels key"),
        ],
    )
    def test_what_is_no_label_is_refused_with_its_path(self, wrong: object, field: str) -> None:
        with pytest.raises(InvalidValue) as refused:
            labels("labels", wrong)
        assert refused.value.field == field

    @pytest.mark.parametrize(
        "wrong, size, limit, unit",
        [
            ({str(i): "" for i in range(65)}, 65, 64, "entries"),
            ({"ж" * 128 + "x": ""}, 257, 256, "bytes"),
            ({"a": "ж" * 1024 + "x"}, 2049, 2048, "bytes"),
        ],
    )
    def test_the_bounds_of_labels_are_errors(self, wrong: object, size: int, limit: int, unit: str) -> None:
        with pytest.raises(TooLarge) as refused:
            labels("labels", wrong)
        assert (refused.value.size, refused.value.limit, refused.value.unit) == (size, limit, unit)

    def test_labels_at_their_bounds_are_taken(self) -> None:
        full = {f"{i:02}".ljust(256, "k"): "v" * 2048 for i in range(64)}
        assert labels("labels", full) == full


@pytest.mark.parametrize("wrong", [-1, True, 1.0, "1", None, 2**63, pytest.param(10**5000, id="huge")])
def test_a_count_is_a_whole_number_from_0(wrong: object) -> None:
    with pytest.raises(InvalidValue):
        count("version", wrong)


@pytest.mark.parametrize("right", [0, 1, 2**63 - 1])
def test_a_count_is_taken(right: int) -> None:
    assert count("version", right) == right


@pytest.mark.parametrize("given", [["a", "b"], ("a", "b"), iter(["a", "b"]), {"a": 1, "b": 2}.keys()])
def test_several_values_are_taken_in_their_order(given: object) -> None:
    assert several("names", given, str, "names") == ("a", "b")


@pytest.mark.parametrize(
    "wrong, field",
    [(None, "names"), (5, "names"), ("ab", "names"), (b"ab", "names"), ({"a": 1}, "names"), (["a", 5], "names[1]")],
)
def test_what_is_no_list_of_such_values_is_refused(wrong: object, field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        several("names", wrong, str, "names")
    assert refused.value.field == field
