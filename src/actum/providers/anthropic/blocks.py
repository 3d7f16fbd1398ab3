"""A transcript in the messages of the Messages API, part by part, in order: each part is a block where it stood.

What has no block is left out and reported, or refused; so is what Anthropic refuses for its place. Only the last text
of a transcript that ends with the assistant loses the blanks at its end, which Anthropic would refuse.
"""

import itertools
from typing import Final, TypeAlias, assert_never

from actum.base.value import Json, spelled
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
from actum.providers.anthropic.citations import spelled_citation
from actum.providers.anthropic.files import document_block, image_block
from actum.providers.anthropic.redacted import data_of

FAMILY: Final = "anthropic"

_Block: TypeAlias = dict[str, Json]
_THINKING: Final = ("thinking", "redacted_thinking")
_MARKS: Final = 4


def blocks_of(draft: Draft) -> tuple[list[_Block], list[Json]]:
    """The system's blocks and the messages; what becomes of their parts is told to the draft."""
    writer = _Writer(draft)
    messages = draft.request.messages
    for role, found in itertools.groupby(enumerate(messages), lambda each: each[1].role):
        group = list(found)
        # Anthropic itself makes neighbours of one role one; said here, thinking in the middle is not at an end.
        joined = [group] if role is Role.ASSISTANT else [[each] for each in group]
        for each in joined:
            for index, _ in each[1:]:
                draft.projecting.mapped("joined with the assistant message before it", index)
            writer.message(each)
    writer.finish()
    return writer.system, writer.out


