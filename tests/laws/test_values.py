"""What holds for every value: it comes back as it was, and nothing else comes in."""

import contextlib
import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.base.errors import ContractError, InvalidValue
from actum.base.limits import JSON_DEPTH
from actum.base.value import Value, conform, dump, dump_json, fingerprint, load, load_json, verbatim
from actum.messages.message import Message
from actum.messages.parts import ToolResultPart
from actum.records.record import NewRecord, Record
from actum.records.types import RecordType
from tests.support.strategies import json_values, messages, parts, payloads, texts, values_of

carriers = st.sampled_from(RecordType).flatmap(payloads) | messages()
anything = (
    st.sampled_from(RecordType).flatmap(payloads)
    | messages()
    | parts()
    | values_of(NewRecord)
    | values_of(ToolResultPart)
)


class Colour(Enum):
    RED = "red"


class Own:
    pass


NO_JSON: list[Any] = [
    float("nan"),
    float("inf"),
    float("-inf"),
    {(1, 2), (3, 4)},
    (1, 2),
    b"x",
    datetime(2025, 1, 1, tzinfo=UTC),
    Decimal("1.10"),
    Colour.RED,
    RecordType.USAGE,
    Own(),
    "\ud800",
    10**4300,
    -(10**4300),
    bytearray(b"x"),
    frozenset(),
    1j,
]


