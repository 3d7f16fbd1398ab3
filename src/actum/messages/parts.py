"""The eight parts of a message as tagged values. Their order in a message is sacred; their bytes are kept as given.

In JSON a part is an object whose `type` names it; fields at their default are left out, unknown ones are refused.
"""

from typing import Literal, TypeAlias

from actum.base.checks import count, refuse
from actum.base.value import ABSENT, Json, Value, Verbatim, dump_json, in_utf8, load_json

Bytes: TypeAlias = bytes
ImageFormat = Literal["png", "jpeg", "gif", "webp"]
DocumentFormat = Literal["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"]


class TextPart(Value, tag_field="type", tag="text"):
    """Plain text."""

    text: str


class ThinkingPart(Value, tag_field="type", tag="thinking"):
    """A model's reasoning: `text` with its `signature`, or `redacted` bytes that only the provider reads.

    Goes back byte for byte to the provider that made it; never a part of answer text.
    """

    text: str | None = None
    signature: str | None = None
    redacted: Bytes | None = None
    provider: str | None = None

    def __post_init__(self) -> None:
        _one_of(text=self.text, redacted=self.redacted)
        if self.signature is not None and self.text is None:
            raise refuse("signature", self.signature, "stands with text, not with redacted bytes")


class ImagePart(Value, tag_field="type", tag="image"):
    """An image as `bytes` with their `format`, or as a `uri`."""

    bytes: Bytes | None = None
    uri: str | None = None
    format: ImageFormat | None = None
    metadata: dict[str, Json] | None = None

    def __post_init__(self) -> None:
        _one_of(bytes=self.bytes, uri=self.uri)
        if self.bytes is not None and self.format is None:
            raise refuse("format", None, "is given for an image's bytes")


class DocumentPart(Value, tag_field="type", tag="document"):
    """A document as `bytes`, `text`, `chunks` of text, or a `uri`; `cite` asks the model to cite it."""

    format: DocumentFormat
    bytes: Bytes | None = None
    text: str | None = None
    chunks: tuple[str, ...] | None = None
    uri: str | None = None
    name: str | None = None
    context: str | None = None
    cite: bool = False

    def __post_init__(self) -> None:
        _one_of(bytes=self.bytes, text=self.text, chunks=self.chunks, uri=self.uri)


class CharRange(Value, tag_field="type", tag="char"):
    """Characters `start` to `end` (exclusive) of a document."""

    start: int
    end: int

    def __post_init__(self) -> None:
        _range(self.start, self.end)


class ChunkRange(Value, tag_field="type", tag="chunk"):
    """Chunks `start` to `end` (exclusive) of a document."""

    start: int
    end: int

    def __post_init__(self) -> None:
        _range(self.start, self.end)


class PageRange(Value, tag_field="type", tag="page"):
    """Pages `start` to `end` (exclusive) of a document, counted from 1."""

    start: int
    end: int

    def __post_init__(self) -> None:
        _range(self.start, self.end)


class Citation(Value):
    """What a text stands on: a document's title or source, the place in it, and the words found there."""

    title: str | None = None
    source: str | None = None
    location: CharRange | ChunkRange | PageRange | None = None
    excerpt: str | None = None


class CitationsPart(Value, tag_field="type", tag="citations"):
    """Text of an answer with the citations that support it."""

    text: str
    citations: tuple[Citation, ...] = ()


class ToolUsePart(Value, tag_field="type", tag="tool_use"):
    """A model's wish to use a tool: `input` is its JSON object, verbatim; `input_text` is what was no JSON object.

    A tool use with `input_text` is never run; it is answered with the failure `invalid_call`.
    """

    id: str
    name: str
    input: Verbatim = ABSENT
    input_text: str | None = None
    signature: str | None = None
    provider: str | None = None

    def __post_init__(self) -> None:
        given = in_utf8("input", self.input)
        if bool(given) == (self.input_text is not None):
            raise refuse("input", given, "is given exactly when input_text is not")
        if given and not given.lstrip(b" \t\r\n").startswith(b"{"):
            raise refuse("input", given, "is a JSON object; anything else stands in input_text")

    @property
    def arguments(self) -> dict[str, Json]:
        """The decoded input. Raises InvalidValue when the model's input was malformed."""
        if self.input_text is not None:
            raise refuse("input_text", self.input_text, "is a JSON object")
        arguments: dict[str, Json] = load_json(bytes(self.input))
        return arguments


class ToolResultPart(Value, tag_field="type", tag="tool_result"):
    """The answer to one tool use: any JSON `content`, images and documents as `attachments`."""

    tool_use_id: str
    content: Json = None
    attachments: tuple[ImagePart | DocumentPart, ...] = ()
    is_error: bool = False


class CacheCheckpointPart(Value, tag_field="type", tag="cache_checkpoint"):
    """A mark: a provider may cache all that stands before it."""


# One part of a message; its `type` tells which.
Part: TypeAlias = (
    TextPart
    | ThinkingPart
    | ImagePart
    | DocumentPart
    | CitationsPart
    | ToolUsePart
    | ToolResultPart
    | CacheCheckpointPart
)


def tool_use(id: str, name: str, arguments: dict[str, Json]) -> ToolUsePart:
    """A tool use from decoded `arguments`. Raises InvalidValue when they are no JSON object."""
    return ToolUsePart(id=id, name=name, input=Verbatim(dump_json(arguments)))


def _range(start: object, end: object) -> None:
    if count("start", start) > count("end", end):
        raise refuse("end", end, "does not lie before the start")


def _one_of(**given: object) -> None:
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise refuse(next(iter(given)), named, f"is given so that exactly one of {', '.join(given)} is")
