"""Messages of LangChain, as `messages_to_dict` writes them -> our messages: both the standard blocks and older ones."""

from collections.abc import Callable
from typing import Final

from actum.base.checks import refuse
from actum.base.value import Json
from actum.messages.message import Message, Role
from actum.messages.parts import (
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
    ToolUsePart,
)
from actum.model.fold import tool_use_of
from actum.providers.interchange.building import Building
from actum.providers.interchange.files import document_format, image_at, image_format
from actum.providers.interchange.own import part_in
from actum.providers.interchange.reading import Fields

_ROLES: Final = {"system": Role.SYSTEM, "human": Role.USER, "ai": Role.ASSISTANT}
_PLACES: Final[dict[str, type[CharRange | ChunkRange | PageRange]]] = {
    "char": CharRange,
    "chunk": ChunkRange,
    "page": PageRange,
}


def read_langchain(document: Fields) -> list[Message]:
    """The messages in a list of `{"type", "data"}`."""
    building = Building()
    for given in document.objects(""):
        kind, data = given.text("type"), given.inside("data")
        data.leave("id", "name", "example", "response_metadata", "usage_metadata", "artifact")
        data.json("type")
        if kind == "tool":
            data.leave("additional_kwargs")
            building.result(_result(data))
            continue
        if kind not in _ROLES:
            raise given.unknown("type", kind, f"{', '.join(_ROLES)}, tool")
        meta = _meta(data)
        parts = _content(data)
        if kind == "ai":
            parts += _calls(data, {part.id for part in parts if isinstance(part, ToolUsePart)})
        building.message(_ROLES[kind], parts, meta)
    return building.finished()


def _meta(data: Fields) -> dict[str, Json] | None:
    if not data.has("additional_kwargs"):
        return None
    more = data.inside("additional_kwargs")
    meta = more.json("meta")
    if meta is not None and not isinstance(meta, dict):
        raise refuse(more.at("meta"), meta, "is an object")
    more.leave(*more.names())
    return meta


def _content(data: Fields) -> list[Part]:
    if data.is_text("content"):
        text = data.text("content")
        # LangChain's empty text is the content of a message that has none.
        return [TextPart(text=text)] if text else []
    return [_part(block) for block in data.objects("content")]


def _part(block: Fields) -> Part:
    kind = block.text("type")
    read = _BLOCKS.get(kind)
    if read is None:
        raise block.unknown("type", kind, ", ".join(_BLOCKS))
    if kind not in ("tool_call", "invalid_tool_call", "tool_use"):
        block.leave("id")
    block.leave("index")
    return read(block)


def _text(block: Fields) -> Part:
    block.leave("extras")
    if not block.has("annotations"):
        return TextPart(text=block.text("text"))
    cited = []
    for each in block.objects("annotations"):
        kind = each.text("type")
        if kind != "citation":
            raise each.unknown("type", kind, "citation")
        each.leave("id", "start_index", "end_index")
        more = each.inside("extras") if each.has("extras") else None
        source = more.text_or_none("source") if more is not None else None
        location = None
        if more is not None and more.has("location"):
            place = more.inside("location")
            named = place.text("type")
            if named not in _PLACES:
                raise place.unknown("type", named, ", ".join(_PLACES))
            location = _PLACES[named](start=place.number("start"), end=place.number("end"))
        url = each.text_or_none("url")
        cited.append(
            Citation(
                title=each.text_or_none("title"),
                source=url if source is None else source,
                location=location,
                excerpt=each.text_or_none("cited_text"),
            )
        )
    return CitationsPart(text=block.text("text"), citations=tuple(cited))


def _thought(block: Fields) -> ThinkingPart:
    signature, provider = block.text_or_none("signature"), None
    if block.has("extras"):
        more = block.inside("extras")
        signature, provider = more.text_or_none("signature") or signature, more.text_or_none("provider")
        more.leave(*more.names())
    return ThinkingPart(
        text=block.text("reasoning" if block.has("reasoning") else "thinking"), signature=signature, provider=provider
    )


