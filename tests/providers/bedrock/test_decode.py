import base64
import json
from collections.abc import Iterable
from typing import Any

import pytest

from actum.base.errors import InvalidValue, ModelError
from actum.messages.message import assistant, user
from actum.messages.parts import (
    CharRange,
    ChunkRange,
    Citation,
    CitationsPart,
    PageRange,
    TextPart,
    ThinkingPart,
    ToolUsePart,
    tool_use,
)
from actum.model.fold import fold
from actum.model.request import ModelRequest, ToolDefinition
from actum.model.response import ModelResponse, StopReason, Usage
from actum.providers.bedrock.decode import ConverseDecoder, decode_converse
from actum.providers.bedrock.encode import encode_converse
from tests.support.judge_bedrock import converse_answer_breaches, converse_event_breaches

ENCODED = encode_converse(
    ModelRequest(
        model="anthropic.claude",
        messages=(user("hi", " "),),
        tools=(ToolDefinition(name="wx.get", input_schema={"type": "object"}),),
    )
)
USAGE = {"inputTokens": 25, "outputTokens": 15, "totalTokens": 40}


def answer(*content: dict[str, Any], reason: str = "end_turn", judged: bool = True, **more: Any) -> bytes:
    made = {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": reason,
        "usage": USAGE,
        "metrics": {"latencyMs": 1},
        **more,
    }
    assert not judged or converse_answer_breaches(made) == []
    return json.dumps(made, ensure_ascii=False).encode()


def decoded(*content: dict[str, Any], **more: Any) -> ModelResponse:
    return decode_converse(answer(*content, **more), ENCODED)


def streamed(*events: dict[str, Any], judged: bool = True) -> ModelResponse:
    return fold(chunks(events, judged=judged))


def chunks(events: Iterable[dict[str, Any]], *, judged: bool = True) -> Iterable[Any]:
    decoder = ConverseDecoder(ENCODED)
    yield from decoder.begin()
    for event in events:
        assert not judged or converse_event_breaches(event) == []
        yield from decoder.event(event)


