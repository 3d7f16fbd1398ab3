"""Answers as Chat Completions gives them, whole and in events, written from a response."""

from typing import Any

from actum.messages.parts import TextPart, ToolUsePart
from actum.model.encoded import Encoded
from actum.model.response import ModelResponse, StopReason

_REASONS = {
    StopReason.END_TURN: "stop",
    StopReason.TOOL_USE: "tool_calls",
    StopReason.LENGTH: "length",
    StopReason.CONTENT_FILTER: "content_filter",
}
_ABOUT = {"id": "chatcmpl-1", "created": 1, "model": "gpt-4.1-2025"}


def _usage(response: ModelResponse) -> dict[str, Any]:
    usage = response.usage
    total = (usage.input or 0) + (usage.output or 0)
    details = {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": total,
        "prompt_tokens_details": details,
    }


def _call(use: ToolUsePart, encoded: Encoded) -> dict[str, Any]:
    function = {"name": encoded.aliases.name(use.name), "arguments": bytes(use.input).decode()}
    return {"id": use.id, "type": "function", "function": function}


def chat_answer(response: ModelResponse, encoded: Encoded) -> dict[str, Any]:
    """The whole answer."""
    message: dict[str, Any] = {"role": "assistant", "content": response.message.text or None, "refusal": None}
    if response.message.tool_uses:
        message["tool_calls"] = [_call(use, encoded) for use in response.message.tool_uses]
    choice = {"index": 0, "finish_reason": _REASONS[response.stop], "logprobs": None, "message": message}
    return {**_ABOUT, "object": "chat.completion", "choices": [choice], "usage": _usage(response)}


def chat_events(response: ModelResponse, encoded: Encoded, size: int) -> list[dict[str, Any]]:
    """The same as a stream, in pieces of `size` characters."""
    deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": ""}, None)]
    for part in response.message.parts:
        if isinstance(part, TextPart):
            deltas += [({"content": piece}, None) for piece in pieces(part.text, size)]
    for index, use in enumerate(response.message.tool_uses):
        call = _call(use, encoded)
        spelled = call["function"]["arguments"]
        first = {"index": index, **call, "function": {"name": call["function"]["name"], "arguments": ""}}
        deltas.append(({"tool_calls": [first]}, None))
        for piece in pieces(spelled, size):
            deltas.append(({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, None))
    deltas.append(({}, _REASONS[response.stop]))
    head = {**_ABOUT, "object": "chat.completion.chunk"}
    choices = [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None} for delta, reason in deltas]
    return [
        *({**head, "choices": [choice]} for choice in choices),
        {**head, "choices": [], "usage": _usage(response)},
    ]


def pieces(text: str, size: int) -> list[str]:
    """The text in pieces of at most `size` characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]
