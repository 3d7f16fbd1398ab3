import json
from collections.abc import Iterable
from typing import Any

import pytest

from actum.base.errors import InvalidValue, ModelError
from actum.base.value import Verbatim
from actum.messages.message import assistant, user
from actum.messages.parts import TextPart, ThinkingPart, ToolUsePart, tool_use
from actum.model.fold import fold
from actum.model.request import ModelRequest, ToolDefinition
from actum.model.response import ModelResponse, StopReason, Usage
from actum.providers.gemini.decode import GeminiDecoder, decode_gemini
from actum.providers.gemini.encode import encode_gemini
from tests.support.judge_gemini import gemini_answer_breaches

ENCODED = encode_gemini(
    ModelRequest(
        model="gemini-3-pro",
        messages=(user("hi", " "),),
        tools=(ToolDefinition(name="wx.get", input_schema={"type": "object"}),),
    )
)
ABOUT = {"responseId": "r-1", "modelVersion": "gemini-3-pro-001"}
COUNTS = {"promptTokenCount": 25, "candidatesTokenCount": 15, "totalTokenCount": 40}


def event(*parts: dict[str, Any], reason: str | None = None, judged: bool = True, **more: Any) -> dict[str, Any]:
    ended = {} if reason is None else {"finishReason": reason}
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **ended}
    made = {"candidates": [candidate], **ABOUT, **more}
    assert not judged or gemini_answer_breaches(made) == []
    return made


def decoded(*parts: dict[str, Any], reason: str = "STOP", **more: Any) -> ModelResponse:
    return decode_gemini(json.dumps(event(*parts, reason=reason, **more)).encode(), ENCODED)


def streamed(*events: dict[str, Any]) -> ModelResponse:
    return fold(chunks(events))


def chunks(events: Iterable[dict[str, Any]]) -> Iterable[Any]:
    decoder = GeminiDecoder(ENCODED)
    yield from decoder.begin()
    for each in events:
        yield from decoder.event(each)


def call(name: str | None = "wx_get", args: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    given = {"name": name, "args": args, **more}
    return {"functionCall": {key: value for key, value in given.items() if value is not None}}


def test_a_whole_answer_and_who_gave_it() -> None:
    made = decoded({"text": "hello ☂"}, usageMetadata=COUNTS)
    assert made == ModelResponse(
        message=assistant("hello ☂"),
        stop=StopReason.END_TURN,
        provider_stop="STOP",
        usage=Usage(input=25, output=15),
        response_id="r-1",
        model="gemini-3-pro-001",
        provider="gemini",
        projections=ENCODED.projections,
    )
    assert made.projections != ()


def test_texts_in_a_row_are_one_text() -> None:
    parts = ({"text": "a", "thought": True}, {"text": "b", "thought": True}, {"text": "c"}, {"text": ""}, {"text": "d"})
    right = assistant(ThinkingPart(text="ab", provider="gemini"), "cd")
    assert decoded(*parts).message == right
    assert streamed(*(event(part) for part in parts), event(reason="STOP")).message == right


def test_calls_keep_their_values() -> None:
    args = {"city": "Ulm ☂", "n": None, "big": 2**70, "list": [1.5, {}]}
    made = decoded(call(args=args, id="c-1"), call("other", id="c-2"))
    assert made.stop is StopReason.TOOL_USE
    assert made.message == assistant(tool_use("c-1", "wx.get", args), tool_use("c-2", "other", {}))
    spelled = Verbatim('{"city":"Ulm ☂","n":null,"big":1180591620717411303424,"list":[1.5,{}]}'.encode())
    assert made.message.tool_uses[0].input == spelled


def test_a_call_without_an_id_gets_one_of_its_own() -> None:
    made = decoded(call(), call())
    first, second = (use.id for use in made.message.tool_uses)
    assert first != second
    assert streamed(event(call()), event(call()), event(reason="STOP")).message == made.message


def test_a_call_without_a_name_goes_on_with_the_one_before() -> None:
    """C10."""
    pieces = (call(args={}, id="c-1"), call(None, {"city": "Ulm"}))
    right = assistant(tool_use("c-1", "wx.get", {"city": "Ulm"}))
    assert decoded(*pieces).message == right
    assert streamed(*(event(piece) for piece in pieces), event(reason="STOP")).message == right
    with pytest.raises(ModelError, match="name"):
        decoded(call(None, {"city": "Ulm"}))


def test_signatures_stand_where_they_came() -> None:
    parts: tuple[dict[str, Any], ...] = (
        {"text": "hm", "thought": True, "thoughtSignature": "dGhvdWdodA=="},
        {"text": "more", "thought": True},
        {"text": "said", "thoughtSignature": "c2FpZA=="},
        {"text": "on"},
        {**call(id="c-1"), "thoughtSignature": "Y2FsbA=="},
        call(id="c-2"),
    )
    right = assistant(
        ThinkingPart(text="hm", signature="dGhvdWdodA==", provider="gemini"),
        ThinkingPart(text="more", provider="gemini"),
        "said",
        ThinkingPart(text="", signature="c2FpZA==", provider="gemini"),
        "on",
        ToolUsePart(id="c-1", name="wx.get", input=Verbatim(b"{}"), signature="Y2FsbA==", provider="gemini"),
        tool_use("c-2", "wx.get", {}),
    )
    assert decoded(*parts).message == right
    assert streamed(*(event(part) for part in parts), event(reason="STOP")).message == right
    # A stream gives the signature of a text in a part without words; the SDK gives it as bytes.
    late: list[dict[str, Any]] = [{"text": "sa"}, {"text": "id"}, {"text": "", "thoughtSignature": b"said"}]
    made = streamed(*(event(part, judged=False) for part in late), event(reason="STOP"))
    assert made.message == assistant(*right.parts[2:4])


def test_what_was_signed_goes_back_as_it_came() -> None:
    parts = ({"text": "said", "thoughtSignature": "c2FpZA=="}, {**call(id="c-1"), "thoughtSignature": "Y2FsbA=="})
    said = assistant(*decoded(*parts).message.parts[:2])
    encoded = encode_gemini(ModelRequest(model="gemini-3-pro", messages=(user("hi"), said, user("on"))))
    assert encoded.body["contents"][1]["parts"] == [parts[0]]


@pytest.mark.parametrize(
    "reason, stops",
    [
        ("STOP", StopReason.END_TURN),
        ("MAX_TOKENS", StopReason.LENGTH),
        ("SAFETY", StopReason.CONTENT_FILTER),
        ("RECITATION", StopReason.CONTENT_FILTER),
        ("PROHIBITED_CONTENT", StopReason.CONTENT_FILTER),
        ("MALFORMED_FUNCTION_CALL", StopReason.UNKNOWN),
        ("OTHER", StopReason.UNKNOWN),
        ("SOMETHING_NEW", StopReason.UNKNOWN),
    ],
)
def test_why_a_model_stops(reason: str, stops: StopReason) -> None:
    """C12."""
    made = decoded({"text": "x"}, reason=reason, judged=False)
    assert (made.stop, made.provider_stop) == (stops, reason)
    assert streamed(event({"text": "x"}), event(reason=reason, judged=False)).stop is stops
    # A call beside another reason than the usual one hides nothing.
    assert decoded(call(), reason=reason, judged=False).stop is (StopReason.TOOL_USE if reason == "STOP" else stops)


def test_a_question_that_was_filtered() -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}}
    assert gemini_answer_breaches(blocked) == []
    made = decode_gemini(json.dumps(blocked).encode(), ENCODED)
    assert (made.stop, made.provider_stop) == (StopReason.CONTENT_FILTER, "PROHIBITED_CONTENT")
    assert made.message.parts == ()
    assert streamed(blocked) == made