def delta(index: int, **what: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": what}}


def begun(index: int, name: str = "wx_get") -> dict[str, Any]:
    start = {"toolUse": {"toolUseId": f"t{index}", "name": name}}
    return {"contentBlockStart": {"contentBlockIndex": index, "start": start}}


def ended(index: int) -> dict[str, Any]:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def stop(reason: str = "end_turn") -> dict[str, Any]:
    return {"messageStop": {"stopReason": reason}}


def test_a_whole_answer_and_who_gave_it() -> None:
    made = decode_converse(answer({"text": "hello ☂"}), ENCODED, "req-1")
    assert made == ModelResponse(
        message=assistant("hello ☂"),
        stop=StopReason.END_TURN,
        provider_stop="end_turn",
        usage=Usage(input=25, output=15),
        response_id="req-1",
        provider="bedrock",
        projections=ENCODED.projections,
    )
    assert made.projections != ()


def test_a_tools_input_keeps_its_spelling() -> None:
    spelled = b'{ "city" : "Ulm \xe2\x98\x82", "n":1.50, "big":12345678901234567890, "n":2 }'
    raw = answer({"toolUse": {"toolUseId": "t0", "name": "wx_get", "input": {}}}, reason="tool_use")
    whole = decode_converse(raw.replace(b'"input": {}', b'"input": ' + spelled), ENCODED)
    [use] = whole.message.tool_uses
    assert (use.id, use.name, bytes(use.input)) == ("t0", "wx.get", spelled)
    text = spelled.decode()
    for size in (1, 2, 7):
        pieces = [delta(0, toolUse={"input": text[at : at + size]}) for at in range(0, len(text), size)]
        assert streamed(begun(0), *pieces, ended(0), stop("tool_use")).message == whole.message


def test_a_tool_without_arguments_and_one_with_malformed_ones() -> None:
    made = streamed(begun(0), ended(0), begun(1), delta(1, toolUse={"input": '{"n": '}), ended(1), stop("tool_use"))
    assert made.message == assistant(
        tool_use("t0", "wx.get", {}), ToolUsePart(id="t1", name="wx.get", input_text='{"n": ')
    )
    whole = decoded({"toolUse": {"toolUseId": "t0", "name": "wx_get", "input": "no object"}}, reason="tool_use")
    assert whole.message.tool_uses[0].input_text == '"no object"'


def test_thinking_signed_redacted_and_interleaved() -> None:
    redacted = b"opaque\x00\x01\xfe\xff"
    thought = {"reasoningText": {"text": "hm", "signature": "c2ln"}}
    whole = decoded(
        {"reasoningContent": thought},
        {"reasoningContent": {"redactedContent": base64.b64encode(redacted).decode()}},
        {"text": "so"},
        {"reasoningContent": {"reasoningText": {"text": ""}}},
    )
    assert whole.message == assistant(
        ThinkingPart(text="hm", signature="c2ln", provider="bedrock"),
        ThinkingPart(redacted=redacted, provider="bedrock"),
        "so",
        ThinkingPart(text="", provider="bedrock"),
    )
    assert whole.message.text == "so"
    again = streamed(
        delta(0, reasoningContent={"text": "h"}),
        delta(0, reasoningContent={"text": "m"}),
        delta(0, reasoningContent={"signature": "c2ln"}),
        ended(0),
        delta(1, reasoningContent={"redactedContent": redacted[:3]}),
        delta(1, reasoningContent={"redactedContent": redacted[3:]}),
        ended(1),
        delta(2, text="so"),
        delta(3, reasoningContent={"text": ""}),
        stop(),
    )
    assert again.message == whole.message


def test_citations() -> None:
    cited = [
        {
            "title": "plan",
            "source": "s",
            "sourceContent": [{"text": "So "}, {"text": "it"}],
            "location": {"documentChar": {"documentIndex": 0, "start": 0, "end": 5}},
        },
        {"location": {"documentChunk": {"start": 1, "end": 2}}},
        {"location": {"documentPage": {"start": 1, "end": 2}}},
        {"location": {"web": {"url": "https://example.com"}}},
        {"title": "bare"},
    ]
    whole = decoded({"citationsContent": {"content": [{"text": "It is "}, {"text": "so."}], "citations": cited}})
    assert whole.message == assistant(
        CitationsPart(
            text="It is so.",
            citations=(
                Citation(title="plan", source="s", excerpt="So it", location=CharRange(start=0, end=5)),
                Citation(location=ChunkRange(start=1, end=2)),
                Citation(location=PageRange(start=1, end=2)),
                Citation(),
                Citation(title="bare"),
            ),
        )
    )
    again = streamed(delta(0, text="It is so."), *(delta(0, citation=each) for each in cited), ended(0), stop())
    assert again.message == whole.message


@pytest.mark.parametrize(
    "reason, stops",
    [
        ("end_turn", StopReason.END_TURN),
        ("tool_use", StopReason.TOOL_USE),
        ("stop_sequence", StopReason.STOP_SEQUENCE),
        ("max_tokens", StopReason.LENGTH),
        ("model_context_window_exceeded", StopReason.LENGTH),
        ("guardrail_intervened", StopReason.CONTENT_FILTER),
        ("content_filtered", StopReason.CONTENT_FILTER),
        ("malformed_tool_use", StopReason.UNKNOWN),
        ("refusal", StopReason.REFUSAL),
        ("some_new_reason", StopReason.UNKNOWN),
    ],
)
def test_why_a_model_stops(reason: str, stops: StopReason) -> None:
    """C12."""
    whole = decoded({"text": "x"}, reason=reason, judged=False)
    assert (whole.stop, whole.provider_stop) == (stops, reason)
    assert streamed(delta(0, text="x"), stop(reason), judged=False).stop is stops


def test_an_answer_without_content() -> None:
    assert decoded(reason="content_filtered").message.parts == ()
    assert streamed(stop("content_filtered")).message.parts == ()


def test_counts_are_read_once() -> None:
    """C14."""
    counted = {**USAGE, "cacheReadInputTokens": 10, "cacheWriteInputTokens": 5}
    told = {"metadata": {"usage": counted, "metrics": {"latencyMs": 1}}}
    right = Usage(input=25, output=15, cache_read=10, cache_write=5)
    assert decoded({"text": "x"}, usage=counted).usage == right
    assert streamed(delta(0, text="x"), stop(), told, told).usage == right
    assert streamed(delta(0, text="x"), stop()).usage == Usage()
    odd = {"inputTokens": -1, "outputTokens": "7"}
    assert streamed({"metadata": {"usage": odd}}, stop(), judged=False).usage == Usage()


def test_a_stream_that_breaks_off_keeps_its_text_only() -> None:
    """C13."""
    events = [delta(0, text="Let me check"), ended(0), begun(1), delta(1, toolUse={"input": '{"city":"Ber'})]
    for cut in (events, [*events, delta(1, toolUse={"input": 'lin"}'}), ended(1)]):
        made = streamed(*cut)
        assert made.stop is StopReason.INTERRUPTED
        assert made.message == assistant(TextPart(text="Let me check"), meta={"partial": True})


def test_a_later_service_may_say_more() -> None:
    new = {"somethingNew": {"x": 1}}
    made = streamed({"messageStart": {"role": "assistant"}}, new, delta(0, text="x"), stop(), judged=False)
    assert made.message == assistant("x")


@pytest.mark.parametrize(
    "given",
    [
        b"{}",
        b'{"output":{"message":{"content":[]}}}',
        b'{"stopReason":"end_turn","output":{}}',
        b'{"stopReason":7,"output":{"message":{"content":[]}}}',
        answer({"text": 7}, judged=False),
        answer({"image": {}}, judged=False),
        answer({"reasoningContent": {"new": "x"}}, judged=False),
        answer({"reasoningContent": {"redactedContent": "?"}}, judged=False),
        answer({"reasoningContent": []}, judged=False),
        answer({"citationsContent": {"content": {}}}, judged=False),
        answer({"citationsContent": {"content": [], "citations": [{"title": 7}]}}, judged=False),
        answer({"citationsContent": {"citations": [{"location": {"documentPage": {"start": 2, "end": 1}}}]}}),
        answer({"toolUse": {"name": "wx_get", "input": {}}}, judged=False),
    ],
)
def test_an_answer_without_sense_is_malformed(given: bytes) -> None:
    with pytest.raises(ModelError) as raised:
        decode_converse(given, ENCODED)
    assert raised.value.kind == "malformed_response"


@pytest.mark.parametrize("given", [b"", b"[]", b"<html>", b"\xff", b'{"a":'])
def test_bytes_that_are_no_answer_are_an_invalid_value(given: bytes) -> None:
    with pytest.raises(InvalidValue):
        decode_converse(given, ENCODED)


@pytest.mark.parametrize(
    "event",
    [
        [],
        {"contentBlockDelta": 7},
        {"contentBlockDelta": {"delta": {"text": "x"}}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"new": "x"}}},
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolResult": {}}}},
        {"messageStop": {}},
    ],
)
def test_an_event_without_sense_is_malformed(event: Any) -> None:
    with pytest.raises(ModelError):
        list(ConverseDecoder(ENCODED).event(event))
