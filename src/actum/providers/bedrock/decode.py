"""Converse answers -> response and chunks. A whole answer is read as the events of a stream, so both end alike.

A whole answer is read from its bytes, for a tool's input keeps the spelling in which it came.
"""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from actum.base.errors import InvalidValue, shortened
from actum.base.value import Json, Verbatim, items, load_json, members
from actum.messages.parts import CharRange, ChunkRange, Citation, PageRange
from actum.model.encoded import Encoded
from actum.model.fold import ResponseFold
from actum.model.reading import count, malformed, mapping, text, words
from actum.model.reading import items as items_of
from actum.model.response import (
    Chunk,
    CitationDelta,
    ModelResponse,
    ResponseStarted,
    StopChunk,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolUseDelta,
    Usage,
    UsageChunk,
)
from actum.providers.bedrock.messages import PROVIDER

_STOPS: Final = {
    "end_turn": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_USE,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "guardrail_intervened": StopReason.CONTENT_FILTER,
    "content_filtered": StopReason.CONTENT_FILTER,
    "refusal": StopReason.REFUSAL,
}
_RANGES: Final[dict[str, Callable[[int, int], CharRange | ChunkRange | PageRange]]] = {
    "documentChar": lambda start, end: CharRange(start=start, end=end),
    "documentChunk": lambda start, end: ChunkRange(start=start, end=end),
    "documentPage": lambda start, end: PageRange(start=start, end=end),
}


def decode_converse(answer: bytes, encoded: Encoded, response_id: str | None = None) -> ModelResponse:
    """The response in the bytes of a whole answer. Raises ModelError, kind `malformed_response`, or InvalidValue."""
    folding = ResponseFold()
    for chunk in _chunks_of(answer, ConverseDecoder(encoded), response_id):
        folding.add(chunk)
    return folding.response()


def _chunks_of(answer: bytes, decoder: "ConverseDecoder", response_id: str | None) -> Iterator[Chunk]:
    """A whole answer as the chunks that a stream of it would have."""
    given = members(answer)
    try:
        content = members(members(given["output"])["message"])["content"]
        reason = load_json(bytes(given["stopReason"]))
    except KeyError as missing:
        raise malformed(f"the answer has no {missing}") from None
    yield from decoder.begin()
    if response_id:
        yield from decoder.event({"ResponseMetadata": {"RequestId": response_id}})
    for index, block in enumerate(items(content)):
        yield from decoder.block(index, block)
    yield from decoder.event({"messageStop": {"stopReason": reason}})
    if "usage" in given:
        yield from decoder.event({"metadata": {"usage": load_json(bytes(given["usage"]))}})


