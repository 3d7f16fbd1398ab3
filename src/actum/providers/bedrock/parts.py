"""Single parts in the words of Converse. What has no words there is told to `refused`."""

import re
from collections.abc import Callable
from typing import Final, assert_never

from actum.base.value import Json, spelled
from actum.messages.parts import (
    CharRange,
    ChunkRange,
    Citation,
    CitationsPart,
    DocumentPart,
    ImagePart,
    PageRange,
    ToolResultPart,
)

NO_CONTENT: Final = "(no content)"

_S3: Final = re.compile(r"s3://[a-z0-9][.\-a-z0-9]{1,61}[a-z0-9](/.*)?", re.DOTALL)
_S3_CHARS: Final = 1024
_TEXT_FORMATS: Final = ("txt", "md", "csv", "html")
_NAME_CHARS: Final = 200
_UNNAMED: Final = "document"

Refused = Callable[[str], None]


class DocumentNames:
    """Names of documents as Bedrock takes them: few characters, each name once in a request.

    A name depends only on its document and those before it, so that a longer transcript begins as the shorter one did.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def name(self, part: DocumentPart) -> str:
        """The next document's name: its own where that will do, otherwise the nearest that is free."""
        plain = _plain(part.name or "")
        name, number = plain[:_NAME_CHARS].rstrip(), 1
        while name in self._taken:
            number += 1
            mark = f" ({number})"
            name = plain[: _NAME_CHARS - len(mark)].rstrip() + mark
        self._taken.add(name)
        return name


def _plain(name: str) -> str:
    # Blanks are joined at the end, since what is not allowed becomes one.
    return " ".join(re.sub(r"[^A-Za-z0-9()\[\]-]", " ", name).split()) or _UNNAMED


def image(part: ImagePart, refused: Refused) -> list[dict[str, Json]]:
    """An image block; none when it was refused."""
    if part.bytes is not None:
        if part.bytes:
            return [{"image": {"format": part.format, "source": {"bytes": part.bytes}}}]
        refused("an image has bytes")
    elif part.format is None:
        refused("an image by address is given with its format")
    else:
        place = _place(part.uri, refused)
        return [{"image": {"format": part.format, "source": place}}] if place else []
    return []


def document(part: DocumentPart, name: str, refused: Refused) -> list[dict[str, Json]]:
    """A document block under `name`; none when it was refused."""
    source = _source(part, refused)
    if not source:
        return []
    given = part.text is not None or part.chunks is not None
    made: dict[str, Json] = {"name": name, "source": source}
    if not given or part.format in _TEXT_FORMATS:
        made["format"] = part.format
    if part.context is not None and part.context.strip():
        made["context"] = part.context
    if part.cite:
        made["citations"] = {"enabled": True}
    return [{"document": made}]


def _source(part: DocumentPart, refused: Refused) -> dict[str, Json]:
    if part.uri is not None:
        return _place(part.uri, refused)
    if part.bytes is not None:
        if part.bytes:
            return {"bytes": part.bytes}
        refused("a document has bytes")
    elif part.text is not None:
        if part.text.strip():
            return {"text": part.text}
        refused("a document's text is not blank")
    elif part.chunks and all(chunk.strip() for chunk in part.chunks):
        return {"content": [{"text": chunk} for chunk in part.chunks]}
    else:
        refused("a document has chunks, and none of them is blank")
    return {}


def _place(uri: str | None, refused: Refused) -> dict[str, Json]:
    if uri is not None and len(uri) <= _S3_CHARS and _S3.fullmatch(uri):
        return {"s3Location": {"uri": uri}}
    refused("Bedrock takes an address only in S3: `s3://bucket/key`")
    return {}


def result_body(part: ToolResultPart) -> tuple[list[dict[str, Json]], str | None]:
    """The blocks of a result's content, and why they do not say just that; its attachments are not among them."""
    content = part.content
    if isinstance(content, dict):
        return [{"json": content}], None
    if content is None and part.attachments:
        return [], None
    if content is None or (isinstance(content, str) and not content.strip()):
        return [{"text": NO_CONTENT}], "an empty result says so"
    if isinstance(content, str):
        return [{"text": content}], None
    return [{"text": spelled(content).decode()}], "a result that is no object is sent as its JSON text"


def citations(part: CitationsPart) -> dict[str, Json]:
    """A block of text with its citations."""
    found = [_citation(each) for each in part.citations]
    return {"citationsContent": {"content": [{"text": part.text}], "citations": found}}


def _citation(citation: Citation) -> dict[str, Json]:
    made: dict[str, Json] = {}
    if citation.title is not None:
        made["title"] = citation.title
    if citation.source is not None:
        made["source"] = citation.source
    if citation.excerpt is not None and citation.excerpt.strip():
        made["sourceContent"] = [{"text": citation.excerpt}]
    at = citation.location
    if at is not None:
        made["location"] = {_kind(at): {"start": at.start, "end": at.end}}
    return made


def _kind(at: CharRange | ChunkRange | PageRange) -> str:
    match at:
        case CharRange():
            return "documentChar"
        case ChunkRange():
            return "documentChunk"
        case PageRange():
            return "documentPage"
        case _:
            assert_never(at)
