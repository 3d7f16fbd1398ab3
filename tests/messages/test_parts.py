import pytest

from actum.base.errors import InvalidValue
from actum.base.value import Value, Verbatim, dump, load
from actum.messages.parts import (
    CharRange,
    DocumentPart,
    ImagePart,
    PageRange,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
    tool_use,
)
from tests.support.samples import PARTS


@pytest.mark.parametrize("name", PARTS)
def test_the_type_of_a_part_stands_first(name: str) -> None:
    assert dump(PARTS[name]).startswith(b'{"type":"%s"' % name.partition(".")[0].encode())


@pytest.mark.parametrize(
    "kind, fields, field",
    [
        (ThinkingPart, {}, "text"),
        (ThinkingPart, {"text": "", "redacted": b""}, "text"),
        (ThinkingPart, {"redacted": b"", "signature": "s"}, "signature"),
        (ImagePart, {"format": "png"}, "bytes"),
        (ImagePart, {"bytes": b""}, "format"),
        (ImagePart, {"bytes": b"", "uri": "u", "format": "png"}, "bytes"),
        (DocumentPart, {"format": "pdf"}, "bytes"),
        (DocumentPart, {"format": "pdf", "text": "", "chunks": ()}, "bytes"),
        (CharRange, {"start": -1, "end": 1}, "start"),
        (CharRange, {"start": 0, "end": True}, "end"),
        (PageRange, {"start": 2, "end": 1}, "end"),
        (ToolUsePart, {"id": "t", "name": "n"}, "input"),
        (ToolUsePart, {"id": "t", "name": "n", "input": Verbatim(b"{}"), "input_text": ""}, "input"),
        (ToolUsePart, {"id": "t", "name": "n", "input": Verbatim(b"[]")}, "input"),
        (ToolUsePart, {"id": "t", "name": "n", "input": Verbatim(b'"{}"')}, "input"),
    ],
)
def test_a_part_that_cannot_be_is_refused_when_it_is_made(
    kind: type[Value], fields: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        kind(**fields)
    assert refused.value.field == field


def test_thinking_that_is_empty_but_signed_is_thinking() -> None:
    part = ThinkingPart(text="", signature="c2ln")
    assert load(ThinkingPart, dump(part)) == part


def test_empty_bytes_are_bytes() -> None:
    part = ImagePart(bytes=b"", format="png")
    assert load(ImagePart, dump(part)) == part


def test_the_arguments_of_a_tool_use_are_decoded_from_the_models_own_bytes() -> None:
    part = ToolUsePart(id="t", name="n", input=Verbatim(b'{ "n": 1e2, "s": "\\u0436" }'))
    assert part.arguments == {"n": 100.0, "s": "ж"}
    assert bytes(part.input) == b'{ "n": 1e2, "s": "\\u0436" }'


@pytest.mark.parametrize("data", [b'{"a":1,"a":2}', b'{"a":NaN}', b'{"a":', b'{"a":1e999}'])
def test_arguments_are_as_strict_as_any_json_of_ours(data: bytes) -> None:
    with pytest.raises(InvalidValue):
        _ = ToolUsePart(id="t", name="n", input=Verbatim(data)).arguments


def test_malformed_input_has_no_arguments() -> None:
    with pytest.raises(InvalidValue) as refused:
        _ = ToolUsePart(id="t", name="n", input_text='{"path": "a.tx').arguments
    assert refused.value.field == "input_text"


def test_a_tool_use_is_made_from_arguments() -> None:
    part = tool_use("t", "fs.edit", {"path": "ж.txt", "n": [1, None]})
    assert bytes(part.input) == '{"path":"ж.txt","n":[1,null]}'.encode()
    assert part.arguments == {"path": "ж.txt", "n": [1, None]}


@pytest.mark.parametrize("wrong", [[], None, "{}", {"a": {1}}, {1: "a"}, {"a": float("nan")}])
def test_arguments_that_are_no_json_object_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        tool_use("t", "fs.edit", wrong)


@pytest.mark.parametrize("content", [None, "", False, 0, [], {}, "edited"])
def test_every_content_of_a_result_is_found_again(content: object) -> None:
    back = load(ToolResultPart, dump(ToolResultPart(tool_use_id="t", content=content)))
    assert back.content == content
    assert type(back.content) is type(content)
