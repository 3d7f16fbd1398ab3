"""Responses answers -> response and chunks. A whole answer is read as the last event of a stream, so both end alike.

Each item of the output is told once whole, when it is done; what was streamed of it before is its beginning, so only
the rest is told then. A server that sends no pieces, or no finished items, is understood too.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from actum.base.errors import ProviderError, shortened
from actum.base.value import Json
from actum.messages.parts import Citation
from actum.model.encoded import Encoded
from actum.model.fold import ResponseFold
from actum.model.reading import count, malformed, mapping, objects, text
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
from actum.providers.openai.codes import of_code
from actum.providers.openai.reasoning import BETWEEN, shown, signature_of
from actum.providers.openai.responses import PROVIDER

# Where the parts of the next item of the output begin; no item has as many.
_ITEM: Final = 1 << 16
_ENDS: Final = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_INCOMPLETE: Final = {
    "max_output_tokens": StopReason.LENGTH,
    "content_filter": StopReason.CONTENT_FILTER,
}


def decode_responses(answer: Json, encoded: Encoded) -> ModelResponse:
    """The response in a whole answer. Raises ModelError, kind `malformed_response`; ProviderError for a failed one."""
    decoder, folding = ResponsesDecoder(encoded), ResponseFold()
    if not isinstance(mapping(answer, "the answer").get("output"), list):
        raise malformed("the answer has no output")
    for chunk in (*decoder.begin(), *decoder.whole(answer)):
        folding.add(chunk)
    return folding.response()


class ResponsesDecoder:
    """Reads the events of one streamed answer, one after the other."""

    def __init__(self, encoded: Encoded) -> None:
        self._encoded = encoded
        # The answer's id and its model, as soon as each is known.
        self._about: tuple[str | None, str | None] = (None, None)
        self._refused = False
        self._called = False
        # What was told of each part: its text, or its tool's input.
        self._told: dict[int, str] = {}
        self._refusals: dict[int, str] = {}
        self._summaries: dict[int, int] = {}
        self._items: dict[str, int] = {}
        self._done: set[int] = set()

    def begin(self) -> Iterator[Chunk]:
        """What is known before the first event."""
        yield ResponseStarted(provider=PROVIDER, projections=self._encoded.projections)

    def event(self, event: Json) -> Iterator[Chunk]:
        """The chunks in one event. Raises ModelError, kind `malformed_response`; ProviderError for a failed answer."""
        given = mapping(event, "an event")
        kind = text(given.get("type"), "an event's type") or ""
        if kind in _ENDS:
            yield from self.whole(given.get("response"))
        elif kind == "error":
            raise _failed(given)
        elif isinstance(given.get("response"), dict):
            yield from self._start(given["response"])
        elif kind == "response.output_item.done":
            yield from self._item(self._place(given), mapping(given.get("item"), "an item"))
        elif kind == "response.output_item.added":
            yield from self._began(self._place(given), mapping(given.get("item"), "an item"))
        elif kind.endswith(".delta"):
            yield from self._piece(kind, given)

    def whole(self, answer: Json) -> Iterator[Chunk]:
        """The end of an answer, or all of it."""
        given = mapping(answer, "the answer")
        if given.get("status") == "failed":
            raise _failed(mapping(given.get("error") or {}, "error"))
        yield from self._start(given)
        for index, item in enumerate(objects(given.get("output"), "output")):
            yield from self._item(index * _ITEM, item)
        if given.get("usage") is not None:
            yield UsageChunk(usage=_usage(mapping(given["usage"], "usage")))
        details = mapping(given.get("incomplete_details") or {}, "incomplete_details")
        status, reason = text(given.get("status"), "status"), text(details.get("reason"), "reason")
        yield StopChunk(stop=self._stop(status, reason), provider_stop=reason or status)

    def _place(self, event: Mapping[str, Json]) -> int:
        """Where the item of an event begins: at its index, or, where a server gives none, by when its id came first."""
        item = event.get("item")
        named = item.get("id") if isinstance(item, dict) else event.get("item_id")
        index = count(event.get("output_index"))
        if index is None:
            if not isinstance(named, str):
                raise malformed("an event names no item")
            index = self._items.get(named, len(self._items))
        if isinstance(named, str):
            self._items.setdefault(named, index)
        return index * _ITEM

    def _stop(self, status: str | None, reason: str | None) -> StopReason:
        if status == "incomplete":
            return _INCOMPLETE.get(reason or "", StopReason.UNKNOWN)
        if status != "completed":
            return StopReason.UNKNOWN
        if self._refused:
            return StopReason.REFUSAL
        return StopReason.TOOL_USE if self._called else StopReason.END_TURN

    def _start(self, answer: Mapping[str, Json]) -> list[Chunk]:
        response_id, model = text(answer.get("id"), "id"), text(answer.get("model"), "model")
        told = self._about
        self._about = (told[0] or response_id or None, told[1] or model or None)
        if self._about == told:
            return []
        return [ResponseStarted(response_id=self._about[0], model=self._about[1])]

    def _began(self, place: int, item: Mapping[str, Json]) -> Iterator[Chunk]:
        if item.get("type") == "function_call" and place not in self._told:
            yield self._call(place, item, "")

    def _piece(self, kind: str, given: Mapping[str, Json]) -> Iterator[Chunk]:
        place, piece = self._place(given), text(given.get("delta"), "a delta") or ""
        inside = count(given.get("content_index")) or 0
        if kind == "response.output_text.delta":
            yield from self._text(place + inside, self._told.get(place + inside, "") + piece)
        elif kind == "response.refusal.delta":
            yield from self._refusal(place + inside, self._refusals.get(place + inside, "") + piece)
        elif kind == "response.function_call_arguments.delta":
            yield self._input(place, self._told.get(place, "") + piece)
        elif kind == "response.reasoning_summary_text.delta":
            # Open reasoning is told with its item: it stands behind the summaries, which may come later.
            summary = count(given.get("summary_index")) or 0
            gap = BETWEEN * (summary - self._summaries.get(place, 0))
            self._summaries[place] = summary
            yield from self._thought(place, self._told.get(place, "") + gap + piece)

    def _item(self, place: int, item: Mapping[str, Json]) -> list[Chunk]:
        """All of an item that was not told yet."""
        if place in self._done:
            return []
        self._done.add(place)
        kind = item.get("type")
        if kind == "message":
            blocks = enumerate(objects(item.get("content"), "content"))
            return [chunk for inside, block in blocks for chunk in self._block(place + inside, block)]
        if kind == "function_call":
            spelled = text(item.get("arguments"), "arguments") or ""
            return [self._call(place, item, spelled)]
        if kind == "reasoning":
            for each in (*objects(item.get("summary"), "summary"), *objects(item.get("content"), "content")):
                if not isinstance(each.get("text"), str):
                    raise malformed("reasoning is text")
            thought = self._thought(place, shown(item))
            return [*thought, ThinkingDelta(index=place, signature=signature_of(item), provider=PROVIDER)]
        raise malformed(f"no part holds an output item of type {shortened(kind)}")

    def _block(self, place: int, block: Mapping[str, Json]) -> list[Chunk]:
        kind = block.get("type")
        if kind == "refusal":
            return self._refusal(place, text(block.get("refusal"), "a refusal") or "")
        if kind != "output_text":
            raise malformed(f"no part holds content of type {shortened(kind)}")
        found = self._text(place, text(block.get("text"), "text") or "")
        for annotation in objects(block.get("annotations"), "annotations"):
            found.append(CitationDelta(index=place, citation=_citation(annotation)))
        return found

    def _text(self, place: int, whole: str) -> list[Chunk]:
        rest = self._rest(self._told, place, whole)
        return [TextDelta(index=place, text=rest)] if rest else []

    def _refusal(self, place: int, whole: str) -> list[Chunk]:
        self._refused = True
        rest = self._rest(self._refusals, place, whole)
        return [RefusalDelta(text=rest)] if rest else []

    def _thought(self, place: int, whole: str) -> list[Chunk]:
        rest = self._rest(self._told, place, whole)
        return [ThinkingDelta(index=place, text=rest, provider=PROVIDER)] if rest else []

    def _input(self, place: int, whole: str) -> ToolUseDelta:
        return ToolUseDelta(index=place, input=self._rest(self._told, place, whole))

    def _call(self, place: int, item: Mapping[str, Json], whole: str) -> ToolUseDelta:
        self._called = True
        name = text(item.get("name"), "a function's name")
        return ToolUseDelta(
            index=place,
            id=text(item.get("call_id"), "call_id"),
            name=self._encoded.aliases.original(name) if name else None,
            input=self._rest(self._told, place, whole),
        )

    def _rest(self, told: dict[int, str], place: int, whole: str) -> str:
        before = told.get(place, "")
        if not whole.startswith(before):
            raise malformed("a finished item is not what was streamed of it")
        told[place] = whole
        return whole[len(before) :]


def _citation(annotation: Mapping[str, Json]) -> Citation:
    title = text(annotation.get("title"), "title") or text(annotation.get("filename"), "filename")
    source = text(annotation.get("url"), "url") or text(annotation.get("file_id"), "file_id")
    return Citation(title=title, source=source)


def _usage(given: Mapping[str, Json]) -> Usage:
    details = given.get("input_tokens_details")
    inside = details if isinstance(details, dict) else {}
    return Usage(
        input=count(given.get("input_tokens")),
        output=count(given.get("output_tokens")),
        cache_read=count(inside.get("cached_tokens")),
        cache_write=count(inside.get("cache_write_tokens")),
    )


def _failed(error: Mapping[str, Json]) -> ProviderError:
    code, says = text(error.get("code"), "code"), text(error.get("message"), "message")
    kind, retryable = of_code(code)
    return ProviderError(
        kind=kind,
        message=says or "the answer failed",
        provider=PROVIDER,
        operation="answer",
        provider_code=code,
        retryable=retryable,
    )
