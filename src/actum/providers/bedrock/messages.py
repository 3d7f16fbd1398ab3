"""A transcript in the messages of Converse, part by part, in order.

Converse wants a user's message first, then one of each side in turn, and in a user's message the tool results first. So
messages of one side are joined; what would have to be moved is refused. A block is never blank, and a cache point
stands behind something that can be cached: never first, never behind thinking, never twice, four at most.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple, assert_never

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
from actum.model.encoded import Draft
from actum.providers.bedrock.parts import DocumentNames, citations, document, image, result_body

PROVIDER: Final = "bedrock"

_CACHE_POINTS: Final = 4
_CACHE_POINT: Final[dict[str, Json]] = {"cachePoint": {"type": "default"}}


class Placed(NamedTuple):
    """A block, and the message and part that it was made of."""

    block: dict[str, Json]
    message: int
    part: int


class Content(NamedTuple):
    """The blocks of one message of Converse; system blocks have no role there."""

    role: Role
    blocks: list[Placed]


def contents_of(draft: Draft) -> list[Content]:
    """The contents in order, the system's first; what becomes of their parts is told to the draft."""
    writer = _Writer(draft)
    for index, message in enumerate(draft.request.messages):
        writer.message(index, message)
    return writer.finished()


class _Writer:
    def __init__(self, draft: Draft) -> None:
        self._aliases = draft.aliases
        self._told = draft.projecting
        self._names = DocumentNames()
        self._out: list[Content] = []

    def message(self, index: int, message: Message) -> None:
        if message.role is not Role.ASSISTANT:
            self._trim()
        joined = bool(self._out) and self._out[-1].role is message.role
        blocks = self._out[-1].blocks if joined else []
        before = len(blocks)
        write = {Role.SYSTEM: self._system, Role.USER: self._user, Role.ASSISTANT: self._assistant}[message.role]
        for position, part in enumerate(message.parts):
            write(blocks, index, position, part)
        if len(blocks) == before:
            self._told.left_out(f"a blank {message.role} message left out", index)
        elif not joined:
            self._out.append(Content(message.role, blocks))
        elif message.role is not Role.SYSTEM:
            self._told.mapped(f"joined with the {message.role} message before it", index)

    def finished(self) -> list[Content]:
        self._trim()
        spoken = [content for content in self._out if content.role is not Role.SYSTEM]
        if not spoken:
            self._told.refused("nothing is left to send: every message is blank")
        elif spoken[0].role is Role.ASSISTANT:
            self._told.refused("Bedrock wants a user's message first", spoken[0].blocks[0].message)
        else:
            self._end(spoken[-1])
        for content in spoken:
            self._introduce(content)
        self._thin_out()
        return self._out

    def _system(self, blocks: list[Placed], message: int, position: int, part: Part) -> None:
        if isinstance(part, TextPart):
            self._text(blocks, message, position, part.text)
        elif isinstance(part, CacheCheckpointPart):
            self._mark(blocks, message, position)
        else:
            self._told.refused("a system message holds text", message, position)

    def _user(self, blocks: list[Placed], message: int, position: int, part: Part) -> None:
        match part:
            case TextPart():
                self._text(blocks, message, position, part.text)
            case CitationsPart():
                self._text(blocks, message, position, part.text)
                if part.citations:
                    self._told.left_out("citations of a user left out", message, position)
            case ImagePart() | DocumentPart():
                self._put(blocks, message, position, self._attached(message, position, part))
            case ToolResultPart():
                self._result(blocks, message, position, part)
            case CacheCheckpointPart():
                self._mark(blocks, message, position)
            case ThinkingPart() | ToolUsePart():
                self._told.refused("a user message holds no thinking and no tool use", message, position)
            case _:
                assert_never(part)

    def _assistant(self, blocks: list[Placed], message: int, position: int, part: Part) -> None:
        match part:
            case TextPart():
                self._text(blocks, message, position, part.text)
            case CitationsPart():
                if part.citations and part.text.strip():
                    self._put(blocks, message, position, [citations(part)])
                else:
                    self._text(blocks, message, position, part.text)
            case ToolUsePart():
                self._put(blocks, message, position, [self._use(message, position, part)])
            case ThinkingPart():
                self._think(blocks, message, position, part)
            case CacheCheckpointPart():
                self._mark(blocks, message, position)
            case ImagePart() | DocumentPart() | ToolResultPart():
                self._told.refused("an assistant message holds text, thinking and tool uses", message, position)
            case _:
                assert_never(part)

    def _text(self, blocks: list[Placed], message: int, position: int, text: str) -> None:
        if text.strip():
            self._put(blocks, message, position, [{"text": text}])
        else:
            self._told.left_out("blank text left out", message, position)

    def _think(self, blocks: list[Placed], message: int, position: int, part: ThinkingPart) -> None:
        if part.provider not in (None, PROVIDER):
            self._told.left_out("thinking of another provider left out", message, position)
            return
        if part.redacted is not None:
            made: dict[str, Json] = {"redactedContent": part.redacted}
        else:
            signature = {} if part.signature is None else {"signature": part.signature}
            made = {"reasoningText": {"text": part.text, **signature}}
        self._put(blocks, message, position, [{"reasoningContent": made}])

    def _use(self, message: int, position: int, part: ToolUsePart) -> dict[str, Json]:
        given: Json = part.input
        if part.input_text is not None:
            given = {"input_text": part.input_text}
            self._told.mapped("malformed input is sent as the text in an object", message, position)
        if part.signature is not None:
            self._told.left_out("the signature of a tool use left out", message, position)
        use = {"toolUseId": self._aliases.id(part.id), "name": self._aliases.name(part.name), "input": given}
        return {"toolUse": use}

    def _result(self, blocks: list[Placed], message: int, position: int, part: ToolResultPart) -> None:
        while blocks and blocks[-1].block is _CACHE_POINT:
            mark = blocks.pop()
            self._told.left_out("a cache checkpoint between tool results left out", mark.message, mark.part)
        if any("toolResult" not in each.block for each in blocks):
            self._told.refused("a tool result behind other content would have to be moved", message, position)
        content, otherwise = result_body(part)
        if otherwise is not None:
            self._told.mapped(otherwise, message, position)
        for attachment in part.attachments:
            content += self._attached(message, position, attachment)
        made: dict[str, Json] = {"toolUseId": self._aliases.id(part.tool_use_id), "content": content}
        if part.is_error:
            made["status"] = "error"
        self._put(blocks, message, position, [{"toolResult": made}])

    def _attached(self, message: int, position: int, part: ImagePart | DocumentPart) -> list[dict[str, Json]]:
        refused = self._refusing(message, position)
        if isinstance(part, ImagePart):
            return image(part, refused)
        name = self._names.name(part)
        if part.name is not None and name != part.name:
            self._told.mapped(f"the document is called {name!r}", message, position)
        return document(part, name, refused)

    def _mark(self, blocks: list[Placed], message: int, position: int) -> None:
        if not blocks or "reasoningContent" in blocks[-1].block or blocks[-1].block is _CACHE_POINT:
            self._told.left_out("a cache checkpoint behind nothing that can be cached left out", message, position)
        else:
            blocks.append(Placed(_CACHE_POINT, message, position))

    def _trim(self) -> None:
        """Take thinking from the end of an assistant message, where Anthropic's models refuse it."""
        if not self._out or self._out[-1].role is not Role.ASSISTANT:
            return
        blocks = self._out[-1].blocks
        while blocks and "reasoningContent" in blocks[-1].block:
            _, message, position = blocks.pop()
            self._told.left_out("thinking at the end of a message left out", message, position)
        if not blocks:
            self._out.pop()

    def _end(self, last: Content) -> None:
        """Take trailing blanks from a last assistant message, which would be refused for them."""
        at = max((i for i, each in enumerate(last.blocks) if each.block is not _CACHE_POINT), default=0)
        block, message, position = last.blocks[at]
        text = block.get("text")
        if last.role is Role.ASSISTANT and isinstance(text, str) and text != text.rstrip():
            last.blocks[at] = Placed({"text": text.rstrip()}, message, position)
            self._told.mapped("blanks at the end of a last assistant message left out", message, position)

    def _introduce(self, content: Content) -> None:
        """Put its name as text in front of a document that stands without any text, which Bedrock refuses."""
        names = [each.block["document"]["name"] for each in content.blocks if "document" in each.block]
        if not names or any("text" in each.block for each in content.blocks):
            return
        at = next(i for i, each in enumerate(content.blocks) if "document" in each.block)
        _, message, position = content.blocks[at]
        content.blocks.insert(at, Placed({"text": f"Documents: {', '.join(names)}"}, message, position))
        self._told.mapped("a document without any text beside it is introduced by its name", message, position)

    def _thin_out(self) -> None:
        """Keep the last cache points, as many as Bedrock takes."""
        marks = [(content.blocks, each) for content in self._out for each in content.blocks if _is_mark(each)]
        for blocks, mark in marks[: max(0, len(marks) - _CACHE_POINTS)]:
            blocks.remove(mark)
            self._told.left_out(f"a cache checkpoint before the last {_CACHE_POINTS} left out", mark.message, mark.part)

    def _put(self, blocks: list[Placed], message: int, position: int, made: Sequence[dict[str, Json]]) -> None:
        blocks += [Placed(block, message, position) for block in made]

    def _refusing(self, message: int, position: int) -> Callable[[str], None]:
        return partial(self._told.refused, message_index=message, part_index=position)


def _is_mark(placed: Placed) -> bool:
    return placed.block is _CACHE_POINT
