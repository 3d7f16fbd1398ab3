import json
from typing import Any

import pytest

from actum.base.errors import ModelError, ProviderError
from actum.messages.message import assistant, user
from actum.messages.parts import Citation, CitationsPart, ThinkingPart, tool_use
from actum.model.encoded import Encoded
from actum.model.fold import ResponseFold
from actum.model.request import ModelRequest
from actum.model.response import ModelResponse, StopReason, Usage
from actum.providers.openai.reasoning import signature_of
from actum.providers.openai.responses import encode_responses
from actum.providers.openai.responses_decode import ResponsesDecoder, decode_responses
from actum.testing.provider_samples import TOOLS

CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "weather_lookup", "arguments": "{}"}
REASONING: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "encrypted_content": "gAAAA==",
    "summary": [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}],
    "content": [{"type": "reasoning_text", "text": "Really."}],
}
THOUGHT = ThinkingPart(text="First.\n\nThen.\n\nReally.", signature=signature_of(REASONING), provider="openai")


def request() -> Encoded:
    return encode_responses(ModelRequest(model="m", messages=(user("hi"),), tools=TOOLS))


def message(*texts: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []} | more for text in texts]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def answer(*output: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"id": "resp_1", "model": "gpt-5.1", "status": status, "output": list(output)} | more


def whole(*output: Any, **more: Any) -> ModelResponse:
    return decode_responses(json.loads(json.dumps(answer(*output, **more))), request())


def streamed(*events: Any) -> ModelResponse:
    decoder, folding = ResponsesDecoder(request()), ResponseFold()
    for chunk in decoder.begin():
        folding.add(chunk)
    for event in events:
        for chunk in decoder.event(event):
            folding.add(chunk)
    return folding.response()


def ended(*output: Any, **more: Any) -> dict[str, Any]:
    made = answer(*output, **more)
    return {"type": f"response.{made['status']}", "response": made}


