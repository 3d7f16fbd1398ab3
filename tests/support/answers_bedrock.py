"""Answers as Bedrock gives them, whole and in events, written from a response."""

import base64
import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from actum.base.value import Verbatim
from actum.messages.parts import CitationsPart, TextPart, ThinkingPart, ToolUsePart
from actum.model.encoded import Encoded
from actum.model.response import ModelResponse, StopReason
from tests.support.answers_openai_chat import pieces

_REASONS = {
    StopReason.END_TURN: "end_turn",
    StopReason.TOOL_USE: "tool_use",
    StopReason.LENGTH: "max_tokens",
    StopReason.CONTENT_FILTER: "content_filtered",
}


def _usage(response: ModelResponse) -> dict[str, Any]:
    usage = response.usage
    counted = {"cacheReadInputTokens": usage.cache_read, "cacheWriteInputTokens": usage.cache_write}
    return {
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "totalTokens": (usage.input or 0) + (usage.output or 0),
        **{name: count for name, count in counted.items() if count is not None},
    }


def converse_answer(response: ModelResponse, encoded: Encoded) -> dict[str, Any]:
    """The whole answer; a tool's input in it is `Verbatim`, bytes are base64."""
    content = [_block(part, encoded) for part in response.message.parts]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": _REASONS[response.stop],
        "usage": _usage(response),
        "metrics": {"latencyMs": 1},
    }


def _block(part: object, encoded: Encoded) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"text": part.text}
        case CitationsPart():
            cited = [{"title": each.title, "sourceContent": [{"text": each.excerpt}]} for each in part.citations]
            return {"citationsContent": {"content": [{"text": part.text}], "citations": cited}}
        case ToolUsePart():
            name = encoded.aliases.name(part.name)
            return {"toolUse": {"toolUseId": part.id, "name": name, "input": Verbatim(bytes(part.input))}}
        case ThinkingPart(redacted=bytes()):
            return {"reasoningContent": {"redactedContent": base64.b64encode(part.redacted or b"").decode()}}
        case ThinkingPart():
            signed = {} if part.signature is None else {"signature": part.signature}
            return {"reasoningContent": {"reasoningText": {"text": part.text, **signed}}}
    raise AssertionError(part)


def converse_events(response: ModelResponse, encoded: Encoded, size: int) -> list[dict[str, Any]]:
    """The same as a stream, in pieces of `size` characters; bytes are bytes, as the SDK gives them."""
    events: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    for index, part in enumerate(response.message.parts):
        if isinstance(part, ToolUsePart):
            start = {"toolUse": {"toolUseId": part.id, "name": encoded.aliases.name(part.name)}}
            events.append({"contentBlockStart": {"start": start, "contentBlockIndex": index}})
        deltas = _deltas(part, size)
        events += [{"contentBlockDelta": {"delta": delta, "contentBlockIndex": index}} for delta in deltas]
        events.append({"contentBlockStop": {"contentBlockIndex": index}})
    events.append({"messageStop": {"stopReason": _REASONS[response.stop]}})
    return [*events, {"metadata": {"usage": _usage(response), "metrics": {"latencyMs": 1}}}]


def _deltas(part: object, size: int) -> Iterator[dict[str, Any]]:
    match part:
        case TextPart():
            yield from ({"text": piece} for piece in pieces(part.text, size))
        case ToolUsePart():
            text = bytes(part.input).decode()
            # A tool without arguments streams none.
            yield from ({"toolUse": {"input": piece}} for piece in pieces("" if text == "{}" else text, size))
        case ThinkingPart(redacted=bytes()):
            yield {"reasoningContent": {"redactedContent": part.redacted}}
        case ThinkingPart():
            yield from ({"reasoningContent": {"text": piece}} for piece in pieces(part.text or "", size))
            yield {"reasoningContent": {"signature": part.signature}}


def frame(event: dict[str, Any]) -> bytes:
    """An event as a frame of `application/vnd.amazon.eventstream`."""
    [(name, payload)] = event.items()
    kind = "exception" if name.endswith("Exception") else "event"
    told = {":message-type": kind, f":{kind}-type": name, ":content-type": "application/json"}
    head = b"".join(
        bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for key, value in told.items()
    )
    body = json.dumps(payload, default=lambda data: base64.b64encode(data).decode()).encode()
    prelude = struct.pack(">II", 16 + len(head) + len(body), len(head))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    return prelude + head + body + struct.pack(">I", zlib.crc32(prelude + head + body))
