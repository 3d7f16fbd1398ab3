import json
from typing import Any

import pytest

from actum.base.errors import ModelError
from actum.base.value import Verbatim
from actum.messages.message import assistant, user
from actum.messages.parts import ThinkingPart, ToolUsePart, tool_use
from actum.model.encoded import Encoded
from actum.model.fold import ResponseFold
from actum.model.request import ModelRequest, ToolDefinition
from actum.model.response import ModelResponse, StopReason, Usage
from actum.providers.openai.chat import encode_chat
from actum.providers.openai.decode import ChatDecoder, decode_chat
from tests.support.vendor_specs import chat_answer_breaches, chat_event_breaches

CACHED = {"cached_tokens": 10}
USAGE = {"prompt_tokens": 25, "completion_tokens": 15, "total_tokens": 40, "prompt_tokens_details": CACHED}


def request() -> Encoded:
    tools = (ToolDefinition(name="wx.get", input_schema={"type": "object"}),)
    return encode_chat(ModelRequest(model="m", messages=(user("hi"),), tools=tools))


def answer(message: dict[str, Any], reason: str | None = "stop", **more: Any) -> dict[str, Any]:
    said = {"role": "assistant", "refusal": None} | message
    choice = {"index": 0, "finish_reason": reason, "logprobs": None, "message": said}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4.1-2025",
        "choices": [choice],
        "usage": USAGE,
    } | more


def event(delta: dict[str, Any] | None, reason: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-4.1-2025",
        "choices": choices,
    } | more


def whole(given: Any, *, lawful: bool = True) -> ModelResponse:
    if lawful:
        assert chat_answer_breaches(given) == []
    return decode_chat(json.loads(json.dumps(given)), request())


def streamed(*events: Any, lawful: bool = True) -> ModelResponse:
    decoder, folding = ChatDecoder(request()), ResponseFold()
    for chunk in decoder.begin():
        folding.add(chunk)
    for each in events:
        if lawful:
            assert chat_event_breaches(each) == []
        for chunk in decoder.event(each):
            folding.add(chunk)
    return folding.response()


def call(index: int, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **more}]}


def test_an_answer_is_the_same_whole_and_streamed() -> None:
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "wx_get", "arguments": '{ "city": "Ulm" }'}},
        {"id": "c2", "type": "function", "function": {"name": "wx_get", "arguments": "{}"}},
    ]
    response = whole(answer({"content": "Let me check", "tool_calls": calls}, "tool_calls"))
    assert response == ModelResponse(
        message=assistant(
            "Let me check",
            ToolUsePart(id="c1", name="wx.get", input=Verbatim(b'{ "city": "Ulm" }')),
            tool_use("c2", "wx.get", {}),
        ),
        stop=StopReason.TOOL_USE,
        provider_stop="tool_calls",
        usage=Usage(input=25, output=15, cache_read=10),
        response_id="chatcmpl-1",
        model="gpt-4.1-2025",
        provider="openai-chat",
    )
    assert bytes(response.message.tool_uses[0].input) == b'{ "city": "Ulm" }'
    assert response == streamed(
        event({"role": "assistant", "content": ""}),
        event({"content": "Let me "}),
        event({"content": "check"}),
        event(call(0, id="c1", type="function", function={"name": "wx_get", "arguments": ""})),
        event(call(0, function={"arguments": '{ "city":'})),
        event(call(0, function={"arguments": ' "Ulm" }'})),
        event(call(1, id="c2", type="function", function={"name": "wx_get", "arguments": "{}"})),
        event({}, "tool_calls"),
        event(None, usage=USAGE),
    )


@pytest.mark.parametrize("arguments", ["", '{"city":"Ber', "[1]", "null", "{}{}"])
def test_malformed_arguments_are_kept_and_never_run(arguments: str) -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "wx_get", "arguments": arguments}}]
    part = whole(answer({"content": None, "tool_calls": calls}, "tool_calls")).message.tool_uses[0]
    assert part.input_text == arguments
    assert (
        part
        == streamed(
            event(call(0, id="c1", type="function", function={"name": "wx_get", "arguments": arguments})),
            event({}, "tool_calls"),
        ).message.tool_uses[0]
    )