def done(index: int, item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def piece(kind: str, index: int, delta: str, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": delta} | more


def test_an_answer_has_its_items_as_parts_in_order() -> None:
    response = whole(REASONING, message("Let me ", "check"), CALL, message("again"))
    assert response == ModelResponse(
        message=assistant(THOUGHT, "Let me ", "check", tool_use("c1", "weather.lookup", {}), "again"),
        stop=StopReason.TOOL_USE,
        provider_stop="completed",
        response_id="resp_1",
        model="gpt-5.1",
        provider="openai",
    )


class TestAServersHabits:
    """Pieces and no items, items and no pieces, only the end, all of them: one value."""

    OUTPUT = (REASONING, message("Let me ", "check"), CALL)
    PIECES = (
        piece("reasoning_summary_text", 0, "Fir", summary_index=0),
        piece("reasoning_summary_text", 0, "st.", summary_index=0),
        piece("reasoning_summary_text", 0, "Then.", summary_index=1),
        piece("reasoning_text", 0, "Really.", content_index=0),
        piece("output_text", 1, "Let ", content_index=0),
        piece("output_text", 1, "me ", content_index=0),
        piece("output_text", 1, "check", content_index=1),
        {"type": "response.output_item.added", "output_index": 2, "item": CALL | {"arguments": ""}},
        piece("function_call_arguments", 2, "{"),
        piece("function_call_arguments", 2, "}"),
    )
    DONE = tuple(done(index, item) for index, item in enumerate(OUTPUT))

    @pytest.mark.parametrize(
        "events", [(), PIECES, DONE, (*PIECES, *DONE), (*PIECES[:4], DONE[0], *PIECES[4:7], *DONE[1:])]
    )
    def test_every_habit_ends_alike(self, events: tuple[Any, ...]) -> None:
        assert streamed(*events, ended(*self.OUTPUT)) == whole(*self.OUTPUT)

    def test_a_server_that_gives_no_indices_is_understood_by_ids(self) -> None:
        """The order in which its items begin is the order in which they stand."""
        ids = ("rs_1", "msg_1", "fc_1")
        events = [
            {**event} for event in (*self.PIECES[:4], self.DONE[0], *self.PIECES[4:7], *self.PIECES[7:], *self.DONE[1:])
        ]
        for event in events:
            index = event.pop("output_index")
            if "item" not in event:
                event["item_id"] = ids[index]
        for length in range(len(events) + 1):
            assert streamed(*events[:length], ended(*self.OUTPUT)) == whole(*self.OUTPUT)

    def test_without_its_end_none_has_a_call(self) -> None:
        for length in range(len(self.PIECES) + len(self.DONE)):
            response = streamed(*(*self.PIECES, *self.DONE)[: length + 1])
            assert response.stop is StopReason.INTERRUPTED
            assert response.message.tool_uses == ()

    def test_an_item_that_is_not_what_was_streamed_is_malformed(self) -> None:
        with pytest.raises(ModelError) as refused:
            streamed(piece("output_text", 0, "Yes", content_index=0), done(0, message("No")))
        assert refused.value.kind == "malformed_response"


@pytest.mark.parametrize(
    "output, more, stop, reason",
    [
        ([message("x")], {}, StopReason.END_TURN, "completed"),
        ([CALL], {}, StopReason.TOOL_USE, "completed"),
        (
            [message("x")],
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            StopReason.LENGTH,
            "max_output_tokens",
        ),
        (
            [],
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            StopReason.CONTENT_FILTER,
            "content_filter",
        ),
        (
            [message("x")],
            {"status": "incomplete", "incomplete_details": {"reason": "some_new_reason"}},
            StopReason.UNKNOWN,
            "some_new_reason",
        ),
        ([message("x")], {"status": "incomplete"}, StopReason.UNKNOWN, "incomplete"),
        ([message("x")], {"status": "cancelled"}, StopReason.UNKNOWN, "cancelled"),
        ([message("x")], {"status": "some_new_status"}, StopReason.UNKNOWN, "some_new_status"),
    ],
)
def test_why_an_answer_stopped_is_seen(output: list[Any], more: dict[str, Any], stop: StopReason, reason: str) -> None:
    response = whole(*output, **more)
    assert (response.stop, response.provider_stop) == (stop, reason)


def test_a_refusal_is_kept_and_no_success() -> None:
    refusal = {"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "I can't help."}]}
    response = whole(refusal)
    assert (response.stop, response.refusal) == (StopReason.REFUSAL, "I can't help.")
    assert response.message.parts == ()
    pieces = [piece("refusal", 0, text, content_index=0) for text in ("I can't ", "help.")]
    assert streamed(*pieces, ended(refusal)) == response
    assert streamed(*pieces, done(0, refusal), ended(refusal)) == response


def test_citations_are_kept() -> None:
    annotations = [
        {"type": "url_citation", "url": "https://x", "title": "X", "start_index": 0, "end_index": 1},
        {"type": "file_citation", "file_id": "f", "filename": "a.txt", "index": 0},
    ]
    cited = (Citation(title="X", source="https://x"), Citation(title="a.txt", source="f"))
    response = whole(message("So.", annotations=annotations))
    assert response.message == assistant(CitationsPart(text="So.", citations=cited))


def test_usage_is_exact_and_counted_once() -> None:
    usage = {"input_tokens": 25, "output_tokens": 15, "input_tokens_details": {"cached_tokens": 10}}
    counted = Usage(input=25, output=15, cache_read=10)
    assert whole(message("x"), usage=usage).usage == counted
    begun = {"type": "response.created", "response": {"id": "resp_1", "model": "m", "usage": usage}}
    assert streamed(begun, begun, ended(message("x"), usage=usage)).usage == counted
    assert whole(message("x")).usage == Usage()
    assert whole(message("x"), usage={"input_tokens": True, "output_tokens": 0}).usage == Usage(output=0)


@pytest.mark.parametrize(
    "code, kind, retryable",
    [
        ("server_error", "unavailable", True),
        ("rate_limit_exceeded", "rate_limited", True),
        ("invalid_prompt", "content_filter", False),
        ("image_content_policy_violation", "content_filter", False),
        ("invalid_image_url", "model_request", False),
        ("image_too_large", "model_request", False),
        (None, "unavailable", True),
    ],
)
def test_a_failed_answer_is_an_error(code: str | None, kind: str, *, retryable: bool) -> None:
    error = {"code": code, "message": "no"}
    events: list[dict[str, Any]] = [ended(status="failed", error=error), {"type": "error", **error}]
    for event in events:
        with pytest.raises(ProviderError) as failed:
            streamed(piece("output_text", 0, "x", content_index=0), event)
        assert (failed.value.kind, failed.value.retryable, failed.value.provider_code) == (kind, retryable, code)
    with pytest.raises(ProviderError):
        whole(status="failed", error=error)


def test_an_id_may_come_before_the_model() -> None:
    begun = {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}
    assert streamed(begun, ended(message("x"))) == whole(message("x"))


def test_unknown_events_say_nothing() -> None:
    assert streamed(
        {"type": "keepalive"}, {"type": "response.new.delta", "output_index": 0}, ended(message("x"))
    ) == whole(message("x"))


@pytest.mark.parametrize(
    "item",
    [
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "message", "content": [{"type": "output_audio"}]},
        {"type": "message", "content": 7},
        {"type": "function_call", "call_id": "c1", "arguments": "{}"},
        {"type": "function_call", "call_id": "c1", "name": "a", "arguments": {}},
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text"}]},
        {},
        7,
    ],
)
def test_an_item_without_sense_is_malformed(item: Any) -> None:
    with pytest.raises(ModelError) as refused:
        whole(item)
    assert refused.value.kind == "malformed_response"


@pytest.mark.parametrize("given", [7, [], {"output": None}, {"output": {}}, {"output": [], "id": 7}])
def test_an_answer_without_sense_is_malformed(given: Any) -> None:
    with pytest.raises(ModelError) as refused:
        decode_responses(given, request())
    assert refused.value.kind == "malformed_response"


@pytest.mark.parametrize(
    "event", [7, {"type": 7}, {"type": "response.output_text.delta", "delta": "x"}, {"type": "response.completed"}]
)
def test_an_event_without_sense_is_malformed(event: Any) -> None:
    with pytest.raises(ModelError) as refused:
        streamed(event)
    assert refused.value.kind == "malformed_response"
