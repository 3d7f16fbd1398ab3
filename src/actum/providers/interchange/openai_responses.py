"""Items of Responses, given or answered -> our messages. Items of the assistant that follow each other are one message.

The items of the OpenAI Agents SDK are these.
"""

from typing import Final

from actum.base.checks import refuse
from actum.messages.message import Message, Role
from actum.messages.parts import DocumentPart, ImagePart, Part, TextPart, ThinkingPart, ToolResultPart
from actum.model.fold import tool_use_of
from actum.providers.interchange.building import Building
from actum.providers.interchange.files import data_of, document_format, image_at
from actum.providers.interchange.reading import Fields
from actum.providers.openai.reasoning import FAMILY, shown, signature_of

_ROLES: Final = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}


def read_items(document: Fields) -> list[Message]:
    """The messages in a list of input or output items."""
    building = Building()
    for item in document.objects(""):
        kind = item.text_or_none("type") or "message"
        if kind == "message":
            _message(building, item)
        elif kind == "function_call":
            item.leave("id", "status")
            building.spoken(tool_use_of(item.text("call_id"), item.text("name"), item.text("arguments")))
        elif kind == "function_call_output":
            item.leave("id", "status")
            building.result(_result(item))
        elif kind == "reasoning":
            building.spoken(_reasoning(item))
        else:
            raise item.unknown("type", kind, "message, function_call, function_call_output, reasoning")
    return building.finished()


def _message(building: Building, item: Fields) -> None:
    role = item.text("role")
    if role not in _ROLES:
        raise item.unknown("role", role, ", ".join(_ROLES))
    if role == "developer":
        item.note("role", "a developer's message is a system message here")
    item.leave("id", "status", "phase")
    parts = _content(item, "content")
    if role == "assistant":
        building.spoken(*parts)
    else:
        building.message(_ROLES[role], parts)


def _content(item: Fields, name: str) -> list[Part]:
    if item.is_text(name):
        return [TextPart(text=item.text(name))]
    return [_block(block) for block in item.objects(name)]


def _block(block: Fields) -> TextPart | ImagePart | DocumentPart:
    kind = block.text("type")
    if kind in ("input_text", "output_text"):
        block.leave("annotations", "logprobs")
        return TextPart(text=block.text("text"))
    if kind == "refusal":
        block.note("refusal", "a refusal is plain text here")
        return TextPart(text=block.text("refusal"))
    if kind == "input_image":
        detail = block.text_or_none("detail")
        metadata: dict[str, object] | None = None if detail in (None, "auto") else {"detail": detail}
        return image_at(block.at("image_url"), block.text("image_url"), metadata)
    if kind == "input_file":
        return _file(block)
    raise block.unknown("type", kind, "input_text, output_text, refusal, input_image, input_file")


def _file(block: Fields) -> DocumentPart:
    name = block.text_or_none("filename")
    if block.has("file_url"):
        return DocumentPart(format="pdf", uri=block.text("file_url"), name=name)
    held = data_of(block.at("file_data"), block.text("file_data"))
    if held is None:
        raise refuse(block.at("file_data"), "an address", "holds the file itself")
    return DocumentPart(format=document_format(block.at("file_data"), held[0]), bytes=held[1], name=name)


def _result(item: Fields) -> ToolResultPart:
    id = item.text("call_id")
    if item.is_text("output"):
        return ToolResultPart(tool_use_id=id, content=item.text("output"))
    blocks = [_block(block) for block in item.objects("output")]
    texts = [block.text for block in blocks if isinstance(block, TextPart)]
    if len(texts) > 1:
        item.note("output", "several texts of a result are joined")
    files = tuple(block for block in blocks if not isinstance(block, TextPart))
    return ToolResultPart(tool_use_id=id, content="".join(texts) if texts else None, attachments=files)


def _reasoning(item: Fields) -> ThinkingPart:
    item.leave("status")
    kept = {"id": item.text("id"), "encrypted_content": item.text_or_none("encrypted_content")}
    for name, kind in (("summary", "summary_text"), ("content", "reasoning_text")):
        blocks = []
        for block in item.objects(name):
            if block.text("type") != kind:
                raise block.unknown("type", "another", kind)
            blocks.append({"type": kind, "text": block.text("text")})
        kept[name] = blocks  # type: ignore[assignment]  # the item as JSON
    return ThinkingPart(text=shown(kept), signature=signature_of(kept), provider=FAMILY)
