import json
from typing import Any

import pytest

from actum.base.errors import InvalidValue, ModelError
from actum.base.value import Verbatim
from actum.messages.message import Message, assistant, user
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
from actum.model.encoded import Encoded
from actum.model.fold import ResponseFold
from actum.model.request import ModelRequest
from actum.model.response import ModelResponse, StopReason, Usage
from actum.providers.anthropic.decode import MessagesDecoder, decode
from actum.providers.anthropic.encode import encode
from actum.testing.provider_samples import TOOLS

START_USAGE = {
    "input_tokens": 25,
    "output_tokens": 1,
    "cache_read_input_tokens": 10,
    "cache_creation_input_tokens": 5,
}


def request() -> Encoded:
    return encode(ModelRequest(model="m", messages=(user("hi"),), tools=TOOLS))


def whole(*content: Any, **more: Any) -> ModelResponse:
    answer = {"id": "msg_1", "model": "claude", "stop_reason": "end_turn", "content": list(content)} | more
    return decode(json.dumps(answer).encode(), request())


def started(**usage: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "msg_1", "model": "claude", "content": [], "usage": usage}}


def begun(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int, kind: str, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta"} | delta}


def closed(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def stopping(reason: str | None, **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


END = {"type": "message_stop"}


def streamed(*events: Any) -> ModelResponse:
    decoder, folding = MessagesDecoder(request()), ResponseFold()
    for chunk in decoder.begin():
        folding.add(chunk)
    for event in events:
        for chunk in decoder.event(event):
            folding.add(chunk)
    return folding.response()


class TestCalls:
    def test_the_inputs_bytes_of_a_whole_answer_are_kept(self) -> None:
        spelled = b'{ "n":1.50, "n" : 10e2, "big":123456789012345678901234567890, "s":"\\u0436" }'
        block = b'{"type":"tool_use","id":"c1","name":"weather_lookup","input":' + spelled + b"}"
        answer = b'{"id":"m","model":"c","stop_reason":"tool_use","content":[ ' + block + b" ]}"
        use = decode(answer, request()).message.tool_uses[0]
        assert use == ToolUsePart(id="c1", name="weather.lookup", input=Verbatim(spelled))
        assert bytes(use.input) == spelled

    def test_an_input_that_never_came_is_the_empty_one(self) -> None:
        events = [started(), begun(0, type="tool_use", id="c1", name="plain_tool", input={})]
        end = [closed(0), stopping("tool_use"), END]
        expected = assistant(tool_use("c1", "plain_tool", {}))
        assert streamed(*events, *end).message == expected
        assert streamed(*events, piece(0, "input_json", partial_json=""), *end).message == expected
        assert whole({"type": "tool_use", "id": "c1", "name": "plain_tool", "input": {}}).message == expected

    def test_an_input_that_came_at_once_is_kept(self) -> None:
        given = begun(0, type="tool_use", id="c1", name="plain_tool", input={"city": "Ulm"})
        message = streamed(started(), given, closed(0), stopping("tool_use"), END).message
        assert message == assistant(tool_use("c1", "plain_tool", {"city": "Ulm"}))

    @pytest.mark.parametrize("text", ['{"city":"Ber', "[1]", "null"])
    def test_a_malformed_input_is_kept_and_never_run(self, text: str) -> None:
        events = [started(), begun(0, type="tool_use", id="c1", name="plain_tool", input={})]
        end = [closed(0), stopping("max_tokens"), END]
        response = streamed(*events, piece(0, "input_json", partial_json=text), *end)
        assert response.message.tool_uses[0].input_text == text
        assert response.stop is StopReason.LENGTH

    @pytest.mark.parametrize("length", range(8))
    def test_an_interrupted_stream_has_no_call(self, length: int) -> None:
        events = [
            started(**START_USAGE),
            begun(0, type="text", text=""),
            piece(0, "text", text="Let me check"),
            closed(0),
            begun(1, type="tool_use", id="t1", name="weather_lookup", input={}),
            piece(1, "input_json", partial_json='{"city":"Ber'),
            piece(1, "input_json", partial_json='lin"}'),
            closed(1),
            stopping("tool_use", output_tokens=15),
        ]
        response = streamed(*events[: length + 2])
        assert response.stop is StopReason.INTERRUPTED
        assert response.message.tool_uses == ()
        assert response.usage.input == 25
        if length:
            assert response.message == assistant("Let me check", meta={"partial": True})


class TestThinking:
    def test_it_is_the_same_whole_and_streamed(self) -> None:
        blocks = [
            {"type": "thinking", "thinking": "plan \n", "signature": "c2lnbg=="},
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            {"type": "text", "text": ""},
        ]
        expected = assistant(
            ThinkingPart(text="plan \n", signature="c2lnbg==", provider="anthropic"),
            ThinkingPart(text="", signature="", provider="anthropic"),
            ThinkingPart(redacted=b"opaque", provider="anthropic"),
            TextPart(text=""),
        )
        response = whole(*blocks)
        assert response.message == expected
        assert (
            streamed(
                started(),
                begun(0, type="thinking", thinking="", signature=""),
                piece(0, "thinking", thinking="plan"),
                piece(0, "thinking", thinking=" \n"),
                piece(0, "signature", signature="c2ln"),
                piece(0, "signature", signature="bg=="),
                closed(0),
                begun(1, type="thinking", thinking="", signature=""),
                closed(1),
                begun(2, type="redacted_thinking", data="b3BhcXVl"),
                closed(2),
                begun(3, type="text", text=""),
                closed(3),
                stopping("end_turn"),
                END,
            )
            == response
        )


class TestCitations:
    PLACES = (
        ("char_location", {"start_char_index": 0, "end_char_index": 5}, CharRange(start=0, end=5)),
        ("content_block_location", {"start_block_index": 1, "end_block_index": 2}, ChunkRange(start=1, end=2)),
        ("page_location", {"start_page_number": 1, "end_page_number": 3}, PageRange(start=1, end=3)),
    )

    def test_places_in_documents(self) -> None:
        given = [
            {"type": kind, "cited_text": "So", "document_index": 2, "document_title": None, "file_id": None} | ends
            for kind, ends, _ in self.PLACES
        ]
        expected = CitationsPart(
            text="It is.",
            citations=tuple(
                Citation(source="document:2", location=location, excerpt="So") for _, _, location in self.PLACES
            ),
        )
        response = whole({"type": "text", "text": "It is.", "citations": given})
        assert response.message == assistant(expected)
        deltas = [piece(0, "citations", citation=each) for each in given]
        events = [begun(0, type="text", text="", citations=[]), piece(0, "text", text="It is."), *deltas, closed(0)]
        assert streamed(started(), *events, stopping("end_turn"), END) == response

    def test_places_elsewhere(self) -> None:
        given: list[dict[str, Any]] = [
            {"type": "search_result_location", "cited_text": "a", "source": "s", "title": "t"},
            {"type": "web_search_result_location", "cited_text": "b", "url": "https://x", "title": None},
        ]
        citations = (Citation(title="t", source="s", excerpt="a"), Citation(source="https://x", excerpt="b"))
        response = whole({"type": "text", "text": "x", "citations": given})
        assert response.message == assistant(CitationsPart(text="x", citations=citations))


class TestStops:
    @pytest.mark.parametrize(
        "reason, stop",
        [
            ("end_turn", StopReason.END_TURN),
            ("tool_use", StopReason.TOOL_USE),
            ("stop_sequence", StopReason.STOP_SEQUENCE),
            ("max_tokens", StopReason.LENGTH),
            ("model_context_window_exceeded", StopReason.LENGTH),
            ("refusal", StopReason.REFUSAL),
            ("pause_turn", StopReason.UNKNOWN),
            ("some_new_reason", StopReason.UNKNOWN),
            (None, StopReason.UNKNOWN),
        ],
    )
    def test_why_an_answer_stopped_is_seen(self, reason: str | None, stop: StopReason) -> None:
        response = whole({"type": "text", "text": "x"}, stop_reason=reason)
        assert (response.stop, response.provider_stop) == (stop, reason)
        events = [started(), begun(0, type="text", text="x"), closed(0), stopping(reason), END]
        assert streamed(*events) == response

    @pytest.mark.parametrize("content", [[], [{"type": "text", "text": "I started"}]])
    def test_a_refusal_is_no_success(self, content: list[Any]) -> None:
        details = {"type": "refusal", "category": "bio", "explanation": "No."}
        response = whole(*content, stop_reason="refusal", stop_details=details)
        assert (response.stop, response.refusal) == (StopReason.REFUSAL, "No.")
        assert len(response.message.parts) == len(content)


class TestUsage:
    EXPECTED = Usage(input=25, output=15, cache_read=10, cache_write=5)

    def test_counts_that_come_again_are_not_added(self) -> None:
        text = [begun(0, type="text", text="x"), closed(0)]
        once = streamed(started(**START_USAGE), *text, stopping("end_turn", output_tokens=15), END)
        again = streamed(
            started(**START_USAGE),
            *text,
            stopping("end_turn", **(START_USAGE | {"output_tokens": 9})),
            stopping("end_turn", **(START_USAGE | {"output_tokens": 15})),
            END,
        )
        assert once == again == whole({"type": "text", "text": "x"}, usage=START_USAGE | {"output_tokens": 15})
        assert once.usage == self.EXPECTED

    def test_counts_that_are_missing_are_unknown(self) -> None:
        assert whole({"type": "text", "text": "x"}).usage == Usage()
        odd = {"input_tokens": "7", "output_tokens": 0, "cache_read_input_tokens": -1}
        assert whole({"type": "text", "text": "x"}, usage=odd).usage == Usage(output=0)


def test_unknown_events_say_nothing() -> None:
    known = [started(), begun(0, type="text", text="x"), closed(0), stopping("end_turn"), END]
    new = [each for event in known for each in ({"type": "ping"}, event, {"type": "some_new_event", "x": 1})]
    assert streamed(*new) == streamed(*known)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "tool_use", "id": "c1", "input": {}},
        {"type": "tool_use", "name": "a", "input": {}},
        {"type": "text", "text": 7},
        {"type": "text", "text": "x", "citations": [{"type": "odd"}]},
        {"type": "text", "text": "x", "citations": [{"type": "char_location", "start_char_index": 2}]},
        7,
        {},
    ],
)
def test_a_block_without_sense_is_malformed(block: Any) -> None:
    with pytest.raises((ModelError, InvalidValue)):
        whole(block)


@pytest.mark.parametrize(
    "event",
    [
        7,
        {"type": "content_block_start", "content_block": {"type": "text"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "odd_delta"}},
        {"type": "content_block_delta", "index": 0},
        {"type": "message_start"},
        {"type": "message_delta", "delta": {"stop_reason": 7}},
    ],
)
def test_an_event_without_sense_is_malformed(event: Any) -> None:
    with pytest.raises(ModelError) as refused:
        streamed(started(), event)
    assert refused.value.kind == "malformed_response"


def test_what_was_said_goes_back_as_it_came() -> None:
    message: Message = whole(
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "redacted_thinking", "data": "not base64 at all"},
        {"type": "text", "text": "x"},
    ).message
    made = encode(ModelRequest(model="m", messages=(user("hi"), message, user("on"))))
    assert json.loads(made.data)["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "redacted_thinking", "data": "not base64 at all"},
        {"type": "text", "text": "x"},
    ]
