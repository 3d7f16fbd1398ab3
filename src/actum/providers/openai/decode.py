"""Chat Completions answers -> response and chunks. A whole answer is read as one event of a stream, so both end alike.

Part 0 is thinking, part 1 text, tool calls follow: the order in which a whole answer holds them.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Final

from actum.base.value import Json
from actum.model.encoded import Encoded
from actum.model.fold import ResponseFold
from actum.model.reading import count, items, malformed, mapping, text
from actum.model.response import (
    Chunk,
    ModelResponse,
    RefusalDelta,
    ResponseStarted,
    StopChunk,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolUseDelta,
    Usage,
    UsageChunk,
)
from actum.providers.openai.chat import PROVIDER

_THINKING, _TEXT, _FIRST_CALL = 0, 1, 2
_STOPS: Final = {
    "stop": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.CONTENT_FILTER,
}


def decode_chat(answer: Json, encoded: Encoded) -> ModelResponse:
    """The response in a whole answer. Raises ModelError, kind `malformed_response`."""
    decoder = ChatDecoder(encoded)
    folding = ResponseFold()
    for chunk in decoder.begin():
        folding.add(chunk)
    if not items(mapping(answer, "the answer").get("choices"), "choices"):
        raise malformed("the answer has no choices")
    for chunk in decoder.event(answer):
        folding.add(chunk)
    if not decoder.stopped:
        # A whole answer without a reason is complete all the same; why it stopped is what nobody knows.
        for chunk in decoder.stop(None):
            folding.add(chunk)
    return folding.response()


class ChatDecoder:
    """Reads the events of one streamed answer, one after the other."""

    def __init__(self, encoded: Encoded) -> None:
        self._encoded = encoded
        self._response_id: str | None = None
        self._refused = False
        self._slots: dict[int, int] = {}
        self._ids: list[str | None] = []
        self.stopped = False

    def begin(self) -> Iterator[Chunk]:
        """What is known before the first event."""
        yield ResponseStarted(provider=PROVIDER, projections=self._encoded.projections)

    def event(self, event: Json) -> Iterator[Chunk]:
        """The chunks in one event. Raises ModelError, kind `malformed_response`."""
        given = mapping(event, "an event")
        response_id, model = text(given.get("id"), "id"), text(given.get("model"), "model")
        if self._response_id is None and (response_id or model):
            self._response_id = response_id or None
            yield ResponseStarted(response_id=response_id or None, model=model or None)
        if given.get("usage") is not None:
            yield UsageChunk(usage=_usage(mapping(given["usage"], "usage")))
        for choice in items(given.get("choices"), "choices"):
            chosen = mapping(choice, "a choice")
            if chosen.get("index") in (None, 0):
                yield from self._choice(chosen)

    def stop(self, reason: str | None) -> list[Chunk]:
        """The end of the answer, for the provider's reason."""
        self.stopped = True
        found: list[Chunk] = []
        for slot, call_id in enumerate(self._ids):
            if call_id is None:
                # Some compatible servers name no ids; one that follows from the response is as good as theirs.
                digest = hashlib.sha256((self._response_id or "").encode()).hexdigest()[:16]
                found.append(ToolUseDelta(index=_FIRST_CALL + slot, id=f"call_{digest}_{slot}"))
        known = StopReason.UNKNOWN if reason is None else _STOPS.get(reason, StopReason.UNKNOWN)
        found.append(StopChunk(stop=StopReason.REFUSAL if self._refused else known, provider_stop=reason))
        return found

    def _choice(self, choice: Mapping[str, Json]) -> list[Chunk]:
        delta = choice.get("delta")
        if delta is None:
            delta = choice.get("message")
        found = [] if delta is None else self._delta(mapping(delta, "a message"))
        reason = text(choice.get("finish_reason"), "finish_reason")
        return found + self.stop(reason) if reason else found

    def _delta(self, delta: Mapping[str, Json]) -> list[Chunk]:
        found: list[Chunk] = []
        thinking = text(delta.get("reasoning_content"), "reasoning_content") or _thought(delta.get("reasoning"))
        if thinking:
            found.append(ThinkingDelta(index=_THINKING, text=thinking, provider=PROVIDER))
        said = text(delta.get("content"), "content")
        if said:
            found.append(TextDelta(index=_TEXT, text=said))
        refused = text(delta.get("refusal"), "refusal")
        if refused:
            self._refused = True
            found.append(RefusalDelta(text=refused))
        for position, call in enumerate(items(delta.get("tool_calls"), "tool_calls")):
            found.append(self._call(position, mapping(call, "a tool call")))
        return found

    def _call(self, position: int, call: Mapping[str, Json]) -> ToolUseDelta:
        function = mapping(call.get("function"), "a tool call's function")
        call_id = text(call.get("id"), "a tool call's id") or None
        index = call.get("index")
        slot = self._slot(index if type(index) is int else position, call_id)
        name = text(function.get("name"), "a function's name")
        return ToolUseDelta(
            index=_FIRST_CALL + slot,
            id=call_id,
            name=self._encoded.aliases.original(name) if name else None,
            input=text(function.get("arguments"), "a function's arguments") or "",
        )

    def _slot(self, index: int, call_id: str | None) -> int:
        """Which call an event goes on with: the one at its index, unless a new id says that another begins there."""
        slot = self._slots.get(index)
        if slot is None or (call_id is not None and self._ids[slot] not in (None, call_id)):
            slot = self._slots[index] = len(self._ids)
            self._ids.append(None)
        self._ids[slot] = self._ids[slot] or call_id
        return slot


def _usage(given: Mapping[str, Json]) -> Usage:
    details = given.get("prompt_tokens_details")
    inside = details if isinstance(details, dict) else {}
    return Usage(
        input=count(given.get("prompt_tokens")),
        output=count(given.get("completion_tokens")),
        cache_read=count(inside.get("cached_tokens")),
        cache_write=count(inside.get("cache_write_tokens")),
    )


def _thought(given: Json) -> str | None:
    # Compatible servers differ about this field, so what is no text says nothing.
    return given if isinstance(given, str) else None
