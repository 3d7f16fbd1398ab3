"""Answers as Anthropic's Messages API gives them, whole and in events, written from a response."""

from typing import Any

from actum.base.value import Verbatim, spelled
from actum.messages.parts import CitationsPart, TextPart, ThinkingPart, ToolUsePart
from actum.model.encoded import Encoded
from actum.model.response import ModelResponse, StopReason
from actum.providers.anthropic.redacted import data_of
from tests.support.answers_openai_chat import pieces

_REASONS = {
    StopReason.END_TURN: "end_turn",
    StopReason.TOOL_USE: "tool_use",
    StopReason.LENGTH: "max_tokens",
    StopReason.REFUSAL: "refusal",
}


def _block(part: Any, encoded: Encoded) -> dict[str, Any]:
    if isinstance(part, TextPart | CitationsPart):
        return {"type": "text", "text": part.text, "citations": None}
    if isinstance(part, ToolUsePart):
        given = Verbatim(bytes(part.input))
        name = encoded.aliases.name(part.name)
        return {"type": "tool_use", "id": part.id, "name": name, "input": given, "caller": {"type": "direct"}}
    assert isinstance(part, ThinkingPart)
    if part.redacted is not None:
        return {"type": "redacted_thinking", "data": data_of(part.redacted)}
    return {"type": "thinking", "thinking": part.text, "signature": part.signature}


def _message(response: ModelResponse) -> dict[str, Any]:
    usage = response.usage
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "container": None,
        "usage": {
            "input_tokens": usage.input,
            "output_tokens": 1,
            "cache_read_input_tokens": usage.cache_read,
            "cache_creation_input_tokens": usage.cache_write,
            "cache_creation": None,
            "inference_geo": None,
            "output_tokens_details": None,
            "server_tool_use": None,
            "service_tier": "standard",
        },
    }


def messages_answer(response: ModelResponse, encoded: Encoded) -> bytes:
    """The bytes of the whole answer: a tool's input in them is spelled as the model did."""
    message = _message(response)
    message["content"] = [_block(part, encoded) for part in response.message.parts]
    message["stop_reason"] = _REASONS[response.stop]
    message["usage"]["output_tokens"] = response.usage.output
    return spelled(message)


def messages_events(response: ModelResponse, encoded: Encoded, size: int) -> list[dict[str, Any]]:
    """The same as a stream, in pieces of `size` characters."""
    events: list[dict[str, Any]] = [{"type": "message_start", "message": _message(response)}]
    for index, part in enumerate(response.message.parts):
        events += _block_events(index, _block(part, encoded), size)
    usage = {
        "input_tokens": None,
        "output_tokens": response.usage.output,
        "cache_read_input_tokens": None,
        "cache_creation_input_tokens": None,
        "output_tokens_details": None,
        "server_tool_use": None,
    }
    delta = {
        "stop_reason": _REASONS[response.stop],
        "stop_sequence": None,
        "stop_details": None,
        "container": None,
    }
    return [*events, {"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


def _block_events(index: int, block: dict[str, Any], size: int) -> list[dict[str, Any]]:
    kind = block["type"]
    empty: dict[str, dict[str, Any]] = {
        "text": {"text": ""},
        "tool_use": {"input": {}},
        "thinking": {"thinking": "", "signature": ""},
        "redacted_thinking": {},
    }
    deltas: list[dict[str, Any]] = []
    if kind == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"], size)]
    elif kind == "tool_use":
        text = bytes(block["input"]).decode()
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(text, size)]]
        deltas = deltas[:1] if text == "{}" else deltas
    elif kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"], size)]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    place = {"index": index}
    return [
        {"type": "content_block_start", **place, "content_block": block | empty[kind]},
        *({"type": "content_block_delta", **place, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", **place},
    ]
