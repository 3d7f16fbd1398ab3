"""Chunks -> response, a pure fold: a streamed answer ends in the very value that a whole one is.

An answer without a StopChunk was interrupted: what is left of it is its text, marked `partial`, and never a tool use.
"""

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar, assert_never

from actum.base.checks import refuse
from actum.base.errors import InvalidValue, ModelError, shortened
from actum.base.value import verbatim
from actum.messages.message import Message, Role, assistant
from actum.messages.parts import Citation, CitationsPart, Part, TextPart, ThinkingPart, ToolUsePart
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

T = TypeVar("T")

_NOBODY: Final = ResponseStarted()
_UNCOUNTED: Final = Usage()


def fold(chunks: Iterable[Chunk]) -> ModelResponse:
    """The response that these chunks are. Raises ModelError when they do not belong together."""
    folding = ResponseFold()
    for chunk in chunks:
        folding.add(chunk)
    return folding.response()


def tool_use_of(
    id: str, name: str, text: str, *, signature: str | None = None, provider: str | None = None
) -> ToolUsePart:
    """A model's tool use from the text of its input, kept byte for byte: `input_text` when it is no JSON object."""
    try:
        given = verbatim(text.encode())
        return ToolUsePart(id=id, name=name, input=given, signature=signature, provider=provider)
    except (InvalidValue, UnicodeEncodeError):
        return ToolUsePart(id=id, name=name, input_text=text, signature=signature, provider=provider)


def remainder_of(message: Message) -> Message | None:
    """What is kept of an answer that was cut or broke off: its text, marked `meta.partial`; None without any."""
    texts = tuple(part for part in message.parts if isinstance(part, TextPart | CitationsPart) and part.text.strip())
    return Message(role=message.role, parts=texts, meta={"partial": True}) if texts else None


class _Block:
    """One part of an answer while it grows."""

    __slots__ = ("citations", "id", "kind", "name", "provider", "redacted", "signatures", "texts")

    def __init__(self, kind: type[TextDelta | ThinkingDelta | ToolUseDelta]) -> None:
        self.kind = kind
        self.texts: list[str] = []
        self.citations: list[Citation] = []
        self.signatures: list[str] = []
        self.redacted: bytes | None = None
        self.id: str | None = None
        self.name: str | None = None
        self.provider: str | None = None

    def part(self, *, whole: bool = True) -> Part:
        text = _joined(self.texts, whole=whole)
        if self.kind is TextDelta:
            cited = tuple(self.citations)
            return CitationsPart(text=text, citations=cited) if cited else TextPart(text=text)
        signature = _joined(self.signatures) if self.signatures else None
        if self.kind is ThinkingDelta:
            if self.redacted is not None:
                return ThinkingPart(redacted=self.redacted, provider=self.provider)
            return ThinkingPart(text=text, signature=signature, provider=self.provider)
        if not self.id or not self.name:
            raise _malformed(f"a tool use came without its {'name' if self.id else 'id'}")
        return tool_use_of(self.id, self.name, text, signature=signature, provider=self.provider)


class ResponseFold:
    """Takes chunks as they come; `response` may be asked at any time and says what came so far."""

    def __init__(self) -> None:
        self._about = _NOBODY
        self._blocks: dict[int, _Block] = {}
        self._refusal: list[str] = []
        self._stop: StopChunk | None = None
        self.usage = _UNCOUNTED
        self.began = False

    def add(self, chunk: Chunk) -> None:
        """Take the next chunk. Raises ModelError when it does not fit those before."""
        self.began = True
        # The pieces come first: of them there are many. Asked one by one, for a pattern costs twice as much.
        if isinstance(chunk, TextDelta):
            self._block(chunk.index, TextDelta).texts.append(chunk.text)
        elif isinstance(chunk, ToolUseDelta):
            self._add_tool_use(chunk)
        elif isinstance(chunk, ThinkingDelta):
            self._add_thinking(chunk)
        elif isinstance(chunk, ResponseStarted):
            self._about = chunk if self._about is _NOBODY else _better_known(self._about, chunk)
        elif isinstance(chunk, StopChunk):
            self._stop = chunk
        elif isinstance(chunk, UsageChunk):
            # Providers repeat their counts; each one replaces the count before and is never added to it.
            self.usage = chunk.usage if self.usage is _UNCOUNTED else _better_counted(self.usage, chunk.usage)
        elif isinstance(chunk, RefusalDelta):
            self._refusal.append(chunk.text)
        elif isinstance(chunk, CitationDelta):
            self._block(chunk.index, TextDelta).citations.append(chunk.citation)
        else:
            assert_never(chunk)

    def response(self) -> ModelResponse:
        """The whole answer after a StopChunk, otherwise the same as `partial`."""
        if self._stop is None:
            return self.partial()
        parts = tuple([self._blocks[index].part() for index in sorted(self._blocks)])
        message = Message(role=Role.ASSISTANT, parts=parts)
        return self._response(message, self._stop.stop, self._stop.provider_stop)

    def partial(self) -> ModelResponse:
        """The answer as one that broke off here: its text so far, and never a tool use."""
        texts = (block.part(whole=False) for _, block in sorted(self._blocks.items()) if block.kind is TextDelta)
        return self._response(remainder_of(assistant(*texts)) or assistant(), StopReason.INTERRUPTED, None)

    def _response(self, message: Message, stop: StopReason, provider_stop: str | None) -> ModelResponse:
        return ModelResponse(
            message=message,
            stop=stop,
            provider_stop=provider_stop,
            usage=self.usage,
            response_id=self._about.response_id,
            model=self._about.model,
            provider=self._about.provider,
            refusal=_joined(self._refusal, whole=False) if self._refusal else None,
            projections=self._about.projections,
        )

    def _block(self, index: int, kind: type[TextDelta | ThinkingDelta | ToolUseDelta]) -> _Block:
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = _Block(kind)
        if block.kind is not kind:
            raise _malformed(f"part {index} changed its kind in the middle of the stream")
        return block

    def _add_thinking(self, chunk: ThinkingDelta) -> None:
        block = self._block(chunk.index, ThinkingDelta)
        block.provider = chunk.provider or block.provider
        block.texts.append(chunk.text)
        if chunk.signature is not None:
            block.signatures.append(chunk.signature)
        if chunk.redacted is not None:
            block.redacted = chunk.redacted

    def _add_tool_use(self, chunk: ToolUseDelta) -> None:
        block = self._block(chunk.index, ToolUseDelta)
        if block.id != chunk.id:
            block.id = _once(chunk.index, "id", block.id, chunk.id)
        if block.name != chunk.name:
            block.name = _once(chunk.index, "name", block.name, chunk.name)
        if block.provider != chunk.provider:
            block.provider = _once(chunk.index, "provider", block.provider, chunk.provider)
        block.texts.append(chunk.input)
        if chunk.signature is not None:
            block.signatures.append(chunk.signature)


