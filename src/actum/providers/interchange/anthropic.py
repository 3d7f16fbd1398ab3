"""Messages of Anthropic, with its system text -> our messages. A cache mark stands behind the block that carries it."""

from typing import Final

from actum.base.checks import refuse
from actum.base.errors import ModelError
from actum.messages.message import Message, Role
from actum.messages.parts import (
    CacheCheckpointPart,
    Citation,
    CitationsPart,
    DocumentPart,
    ImagePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolResultPart,
)
from actum.model.fold import tool_use_of
from actum.providers.anthropic.blocks import FAMILY
from actum.providers.anthropic.citations import citation_of
from actum.providers.anthropic.redacted import bytes_of
from actum.providers.interchange.building import Building
from actum.providers.interchange.files import image_format
from actum.providers.interchange.reading import Fields

_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT}
_KINDS: Final = "text, thinking, redacted_thinking, image, document, tool_use, tool_result"


def read_anthropic(document: Fields) -> list[Message]:
    """The messages in an object of `system` and `messages`."""
    building = Building()
    if document.has("system"):
        building.message(Role.SYSTEM, _content(document, "system"))
    for given in document.objects("messages"):
        role = given.text("role")
        if role not in _ROLES:
            raise given.unknown("role", role, ", ".join(_ROLES))
        building.message(_ROLES[role], _content(given, "content"))
    return building.finished()


def _content(given: Fields, name: str) -> list[Part]:
    if given.is_text(name):
        return [TextPart(text=given.text(name))]
    parts: list[Part] = []
    for block in given.objects(name):
        parts.append(_part(block))
        if _marked(block):
            parts.append(CacheCheckpointPart())
    return parts


def _marked(block: Fields) -> bool:
    if not block.has("cache_control"):
        return False
    mark = block.inside("cache_control")
    mark.text("type")
    mark.leave("ttl")
    return True


def _part(block: Fields) -> Part:
    kind = block.text("type")
    match kind:
        case "text":
            return _text(block)
        case "thinking":
            return ThinkingPart(text=block.text("thinking"), signature=block.text("signature"), provider=FAMILY)
        case "redacted_thinking":
            return ThinkingPart(redacted=bytes_of(block.text("data")), provider=FAMILY)
        case "image" | "document":
            return _file(block, kind)
        case "tool_use":
            block.leave("caller")
            return tool_use_of(block.text("id"), block.text("name"), block.raw("input").decode())
        case "tool_result":
            return _result(block)
        case _:
            raise block.unknown("type", kind, _KINDS)


def _text(block: Fields) -> Part:
    text, cited = block.text("text"), block.json("citations")
    if not cited:
        return TextPart(text=text)
    return CitationsPart(text=text, citations=tuple(_citation(block, each) for each in cited))


def _citation(block: Fields, given: dict[str, object]) -> Citation:
    try:
        return citation_of(given)
    except ModelError as error:
        raise refuse(block.at("citations"), given, f"can be read ({error.message})") from None


def _file(block: Fields, kind: str) -> ImagePart | DocumentPart:
    source = block.inside("source")
    if kind == "document":
        return _document(block, source)
    how = source.text("type")
    if how == "base64":
        media = source.text("media_type")
        return ImagePart(bytes=source.data("data"), format=image_format(source.at("media_type"), media))
    if how == "url":
        return ImagePart(uri=source.text("url"))
    raise source.unknown("type", how, "base64, url")


def _document(block: Fields, source: Fields) -> DocumentPart:
    name, context = block.text_or_none("title"), block.text_or_none("context")
    cite = block.inside("citations").flag("enabled") if block.has("citations") else False
    how = source.text("type")
    match how:
        case "base64":
            source.text("media_type")
            return DocumentPart(format="pdf", bytes=source.data("data"), name=name, context=context, cite=cite)
        case "url":
            return DocumentPart(format="pdf", uri=source.text("url"), name=name, context=context, cite=cite)
        case "text":
            source.text("media_type")
            return DocumentPart(format="txt", text=source.text("data"), name=name, context=context, cite=cite)
        case "content":
            chunks = tuple(_chunk(each) for each in source.objects("content"))
            return DocumentPart(format="txt", chunks=chunks, name=name, context=context, cite=cite)
        case _:
            raise source.unknown("type", how, "base64, url, text, content")


def _chunk(block: Fields) -> str:
    kind = block.text("type")
    if kind != "text":
        raise block.unknown("type", kind, "text")
    return block.text("text")


def _result(block: Fields) -> ToolResultPart:
    id, failed = block.text("tool_use_id"), block.flag("is_error")
    if block.is_text("content") or not block.has("content"):
        return ToolResultPart(tool_use_id=id, content=block.text_or_none("content"), is_error=failed)
    texts: list[str] = []
    files: list[ImagePart | DocumentPart] = []
    for each in block.objects("content"):
        kind = each.text("type")
        if kind == "text":
            texts.append(each.text("text"))
        elif kind in ("image", "document"):
            files.append(_file(each, kind))
        else:
            raise each.unknown("type", kind, "text, image, document")
    if len(texts) > 1:
        block.note("content", "several texts of a result are joined")
    return ToolResultPart(
        tool_use_id=id, content="".join(texts) if texts else None, attachments=tuple(files), is_error=failed
    )