def test_counts_are_read_once_and_thoughts_are_output() -> None:
    """C14."""
    counted = {**COUNTS, "thoughtsTokenCount": 30, "cachedContentTokenCount": 10}
    right = Usage(input=25, output=45, cache_read=10)
    assert decoded({"text": "x"}, usageMetadata=counted).usage == right
    early = event({"text": "x"}, usageMetadata={"promptTokenCount": 25, "candidatesTokenCount": 1})
    assert streamed(early, event(reason="STOP", usageMetadata=counted)).usage == right
    assert decoded({"text": "x"}).usage == Usage()
    assert decoded({"text": "x"}, usageMetadata={"thoughtsTokenCount": 3}).usage == Usage(output=3)


def test_a_stream_that_breaks_off_keeps_its_text_only() -> None:
    """C13."""
    made = streamed(event({"text": "Let me check"}), event(call(args={"city": "Berlin"})))
    assert made.stop is StopReason.INTERRUPTED
    assert made.message == assistant(TextPart(text="Let me check"), meta={"partial": True})


def test_only_the_first_candidate_is_read() -> None:
    second = {"index": 1, "content": {"parts": [{"text": "other"}]}, "finishReason": "STOP"}
    first = event({"text": "x"}, reason="STOP")
    made = decode_gemini(json.dumps({**first, "candidates": [second, *first["candidates"]]}).encode(), ENCODED)
    assert made.message == assistant("x")


@pytest.mark.parametrize(
    "given",
    [
        {},
        [],
        {"candidates": {}},
        {"candidates": [7]},
        {"candidates": [{"content": {"parts": [{"text": "x"}]}}]},
        {"candidates": [{"content": {"parts": [{}]}, "finishReason": "STOP"}]},
        {"candidates": [{"content": {"parts": [{"inlineData": {}}]}, "finishReason": "STOP"}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": 7}}]}, "finishReason": "STOP"}]},
        {
            "candidates": [
                {"content": {"parts": [{"functionCall": {"name": "x", "args": [1]}}]}, "finishReason": "STOP"}
            ]
        },
        {"candidates": [{"finishReason": 7}]},
        {"usageMetadata": 7},
    ],
)
def test_an_answer_without_sense_is_malformed(given: Any) -> None:
    with pytest.raises(ModelError) as raised:
        decode_gemini(json.dumps(given).encode(), ENCODED)
    assert raised.value.kind == "malformed_response"


@pytest.mark.parametrize("given", [b"", b"<html>", b"\xff", b'{"candidates":[],"candidates":[]}'])
def test_bytes_that_are_no_json_are_an_invalid_value(given: bytes) -> None:
    with pytest.raises(InvalidValue):
        decode_gemini(given, ENCODED)
