import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from actum.base.errors import ContractError, InvalidValue
from actum.base.limits import CONTENT_DEPTH, JSON_DEPTH
from actum.base.value import (
    ABSENT,
    Value,
    Verbatim,
    conform,
    dump,
    dump_json,
    exact,
    fingerprint,
    items,
    load,
    load_json,
    members,
    spelled_here,
    verbatim,
)
from actum.messages.message import Message, Role, assistant, tool_results, user
from actum.messages.parts import ImagePart, TextPart, ThinkingPart, ToolResultPart, ToolUsePart
from actum.records.kinds import MessagesAppended, RunStarted, ToolAuthorization
from actum.records.record import NewRecord, Record
from tests.support.samples import AT
from tests.support.strategies import messages, record


def refused(kind: type[Value], data: bytes) -> InvalidValue:
    with pytest.raises(InvalidValue) as error:
        load(kind, data)
    return error.value


def spelled(**fields: object) -> bytes:
    full: dict[str, object] = {
        "tool_call_id": "t1",
        "arguments_digest": "d",
        "tool_version": "1",
        "policy_version": "2",
        "decision": "approved",
        "by": "u",
        "at": "2025-06-05T13:00:00.123Z",
    }
    return json.dumps(full | fields).encode()


class TestReading:
    """What `load` refuses, it refuses with the path of the fault."""

    @pytest.mark.parametrize(
        "data, field",
        [
            (b"", "payload"),
            (b"{} {}", "payload"),
            (b"{}x", "payload"),
            (b"[]", "payload"),
            (b"null", "payload"),
            (b"{", "payload"),
            (b"\xef\xbb\xbf{}", "payload"),
            (b'{"colour":"red"}', "payload"),
            (b'{"labels":{},"colour":"red"}', "payload"),
            (b'{"parent_run_id":7}', "parent_run_id"),
            (b'{"parent_run_id":""}', "parent_run_id"),
            (b'{"parent_run_id":" "}', "parent_run_id"),
            (b'{"parent_run_id":null}', "parent_run_id"),
            (b'{"parent_run_id":"a\\u0000"}', "parent_run_id"),
            (b'{"parent_run_id":"\\ud800"}', "payload"),
            (b'{"parent_run_id":"\xff"}', "payload"),
            (b'{"parent_run_id":"r1","parent_run_id":"r2"}', "parent_run_id"),
            (b'{"parent_run_id":"r1","parent_run_\\u0069d":"r1"}', "parent_run_id"),
            (b'{"history":{"run_id":"h"}}', "history"),
            (b'{"history":{"run_id":"h","through":"t","run_id":"h"}}', "history.run_id"),
            (b'{"labels":{"a":1}}', "labels[...]"),
            (b'{"labels":{"a":"1","a":"1"}}', "labels.a"),
            (b'{"labels":null}', "labels"),
        ],
    )
    def test_a_start_that_is_not_one_strict_value_is_refused(self, data: bytes, field: str) -> None:
        assert refused(RunStarted, data).field == field

    def test_what_is_optional_may_be_missing(self) -> None:
        assert load(RunStarted, b"{}") == RunStarted()
        assert load(RunStarted, b' {\n"labels" : { } } ') == RunStarted()

    @pytest.mark.parametrize("given", ["{}", bytearray(b"{}"), None])
    def test_only_bytes_are_read(self, given: Any) -> None:
        assert refused(RunStarted, given).rule == "is bytes"

    @pytest.mark.parametrize("part", [b'{"type":"thinking"}', b'{"type":"thinking","text":"a","redacted":"QQ=="}'])
    def test_a_rule_across_fields_is_told_with_the_whole_path(self, part: bytes) -> None:
        error = refused(
            MessagesAppended, b'{"messages":[{"role":"assistant","parts":[{"type":"text","text":""},%s]}]}' % part
        )
        assert error.field == "messages[0].parts[1].text"
        assert "exactly one of text, redacted" in error.rule

    @pytest.mark.parametrize(
        "part",
        [
            b'{"type":"text","text":null}',
            b'{"type":"text","text":"a","cite":true}',
            b'{"type":"poem","text":"a"}',
            b'{"text":"a"}',
            b'{"type":"text","type":"text","text":"a"}',
            b'{"type":"image","bytes":"QR==","format":"png"}',
            b'{"type":"image","bytes":"QQ","format":"png"}',
            b'{"type":"image","bytes":"Q Q=","format":"png"}',
            b'{"type":"image","bytes":"QQ==","format":"PNG"}',
            b'{"type":"image","bytes":"QQ=="}',
            b'{"type":"tool_use","id":"t","name":"n","input":[]}',
            b'{"type":"tool_use","id":"t","name":"n","input":null}',
            b'{"type":"tool_use","id":"t","name":"n","input":{"a":"\\ud800"}}',
            b'{"type":"tool_use","id":"t","name":"n","input":{"a":"\xff"}}',
            b'{"type":"tool_use","id":"t","name":"n","input":{"a":1,}}',
            b'{"type":"tool_use","id":"t","name":"n","input":{"a":01}}',
            b'{"type":"tool_use","id":"t","name":"n"}',
            b'{"type":"tool_use","id":"t","name":"n","input":{},"input_text":"{}"}',
            b'{"type":"tool_use","id":"t","name":"n","input":{},"input":{}}',
            b'{"type":"tool_result","tool_use_id":"t","content":1e999}',
            b'{"type":"tool_result","tool_use_id":"t","content":NaN}',
            b'{"type":"tool_result","tool_use_id":"t","content":{"a":1,"a":1}}',
            b'{"type":"tool_result","tool_use_id":"t","is_error":null}',
            b'{"type":"tool_result","tool_use_id":"t","is_error":1}',
            b'{"type":"tool_result","tool_use_id":"t","attachments":[{"type":"text","text":""}]}',
            b'{"type":"citations","text":"","citations":[{"location":{"type":"char","start":-1,"end":2}}]}',
            b'{"type":"citations","text":"","citations":[{"location":{"type":"page","start":3,"end":2}}]}',
        ],
    )
    def test_a_part_that_is_not_one_strict_value_is_refused(self, part: bytes) -> None:
        assert refused(Message, b'{"role":"assistant","parts":[%s]}' % part).field

    def test_inside_a_verbatim_value_only_the_syntax_counts(self) -> None:
        odd = b'{ "a":1, "a":' + b"9" * 6000 + b',"b":1e999,\n"c":{"d":null,"d":"\\u0000"}}'
        data = b'{"role":"assistant", "parts":[{"type":"tool_use","id":"t","name":"n","input": %s }]}' % odd
        message = load(Message, data)
        assert bytes(message.tool_uses[0].input) == odd
        assert odd in dump(message)
        with pytest.raises(InvalidValue):
            _ = message.tool_uses[0].arguments

    def test_null_is_a_value_where_any_json_is(self) -> None:
        part = load(ToolResultPart, b'{"type":"tool_result","tool_use_id":"t","content":null}')
        assert part.content is None
        assert load(ToolResultPart, b'{"type":"tool_result", "tool_use_id":"t","content":{"a":null}}').content == {
            "a": None
        }

    @pytest.mark.parametrize(
        "at",
        [
            "2025-06-05T13:00:00",
            "2025-06-05T13:00:00.123456Z",
            "2025-06-05T13:00:00.1230001Z",
            "2025-06-05T13:00:00.1239999Z",
            "2025-06-05T13:00:00.0000001Z",
            "9999-12-31T23:59:59.999999Z",
            "9999-12-31T23:59:59.9999999Z",
            "2016-12-31T23:59:60Z",
            "2025-06-05T24:00:00Z",
            "2025-02-29T00:00:00Z",
            "0001-01-01T00:00:00+05:00",
            "yesterday",
            1_749_128_400,
            None,
        ],
    )
    def test_what_is_no_exact_instant_is_refused(self, at: object) -> None:
        assert refused(ToolAuthorization, spelled(at=at)).field == "at"

    @pytest.mark.parametrize(
        "at", ["2025-06-05T13:00:00.123000000Z", "2025-06-05T18:30:00.123+05:30", "2025-06-05t13:00:00.1230z"]
    )
    def test_other_spellings_of_one_instant_are_equal(self, at: str) -> None:
        assert load(ToolAuthorization, spelled(at=at)).at == AT
        assert dump(load(ToolAuthorization, spelled(at=at))) == dump(load(ToolAuthorization, spelled()))