class _Writer:
    def __init__(self, draft: Draft) -> None:
        self._aliases = draft.aliases
        self._told = draft.projecting
        self.system: list[_Block] = []
        self.out: list[Json] = []
        # The blocks of the message that is being written, and where the parts of each stood.
        self._blocks: list[tuple[_Block, int, int]] = []
        self._last: _Block | None = None
        self._marks: list[tuple[_Block, int, int]] = []
        self._documents = 0
        self._citing: bool | None = None
        self._spoke_last: tuple[Role, list[tuple[_Block, int, int]]] | None = None

    def message(self, group: list[tuple[int, Message]]) -> None:
        """Write one message, of one or more."""
        role, before = group[0][1].role, self._last
        self._blocks = []
        for index, message in group:
            for position, part in enumerate(message.parts):
                match part:
                    case TextPart():
                        self._put_text(index, position, part.text, {})
                    case ToolResultPart():
                        self._result(index, position, part)
                    case ToolUsePart():
                        self._call(index, position, part, role)
                    case CitationsPart():
                        self._cited(index, position, part, role)
                    case ImagePart() | DocumentPart():
                        self._file(index, position, part, role)
                    case ThinkingPart():
                        self._thought(index, position, part, role)
                    case CacheCheckpointPart():
                        self._mark(index, position)
                    case _:
                        assert_never(part)
        if role is Role.ASSISTANT:
            self._end_thinking(before)
        self._finish_message(role, group[0][0])

    def finish(self) -> None:
        """Write what is known only at the end: the cache marks that are kept, and the blanks that are not."""
        kept: list[_Block] = []
        for block, index, position in reversed(self._marks):
            if any(block is each for each in kept):
                continue
            if len(kept) == _MARKS:
                self._told.left_out(f"a cache checkpoint left out: only the last {_MARKS} are kept", index, position)
                continue
            kept.append(block)
            block["cache_control"] = {"type": "ephemeral"}
        if not self.out:
            self._told.refused("nothing is left to send: every message is blank")
        if self._spoke_last is not None and self._spoke_last[0] is Role.ASSISTANT:
            block, index, position = self._spoke_last[1][-1]
            if block["type"] == "text" and block["text"] != block["text"].rstrip():
                block["text"] = block["text"].rstrip()
                self._told.mapped("blanks at the end of the last text left out", index, position)

    def _finish_message(self, role: Role, index: int) -> None:
        blocks = [block for block, _, _ in self._blocks]
        if not blocks:
            self._told.left_out(f"a blank {role} message left out", index)
        elif role is Role.SYSTEM:
            self.system += blocks
        else:
            if not self.out and role is Role.ASSISTANT:
                self._told.refused("the first message is the user's", index)
            self.out.append({"role": str(role), "content": blocks})
            self._spoke_last = role, self._blocks

    def _put(self, index: int, position: int, block: _Block) -> None:
        self._blocks.append((block, index, position))
        self._last = block

    def _put_text(self, index: int, position: int, text: str, more: _Block) -> None:
        if text.strip():
            self._put(index, position, {"type": "text", "text": text, **more})
        else:
            self._told.left_out("blank text left out", index, position)

    def _cited(self, index: int, position: int, part: CitationsPart, role: Role) -> None:
        spelled = [spelled_citation(each, self._documents) for each in part.citations]
        known = [each for each in spelled if each is not None]
        if role is not Role.ASSISTANT or len(known) < len(spelled):
            self._told.left_out("citations that Anthropic did not make left out", index, position)
            known = []
        self._put_text(index, position, part.text, {"citations": known} if known else {})

    def _file(self, index: int, position: int, part: ImagePart | DocumentPart, role: Role) -> None:
        if role is not Role.USER:
            self._told.refused("images and documents stand in user messages", index, position)
            return
        block = self._file_block(index, position, part)
        if block is not None:
            self._put(index, position, block)

    def _file_block(self, index: int, position: int, part: ImagePart | DocumentPart) -> _Block | None:
        block = image_block(part) if isinstance(part, ImagePart) else document_block(part)
        if isinstance(block, str):
            self._told.refused(block, index, position)
            return None
        if isinstance(part, DocumentPart):
            self._documents += 1
            if self._citing not in (None, part.cite):
                self._told.refused("either all documents are to be cited or none", index, position)
            self._citing = part.cite
        return block

    def _result(self, index: int, position: int, part: ToolResultPart) -> None:
        if self._blocks and any(block["type"] != "tool_result" for block, _, _ in self._blocks):
            self._told.refused("a tool result behind other content would have to be moved", index, position)
        content = part.content
        text = content if isinstance(content, str) else "" if content is None else spelled(content).decode()
        block: _Block = {"type": "tool_result", "tool_use_id": self._aliases.id(part.tool_use_id)}
        said: list[_Block] = [{"type": "text", "text": text}] if text.strip() else []
        files = [self._file_block(index, position, each) for each in part.attachments]
        said += [each for each in files if each is not None]
        if part.attachments:
            block["content"] = said
        elif said:
            block["content"] = text
        if part.is_error:
            block["is_error"] = True
        self._put(index, position, block)

    def _call(self, index: int, position: int, part: ToolUsePart, role: Role) -> None:
        if role is not Role.ASSISTANT:
            self._told.refused("only an assistant message holds tool uses", index, position)
            return
        given: Json = part.input
        if part.input_text is not None:
            given = {"input_text": part.input_text}
            self._told.mapped("malformed input is sent as the text of an object's input_text", index, position)
        name, id = self._aliases.name(part.name), self._aliases.id(part.id)
        self._put(index, position, {"type": "tool_use", "id": id, "name": name, "input": given})

    def _thought(self, index: int, position: int, part: ThinkingPart, role: Role) -> None:
        if role is not Role.ASSISTANT:
            self._told.refused("only an assistant message holds thinking", index, position)
        elif part.provider not in (None, FAMILY):
            self._told.left_out("thinking that Anthropic did not make left out", index, position)
        elif part.redacted is not None:
            self._put(index, position, {"type": "redacted_thinking", "data": data_of(part.redacted)})
        elif part.signature is None:
            self._told.left_out("thinking without a signature left out", index, position)
        else:
            self._put(index, position, {"type": "thinking", "thinking": part.text, "signature": part.signature})

    def _mark(self, index: int, position: int) -> None:
        if self._last is None or self._last["type"] in _THINKING:
            self._told.left_out("a cache checkpoint with nothing to stand on left out", index, position)
        else:
            self._marks.append((self._last, index, position))

    def _end_thinking(self, before: _Block | None) -> None:
        """No assistant message may end in thinking: nothing came of it."""
        while self._blocks and self._blocks[-1][0]["type"] in _THINKING:
            _, index, position = self._blocks.pop()
            self._told.left_out("thinking at the end of a message left out: nothing came of it", index, position)
            self._last = self._blocks[-1][0] if self._blocks else before