@pytest.mark.parametrize("record_type", RecordType)
@settings(max_examples=max(25, settings().max_examples // 4))
@given(data=st.data())
def test_every_payload_comes_back_as_it_was(record_type: RecordType, data: st.DataObject) -> None:
    payload = data.draw(payloads(record_type))
    comes_back(payload)


@given(parts() | messages())
def test_every_part_and_message_comes_back_as_it_was(value: Value) -> None:
    comes_back(value)


def comes_back(value: Value) -> None:
    data = dump(value)
    back = load(type(value), data)
    assert back == conform(value)
    assert dump(back) == data
    assert conform(back) == back
    assert fingerprint(back) == fingerprint(value)


@given(json_values(20))
def test_every_json_value_comes_back_as_it_was(value: object) -> None:
    data = dump_json(value)
    assert same(load_json(data), value)
    assert same(json.loads(data), value)


@given(json_values(20), st.integers(0, 2) | st.none(), st.booleans())
def test_every_spelling_of_a_json_value_is_read(value: object, indent: int | None, ascii_only: bool) -> None:  # noqa: FBT001 - hypothesis gives it by position
    assert same(load_json(json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()), value)


def same(one: object, other: object) -> bool:
    """Equality that tells 1 from True and from 1.0, and 0.0 from -0.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return (
        type(one) is type(other) and one == other and str(one)[:1] == str(other)[:1] if is_number(one) else one == other
    )


def is_number(value: object) -> bool:
    return isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**63)


steps = st.lists(st.integers(0, 3) | texts(), max_size=5)


def buried(leaf: object, way: list[int | str]) -> tuple[Any, str]:
    """`leaf` behind these list indexes and keys, and the path that names it."""
    value, path = leaf, ""
    for step in reversed(way):
        if isinstance(step, int):
            value, path = [*([None] * step), value], f"[{step}]{path}"
        else:
            value, path = {step: value}, f".{step}{path}"
    return value, path


@pytest.mark.parametrize(
    "wrong",
    NO_JSON,
    ids=lambda value: f"{type(value).__name__}-{repr(value)[:12]}" if not isinstance(value, int) else "huge",
)
@settings(max_examples=max(20, settings().max_examples // 5))
@given(way=steps)
def test_what_is_no_json_is_refused_with_its_path(wrong: object, way: list[int | str]) -> None:
    value, path = buried(wrong, way)
    with pytest.raises(InvalidValue) as refused:
        dump_json(value)
    assert refused.value.field == f"value{path}"
    with pytest.raises(InvalidValue) as refused:
        dump(ToolResultPart(tool_use_id="t1", content=value))
    assert refused.value.field == f"content{path}"


@pytest.mark.parametrize("key", [1, None, True, 1.5, ("a",), Colour.RED, b"a", "\udfff", RecordType.USAGE])
@settings(max_examples=max(20, settings().max_examples // 5))
@given(way=steps)
def test_a_key_that_is_no_text_is_refused_with_its_path(key: object, way: list[int | str]) -> None:
    value, path = buried({"1": "b", key: "a"}, way)
    with pytest.raises(InvalidValue) as refused:
        dump_json(value)
    assert refused.value.field == f"value{path} key"


@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
@given(depth=st.integers(1, JSON_DEPTH) | st.sampled_from((JSON_DEPTH, JSON_DEPTH + 1, 2000, 100_000)))
def test_nesting_is_read_and_written_down_to_one_bound(brackets: tuple[str, str], depth: int) -> None:
    data = (brackets[0] * depth + "1" + brackets[1] * depth).encode()
    if depth <= JSON_DEPTH:
        assert dump_json(load_json(data)) == data
    else:
        with pytest.raises(InvalidValue):
            load_json(data)


class Spelling:
    """Writes JSON again, with one of its objects given a key twice."""

    def __init__(self, twice: int) -> None:
        self.twice = twice
        self.objects = 0

    def write(self, value: object, *, verbatim_inside: bool = False) -> str:
        if isinstance(value, list):
            return "[" + ",".join(self.write(item) for item in value) + "]"
        if not isinstance(value, dict) or verbatim_inside:
            return json.dumps(value)
        pairs = [(key, item) for key, item in value.items()]
        if pairs:
            self.objects += 1
            if self.objects - 1 == self.twice:
                pairs.append(pairs[0])
        tool = value.get("type") == "tool_use" or "tool_name" in value
        inside = [
            f"{json.dumps(key)}:{self.write(item, verbatim_inside=tool and key == 'input')}" for key, item in pairs
        ]
        return "{" + ",".join(inside) + "}"


@given(carriers, st.data())
def test_a_key_given_twice_is_refused_at_every_depth(value: Value, data: st.DataObject) -> None:
    plain = json.loads(dump(value))
    plainly = Spelling(-1)
    load(type(value), plainly.write(plain).encode())
    if not plainly.objects:
        return
    twice = data.draw(st.integers(0, plainly.objects - 1))
    with pytest.raises(InvalidValue) as refused:
        load(type(value), Spelling(twice).write(plain).encode())
    assert refused.value.rule == "is given once, not twice"


@given(anything, st.data())
def test_damaged_bytes_are_read_right_or_refused(value: Value, data: st.DataObject) -> None:
    """Whatever a byte turns into, the outcome is a value that conforms, or our own error: never another exception."""
    good = dump(value)
    at = data.draw(st.integers(0, len(good) - 1))
    to = data.draw(
        st.sampled_from([b"", b'"', b"\\", b"0", b"}", b"]", b",", b"null", b"\xff", b"\0", b"-", b" ", b"1e999"])
    )
    bad = good[:at] + to + good[at + data.draw(st.integers(0, 2)) :]
    with contextlib.suppress(ContractError):
        back = load(type(value), bad)
        assert load(type(value), dump(back)) == back


@given(
    st.text(alphabet='{}[]",:\\u0123de+-.tfalsrn \t\x00\x1f🔥', max_size=25)
    | st.text(alphabet="[]0123.eE+-,", max_size=9)
)
def test_verbatim_is_exactly_the_syntax_of_json(text: str) -> None:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.dumps(json.loads(text, parse_constant=refuse, parse_float=str), ensure_ascii=False).encode()
    except ValueError:
        expected = False
    else:
        expected = True
    try:
        raw = verbatim(text.encode())
    except InvalidValue:
        assert not expected
    else:
        assert expected
        assert bytes(raw) == text.strip(" \t\n\r").encode()


@given(values_of(Record), st.integers(-14 * 60, 14 * 60))
def test_another_offset_is_the_same_instant(record: Record, minutes: int) -> None:
    with contextlib.suppress(OverflowError):
        there = record.timestamp.astimezone(timezone(timedelta(minutes=minutes)))
        elsewhere = conform(
            Record(**{name: getattr(record, name) for name in record.__struct_fields__} | {"timestamp": there})
        )
        assert elsewhere == conform(record)
        assert dump(elsewhere) == dump(record)


@given(messages())
def test_a_message_in_form_is_left_alone(message: Message) -> None:
    exact = conform(message)
    assert conform(exact) is exact
