"""Messages of Converse, with its system blocks -> our messages. Bytes stand as base64, as they do on the wire."""

from collections.abc import Callable
from typing import Final

from actum.base.checks import refuse
from actum.base.value import Json
from actum.messages.message import Message, Role
from actum.messages.parts import (
    CacheCheckpointPart,
    CharRange,
    ChunkRange,
    Citation,
    CitationsPart,
    DocumentPart,
    ImagePart,
    PageRange,
    Part,
    TextPart,
    ThinkingPart,
    ToolResultPart,
)
from actum.model.fold import tool_use_of
from actum.providers.bedrock.messages import PROVIDER
from actum.providers.interchange.building import Building
from actum.providers.interchange.files import MEDIA_TYPES, document_format, image_format
from actum.providers.interchange.reading import Fields

_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT}
_RANGES: Final[dict[str, Callable[[int, int], CharRange | ChunkRange | PageRange]]] = {
    "documentChar": lambda start, end: CharRange(start=start, end=end),
    "documentChunk": lambda start, end: ChunkRange(start=start, end=end),
    "documentPage": lambda start, end: PageRange(start=start, end=end),
}


def read_bedrock(document: Fields) -> list[Message]:
    """The messages in an object of `system` and `messages`."""
    building = Building()
    if document.has("system"):
        building.message(Role.SYSTEM, [_part(block) for block in document.objects("system")])
    for given in document.objects("messages"):
        role = given.text("role")
        if role not in _ROLES:
            raise given.unknown("role", role, ", ".join(_ROLES))
        building.message(_ROLES[role], [_part(block) for block in given.objects("content")])
    return building.finished()


def _only(block: Fields) -> str:
    """The one member of a union."""
    names = block.names()
    if len(names) != 1:
        raise refuse(block.path, names, "has exactly one member")
    return names[0]


def _part(block: Fields) -> Part:
    kind = _only(block)
    match kind:
        case "text":
            return TextPart(text=block.text(kind))
        case "image":
            return _image(block.inside(kind))
        case "document":
            return _document(block.inside(kind))
        case "toolUse":
            use = block.inside(kind)
            return tool_use_of(use.text("toolUseId"), use.text("name"), use.raw("input").decode())
        case "toolResult":
            return _result(block.inside(kind))
        case "reasoningContent":
            return _reasoning(block.inside(kind))
        case "citationsContent":
            return _cited(block.inside(kind))
        case "cachePoint":
            mark = block.inside(kind)
            mark.text("type")
            mark.leave("ttl")
            return CacheCheckpointPart()
        case _:
            known = "text, image, document, toolUse, toolResult, reasoningContent, citationsContent, cachePoint"
            raise block.unknown("", kind, known)


def _image(given: Fields) -> ImagePart:
    format = image_format(given.at("format"), f"image/{given.text('format')}")
    source = given.inside("source")
    if source.has("bytes"):
        return ImagePart(bytes=source.data("bytes"), format=format)
    return ImagePart(uri=_place(source), format=format)


def _place(source: Fields) -> str:
    place = source.inside("s3Location")
    place.leave("bucketOwner")
    return place.text("uri")


def _document(given: Fields) -> DocumentPart:
    cite = given.inside("citations").flag("enabled") if given.has("citations") else False
    source, name, context = given.inside("source"), given.text("name"), given.text_or_none("context")
    spelled = given.text_or_none("format") or "txt"
    format = document_format(given.at("format"), MEDIA_TYPES.get(spelled, spelled))  # type: ignore[call-overload]  # any text may be asked for
    what: dict[str, Json] = {}
    if source.has("bytes"):
        what["bytes"] = source.data("bytes")
    elif source.has("text"):
        what["text"] = source.text("text")
    elif source.has("content"):
        what["chunks"] = tuple(each.text("text") for each in source.objects("content"))
    else:
        what["uri"] = _place(source)
    return DocumentPart(format=format, name=name, context=context, cite=cite, **what)


def _result(given: Fields) -> ToolResultPart:
    id, status = given.text("toolUseId"), given.text_or_none("status") or "success"
    given.leave("type")
    said: list[Json] = []
    files: list[ImagePart | DocumentPart] = []
    for block in given.objects("content"):
        kind = _only(block)
        if kind in ("json", "text"):
            said.append(block.json(kind))
        elif kind in ("image", "document"):
            files.append(_image(block.inside(kind)) if kind == "image" else _document(block.inside(kind)))
        else:
            raise block.unknown("", kind, "json, text, image, document")
    if len(said) > 1:
        given.note("content", "several contents of a result are one list")
    content = said if len(said) > 1 else said[0] if said else None
    return ToolResultPart(tool_use_id=id, content=content, attachments=tuple(files), is_error=status == "error")


def _reasoning(given: Fields) -> ThinkingPart:
    if given.has("redactedContent"):
        return ThinkingPart(redacted=given.data("redactedContent"), provider=PROVIDER)
    thought = given.inside("reasoningText")
    return ThinkingPart(text=thought.text("text"), signature=thought.text_or_none("signature"), provider=PROVIDER)


def _cited(given: Fields) -> CitationsPart:
    text = "".join(each.text("text") for each in given.objects("content"))
    return CitationsPart(text=text, citations=tuple(_citation(each) for each in given.objects("citations")))


def _citation(given: Fields) -> Citation:
    excerpts = [each.text("text") for each in given.objects("sourceContent")] if given.has("sourceContent") else None
    location = None
    if given.has("location"):
        place = given.inside("location")
        kind = _only(place)
        if kind in _RANGES:
            at = place.inside(kind)
            at.leave("documentIndex")
            location = _RANGES[kind](at.number("start"), at.number("end"))
        else:
            place.leave(kind)
    return Citation(
        title=given.text_or_none("title"),
        source=given.text_or_none("source"),
        location=location,
        excerpt=None if excerpts is None else "".join(excerpts),
    )