class ConverseDecoder:
    """Reads the events of one streamed answer, one after the other."""

    def __init__(self, encoded: Encoded) -> None:
        self._encoded = encoded
        # Tool uses and redacted thinking that have begun: what is known only when they end.
        self._bare: set[int] = set()
        self._redacted: dict[int, bytes] = {}

    def begin(self) -> Iterator[Chunk]:
        """What is known before the first event."""
        yield ResponseStarted(provider=PROVIDER, projections=self._encoded.projections)

    def event(self, event: Json) -> Iterator[Chunk]:
        """The chunks in one event. Raises ModelError, kind `malformed_response`."""
        for name, value in mapping(event, "an event").items():
            given = mapping(value, name)
            match name:
                case "ResponseMetadata":
                    # No event of the service, but what the SDK knows of the call: the answer has no other name.
                    yield ResponseStarted(response_id=given.get("RequestId"))
                case "contentBlockStart":
                    yield from self._start(_index(given), mapping(given.get("start"), "a start"))
                case "contentBlockDelta":
                    yield from self._delta(_index(given), mapping(given.get("delta"), "a delta"))
                case "contentBlockStop":
                    yield from self._end(_index(given))
                case "messageStop":
                    reason = words(given.get("stopReason"), "stopReason")
                    yield StopChunk(stop=_STOPS.get(reason, StopReason.UNKNOWN), provider_stop=reason)
                case "metadata" if given.get("usage") is not None:
                    yield UsageChunk(usage=_usage(mapping(given["usage"], "usage")))
                case _:
                    # messageStart says nothing new, and a later version of the service may say more.
                    pass

    def block(self, index: int, block: Verbatim) -> Iterator[Chunk]:
        """The chunks in one block of a whole answer, whose tool inputs keep their spelling."""
        for kind, value in members(block).items():
            if kind == "toolUse":
                use = members(value)
                about = {name: load_json(bytes(use[name])) for name in ("toolUseId", "name") if name in use}
                yield from self._start(index, {kind: about})
                yield from self._delta(index, {kind: {"input": bytes(use.get("input", b"")).decode()}})
                continue
            said = load_json(bytes(value))
            if kind == "citationsContent":
                cited = mapping(said, "a text with citations")
                for text in items_of(cited.get("content"), "a cited text"):
                    yield from self._delta(index, mapping(text, "a cited text"))
                for citation in items_of(cited.get("citations"), "citations"):
                    yield from self._delta(index, {"citation": citation})
            else:
                yield from self._delta(index, {kind: said})
        yield from self._end(index)

    def _start(self, index: int, start: Mapping[str, Json]) -> Iterator[Chunk]:
        use = start.get("toolUse")
        if use is None:
            raise malformed(f"a block began that is none of an answer's: {shortened(dict(start))}")
        given = mapping(use, "a tool use")
        self._bare.add(index)
        name = self._encoded.aliases.original(words(given.get("name"), "a tool's name"))
        yield ToolUseDelta(index=index, id=words(given.get("toolUseId"), "a tool use's id"), name=name)

    def _delta(self, index: int, delta: Mapping[str, Json]) -> Iterator[Chunk]:
        for kind, value in delta.items():
            match kind:
                case "text":
                    yield TextDelta(index=index, text=words(value, "a text"))
                case "toolUse":
                    input = words(mapping(value, "a tool use").get("input"), "a tool's input")
                    if input:
                        self._bare.discard(index)
                        yield ToolUseDelta(index=index, input=input)
                case "reasoningContent":
                    yield from self._thought(index, mapping(value, "reasoning"))
                case "citation":
                    yield CitationDelta(index=index, citation=_citation(mapping(value, "a citation")))
                case _:
                    raise malformed(f"a block of kind {kind!r} is none of an answer's")

    def _thought(self, index: int, thought: Mapping[str, Json]) -> Iterator[Chunk]:
        for kind, value in thought.items():
            match kind:
                case "reasoningText":
                    # The whole of it, in an answer that is no stream.
                    yield from self._thought(index, mapping(value, "a thought"))
                case "text":
                    yield ThinkingDelta(index=index, text=words(value, "a thought"), provider=PROVIDER)
                case "signature":
                    signature = words(value, "a signature")
                    yield ThinkingDelta(index=index, signature=signature, provider=PROVIDER)
                case "redactedContent":
                    self._redacted[index] = self._redacted.get(index, b"") + _bytes(value)
                case _:
                    raise malformed(f"reasoning of kind {kind!r} is unknown")

    def _end(self, index: int) -> Iterator[Chunk]:
        if index in self._bare:
            # A tool without arguments streams none; a whole answer says `{}` for the same.
            yield ToolUseDelta(index=index, input="{}")
        if index in self._redacted:
            yield ThinkingDelta(index=index, redacted=self._redacted.pop(index), provider=PROVIDER)


def _citation(given: Mapping[str, Json]) -> Citation:
    content = given.get("sourceContent")
    excerpts = [words(mapping(each, "an excerpt").get("text"), "an excerpt") for each in items_of(content, "excerpts")]
    return Citation(
        title=text(given.get("title"), "a title"),
        source=text(given.get("source"), "a source"),
        location=_location(given.get("location")),
        excerpt="".join(excerpts) if content is not None else None,
    )


def _location(given: Json) -> CharRange | ChunkRange | PageRange | None:
    """Where a citation points to; None for a kind of place that no part can name, such as a page of the web."""
    if not isinstance(given, dict):
        return None
    for kind, at in given.items():
        make = _RANGES.get(kind)
        if make is not None and isinstance(at, dict) and type(at.get("start")) is type(at.get("end")) is int:
            try:
                return make(at["start"], at["end"])
            except InvalidValue:
                raise malformed(f"a citation ends before it starts: {shortened(at)}") from None
    return None


def _usage(given: Mapping[str, Json]) -> Usage:
    return Usage(
        input=count(given.get("inputTokens")),
        output=count(given.get("outputTokens")),
        cache_read=count(given.get("cacheReadInputTokens")),
        cache_write=count(given.get("cacheWriteInputTokens")),
    )


def _index(given: Mapping[str, Json]) -> int:
    index = given.get("contentBlockIndex")
    if type(index) is int:
        return index
    raise malformed(f"contentBlockIndex is a number, not {shortened(index)}")


def _bytes(given: Json) -> bytes:
    """Bytes, which the SDK has decoded already where it reads the stream."""
    if isinstance(given, bytes):
        return given
    try:
        return base64.b64decode(words(given, "redacted reasoning"), validate=True)
    except binascii.Error:
        raise malformed("redacted reasoning is base64") from None