class TestWriting:
    def test_defaults_are_left_out_and_the_order_of_fields_is_fixed(self) -> None:
        assert dump(RunStarted()) == b"{}"
        assert dump(RunStarted(labels={"b": "1", "a": "2"}, parent_run_id="p")) == (
            b'{"parent_run_id":"p","labels":{"a":"2","b":"1"}}'
        )

    def test_an_absent_verbatim_value_is_left_out_however_it_was_made(self) -> None:
        part = ToolUsePart(id="t", name="n", input=Verbatim(b""), input_text="x")
        assert dump(part) == b'{"type":"tool_use","id":"t","name":"n","input_text":"x"}'
        assert conform(part).input is ABSENT

    def test_blanks_around_a_verbatim_value_are_no_part_of_it(self) -> None:
        part = ToolUsePart(id="t", name="n", input=Verbatim(b' {"a": 1}\n'))
        assert bytes(conform(part).input) == b'{"a": 1}'
        assert load(ToolUsePart, dump(part)) == conform(part)

    @pytest.mark.parametrize(
        "message, field",
        [
            (Message(role="robot", parts=()), "role"),  # type: ignore[arg-type]  # the wrong type is the point
            (Message(role=Role.USER, parts="text"), "parts"),  # type: ignore[arg-type]  # the wrong type is the point
            (user(b"x"), "parts[0]"),  # type: ignore[arg-type]  # the wrong type is the point
            (user({"type": "text", "text": "a"}), "parts[0]"),  # type: ignore[arg-type]  # the wrong type is the point
            (user("a", "\ud800"), "parts[1].text"),
            (user("a", meta={"k": "\ud800"}), "meta.k"),
            (user("a", meta=[]), "meta"),  # type: ignore[arg-type]  # the wrong type is the point
            (assistant(ThinkingPart(redacted=bytearray(b"x"))), "parts[0].redacted"),  # type: ignore[arg-type]  # the wrong type is the point
            (user(ImagePart(bytes=b"", format="bmp")), "parts[0].format"),  # type: ignore[arg-type]  # the wrong type is the point
            (tool_results(ToolResultPart(tool_use_id="t", is_error=1)), "parts[0].is_error"),  # type: ignore[arg-type]  # the wrong type is the point
            (tool_results(ToolResultPart(tool_use_id="t", content={"a": [1, (2,)]})), "parts[0].content.a[1]"),
            (assistant(ToolUsePart(id="t", name="n", input=Verbatim(b'{"a":'))), "parts[0].input"),
        ],
    )
    def test_what_does_not_conform_is_refused_with_its_path(self, message: Message, field: str) -> None:
        with pytest.raises(InvalidValue) as error:
            dump(message)
        assert error.value.field == field

    def test_a_list_that_holds_itself_is_refused(self) -> None:
        loop: list[object] = []
        loop.append(loop)
        for content in (loop, {"a": loop}):
            with pytest.raises(InvalidValue, match="128 levels"):
                dump(ToolResultPart(tool_use_id="t", content=content))
        with pytest.raises(InvalidValue):
            dump(user(loop))  # type: ignore[arg-type]  # the wrong type is the point

    def test_an_enum_by_its_text_becomes_the_member(self) -> None:
        assert conform(Message(role="user", parts=())).role is Role.USER  # type: ignore[arg-type]  # a caller without types

    def test_a_list_of_parts_becomes_a_tuple(self) -> None:
        message = conform(Message(role=Role.USER, parts=[TextPart(text="a")]))  # type: ignore[arg-type]  # a caller without types
        assert message == user("a")

    def test_a_value_of_a_narrower_kind_is_not_taken_for_a_wider_one(self) -> None:
        """A stored record has an id, which the form of a new one does not know."""

        class Command(Value):
            records: tuple[NewRecord, ...]

        stored = record("x.note", b"{}", position=1)
        assert isinstance(stored, Record)
        with pytest.raises(InvalidValue, match="NewRecord"):
            dump(Command(records=(stored,)))

    def test_equal_values_have_one_fingerprint(self) -> None:
        assert fingerprint(user("a")) == fingerprint(Message(role=Role.USER, parts=(TextPart(text="a"),)))
        assert fingerprint(user("a")) != fingerprint(user("b"))


