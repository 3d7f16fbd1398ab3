"""Single parts in the words of Chat Completions. What has no words there is refused."""

import base64
from collections.abc import Iterable
from typing import assert_never

from actum.base.errors import ProviderError
from actum.base.value import Json, dump_json
from actum.messages.parts import CitationsPart, DocumentPart, ImagePart, TextPart, ToolResultPart

NO_CONTENT = "(no content)"

_TEXT_FORMATS = ("txt", "md", "csv", "html")
_DETAILS = ("auto", "low", "high")


def refusal(says: str, message_index: int | None = None, part_index: int | None = None) -> ProviderError:
    """The error for a request that Chat Completions cannot express; raised before any network call."""
    where = "" if message_index is None else f"message {message_index}: "
    where += "" if part_index is None else f"part {part_index}: "
    return ProviderError(kind="model_request", message=where + says, provider="openai-chat", operation="encode")


def text_part(text: str) -> dict[str, Json]:
    """A block of text."""
    return {"type": "text", "text": text}


def content_of(blocks: list[dict[str, Json]]) -> Json:
    """A message's content: a plain text where there is nothing else, as every compatible server takes it."""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0]["type"] == "text" else blocks


def user_blocks(
    part: TextPart | CitationsPart | ImagePart | DocumentPart, message_index: int, part_index: int
) -> list[dict[str, Json]]:
    """The blocks of a user message's part; none for blank text."""
    match part:
        case TextPart() | CitationsPart():
            return [text_part(part.text)] if part.text.strip() else []
        case ImagePart():
            return [_image(part, message_index, part_index)]
        case DocumentPart():
            return _document(part, message_index, part_index)
        case _:
            assert_never(part)


def result_text(result: ToolResultPart) -> str:
    """The body of a `tool` message: never blank. An error says so, for Chat Completions has no mark for it."""
    content = result.content
    if result.is_error and not (isinstance(content, dict) and "error" in content):
        content = {"error": content}
    if content is None:
        return NO_CONTENT
    text = content if isinstance(content, str) else dump_json(content).decode()
    return text if text.strip() else NO_CONTENT


def _image(part: ImagePart, message_index: int, part_index: int) -> dict[str, Json]:
    if part.bytes is not None:
        url = _data_url(f"image/{part.format}", part.bytes)
    elif part.uri is not None and part.uri.lower().startswith(("https://", "http://", "data:image/")):
        url = part.uri
    else:
        raise refusal("an image is given as bytes or as an http(s) address", message_index, part_index)
    detail = (part.metadata or {}).get("detail")
    return {"type": "image_url", "image_url": {"url": url, **({"detail": detail} if detail in _DETAILS else {})}}


def _document(part: DocumentPart, message_index: int, part_index: int) -> list[dict[str, Json]]:
    name = part.name or f"document.{part.format}"
    about = f"Document {name}:" if part.context is None else f"Document {name} ({part.context}):"
    if part.bytes is not None and part.format == "pdf":
        file = {"filename": name, "file_data": _data_url("application/pdf", part.bytes)}
        return [*_lines([part.context or ""]), {"type": "file", "file": file}]
    if part.text is not None:
        return _lines([about, part.text])
    if part.chunks is not None:
        return _lines([about, *part.chunks])
    if part.bytes is not None and part.format in _TEXT_FORMATS:
        try:
            return _lines([about, part.bytes.decode()])
        except UnicodeDecodeError:
            raise refusal(f"a {part.format} document is UTF-8 text", message_index, part_index) from None
    how = "by address" if part.uri is not None else f"of format {part.format}"
    raise refusal(f"Chat Completions takes no document {how}", message_index, part_index)


def _lines(texts: Iterable[str]) -> list[dict[str, Json]]:
    return [text_part(text) for text in texts if text.strip()]


def _data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
