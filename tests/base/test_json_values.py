import pytest

from actum.base.errors import InvalidValue
from actum.base.json_values import (
    Pairs,
    json_value,
    lowest_hidden,
    lowest_or_float,
    lowest_shown,
    not_too_deep,
    shows_lowest,
    spelling,
)

LOWEST = b"-" + b"9" * 4300


def test_a_json_value_is_given_back_itself() -> None:
    value: object = {"a": [1, 1.5, True, None, "é", {}]}
    assert json_value("value", value) is value


@pytest.mark.parametrize(
    "value, field",
    [
        ({"a": [1, {"b": {2}}]}, "value.a[1].b"),
        ({"a": {"b": {1: 2}}}, "value.a.b key"),
        ({"a": {"\ud800": 2}}, "value.a key"),
        ([["\udfff"]], "value[0][0]"),
        ([float("nan")], "value[0]"),
    ],
)
def test_the_path_of_a_flaw_leads_to_it(value: object, field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        json_value("value", value)
    assert refused.value.field == field


def test_depth_counts_lists_and_objects() -> None:
    assert json_value("value", [{"a": []}], limit=3)
    with pytest.raises(InvalidValue) as refused:
        json_value("value", [{"a": [[]]}], limit=3)
    assert refused.value.field == "value[0].a[0]"


@pytest.mark.parametrize(
    "data, deep",
    [
        (b"[[[]]]", False),
        (b"[[[[]]]]", True),
        (b'[[["[[[["]]]', False),
        (rb'[[["\"[[[["]]]', False),
        (rb'[[["\\",[0]]]]', True),
        (b"[[[]],[[]],[[]]]", False),
        (b'{"a":{"b":{"c":[]}}}', True),
    ],
)
def test_bytes_are_measured_before_they_are_decoded(data: bytes, *, deep: bool) -> None:
    if deep:
        with pytest.raises(InvalidValue):
            not_too_deep("payload", data, 3)
    else:
        not_too_deep("payload", data, 3)


def test_a_spelling_keeps_what_decoders_forget() -> None:
    assert spelling(b'{"a":1.0,"a":[{"b":10e2}]}') == [("a", "1.0"), ("a", [[("b", "10e2")]])]
    assert isinstance(spelling(b"{}"), Pairs)
    assert spelling(b"9" * 5000) == "9" * 5000


def test_the_longest_negative_integer_is_shown_and_hidden_again() -> None:
    data = b'[%s,"%s",%s0,%s.5,1]' % (LOWEST, LOWEST, LOWEST, LOWEST)
    shown = lowest_shown(data)
    assert shown == b'[%se0,"%s",%s0,%s.5,1]' % (LOWEST, LOWEST, LOWEST, LOWEST)
    assert shows_lowest(shown)
    assert not shows_lowest(data)
    assert lowest_hidden(shown) == data


def test_a_number_given_away_as_text_is_read() -> None:
    assert lowest_or_float(f"{LOWEST.decode()}e0") == int(LOWEST)
    assert lowest_or_float("1.50") == 1.5
    with pytest.raises(ValueError, match="out of range"):
        lowest_or_float("1e999")