class TestNesting:
    """Content has one bound below that of whole values, so what was taken once fits into everything that carries it."""

    @staticmethod
    def nested(depth: int) -> Any:
        value: Any = 1
        for _ in range(depth):
            value = [value]
        return value

    def carriers(self, depth: int) -> list[Message]:
        deep = self.nested(depth - 1)
        return [
            tool_results(ToolResultPart(tool_use_id="t", content={"a": deep})),
            user(meta={"a": deep}),
            tool_results(
                ToolResultPart(tool_use_id="t", attachments=(ImagePart(bytes=b"", format="png", metadata={"a": deep}),))
            ),
            assistant(ToolUsePart(id="t", name="n", input=Verbatim(json.dumps({"a": deep}).encode()))),
        ]

    def test_content_at_its_bound_fits_into_a_record(self) -> None:
        for message in self.carriers(CONTENT_DEPTH):
            payload = MessagesAppended(messages=(message,), response_id="r")
            assert load(MessagesAppended, dump(payload)) == payload

    def test_content_beyond_its_bound_is_refused_with_its_path(self) -> None:
        for message in self.carriers(CONTENT_DEPTH + 1):
            with pytest.raises(InvalidValue, match="128 levels") as error:
                dump(message)
            assert error.value.field.startswith(("parts[0].", "meta.a"))

    @pytest.mark.parametrize("depth", [JSON_DEPTH + 1, 2000, 200_000])
    def test_deep_bytes_are_refused_in_every_position(self, depth: int) -> None:
        deep = b"[" * depth + b"]" * depth
        for data in (
            b'{"role":"user","parts":[],"meta":{"a":%s}}' % deep,
            b'{"role":"user","parts":[{"type":"tool_use","id":"t","name":"n","input":{"a":%s}}]}' % deep,
            b'{"role":"user","parts":[],"unknown":%s}' % deep,
            b'{"role":%s,"parts":[]}' % deep,
            deep,
        ):
            assert refused(Message, data).field == "payload"

    def test_brackets_in_text_do_not_nest(self) -> None:
        text = '[{"\\' * 1000
        assert load_json(dump_json([text, text])) == [text, text]
        assert load(Message, dump(user(text))).text == text

    def test_siblings_do_not_nest(self) -> None:
        wide: list[list[dict[str, int]]] = [[{}]] * 1000
        assert load_json(dump_json(wide)) == wide

    def test_long_text_with_brackets_is_read_in_passing(self) -> None:
        text = ('[\\"' * 1000 + "x" * 5000) * 200
        assert load_json(dump_json(text)) == text