@pytest.mark.parametrize(
    "message, reason, stop",
    [
        ({"content": None, "refusal": "I can't help with that."}, "stop", StopReason.REFUSAL),
        ({"content": ""}, "content_filter", StopReason.CONTENT_FILTER),
        ({"content": "half"}, "length", StopReason.LENGTH),
        ({"content": "done"}, "stop", StopReason.END_TURN),
    ],
)
def test_why_an_answer_stopped_is_seen(message: dict[str, Any], reason: str, stop: StopReason) -> None:
    response = whole(answer(message, reason))
    assert (response.stop, response.provider_stop) == (stop, reason)
    assert response.refusal == message.get("refusal")
    assert len(response.message.parts) == (1 if message["content"] else 0)
    delta = {name: text for name, text in message.items() if text is not None}
    assert streamed(event(delta), event({}, reason), event(None, usage=USAGE)) == response


@pytest.mark.parametrize("reason", ["some_new_reason", None])
def test_a_reason_that_nobody_knows_is_kept(reason: str | None) -> None:
    response = whole(answer({"content": "x"}, reason), lawful=False)
    assert (response.stop, response.provider_stop) == (StopReason.UNKNOWN, reason)


@pytest.mark.parametrize("length", range(4))
def test_a_stream_without_an_end_yields_no_call(length: int) -> None:
    events = [
        event({"content": "Let me check"}),
        event(call(0, id="c1", type="function", function={"name": "wx_get", "arguments": '{"city":"Ber'})),
        event(call(0, function={"arguments": 'lin"}'})),
        event(None, usage=USAGE),
    ]
    response = streamed(*events[: length + 1])
    assert response.stop is StopReason.INTERRUPTED
    assert response.message == assistant("Let me check", meta={"partial": True})


def test_counts_that_are_missing_are_unknown() -> None:
    assert whole(answer({"content": "x"}, usage=None), lawful=False).usage == Usage()
    odd = {"prompt_tokens": "7", "completion_tokens": 0}
    assert whole(answer({"content": "x"}, usage=odd), lawful=False).usage == Usage(output=0)


def test_counts_that_come_again_are_not_added() -> None:
    response = streamed(event({"content": "x"}, usage=USAGE), event({}, "stop", usage=USAGE), event(None, usage=USAGE))
    assert response.usage == Usage(input=25, output=15, cache_read=10)


def test_a_compatible_servers_habits() -> None:
    """Thinking in a field of its own, no indices, no ids, one index for all, the name repeated in every event."""
    thinking = streamed(event({"reasoning_content": "hm"}), event({"content": "x"}, "stop"), lawful=False)
    assert thinking.message == assistant(ThinkingPart(text="hm", provider="openai-chat"), "x")
    assert whole(answer({"content": "x", "reasoning": {"odd": 1}}), lawful=False).message == assistant("x")
    twice = {"name": "wx_get", "arguments": "{}"}
    no_ids = {"tool_calls": [{"function": twice}, {"function": twice}]}
    uses = streamed(event(no_ids), event({}, "tool_calls"), lawful=False).message.tool_uses
    assert len({use.id for use in uses}) == 2
    assert uses == whole(answer({"content": None, **no_ids}, "tool_calls"), lawful=False).message.tool_uses
    one_index = streamed(
        event(call(0, id="c1", function={"name": "wx_get", "arguments": '{"a":'})),
        event(call(0, id="c1", function={"name": "wx_get", "arguments": "1}"})),
        event(call(0, id="c2", function=twice)),
        event({}, "stop"),
        lawful=False,
    )
    assert [(use.id, use.arguments) for use in one_index.message.tool_uses] == [("c1", {"a": 1}), ("c2", {})]


def test_only_the_first_choice_is_read() -> None:
    two = answer({"content": "first"})
    two["choices"].append({**two["choices"][0], "index": 1, "message": {"role": "assistant", "content": "second"}})
    assert whole(two, lawful=False).message.text == "first"


@pytest.mark.parametrize(
    "given",
    [
        [],
        "x",
        {},
        answer({"content": "x"}, choices=[]),
        answer({"content": "x"}, choices={"a": 1}),
        answer({"content": 7}),
        answer({"content": None, "tool_calls": [{"id": "c1"}]}),
        answer({"content": None, "tool_calls": [{"id": "c1", "function": {"name": 7}}]}),
        answer({"content": None, "tool_calls": [{"id": "c1", "function": {"arguments": "{}"}}]}),
        answer({"content": "x"}, usage=7),
        answer({"content": "x"}, id=7),
    ],
)
def test_an_answer_without_sense_is_malformed(given: Any) -> None:
    with pytest.raises(ModelError) as refused:
        whole(given, lawful=False)
    assert refused.value.kind == "malformed_response"
