"""A transcript in the messages of Chat Completions, part by part, in order. Nothing is moved, nothing invented.

What the provider has no place for is left out and reported, as is every blank text; what would have to be moved is
refused, naming the message.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias, assert_never

from actum.base.value import Json
from actum.messages.message import Message, Role
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
from actum.model.response import Projection
from actum.providers.openai.aliases import Aliases
from actum.providers.openai.chat_parts import content_of, refusal, result_text, text_part, user_blocks

# A part with the index of its message and its own.
_Placed: TypeAlias = tuple[int, int, Part]


def chat_messages(messages: Sequence[Message], aliases: Aliases) -> tuple[list[dict[str, Json]], list[Projection]]:
    """The provider's messages, and what they could not carry. Raises ProviderError, kind `model_request`."""
    writer = _Writer(aliases)
    for group in _groups(messages):
        role = messages[group[0]].role
        placed = [(index, position, part) for index in group for position, part in enumerate(messages[index].parts)]
        if role is Role.ASSISTANT:
            if len(group) > 1:
                writer.report("joined with the assistant message before it", group[1])
            writer.assistant(group[0], placed)
        elif role is Role.SYSTEM:
            writer.system(group[0], placed)
        else:
            writer.user(group[0], placed)
    return writer.out, writer.projections


def _groups(messages: Sequence[Message]) -> Iterator[list[int]]:
    """Messages that become one: assistant messages between whose tool uses and results another one stands."""
    index = 0
    while index < len(messages):
        end = index + 1
        if messages[index].role is Role.ASSISTANT:
            while end < len(messages) and messages[end].role is Role.ASSISTANT:
                end += 1
            if not any(message.tool_uses for message in messages[index : end - 1]):
                end = index + 1
        yield list(range(index, end))
        index = end


class _Writer:
    def __init__(self, aliases: Aliases) -> None:
        self._aliases = aliases
        self.out: list[dict[str, Json]] = []
        self.projections: list[Projection] = []

    def report(self, rule: str, message_index: int, part_index: int | None = None) -> None:
        self.projections.append(Projection(rule=rule, message_index=message_index, part_index=part_index))

    def system(self, index: int, placed: list[_Placed]) -> None:
        blocks = []
        for message, position, part in placed:
            if isinstance(part, TextPart):
                blocks += self._text(message, position, part.text)
            elif not isinstance(part, CacheCheckpointPart):
                raise refusal("a system message holds text", message, position)
        self._put("system", index, blocks)

    def assistant(self, index: int, placed: list[_Placed]) -> None:
        blocks: list[dict[str, Json]] = []
        calls: list[Json] = []
        for message, position, part in placed:
            match part:
                case TextPart() | CitationsPart():
                    text = self._text(message, position, part.text)
                    if text and calls:
                        raise refusal("text behind a tool use has no place in Chat Completions", message, position)
                    if isinstance(part, CitationsPart) and part.citations:
                        self.report("citations left out", message, position)
                    blocks += text
                case ToolUsePart():
                    calls.append(self._call(part))
                case ThinkingPart():
                    self.report("thinking left out", message, position)
                case CacheCheckpointPart():
                    pass
                case ImagePart() | DocumentPart() | ToolResultPart():
                    raise refusal("an assistant message holds text and tool uses", message, position)
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
                        raise refusal("a tool result behind other content would have to be moved", message, position)
                    attached += self._result(message, position, part)
                case TextPart() | CitationsPart() | ImagePart() | DocumentPart():
                    made = user_blocks(part, message, position)
                    if not made:
                        self.report("blank text left out", message, position)
                    blocks += made
                case CacheCheckpointPart():
                    pass
                case ThinkingPart() | ToolUsePart():
                    raise refusal("a user message holds no thinking and no tool use", message, position)
                case _:
                    assert_never(part)
        if attached:
            self.out.append({"role": "user", "content": attached})
        if blocks or not any(isinstance(part, ToolResultPart) for _, _, part in placed):
            self._put("user", index, blocks)

    def _result(self, message: int, position: int, part: ToolResultPart) -> list[dict[str, Json]]:
        """Write a `tool` message; give the blocks of its attachments, which must follow the last one."""
        call_id = self._aliases.id(part.tool_use_id)
        self.out.append({"role": "tool", "tool_call_id": call_id, "content": result_text(part)})
        if not part.attachments:
            return []
        self.report("attachments of a tool result follow the results as a user message", message, position)
        blocks = [text_part(f"Attachments of tool call {call_id}:")]
        for attachment in part.attachments:
            blocks += user_blocks(attachment, message, position)
        return blocks

    def _call(self, part: ToolUsePart) -> dict[str, Json]:
        spelled = part.input_text if part.input_text is not None else bytes(part.input).decode()
        function = {"name": self._aliases.name(part.name), "arguments": spelled}
        return {"id": self._aliases.id(part.id), "type": "function", "function": function}

    def _text(self, message: int, position: int, text: str) -> list[dict[str, Json]]:
        if text.strip():
            return [text_part(text)]
        self.report("blank text left out", message, position)
        return []

    def _put(self, role: str, index: int, blocks: list[dict[str, Json]], calls: Sequence[Json] = ()) -> None:
        if not blocks and not calls:
            self.report(f"a blank {role} message left out", index)
            return
        message: dict[str, Json] = {"role": role, "content": content_of(blocks) if blocks else None}
        if calls:
            message["tool_calls"] = list(calls)
        self.out.append(message)