def chunks_of(response: ModelResponse) -> Iterator[Chunk]:
    """A response as a stream of whole parts, of which `fold` makes the same response again.

    Raises InvalidValue for a part that no stream carries.
    """
    yield ResponseStarted(
        response_id=response.response_id,
        model=response.model,
        provider=response.provider,
        projections=response.projections,
    )
    for index, part in enumerate(response.message.parts):
        yield from _deltas(index, part)
    if response.refusal is not None:
        yield RefusalDelta(text=response.refusal)
    yield UsageChunk(usage=response.usage)
    if response.stop is not StopReason.INTERRUPTED:
        yield StopChunk(stop=response.stop, provider_stop=response.provider_stop)


def _deltas(index: int, part: Part) -> Iterator[Chunk]:
    match part:
        case TextPart():
            yield TextDelta(index=index, text=part.text)
        case CitationsPart():
            yield TextDelta(index=index, text=part.text)
            for citation in part.citations:
                yield CitationDelta(index=index, citation=citation)
        case ThinkingPart():
            yield ThinkingDelta(
                index=index,
                text=part.text or "",
                signature=part.signature,
                redacted=part.redacted,
                provider=part.provider,
            )
        case ToolUsePart():
            text = part.input_text if part.input_text is not None else bytes(part.input).decode()
            yield ToolUseDelta(
                index=index, id=part.id, name=part.name, input=text, signature=part.signature, provider=part.provider
            )
        case _:
            raise refuse(f"message.parts[{index}]", part, "is text, citations, thinking or a tool use")


def _better_known(before: ResponseStarted, after: ResponseStarted) -> ResponseStarted:
    """`before` with what `after` knows."""
    return ResponseStarted(
        response_id=_newer(before.response_id, after.response_id),
        model=_newer(before.model, after.model),
        provider=_newer(before.provider, after.provider),
        projections=after.projections or before.projections,
    )


def _better_counted(before: Usage, after: Usage) -> Usage:
    """`before` with what `after` has counted."""
    return Usage(
        input=_newer(before.input, after.input),
        output=_newer(before.output, after.output),
        cache_read=_newer(before.cache_read, after.cache_read),
        cache_write=_newer(before.cache_write, after.cache_write),
    )


def _newer(before: T | None, after: T | None) -> T | None:
    return before if after is None else after


def _once(index: int, name: str, known: str | None, given: str | None) -> str | None:
    """What is told once of a tool use; told again, it is the same."""
    if given and known and given != known:
        raise _malformed(f"tool use {index} changed its {name} from {shortened(known)} to {shortened(given)}")
    return known or given


def _joined(texts: list[str], *, whole: bool = True) -> str:
    """The texts as one; a character whose two halves came in two chunks is whole again.

    A half without its other half is malformed, and left out of a text that is not `whole` because it broke off there.
    """
    text = "".join(texts)
    if text.isascii():
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "strict" if whole else "ignore")
    except UnicodeDecodeError:
        raise _malformed("a text held half a character") from None


def _malformed(says: str) -> ModelError:
    return ModelError(kind="malformed_response", message=says)