def _image(block: Fields) -> ImagePart:
    block.leave("extras")
    if block.has("image_url"):
        if block.is_text("image_url"):
            return image_at(block.at("image_url"), block.text("image_url"))
        image = block.inside("image_url")
        detail = image.text_or_none("detail")
        return image_at(image.at("url"), image.text("url"), None if detail is None else {"detail": detail})
    media = block.text_or_none("mime_type")
    format = None if media is None else image_format(block.at("mime_type"), media)
    if block.has("base64"):
        return ImagePart(bytes=block.data("base64"), format=format)
    return ImagePart(uri=block.text("url"), format=format)


def _plain(block: Fields) -> DocumentPart:
    block.leave("mime_type", "extras")
    title, context = block.text_or_none("title"), block.text_or_none("context")
    return DocumentPart(format="txt", text=block.text("text"), name=title, context=context)


def _refusal(block: Fields) -> TextPart:
    block.note("refusal", "a refusal is plain text here")
    return TextPart(text=block.text("refusal"))


def _file(block: Fields) -> DocumentPart:
    format = document_format(block.at("mime_type"), block.text("mime_type"))
    name = context = None
    cite = False
    if block.has("extras"):
        more = block.inside("extras")
        name, context, cite = more.text_or_none("name"), more.text_or_none("context"), more.flag("cite")
        more.leave(*more.names())
    data = block.data("base64") if block.has("base64") else None
    uri = block.text("url") if data is None else None
    return DocumentPart(format=format, bytes=data, uri=uri, name=name, context=context, cite=cite)


def _call(block: Fields) -> ToolUsePart:
    """A call in the content or beside it; the arguments of one that could not be read are text."""
    signature = provider = None
    if block.has("extras"):
        more = block.inside("extras")
        signature, provider = more.text_or_none("signature"), more.text_or_none("provider")
        more.leave(*more.names())
    block.leave("error")
    id, name = block.text("id"), block.text("name")
    if block.is_text("args") or not block.has("args"):
        said = block.text_or_none("args") or ""
        return ToolUsePart(id=id, name=name, input_text=said, signature=signature, provider=provider)
    return tool_use_of(id, name, block.raw("args").decode(), signature=signature, provider=provider)


def _calls(data: Fields, placed: set[str]) -> list[Part]:
    found: list[Part] = []
    for name in ("tool_calls", "invalid_tool_calls"):
        for call in data.objects(name):
            call.json("type")
            use = _call(call)
            if use.id not in placed:
                found.append(use)
    return found


def _result(data: Fields) -> ToolResultPart:
    id, status = data.text("tool_call_id"), data.text_or_none("status") or "success"
    if status not in ("success", "error"):
        raise data.unknown("status", status, "success, error")
    parts = [TextPart(text=data.text("content"))] if data.is_text("content") else _content(data)
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    files = tuple(part for part in parts if isinstance(part, ImagePart | DocumentPart))
    if len(texts) + len(files) < len(parts):
        raise refuse(data.at("content"), "another block", "is text, an image or a file")
    if len(texts) > 1:
        data.note("content", "several texts of a result are joined")
    return ToolResultPart(tool_use_id=id, content="".join(texts), attachments=files, is_error=status == "error")


_BLOCKS: Final[dict[str, Callable[[Fields], Part]]] = {
    "text": _text,
    "reasoning": _thought,
    "thinking": _thought,
    "image": _image,
    "image_url": _image,
    "file": _file,
    "text-plain": _plain,
    "tool_call": _call,
    "invalid_tool_call": _call,
    "tool_use": lambda block: tool_use_of(block.text("id"), block.text("name"), block.raw("input").decode()),
    "refusal": _refusal,
    "non_standard": lambda block: part_in(block.raw("value")),
}
