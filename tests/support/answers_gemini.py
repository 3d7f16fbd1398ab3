"""Answers as Gemini gives them, whole and in events, written from a response."""

import json
from typing import Any

from actum.messages.parts import TextPart, ThinkingPart, ToolUsePart
from actum.model.encoded import Encoded
from actum.model.response import ModelResponse, StopReason
from tests.support.answers_openai_chat import pieces

_REASONS = {
    StopReason.END_TURN: "STOP",
    StopReason.TOOL_USE: "STOP",
    StopReason.LENGTH: "MAX_TOKENS",
    StopReason.CONTENT_FILTER: "SAFETY",
}
_ABOUT = {"responseId": "gemini-1", "modelVersion": "gemini-some-model"}


def _usage(response: ModelResponse) -> dict[str, Any]:
    usage = response.usage
    counts = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output,
        "cachedContentTokenCount": usage.cache_read,
        "totalTokenCount": (usage.input or 0) + (usage.output or 0),
    }
    return {name: count for name, count in counts.items() if count is not None}


def _event(parts: list[dict[str, Any]], reason: str | None, **more: Any) -> dict[str, Any]:
    ended = {} if reason is None else {"finishReason": reason}
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **ended}], **_ABOUT, **more}


def _parts(response: ModelResponse, encoded: Encoded, size: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for part in response.message.parts:
        signature = getattr(part, "signature", None)
        signed = {} if signature is None else {"thoughtSignature": signature}
        if isinstance(part, TextPart):
            made += [{"text": piece} for piece in pieces(part.text, size)]
        elif isinstance(part, ThinkingPart) and part.text:
            made += [{"text": piece, "thought": True} for piece in pieces(part.text, size)]
            made[-1] |= signed
        elif isinstance(part, ThinkingPart):
            made.append({"text": "", **signed})
        elif isinstance(part, ToolUsePart):
            call = {"id": part.id, "name": encoded.aliases.name(part.name), "args": json.loads(bytes(part.input))}
            made.append({"functionCall": call, **signed})
    return made


def gemini_answer(response: ModelResponse, encoded: Encoded) -> dict[str, Any]:
    """The whole answer."""
    usage = _usage(response)
    return _event(_parts(response, encoded, 1 << 30), _REASONS[response.stop], usageMetadata=usage)


def gemini_events(response: ModelResponse, encoded: Encoded, size: int) -> list[dict[str, Any]]:
    """The same as a stream, a part an event; counts grow until the last."""
    parts = _parts(response, encoded, size)
    begun = {"usageMetadata": {"promptTokenCount": response.usage.input, "candidatesTokenCount": 1}}
    events = [_event([part], None, **begun) for part in parts]
    return [*events, _event([], _REASONS[response.stop], usageMetadata=_usage(response))]
