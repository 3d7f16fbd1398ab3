"""A transcript in the contents of Gemini, part by part, in order. Nothing is moved, nothing invented."""

import base64
import binascii
import re
from collections.abc import Callable
from functools import partial
from typing import Final, assert_never

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
from actum.providers.gemini.parts import (
    about_document,
    arguments_of,
    attachment,
    document,
    image,
    response_of,
    text_part,
)
from actum.transcript.turns import begins_turn

PROVIDER: Final = "gemini"

# From the third generation on, the first call of a step in the running turn must carry a signature; this is the one
# that Google gives out for calls that another model made.
_SIGNING: Final = re.compile(r"(?:models/)?gemini-(?:[3-9]|\d\d)")
_FOREIGN_SIGNATURE: Final = "skip_thought_signature_validator"
_STANDARD: Final = str.maketrans("-_", "+/")


class Contents:
    """The contents of one request, the system's beside them; what becomes of their parts is told to the draft."""

    def __init__(self, draft: Draft) -> None:
        self._aliases = draft.aliases
        self._told = draft.projecting
        self._names: dict[str, str] = {}
        messages = draft.request.messages
        # The last user's input: calls behind it belong to the running turn.
        last = max((i for i, message in enumerate(messages) if begins_turn(message)), default=-1)
        self._running = last if _SIGNING.match(draft.request.model) else len(messages)
        self.system: list[dict[str, Json]] = []
        self.out: list[dict[str, Json]] = []
        for index, message in enumerate(messages):
            self._message(index, message)
        if not self.out:
            self._told.refused("nothing is left to send: every message is blank")

    def _message(self, index: int, message: Message) -> None:
        if message.role is Role.SYSTEM:
            before = len(self.system)
            for position, part in enumerate(message.parts):
                self._system(index, position, part)
            if len(self.system) == before:
                self._told.left_out("a blank system message left out", index)
            return
        # A call follows a user's content or a response, so nothing of the model's may stand before it on its own.
        joined = message.role is Role.ASSISTANT and bool(self.out) and self.out[-1]["role"] == "model"
        parts: list[dict[str, Json]] = self.out[-1]["parts"] if joined else []
        before = len(parts)
        for position, part in enumerate(message.parts):
            if message.role is Role.USER:
                parts += self._user(index, position, part)
            else:
                self._assistant(parts, index, position, part)
        if len(parts) == before:
            self._told.left_out(f"a blank {message.role} message left out", index)
        elif joined:
            self._told.mapped("joined with the assistant message before it", index)
        else:
            if message.tool_uses and not self.out:
                self._told.refused("Gemini wants a user's message before a tool use", index)
            self.out.append({"role": "user" if message.role is Role.USER else "model", "parts": parts})

    def _system(self, message: int, position: int, part: Part) -> None:
        if isinstance(part, TextPart):
            self.system += self._text(message, position, part.text)
        elif isinstance(part, CacheCheckpointPart):
            self._mark(message, position)
        else:
            self._told.refused("a system message holds text", message, position)

    def _user(self, message: int, position: int, part: Part) -> list[dict[str, Json]]:
        match part:
            case TextPart():
                return self._text(message, position, part.text)
            case CitationsPart():
                return self._cited(message, position, part)
            case ImagePart():
                return image(part, self._refusing(message, position))
            case DocumentPart():
                return self._document(message, position, part)
            case ToolResultPart():
                return [self._result(message, position, part)]
            case CacheCheckpointPart():
                self._mark(message, position)
            case ThinkingPart() | ToolUsePart():
                self._told.refused("a user message holds no thinking and no tool use", message, position)
            case _:
                assert_never(part)
        return []

    def _assistant(self, parts: list[dict[str, Json]], message: int, position: int, part: Part) -> None:
        match part:
            case TextPart():
                parts += self._text(message, position, part.text)
            case CitationsPart():
                parts += self._cited(message, position, part)
            case ThinkingPart():
                self._think(parts, message, position, part)
            case ToolUsePart():
                first = not any("functionCall" in each for each in parts)
                parts.append(self._use(message, position, part, first=first))
            case CacheCheckpointPart():
                self._mark(message, position)
            case ImagePart() | DocumentPart() | ToolResultPart():
                self._told.refused("an assistant message holds text, thinking and tool uses", message, position)
            case _:
                assert_never(part)

    def _text(self, message: int, position: int, text: str) -> list[dict[str, Json]]:
        if text.strip():
            return [text_part(text)]
        self._told.left_out("blank text left out", message, position)
        return []

    def _cited(self, message: int, position: int, part: CitationsPart) -> list[dict[str, Json]]:
        if part.citations:
            self._told.left_out("citations left out", message, position)
        return self._text(message, position, part.text)

    def _think(self, parts: list[dict[str, Json]], message: int, position: int, part: ThinkingPart) -> None:
        if part.provider != PROVIDER or part.text is None or not _is_own(part.signature):
            self._told.left_out("thinking of another provider left out", message, position)
        elif part.text:
            signed = {} if part.signature is None else {"thoughtSignature": part.signature}
            parts.append({"text": part.text, "thought": True, **signed})
        elif part.signature is not None:
            # A signature alone belongs to the text before it, which it came with or closely behind.
            behind = bool(parts) and set(parts[-1]) == {"text"}
            said = parts.pop() if behind else {"text": "", "thought": True}
            parts.append({**said, "thoughtSignature": part.signature})
        else:
            self._told.left_out("blank thinking without a signature left out", message, position)

    def _use(self, message: int, position: int, part: ToolUsePart, *, first: bool) -> dict[str, Json]:
        arguments, otherwise = arguments_of(part)
        if otherwise is not None:
            self._told.mapped(otherwise, message, position)
        name = self._names[part.id] = self._aliases.name(part.name)
        made: dict[str, Json] = {"functionCall": {"id": self._aliases.id(part.id), "name": name, "args": arguments}}
        if part.signature is not None and part.provider == PROVIDER and _is_own(part.signature):
            made["thoughtSignature"] = part.signature
        elif part.signature is not None:
            self._told.left_out("the signature of another provider left out", message, position)
        if first and message > self._running and "thoughtSignature" not in made:
            made["thoughtSignature"] = _FOREIGN_SIGNATURE
            self._told.mapped("a tool use without a signature carries Gemini's mark for those", message, position)
        return made

    def _document(self, message: int, position: int, part: DocumentPart) -> list[dict[str, Json]]:
        made = document(part, self._refusing(message, position))
        if part.cite:
            self._told.left_out("the wish for citations left out: Gemini cites no documents", message, position)
        if made and about_document(part) is not None:
            self._told.mapped("a document's name and context are sent as text before it", message, position)
        elif made and "text" in made[0]:
            self._told.mapped("a document is sent as text", message, position)
        return made

    def _result(self, message: int, position: int, part: ToolResultPart) -> dict[str, Json]:
        content, otherwise = response_of(part)
        if otherwise is not None:
            self._told.mapped(otherwise, message, position)
        refused = self._refusing(message, position)
        attached = [each for given in part.attachments for each in attachment(given, refused)]
        # The planner's law has seen to it that the call came right before.
        made = {"id": self._aliases.id(part.tool_use_id), "name": self._names[part.tool_use_id], "response": content}
        return {"functionResponse": {**made, **({"parts": attached} if attached else {})}}

    def _mark(self, message: int, position: int) -> None:
        self._told.left_out("a cache checkpoint left out: Gemini caches by itself", message, position)

    def _refusing(self, message: int, position: int) -> Callable[[str], None]:
        return partial(self._told.refused, message_index=message, part_index=position)


def _is_own(signature: str | None) -> bool:
    """Whether a signature may be one of Gemini's, which are bytes, and stand as base64 of either alphabet."""
    try:
        base64.b64decode((signature or "").translate(_STANDARD), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
