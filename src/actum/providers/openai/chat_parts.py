"""Single parts in the words of Chat Completions. What has no words there is refused."""

from collections.abc import Callable
from typing import Final, assert_never

from actum.base.value import Json
from actum.messages.parts import CitationsPart, DocumentPart, ImagePart, TextPart
from actum.providers.openai.forms import data_url, document_texts, image_url

_DETAILS: Final = ("auto", "low", "high")


def text_part(text: str) -> dict[str, Json]:
    """A block of text."""
    return {"type": "text", "text": text}


def content_of(blocks: list[dict[str, Json]]) -> Json:
    """A message's content: a plain text where there is nothing else, as every compatible server takes it."""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0]["type"] == "text" else blocks


def user_blocks(
    part: TextPart | CitationsPart | ImagePart | DocumentPart, refused: Callable[[str], None]
) -> list[dict[str, Json]]:
    """The blocks of a user message's part; none for blank text, and none for what `refused` was told about."""
    match part:
        case TextPart() | CitationsPart():
            return [text_part(part.text)] if part.text.strip() else []
        case ImagePart():
            return _image(part, refused)
        case DocumentPart():
            return _document(part, refused)
        case _:
            assert_never(part)


def _image(part: ImagePart, refused: Callable[[str], None]) -> list[dict[str, Json]]:
    url = image_url(part)
    if url is None:
        refused("an image is given as bytes or as an http(s) address")
        return []
    detail = (part.metadata or {}).get("detail")
    return [{"type": "image_url", "image_url": {"url": url, **({"detail": detail} if detail in _DETAILS else {})}}]


def _document(part: DocumentPart, refused: Callable[[str], None]) -> list[dict[str, Json]]:
    if part.bytes is not None and part.format == "pdf":
        name = part.name or "document.pdf"
        context = [text_part(part.context)] if part.context is not None and part.context.strip() else []
        return [
            *context,
            {"type": "file", "file": {"filename": name, "file_data": data_url("application/pdf", part.bytes)}},
        ]
    texts = document_texts(part)
    if isinstance(texts, str):
        refused(texts)
        return []
    return [text_part(text) for text in texts]
