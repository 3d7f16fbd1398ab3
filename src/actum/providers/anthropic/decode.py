"""Messages answers -> response and chunks. A whole answer is told block by block, as a stream is, so both end alike.

A tool's input stays as the model spelled it: in a stream it comes as text, of a whole answer its very bytes are kept.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from actum.base.errors import shortened
from actum.base.value import Json, dump_json, items, load_json, members
from actum.base.value import spelled as spelled_again
from actum.model.encoded import Encoded
from actum.model.fold import ResponseFold
from actum.model.reading import count, malformed, mapping, text
from actum.model.reading import items as items_of
from actum.model.response import (
    Chunk,
    CitationDelta,
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
from actum.providers.anthropic.citations import citation_of
from actum.providers.anthropic.encode import PROVIDER
from actum.providers.anthropic.redacted import bytes_of

# What surely holds no tool's input is read in one go.
_INPUT: Final = b'"input"'
_STOPS: Final = {
    "end_turn": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_USE,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.REFUSAL,
}


def decode(answer: bytes, encoded: Encoded) -> ModelResponse:
    """The response in the bytes of a whole answer. Raises ModelError, kind `malformed_response`, or InvalidValue."""
    about, blocks, inputs = _opened(answer)
    decoder, folding = MessagesDecoder(encoded), ResponseFold()
    chunks = [*decoder.begin(), *decoder.about(about)]
    for index, block in enumerate(blocks):
        chunks += decoder.block(index, mapping(block, "a block"))
        if index in inputs:
            chunks.append(ToolUseDelta(index=index, input=inputs[index].decode()))
        chunks += decoder.block_end(index)
    for chunk in (*chunks, *decoder.stopping(about), *decoder.end()):
        folding.add(chunk)
    return folding.response()


def _opened(answer: bytes) -> tuple[Mapping[str, Json], list[Json], dict[int, bytes]]:
    """The answer, its blocks, and by their index the inputs of tools, which alone must keep their spelling."""
    inputs: dict[int, bytes] = {}
    if _INPUT in answer:
        answer = _without_inputs(answer, inputs)
    about = mapping(load_json(answer), "the answer")
    if "content" not in about:
        raise malformed("the answer has no content")
    return about, items_of(about["content"], "content"), inputs


def _without_inputs(answer: bytes, inputs: dict[int, bytes]) -> bytes:
    """The answer with the inputs of its tools taken out of it."""
    spelled: dict[str, Json] = dict(members(answer))
    if "content" in spelled:
        blocks: list[Json] = list(items(spelled["content"]))
        for index, block in enumerate(blocks):
            if _INPUT not in bytes(block):
                continue
            inside = members(block)
            if "input" in inside:
                inputs[index] = bytes(inside.pop("input"))
            blocks[index] = inside
        spelled["content"] = blocks
    return spelled_again(spelled)


class MessagesDecoder:
    """Reads the events of one streamed answer, one after the other."""

    def __init__(self, encoded: Encoded) -> None:
        self._encoded = encoded
        self._reason: str | None = None
        # What a block began with, told at its end unless the stream said it better.
        self._inputs: dict[int, str] = {}
        self._signatures: dict[int, str] = {}

    def begin(self) -> Iterator[Chunk]:
        """What is known before the first event."""
        yield ResponseStarted(provider=PROVIDER, projections=self._encoded.projections)

    def event(self, event: Json) -> Iterator[Chunk]:
        """The chunks in one event; none for one that is not known. Raises ModelError, kind `malformed_response`."""
        given = mapping(event, "an event")
        match given.get("type"):
            case "message_start":
                yield from self.about(mapping(given.get("message"), "a message"))
            case "content_block_start":
                yield from self.block(_index(given), mapping(given.get("content_block"), "a block"))
            case "content_block_delta":
                yield from self._delta(_index(given), mapping(given.get("delta"), "a delta"))
            case "content_block_stop":
                yield from self.block_end(_index(given))
            case "message_delta":
                yield from self.stopping(mapping(given.get("delta"), "a delta"))
                yield from _usage(given.get("usage"))
            case "message_stop":
                yield from self.end()

    def about(self, message: Mapping[str, Json]) -> list[Chunk]:
        """Who answers, and what is counted so far."""
        response_id, model = text(message.get("id"), "id"), text(message.get("model"), "model")
        return [ResponseStarted(response_id=response_id or None, model=model or None), *_usage(message.get("usage"))]

    def block(self, index: int, block: Mapping[str, Json]) -> Iterator[Chunk]:
        """The beginning of a block, or all of it but a tool's input."""
        match block.get("type"):
            case "text":
                yield TextDelta(index=index, text=text(block.get("text"), "text") or "")
                for citation in block.get("citations") or ():
                    yield CitationDelta(index=index, citation=citation_of(mapping(citation, "a citation")))
            case "thinking":
                thought = text(block.get("thinking"), "thinking") or ""
                self._signatures[index] = text(block.get("signature"), "signature") or ""
                yield ThinkingDelta(index=index, text=thought, provider=PROVIDER)
            case "redacted_thinking":
                data = text(block.get("data"), "data") or ""
                yield ThinkingDelta(index=index, redacted=bytes_of(data), provider=PROVIDER)
            case "tool_use":
                name = text(block.get("name"), "a tool's name")
                if block.get("input") is not None:
                    self._inputs[index] = dump_json(block["input"]).decode()
                yield ToolUseDelta(
                    index=index,
                    id=text(block.get("id"), "a tool use's id"),
                    name=self._encoded.aliases.original(name) if name else None,
                )
            case kind:
                raise malformed(f"no part holds a block of type {shortened(kind)}")

    def block_end(self, index: int) -> list[Chunk]:
        """What is left of a block at its end."""
        left: list[Chunk] = []
        if index in self._signatures:
            left.append(ThinkingDelta(index=index, signature=self._signatures.pop(index), provider=PROVIDER))
        if index in self._inputs:
            left.append(ToolUseDelta(index=index, input=self._inputs.pop(index)))
        return left

    def stopping(self, delta: Mapping[str, Json]) -> list[Chunk]:
        """Why the answer will stop."""
        self._reason = text(delta.get("stop_reason"), "stop_reason") or self._reason
        details = delta.get("stop_details")
        if isinstance(details, dict) and isinstance(details.get("explanation"), str):
            return [RefusalDelta(text=details["explanation"])]
        return []

    def end(self) -> list[Chunk]:
        """The end of the answer; only now is it complete."""
        known = StopReason.UNKNOWN if self._reason is None else _STOPS.get(self._reason, StopReason.UNKNOWN)
        return [StopChunk(stop=known, provider_stop=self._reason)]

    def _delta(self, index: int, delta: Mapping[str, Json]) -> Iterator[Chunk]:
        match delta.get("type"):
            case "text_delta":
                yield TextDelta(index=index, text=text(delta.get("text"), "text") or "")
            case "citations_delta":
                yield CitationDelta(index=index, citation=citation_of(mapping(delta.get("citation"), "a citation")))
            case "thinking_delta":
                thought = text(delta.get("thinking"), "thinking") or ""
                yield ThinkingDelta(index=index, text=thought, provider=PROVIDER)
            case "signature_delta":
                self._signatures.pop(index, None)
                signature = text(delta.get("signature"), "signature") or ""
                yield ThinkingDelta(index=index, signature=signature, provider=PROVIDER)
            case "input_json_delta":
                piece = text(delta.get("partial_json"), "partial_json") or ""
                if piece:
                    self._inputs.pop(index, None)
                    yield ToolUseDelta(index=index, input=piece)
            case kind:
                raise malformed(f"a delta of type {shortened(kind)} is not known")


def _index(event: Mapping[str, Json]) -> int:
    index = count(event.get("index"))
    if index is None:
        raise malformed("an event has no index")
    return index


def _usage(given: Json) -> list[Chunk]:
    if given is None:
        return []
    counts = mapping(given, "usage")
    usage = Usage(
        input=count(counts.get("input_tokens")),
        output=count(counts.get("output_tokens")),
        cache_read=count(counts.get("cache_read_input_tokens")),
        cache_write=count(counts.get("cache_creation_input_tokens")),
    )
    return [UsageChunk(usage=usage)]
