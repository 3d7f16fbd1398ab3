"""Messages of Chat Completions -> our messages. A run of `tool` messages is one message of results."""

from typing import Final

from actum.base.checks import refuse
from actum.messages.message import Message, Role
from actum.messages.parts import DocumentPart, Part, TextPart, ThinkingPart, ToolResultPart
from actum.model.fold import tool_use_of
from actum.providers.interchange.building import Building
from actum.providers.interchange.files import data_of, document_format, image_at
from actum.providers.interchange.reading import Fields

_ROLES: Final = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}
_FAMILY: Final = "openai-chat"


def read_chat(document: Fields) -> list[Message]:
    """The messages in a list of messages of Chat Completions."""
    building = Building()
    for given in document.objects(""):
        role = given.text("role")
        if role == "tool":
            building.result(_result(given))
        elif role in _ROLES:
            if role == "developer":
                given.note("role", "a developer's message is a system message here")
            given.leave("name")
            parts = _thought(given) if role == "assistant" else []
            parts += _content(given)
            if role == "assistant":
                parts += _refusal(given) + _calls(given)
                given.leave("annotations", "audio")
            building.message(_ROLES[role], parts)
        else:
            raise given.unknown("role", role, f"{', '.join(_ROLES)}, tool")
    return building.finished()


def _result(given: Fields) -> ToolResultPart:
    text = given.text("content") if given.is_text("content") else None
    if text is None:
        text = "".join(_text(block) for block in given.objects("content"))
        given.note("content", "several texts of a result are joined")
    return ToolResultPart(tool_use_id=given.text("tool_call_id"), content=text)


def _text(block: Fields) -> str:
    kind = block.text("type")
    if kind != "text":
        raise block.unknown("type", kind, "text")
    return block.text("text")


def _thought(given: Fields) -> list[Part]:
    found = [given.text(name) for name in ("reasoning_content", "reasoning") if given.is_text(name)]
    return [ThinkingPart(text=text, provider=_FAMILY) for text in found if text]


def _content(given: Fields) -> list[Part]:
    if given.is_text("content"):
        return [TextPart(text=given.text("content"))]
    return [_block(block) for block in given.objects("content")]


def _block(block: Fields) -> Part:
    kind = block.text("type")
    if kind == "text":
        return TextPart(text=block.text("text"))
    if kind == "refusal":
        block.note("refusal", "a refusal is plain text here")
        return TextPart(text=block.text("refusal"))
    if kind == "image_url":
        image = block.inside("image_url")
        detail = image.text_or_none("detail")
        return image_at(image.at("url"), image.text("url"), None if detail is None else {"detail": detail})
    if kind == "file":
        file = block.inside("file")
        return _file(file)
    raise block.unknown("type", kind, "text, refusal, image_url, file")


def _file(file: Fields) -> DocumentPart:
    held = data_of(file.at("file_data"), file.text("file_data"))
    if held is None:
        raise refuse(file.at("file_data"), "an address", "holds the file itself")
    kind = document_format(file.at("file_data"), held[0])
    return DocumentPart(format=kind, bytes=held[1], name=file.text_or_none("filename"))


def _refusal(given: Fields) -> list[Part]:
    if not given.has("refusal"):
        return []
    given.note("refusal", "a refusal is plain text here")
    return [TextPart(text=given.text("refusal"))]


def _calls(given: Fields) -> list[Part]:
    found: list[Part] = []
    for call in given.objects("tool_calls"):
        kind = call.text_or_none("type") or "function"
        if kind != "function":
            raise call.unknown("type", kind, "function")
        # Some servers number whole calls as they do those of a stream.
        call.json("index")
        function = call.inside("function")
        found.append(tool_use_of(call.text("id"), function.text("name"), function.text("arguments")))
    return found
