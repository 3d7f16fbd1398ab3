"""Answers as OpenAI's Responses gives them, whole and in events, written from a response."""

from typing import Any

from actum.messages.parts import TextPart, ThinkingPart, ToolUsePart
from actum.model.encoded import Encoded
from actum.model.response import ModelResponse, StopReason
from actum.providers.openai.reasoning import item_of
from tests.support.answers_openai_chat import pieces


def _item(position: int, part: Any, encoded: Encoded) -> dict[str, Any]:
    if isinstance(part, TextPart):
        block = {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}
        return {
            "id": f"msg_{position}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [block],
        }
    if isinstance(part, ToolUsePart):
        return {
            "id": f"fc_{position}",
            "type": "function_call",
            "call_id": part.id,
            "name": encoded.aliases.name(part.name),
            "arguments": bytes(part.input).decode(),
            "status": "completed",
        }
    assert isinstance(part, ThinkingPart)
    item = item_of(part)
    assert item is not None
    return item


def responses_answer(response: ModelResponse, encoded: Encoded) -> dict[str, Any]:
    """The whole answer."""
    usage = response.usage
    cut = response.stop is StopReason.LENGTH
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "instructions": None,
        "model": "gpt-5.1-2025",
        "output": [_item(position, part, encoded) for position, part in enumerate(response.message.parts)],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "top_p": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
        "usage": {
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": (usage.input or 0) + (usage.output or 0),
        },
    }


def responses_events(response: ModelResponse, encoded: Encoded, size: int) -> list[dict[str, Any]]:
    """The same as a stream, in pieces of `size` characters."""
    whole = responses_answer(response, encoded)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    del begun["usage"]
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(whole["output"]):
        events += _item_events(index, item, size)
    events.append({"type": f"response.{whole['status']}", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _item_events(index: int, item: dict[str, Any], size: int) -> list[dict[str, Any]]:
    place = {"output_index": index, "item_id": item["id"]}
    empty: dict[str, dict[str, Any]] = {
        "message": {"content": [], "status": "in_progress"},
        "function_call": {"arguments": "", "status": "in_progress"},
        "reasoning": {"summary": []},
    }
    added = {**item, **empty[item["type"]]}
    events: list[dict[str, Any]] = [{"type": "response.output_item.added", "output_index": index, "item": added}]
    if item["type"] == "message":
        for inside, block in enumerate(item["content"]):
            here = {**place, "content_index": inside}
            events.append({"type": "response.content_part.added", **here, "part": {**block, "text": ""}})
            events += [
                {"type": "response.output_text.delta", **here, "delta": piece, "logprobs": []}
                for piece in pieces(block["text"], size)
            ]
            events.append({"type": "response.output_text.done", **here, "text": block["text"], "logprobs": []})
            events.append({"type": "response.content_part.done", **here, "part": block})
    elif item["type"] == "function_call":
        kind = "response.function_call_arguments"
        events += [{"type": f"{kind}.delta", **place, "delta": piece} for piece in pieces(item["arguments"], size)]
        events.append({"type": f"{kind}.done", **place, "name": item["name"], "arguments": item["arguments"]})
    else:
        for inside, block in enumerate(item["summary"]):
            here = {**place, "summary_index": inside}
            events.append({"type": "response.reasoning_summary_part.added", **here, "part": {**block, "text": ""}})
            events += [
                {"type": "response.reasoning_summary_text.delta", **here, "delta": piece}
                for piece in pieces(block["text"], size)
            ]
            events.append({"type": "response.reasoning_summary_text.done", **here, "text": block["text"]})
            events.append({"type": "response.reasoning_summary_part.done", **here, "part": block})
    events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    return events