class TestJson:
    @pytest.mark.parametrize("digits", [1, 19, 20, 4299, 4300])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_integers_are_exact_to_4300_digits(self, digits: int, sign: int) -> None:
        number = sign * (10**digits - 1)
        assert load_json(dump_json({"n": [number]})) == {"n": [number]}
        part = ToolResultPart(tool_use_id="t", content=[number])
        assert load(ToolResultPart, dump(part)) == part

    def test_the_longest_negative_integer_leaves_its_neighbours_alone(self) -> None:
        lowest = -(10**4300 - 1)
        message = assistant(
            ToolUsePart(id="t", name="n", input=Verbatim(b'{"n": %d, "e": 1e999, "s": "%d"}' % (lowest, lowest))),
            ToolResultPart(tool_use_id="t", content=[lowest, 1.5, str(lowest), {str(lowest): -0.0}]),
        )
        assert load(Message, dump(message)) == message

    @pytest.mark.parametrize(
        "data",
        [b"1" * 4301, b"-" + b"1" * 4301, b"[-" + b"1" * 4300 + b",1e999]", b"-" + b"9" * 4300 + b"e0", b"1e400"],
    )
    def test_numbers_beyond_their_bound_are_refused(self, data: bytes) -> None:
        with pytest.raises(InvalidValue, match="out of range"):
            load_json(data)

    def test_a_large_text_is_exact(self) -> None:
        text = "ж🔥" * 200_000
        assert load(Message, dump(user(text))).text == text
        many = assistant(*[str(i) for i in range(10_000)])
        assert load(Message, dump(many)) == many

    @pytest.mark.parametrize("data", [b"", b" ", b"{", b"1 2", b"[1,]", b'"\x01"', b"\xff", b"nan", b'"\\ud800"'])
    def test_what_is_not_one_json_value_is_no_verbatim_value(self, data: bytes) -> None:
        with pytest.raises(InvalidValue):
            verbatim(data)

    def test_bytes_of_thinking_are_kept(self) -> None:
        redacted = bytes(range(256))
        part = load(ThinkingPart, dump(ThinkingPart(redacted=redacted)))
        assert part.redacted == redacted
        signed = load(ThinkingPart, dump(ThinkingPart(text="", signature=" c2ln\n")))
        assert (signed.text, signed.signature) == ("", " c2ln\n")

    def test_redacted_thinking_has_the_bytes_that_were_spelled(self) -> None:
        part = load(ThinkingPart, b'{"type":"thinking","redacted":"b3BhcXVlLXJlYXNvbmluZy1ieXRlcy0AAf7/"}')
        assert part.redacted is not None
        assert len(part.redacted) == 27
        assert part.redacted.endswith(b"\x00\x01\xfe\xff")
        assert dump(part) == b'{"type":"thinking","redacted":"b3BhcXVlLXJlYXNvbmluZy1ieXRlcy0AAf7/"}'


