"""A transcript in the messages of Chat Completions, part by part, in order. Nothing is moved, nothing invented.

What the provider has no place for is left out and reported, as is every blank text; what would have to be moved is
refused, naming the message.
"""

from collections.abc import Sequence
from functools import partial
from typing import TypeAlias, assert_never

from actum.base.value import Json
from actum.messages.message import Role
from actum.messages.parts import (
    CacheCheckpointPart,
    CitationsPart,
    DocumentPart,
    ImagePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
)
from actum.model.encoded import Draft, groups_of
from actum.providers.openai.chat_parts import content_of, text_part, user_blocks
from actum.providers.openai.forms import input_of, result_is_said_otherwise, result_text

# A part with the index of its message and its own.
_Placed: TypeAlias = tuple[int, int, Part]


def chat_messages(draft: Draft) -> list[dict[str, Json]]:
    """The provider's messages; what becomes of their parts is told to the draft."""
    writer = _Writer(draft)
    messages = draft.request.messages
    for group in groups_of(messages):
        role = messages[group[0]].role
        placed = [(index, position, part) for index in group for position, part in enumerate(messages[index].parts)]
        if role is Role.ASSISTANT:
            if len(group) > 1:
                draft.projecting.mapped("joined with the assistant message before it", group[1])
            writer.assistant(group[0], placed)
        elif role is Role.SYSTEM:
            writer.system(group[0], placed)
        else:
            writer.user(group[0], placed)
    if not writer.out:
        draft.projecting.refused("nothing is left to send: every message is blank")
    return writer.out


class _Writer:
    def __init__(self, draft: Draft) -> None:
        self._aliases = draft.aliases
        self._told = draft.projecting
        self.out: list[dict[str, Json]] = []

    def system(self, index: int, placed: list[_Placed]) -> None:
        blocks = []
        for message, position, part in placed:
            if isinstance(part, TextPart):
                blocks += self._text(message, position, part.text)
            elif isinstance(part, CacheCheckpointPart):
                self._mark(message, position)
            else:
                self._told.refused("a system message holds text", message, position)
        self._put("system", index, blocks)

    def assistant(self, index: int, placed: list[_Placed]) -> None:
        blocks: list[dict[str, Json]] = []
        calls: list[Json] = []
        for message, position, part in placed:
            match part:
                case TextPart() | CitationsPart():
                    text = self._text(message, position, part.text)
                    if text and calls:
                        self._told.refused("text behind a tool use has no place in Chat Completions", message, position)
                    if isinstance(part, CitationsPart) and part.citations:
                        self._told.left_out("citations left out", message, position)
                    blocks += text
                case ToolUsePart():
                    calls.append(self._call(part))
                case ThinkingPart():
                    self._told.left_out("thinking left out", message, position)
                case CacheCheckpointPart():
                    self._mark(message, position)
                case ImagePart() | DocumentPart() | ToolResultPart():
                    self._told.refused("an assistant message holds text and tool uses", message, position)
                case _:
                    assert_never(part)
        self._put("assistant", index, blocks, calls)

    def user(self, index: int, placed: list[_Placed]) -> None:
        blocks: list[dict[str, Json]] = []
        attached: list[dict[str, Json]] = []
        for message, position, part in placed:
            match part:
                case ToolResultPart():
                    if blocks:
                        rule = "a tool result behind other content would have to be moved"
                        self._told.refused(rule, message, position)
                    attached += self._result(message, position, part)
                case TextPart() | CitationsPart() | ImagePart() | DocumentPart():
                    blocks += self._block(message, position, part)
                case CacheCheckpointPart():
                    self._mark(message, position)
                case ThinkingPart() | ToolUsePart():
                    self._told.refused("a user message holds no thinking and no tool use", message, position)
                case _:
                    assert_never(part)
        if attached:
            self.out.append({"role": "user", "content": attached})
        if blocks or not any(isinstance(part, ToolResultPart) for _, _, part in placed):
            self._put("user", index, blocks)

    def _block(
        self, message: int, position: int, part: TextPart | CitationsPart | ImagePart | DocumentPart
    ) -> list[dict[str, Json]]:
        if isinstance(part, TextPart):
            return self._text(message, position, part.text)
        made = user_blocks(part, partial(self._told.refused, message_index=message, part_index=position))
        if isinstance(part, CitationsPart) and part.citations:
            self._told.left_out("citations left out", message, position)
        elif isinstance(part, DocumentPart) and made and all(block["type"] == "text" for block in made):
            self._told.mapped("a document is sent as text under its name", message, position)
        return made

    def _result(self, message: int, position: int, part: ToolResultPart) -> list[dict[str, Json]]:
        """Write a `tool` message; give the blocks of its attachments, which must follow the last one."""
        call_id = self._aliases.id(part.tool_use_id)
        self.out.append({"role": "tool", "tool_call_id": call_id, "content": result_text(part)})
        otherwise = result_is_said_otherwise(part)
        if otherwise is not None:
            self._told.mapped(otherwise, message, position)
        if not part.attachments:
            return []
        self._told.mapped("attachments of a tool result follow the results as a user message", message, position)
        blocks = [text_part(f"Attachments of tool call {call_id}:")]
        for attachment in part.attachments:
            blocks += user_blocks(attachment, partial(self._told.refused, message_index=message, part_index=position))
        return blocks

    def _call(self, part: ToolUsePart) -> dict[str, Json]:
        function = {"name": self._aliases.name(part.name), "arguments": input_of(part)}
        return {"id": self._aliases.id(part.id), "type": "function", "function": function}

    def _mark(self, message: int, position: int) -> None:
        self._told.left_out("a cache checkpoint left out: OpenAI caches by itself", message, position)

    def _text(self, message: int, position: int, text: str) -> list[dict[str, Json]]:
        if text.strip():
            return [text_part(text)]
        self._told.left_out("blank text left out", message, position)
        return []

    def _put(self, role: str, index: int, blocks: list[dict[str, Json]], calls: Sequence[Json] = ()) -> None:
        if not blocks and not calls:
            self._told.left_out(f"a blank {role} message left out", index)
            return
        message: dict[str, Json] = {"role": role, "content": content_of(blocks) if blocks else None}
        if calls:
            message["tool_calls"] = list(calls)
        self.out.append(message)
