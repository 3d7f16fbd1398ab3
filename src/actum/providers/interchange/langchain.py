"""Our messages -> messages of LangChain, as `messages_from_dict` reads them.

Parts are LangChain's standard content blocks; what has no standard block goes as a `non_standard` one, whose value is
the part's own JSON. Nothing is lost on the way but the difference between a result's value and its text.
"""

from typing import Final, assert_never

from actum.base.value import Json, dump_json
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
    ToolUsePart,
)
from actum.model.projection import Projecting
from actum.providers.interchange.files import MEDIA_TYPES
from actum.providers.interchange.own import known, spelled_part

_TYPES: Final = {Role.SYSTEM: "system", Role.USER: "human", Role.ASSISTANT: "ai"}
_WEB: Final = ("https://", "http://")


def write_langchain(messages: tuple[Message, ...], told: Projecting) -> Json:
    """A list of `{"type", "data"}`, and to `told` what it does not say just so."""
    out: list[Json] = []
    for index, message in enumerate(messages):
        said: list[Part] = [part for part in message.parts if not isinstance(part, ToolResultPart)]
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolResultPart):
                if not all(isinstance(each, ToolResultPart) for each in message.parts[:position]):
                    told.refused("a tool result behind other content would have to be moved", index, position)
                out.append(_written("tool", _result(part, told, index, position)))
        if message.role is Role.ASSISTANT:
            out.append(_written("ai", _spoken(said) | _meta(message)))
        elif said or not message.tool_results:
            out.append(_written(_TYPES[message.role], {"content": _content(said)} | _meta(message)))
        elif message.meta is not None:
            told.left_out("the meta of a message of results left out", index)
    return out


def _written(kind: str, data: dict[str, Json]) -> dict[str, Json]:
    return {"type": kind, "data": {"type": kind, **data}}


def _meta(message: Message) -> dict[str, Json]:
    return {} if message.meta is None else {"additional_kwargs": {"meta": message.meta}}


def _content(parts: list[Part]) -> Json:
    alone = parts[0] if len(parts) == 1 else None
    if isinstance(alone, TextPart) and alone.text:
        return alone.text
    # LangChain's empty text is the content of a message that has none, so a text that is empty is a block.
    return [_block(part) for part in parts]


def _spoken(parts: list[Part]) -> dict[str, Json]:
    uses = [part for part in parts if isinstance(part, ToolUsePart)]
    last = next((at for at, part in enumerate(parts) if isinstance(part, ToolUsePart)), len(parts))
    # Calls stand beside the content, where every model of LangChain looks; in it too where their place says something.
    placed = parts[last:] != uses or any(use.signature is not None or use.provider is not None for use in uses)
    data: dict[str, Json] = {"content": _content(parts if placed else parts[:last])}
    whole = [_call(use) for use in uses if use.input_text is None]
    broken = [_call(use) for use in uses if use.input_text is not None]
    return data | ({"tool_calls": whole} if whole else {}) | ({"invalid_tool_calls": broken} if broken else {})


def _call(use: ToolUsePart) -> dict[str, Json]:
    if use.input_text is None:
        return {"type": "tool_call", "id": use.id, "name": use.name, "args": use.input}
    return {"type": "invalid_tool_call", "id": use.id, "name": use.name, "args": use.input_text, "error": None}


def _result(part: ToolResultPart, told: Projecting, index: int, position: int) -> dict[str, Json]:
    content = part.content
    if not isinstance(content, str):
        told.mapped("a result that is no text is sent as its JSON text", index, position)
        content = "" if content is None else dump_json(content).decode()
    files = [_block(each) for each in part.attachments]
    return {
        "tool_call_id": part.tool_use_id,
        "content": [{"type": "text", "text": content}, *files] if files else content,
        "status": "error" if part.is_error else "success",
    }


def _block(part: Part) -> Json:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case CitationsPart():
            return {"type": "text", "text": part.text, "annotations": [_citation(each) for each in part.citations]}
        case ThinkingPart() if part.text is not None:
            extras = known(signature=part.signature, provider=part.provider)
            return {"type": "reasoning", "reasoning": part.text, **({"extras": extras} if extras else {})}
        case ImagePart() if part.metadata is None:
            media = None if part.format is None else f"image/{part.format}"
            return known(type="image", base64=part.bytes, url=part.uri, mime_type=media)
        case DocumentPart() if part.text is None and part.chunks is None:
            extras = known(name=part.name, context=part.context) | ({"cite": True} if part.cite else {})
            made = known(type="file", base64=part.bytes, url=part.uri, mime_type=MEDIA_TYPES[part.format])
            return made | ({"extras": extras} if extras else {})
        case ToolUsePart():
            extras = known(signature=part.signature, provider=part.provider)
            return _call(part) | ({"extras": extras} if extras else {})
        case ThinkingPart() | ImagePart() | DocumentPart() | CacheCheckpointPart() | ToolResultPart():
            return {"type": "non_standard", "value": spelled_part(part)}
        case _:
            assert_never(part)


def _citation(citation: Citation) -> dict[str, Json]:
    web = citation.source is not None and citation.source.startswith(_WEB)
    source = None if web else citation.source
    extras = known(source=source) | ({} if citation.location is None else {"location": _place(citation)})
    made = known(type="citation", url=citation.source if web else None, title=citation.title)
    return made | known(cited_text=citation.excerpt) | ({"extras": extras} if extras else {})


def _place(citation: Citation) -> Json:
    at = citation.location
    if at is None:
        return None
    return {"type": type(at).__struct_config__.tag, "start": at.start, "end": at.end}
