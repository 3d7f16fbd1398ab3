"""A transcript in the input items of Responses, part by part, in order: each part has an item, or a block, of its own.

Items stand where their parts stood, so nothing is ever moved. What has no item is left out and reported, or refused.
"""

from functools import partial
from typing import Final, TypeAlias, assert_never

from actum.base.value import Json
from actum.messages.message import Message, Role
from actum.messages.parts import (
    CacheCheckpointPart,
    CitationsPart,
    DocumentPart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
)
from actum.model.encoded import Draft
from actum.providers.openai.forms import (
    data_url,
    document_texts,
    image_url,
    input_of,
    is_web,
    result_is_said_otherwise,
    result_text,
)
from actum.providers.openai.reasoning import item_of

_Block: TypeAlias = dict[str, Json]
_DETAILS: Final = ("auto", "low", "high", "original")


def input_items(draft: Draft) -> list[Json]:
    """The items; what becomes of their parts is told to the draft."""
    writer = _Writer(draft)
    for index, message in enumerate(draft.request.messages):
        writer.message(index, message)
    if not writer.out:
        draft.projecting.refused("nothing is left to send: every message is blank")
    return writer.out


class _Writer:
    def __init__(self, draft: Draft) -> None:
        self._aliases = draft.aliases
        self._told = draft.projecting
        self.out: list[Json] = []

    def message(self, index: int, message: Message) -> None:
        """The items of one message. Its texts and files stay together until an item of another kind stands between."""
        before = len(self.out)
        blocks: list[_Block] = []
        for position, part in enumerate(message.parts):
            match part:
                case TextPart() | CitationsPart() | ImagePart() | DocumentPart():
                    if message.role is Role.ASSISTANT:
                        self._said(index, position, part)
                    else:
                        blocks += self._blocks(index, position, part, message.role)
                case ToolResultPart():
                    self._put(message.role, blocks)
                    blocks = []
                    self._result(index, position, part)
                case ToolUsePart():
                    self._call(index, position, part, message.role)
                case ThinkingPart():
                    self._thought(index, position, part, message.role)
                case CacheCheckpointPart():
                    self._told.left_out("a cache checkpoint left out: OpenAI caches by itself", index, position)
                case _:
                    assert_never(part)
        self._put(message.role, blocks)
        if len(self.out) == before:
            self._told.left_out(f"a blank {message.role} message left out", index)

    def _put(self, role: Role, blocks: list[_Block]) -> None:
        if not blocks:
            return
        alone = len(blocks) == 1 and blocks[0]["type"] == "input_text"
        self.out.append({"type": "message", "role": str(role), "content": blocks[0]["text"] if alone else blocks})

    def _said(self, index: int, position: int, part: TextPart | CitationsPart | ImagePart | DocumentPart) -> None:
        if isinstance(part, ImagePart | DocumentPart):
            self._told.refused("an assistant message holds text, thinking and tool uses", index, position)
        elif not part.text.strip():
            self._told.left_out("blank text left out", index, position)
        else:
            if isinstance(part, CitationsPart) and part.citations:
                self._told.left_out("citations left out", index, position)
            self.out.append({"type": "message", "role": "assistant", "content": part.text})

    def _blocks(
        self, index: int, position: int, part: TextPart | CitationsPart | ImagePart | DocumentPart, role: Role
    ) -> list[_Block]:
        if role is Role.SYSTEM and not isinstance(part, TextPart):
            self._told.refused("a system message holds text", index, position)
            return []
        if isinstance(part, TextPart | CitationsPart):
            if isinstance(part, CitationsPart) and part.citations:
                self._told.left_out("citations left out", index, position)
            if part.text.strip():
                return [_text(part.text)]
            self._told.left_out("blank text left out", index, position)
            return []
        return self._file(index, position, part)

    def _file(self, index: int, position: int, part: ImagePart | DocumentPart) -> list[_Block]:
        refused = partial(self._told.refused, message_index=index, part_index=position)
        if isinstance(part, ImagePart):
            url = image_url(part)
            if url is None:
                refused("an image is given as bytes or as an http(s) address")
                return []
            detail = (part.metadata or {}).get("detail")
            return [{"type": "input_image", "image_url": url, "detail": detail if detail in _DETAILS else "auto"}]
        if part.format == "pdf" and (part.bytes is not None or is_web(part.uri)):
            return self._pdf(part)
        texts = document_texts(part)
        if isinstance(texts, str):
            refused(texts)
            return []
        self._told.mapped("a document is sent as text under its name", index, position)
        return [_text(text) for text in texts]

    def _pdf(self, part: DocumentPart) -> list[_Block]:
        about = [_text(part.context)] if part.context is not None and part.context.strip() else []
        if part.bytes is None:
            return [*about, {"type": "input_file", "file_url": part.uri}]
        data = data_url("application/pdf", part.bytes)
        return [*about, {"type": "input_file", "filename": part.name or "document.pdf", "file_data": data}]

    def _result(self, index: int, position: int, part: ToolResultPart) -> None:
        otherwise = result_is_said_otherwise(part)
        if otherwise is not None:
            self._told.mapped(otherwise, index, position)
        text = result_text(part)
        output: Json = text
        if part.attachments:
            files = [block for each in part.attachments for block in self._file(index, position, each)]
            output = [_text(text), *files]
        call_id = self._aliases.id(part.tool_use_id)
        self.out.append({"type": "function_call_output", "call_id": call_id, "output": output})

    def _call(self, index: int, position: int, part: ToolUsePart, role: Role) -> None:
        if role is not Role.ASSISTANT:
            self._told.refused("only an assistant message holds tool uses", index, position)
            return
        self.out.append(
            {
                "type": "function_call",
                "call_id": self._aliases.id(part.id),
                "name": self._aliases.name(part.name),
                "arguments": input_of(part),
            }
        )

    def _thought(self, index: int, position: int, part: ThinkingPart, role: Role) -> None:
        item = item_of(part)
        if role is not Role.ASSISTANT:
            self._told.refused("only an assistant message holds thinking", index, position)
        elif item is None:
            self._told.left_out("thinking that OpenAI did not make left out", index, position)
        else:
            self.out.append(item)


def _text(text: str) -> _Block:
    return {"type": "input_text", "text": text}
