"""Single parts in the words of Gemini. What has no words there is told to `refused`."""

import base64
from collections.abc import Callable
from typing import Final

from actum.base.errors import InvalidValue
from actum.base.value import Json, spelled
from actum.messages.parts import DocumentPart, ImagePart, ToolResultPart, ToolUsePart

# Gemini reads every number as a double, in which larger integers have neighbours that look alike.
EXACT: Final = 2**53

_MIME: Final = {
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
}
_ADDRESSES: Final = ("https://", "http://", "gs://")

Refused = Callable[[str], None]


def text_part(text: str) -> dict[str, Json]:
    """A part of text."""
    return {"text": text}


def image(part: ImagePart, refused: Refused) -> list[dict[str, Json]]:
    """An image; none when it was refused."""
    kind = None if part.format is None else f"image/{part.format}"
    if part.bytes is not None:
        return [_inline(str(kind), part.bytes)]
    return _file(part.uri or "", kind, refused)


def document(part: DocumentPart, refused: Refused) -> list[dict[str, Json]]:
    """A document behind its name and context as text, since Gemini has no fields for them; none when refused."""
    made: list[dict[str, Json]] = []
    if part.uri is not None:
        made = _file(part.uri, _MIME.get(part.format), refused)
    elif part.text is not None or part.chunks is not None:
        made = [text_part(text) for text in (part.chunks or (part.text or "",)) if text.strip()]
        if not made:
            refused("a document has text")
    elif part.format in _MIME:
        made = [_inline(_MIME[part.format], part.bytes or b"")]
    else:
        refused(f"Gemini takes no document of format {part.format}")
    about = about_document(part)
    return [text_part(about), *made] if made and about is not None else made


def about_document(part: DocumentPart) -> str | None:
    """A document's name and context in one line; None when it has neither."""
    context = part.context if part.context is not None and part.context.strip() else None
    if part.name is None and context is None:
        return None
    name = part.name or f"document.{part.format}"
    return f"Document {name}:" if context is None else f"Document {name} ({context}):"


def attachment(part: ImagePart | DocumentPart, refused: Refused) -> list[dict[str, Json]]:
    """An image or document inside a tool's result, where only bytes may stand; none when it was refused."""
    if part.uri is not None:
        refused("Gemini takes no address inside a tool result")
    elif isinstance(part, ImagePart):
        return [_inline(f"image/{part.format}", part.bytes or b"")]
    elif part.text is not None or part.chunks is not None:
        text = part.text if part.text is not None else "\n".join(part.chunks or ())
        return [_inline("text/plain", text.encode())]
    elif part.format in _MIME:
        return [_inline(_MIME[part.format], part.bytes or b"")]
    else:
        refused(f"Gemini takes no document of format {part.format}")
    return []


def response_of(part: ToolResultPart) -> tuple[dict[str, Json], str | None]:
    """A result's content as the object that Gemini wants, and why that does not say just the same."""
    content, otherwise = part.content, None
    if has_large_integers(content):
        content = spelled(content).decode()
        otherwise = "a result with integers beyond 2**53 is sent as its JSON text, for Gemini would round them"
    names = [about_document(each) for each in part.attachments if isinstance(each, DocumentPart)]
    told = [name for name in names if name is not None]
    if told:
        otherwise = otherwise or "names of attached documents are told in the response"
    named = {"attachments": told} if told else {}
    if part.is_error:
        return ({**content, **named} if _is_error(content) else {"error": content, **named}), otherwise
    # Gemini reads `output` and `error` of a response as the whole of it.
    if isinstance(content, dict) and not told and not {"output", "error"} & content.keys():
        return content, otherwise
    return {"output": content, **named}, otherwise


def _is_error(content: Json) -> bool:
    return isinstance(content, dict) and "error" in content and "output" not in content


def arguments_of(part: ToolUsePart) -> tuple[Json, str | None]:
    """A tool use's input as the object that Gemini wants, as the model spelled it, and what it does not say exactly."""
    text = part.input_text
    if text is None:
        try:
            large = has_large_integers(part.arguments)
        except InvalidValue:
            # Lawful syntax that nobody reads alike: a key given twice, a number out of range.
            text = bytes(part.input).decode()
        else:
            rule = "Gemini reads integers beyond 2**53 as the nearest double" if large else None
            return part.input, rule
    return {"input_text": text}, "malformed input is sent as the text in an object"


def has_large_integers(value: Json) -> bool:
    """Whether somewhere in a value an integer stands that a double does not hold."""
    if isinstance(value, dict):
        return any(has_large_integers(each) for each in value.values())
    if isinstance(value, list | tuple):
        return any(has_large_integers(each) for each in value)
    return type(value) is int and abs(value) > EXACT


def _inline(kind: str, data: bytes) -> dict[str, Json]:
    return {"inlineData": {"mimeType": kind, "data": base64.b64encode(data).decode()}}


def _file(uri: str, kind: str | None, refused: Refused) -> list[dict[str, Json]]:
    if not uri.lower().startswith(_ADDRESSES):
        refused("Gemini takes an address of https or gs")
        return []
    return [{"fileData": {**({"mimeType": kind} if kind else {}), "fileUri": uri}}]
