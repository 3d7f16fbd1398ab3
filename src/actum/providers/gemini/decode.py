"""Gemini's answers -> response and chunks. A whole answer is read as one event of a stream, so both end alike.

Gemini gives a tool's arguments as a value, not as text, so they get our own spelling. A signature stands with the part
that it came with: on thinking and on a tool use; one that came with text is thinking without words behind that text.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from typing import Final

from actum.base.errors import shortened
from actum.base.value import Json, dump_json, load_json
from actum.model.encoded import Encoded
from actum.model.fold import ResponseFold
from actum.model.reading import count, items, malformed, mapping, text
from actum.model.response import (
    Chunk,
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
from actum.providers.gemini.contents import PROVIDER

_FILTERS: Final = (
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
)
_STOPS: Final = {
    "STOP": StopReason.END_TURN,
    "MAX_TOKENS": StopReason.LENGTH,
    **dict.fromkeys(_FILTERS, StopReason.CONTENT_FILTER),
}


def decode_gemini(answer: bytes, encoded: Encoded) -> ModelResponse:
    """The response in the bytes of a whole answer. Raises ModelError, kind `malformed_response`, or InvalidValue."""
    decoder = GeminiDecoder(encoded)
    folding = ResponseFold()
    for chunk in (*decoder.begin(), *decoder.event(load_json(answer))):
        folding.add(chunk)
    if not decoder.stopped:
        raise malformed("the answer has no candidate with a reason to stop")
    return folding.response()


class _Call:
    """A tool use that may still get arguments from the next part."""

    def __init__(self, given: Mapping[str, Json], signature: str | None) -> None:
        self.id = text(given.get("id"), "a call's id") or None
        self.name = text(given.get("name"), "a call's name")
        self.arguments = dict(mapping(given.get("args") or {}, "a call's arguments"))
        self.signature = signature


class GeminiDecoder:
    """Reads the events of one streamed answer, one after the other."""

    def __init__(self, encoded: Encoded) -> None:
        self._encoded = encoded
        self._response_id: str | None = None
        self._index = -1
        # What the last part was, which the next one goes on with: "text", "thought", or nothing.
        self._open: str | None = None
        self._call: _Call | None = None
        self._calls = 0
        self.stopped = False

    def begin(self) -> Iterator[Chunk]:
        """What is known before the first event."""
        yield ResponseStarted(provider=PROVIDER, projections=self._encoded.projections)

    def event(self, event: Json) -> Iterator[Chunk]:
        """The chunks in one event. Raises ModelError, kind `malformed_response`."""
        given = mapping(event, "an event")
        response_id, model = text(given.get("responseId"), "responseId"), text(given.get("modelVersion"), "model")
        if self._response_id is None and (response_id or model):
            self._response_id = response_id or None
            yield ResponseStarted(response_id=response_id or None, model=model or None)
        if given.get("usageMetadata") is not None:
            yield UsageChunk(usage=_usage(mapping(given["usageMetadata"], "usageMetadata")))
        for each in items(given.get("candidates"), "candidates"):
            candidate = mapping(each, "a candidate")
            if candidate.get("index") in (None, 0):
                yield from self._candidate(candidate)
        blocked = mapping(given.get("promptFeedback") or {}, "promptFeedback").get("blockReason")
        if blocked is not None and not self.stopped:
            # The question itself was filtered, so there is no candidate.
            self.stopped = True
            yield StopChunk(stop=StopReason.CONTENT_FILTER, provider_stop=text(blocked, "blockReason"))

    def _candidate(self, candidate: Mapping[str, Json]) -> Iterator[Chunk]:
        content = mapping(candidate.get("content") or {}, "a content")
        for part in items(content.get("parts"), "parts"):
            yield from self._part(mapping(part, "a part"))
        reason = text(candidate.get("finishReason"), "finishReason")
        if reason:
            yield from self._called()
            self.stopped = True
            stop = _STOPS.get(reason, StopReason.UNKNOWN)
            used = stop is StopReason.END_TURN and self._calls > 0
            yield StopChunk(stop=StopReason.TOOL_USE if used else stop, provider_stop=reason)

    def _part(self, part: Mapping[str, Json]) -> Iterator[Chunk]:
        signature = _signature(part.get("thoughtSignature"))
        if part.get("functionCall") is not None:
            call = _Call(mapping(part["functionCall"], "a call"), signature)
            if not call.name and self._call is not None:
                # A call without a name goes on with the one before it.
                self._call.arguments |= call.arguments
                return
            yield from self._called()
            self._call = call
        elif isinstance(part.get("text"), str):
            yield from self._called()
            thought = part.get("thought") is True
            yield from self._words(part["text"], signature, thought=thought)
        else:
            raise malformed(f"a part is text or a tool use, not {shortened(dict(part))}")

    def _words(self, text: str, signature: str | None, *, thought: bool) -> Iterator[Chunk]:
        if thought:
            if text or signature is not None:
                index = self._going_on("thought")
                yield ThinkingDelta(index=index, text=text, signature=signature, provider=PROVIDER)
        elif text:
            yield TextDelta(index=self._going_on("text"), text=text)
        if signature is not None:
            if not thought:
                self._index += 1
                yield ThinkingDelta(index=self._index, signature=signature, provider=PROVIDER)
            # What is signed is complete.
            self._open = None

    def _going_on(self, kind: str) -> int:
        """The index of the part that goes on, or of a new one."""
        if self._open != kind:
            self._index += 1
            self._open = kind
        return self._index

    def _called(self) -> Iterator[Chunk]:
        """The tool use that is complete now, if there is one."""
        call, self._call = self._call, None
        if call is None:
            return
        self._index += 1
        self._open = None
        digest = hashlib.sha256((self._response_id or "").encode()).hexdigest()[:16]
        yield ToolUseDelta(
            index=self._index,
            # Not every model names its calls; an id that follows from the response is as good.
            id=call.id or f"call_{digest}_{self._calls}",
            name=self._encoded.aliases.original(call.name) if call.name else None,
            input=dump_json(call.arguments).decode(),
            signature=call.signature,
            provider=PROVIDER if call.signature is not None else None,
        )
        self._calls += 1


def _usage(given: Mapping[str, Json]) -> Usage:
    said, thought = count(given.get("candidatesTokenCount")), count(given.get("thoughtsTokenCount"))
    return Usage(
        input=count(given.get("promptTokenCount")),
        # Thoughts are paid for as output and counted beside it.
        output=None if said is None and thought is None else (said or 0) + (thought or 0),
        cache_read=count(given.get("cachedContentTokenCount")),
    )


def _signature(given: Json) -> str | None:
    """A signature as base64 text, in which form it goes back; the SDK has decoded it where it reads the stream."""
    return base64.b64encode(given).decode() if isinstance(given, bytes) else text(given, "a signature")
