"""What both of OpenAI's interfaces say in one way: addresses of images, documents as text, results as text."""

import base64
from typing import Final

from actum.base.value import spelled
from actum.messages.parts import DocumentPart, ImagePart, ToolResultPart, ToolUsePart

NO_CONTENT: Final = "(no content)"

_TEXT_FORMATS: Final = ("txt", "md", "csv", "html")


def image_url(part: ImagePart) -> str | None:
    """The image as an address; None when its own address is none that OpenAI reads."""
    if part.bytes is not None:
        return data_url(f"image/{part.format}", part.bytes)
    return part.uri if is_web(part.uri) or (part.uri or "").lower().startswith("data:image/") else None


def is_web(uri: str | None) -> bool:
    """Whether OpenAI can fetch what lies there."""
    return uri is not None and uri.lower().startswith(("https://", "http://"))


def data_url(kind: str, data: bytes) -> str:
    """Bytes as an address."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def document_texts(part: DocumentPart) -> list[str] | str:
    """A document as texts under its name; a text that says why when it cannot be said so."""
    name = part.name or f"document.{part.format}"
    about = f"Document {name}:" if part.context is None else f"Document {name} ({part.context}):"
    texts: tuple[str, ...]
    if part.text is not None:
        texts = (part.text,)
    elif part.chunks is not None:
        texts = part.chunks
    elif part.bytes is not None and part.format in _TEXT_FORMATS:
        try:
            texts = (part.bytes.decode(),)
        except UnicodeDecodeError:
            return f"a {part.format} document is UTF-8 text"
    else:
        return f"OpenAI takes no document {'by address' if part.uri is not None else f'of format {part.format}'} here"
    return [about, *(text for text in texts if text.strip())]


def result_text(result: ToolResultPart) -> str:
    """The text of a tool's result: never blank. An error says so, for OpenAI has no mark for it."""
    content = result.content
    if result.is_error and not (isinstance(content, dict) and "error" in content):
        content = {"error": content}
    if content is None:
        return NO_CONTENT
    text = content if isinstance(content, str) else spelled(content).decode()
    return text if text.strip() else NO_CONTENT


def result_is_said_otherwise(result: ToolResultPart) -> str | None:
    """Why the text of this result is not the content itself; None when it is."""
    if result.is_error:
        return "a failed tool's result says in its text that it is an error"
    return "an empty result says so" if result_text(result) == NO_CONTENT != result.content else None


def input_of(use: ToolUsePart) -> str:
    """A tool use's input in the model's own spelling, malformed or not."""
    return bytes(use.input).decode() if use.input_text is None else use.input_text
