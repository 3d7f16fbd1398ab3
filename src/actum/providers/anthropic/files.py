"""Images and documents as blocks of the Messages API. What has no form there is None, with the reason."""

import base64
from typing import Final

from actum.base.value import Json
from actum.messages.parts import DocumentPart, ImagePart

_TEXT_FORMATS: Final = ("txt", "md", "csv", "html")


def image_block(part: ImagePart) -> dict[str, Json] | str:
    """The block, or why there is none."""
    if part.bytes is not None:
        data = base64.b64encode(part.bytes).decode()
        return {"type": "image", "source": {"type": "base64", "media_type": f"image/{part.format}", "data": data}}
    if _is_web(part.uri):
        return {"type": "image", "source": {"type": "url", "url": part.uri}}
    return "an image is given as bytes or as an http(s) address"


def document_block(part: DocumentPart) -> dict[str, Json] | str:
    """The block, or why there is none."""
    source = _source(part)
    if isinstance(source, str):
        return source
    block: dict[str, Json] = {"type": "document", "source": source}
    if part.name is not None and part.name.strip():
        block["title"] = part.name
    if part.context is not None and part.context.strip():
        block["context"] = part.context
    if part.cite:
        block["citations"] = {"enabled": True}
    return block


def _source(part: DocumentPart) -> dict[str, Json] | str:
    if part.chunks is not None:
        if not part.chunks or not all(chunk.strip() for chunk in part.chunks):
            return "the chunks of a document are not blank: one that is left out would move the others"
        return {"type": "content", "content": [{"type": "text", "text": chunk} for chunk in part.chunks]}
    if part.format == "pdf" and part.bytes is not None:
        data = base64.b64encode(part.bytes).decode()
        return {"type": "base64", "media_type": "application/pdf", "data": data}
    if part.format == "pdf" and _is_web(part.uri):
        return {"type": "url", "url": part.uri}
    text = part.text
    if part.bytes is not None and part.format in _TEXT_FORMATS:
        try:
            text = part.bytes.decode()
        except UnicodeDecodeError:
            return f"a {part.format} document is UTF-8 text"
    if text is None:
        return (
            f"Anthropic takes no document {'by this address' if part.uri is not None else f'of format {part.format}'}"
        )
    if not text.strip():
        return "a document is not blank"
    return {"type": "text", "media_type": "text/plain", "data": text}


def _is_web(uri: str | None) -> bool:
    return uri is not None and uri.lower().startswith(("https://", "http://"))