def test_an_instant_in_another_offset_is_put_into_form() -> None:
    authorization = load(ToolAuthorization, spelled(expires_at="2025-06-05T18:30:00+05:30"))
    assert authorization.expires_at == datetime(2025, 6, 5, 13, 0, tzinfo=UTC)
    assert conform(authorization) is authorization


def test_the_pieces_of_a_foreign_value_keep_their_spelling() -> None:
    found = members(b'{ "a" : { "n":1.50, "n":2 } ,"b":[ 1 , {} ]}')
    assert {name: bytes(value) for name, value in found.items()} == {"a": b'{ "n":1.50, "n":2 }', "b": b"[ 1 , {} ]"}
    assert [bytes(each) for each in items(found["b"])] == [b"1", b"{}"]
    assert bytes(members(b'{"a":1,"a":2}')["a"]) == b"2"
    for data in (b"[]", b'{"a":', b'{"a":"\xff"}', b'{"a":' + b"[" * 200 + b"]" * 200 + b"}"):
        with pytest.raises(InvalidValue):
            members(data)
    with pytest.raises(InvalidValue):
        items(b"{}")


class TestExact:
    """The quick look at a long value finds the same as the slow one."""

    @given(messages())
    def test_it_gives_what_conform_gives(self, message: Message) -> None:
        assert exact(message) == conform(message)

    def test_it_puts_into_form(self) -> None:
        made: Any = {"role": "user", "parts": [TextPart(text="a")]}
        found = exact(Message(**made))
        assert found == Message(role=Role.USER, parts=(TextPart(text="a"),))
        assert type(found.parts) is tuple
        assert type(found.role) is Role

    @pytest.mark.parametrize(
        "part",
        [
            TextPart(text="\ud800"),
            TextPart(text=7),  # type: ignore[arg-type]  # the wrong type is the point
            ToolResultPart(tool_use_id="t", content=float("nan")),
            ToolResultPart(tool_use_id="t", content=(1, 2)),
            ToolResultPart(tool_use_id="t", content={1: 2}),
            ToolResultPart(tool_use_id="t", content=b"x"),
            ToolResultPart(tool_use_id="t", content=10**5000),
            ToolUsePart(id="t", name="a", input=Verbatim(b"{broken")),
            ToolUsePart(id="t", name="a", input=Verbatim(b'{},"signature":"s"')),
            ImagePart(bytes=b"x", format="bmp"),  # type: ignore[arg-type]  # the wrong word is the point
        ],
    )
    def test_it_refuses_what_conform_refuses(self, part: Any) -> None:
        message = Message(role=Role.USER, parts=(part,))
        with pytest.raises(ContractError) as slow:
            conform(message)
        with pytest.raises(ContractError) as quick:
            exact(message)
        assert quick.value.fields() == slow.value.fields()


def test_what_was_dumped_lately_is_known_by_its_own_bytes_and_type() -> None:
    made = dump(RunStarted(labels={"a": "b"}))
    assert spelled_here(RunStarted, made)
    assert not spelled_here(MessagesAppended, made)
    assert not spelled_here(RunStarted, bytes(bytearray(made)))
    assert not spelled_here(RunStarted, made[:-1] + b"}")


def test_of_what_was_dumped_only_the_newest_and_small_is_held() -> None:
    old, large = dump(RunStarted()), dump(MessagesAppended(messages=(user("x" * 5000),)))
    assert not spelled_here(MessagesAppended, large)
    newest = [dump(RunStarted(labels={"n": str(n)})) for n in range(256)]
    assert not spelled_here(RunStarted, old)
    assert all(spelled_here(RunStarted, each) for each in newest)
