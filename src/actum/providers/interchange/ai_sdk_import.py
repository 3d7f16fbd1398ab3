"""UI messages of the Vercel AI SDK -> our messages: each step of the assistant is one, its results the next one."""

from typing import Final

from actum.base.checks import refuse
from actum.base.value import load_json
from actum.messages.message import Message, Role, tool_results
from actum.messages.parts import (
    CitationsPart,
    DocumentPart,
    ImagePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
)
from actum.model.fold import tool_use_of
from actum.providers.interchange.ai_sdk import OWN
from actum.providers.interchange.files import data_of, file_of
from actum.providers.interchange.own import part_in
from actum.providers.interchange.reading import Fields

_ROLES: Final = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT}
_OPEN: Final = ("input-available", "approval-requested", "approval-responded")


def read_ui_messages(document: Fields) -> list[Message]:
    """The messages in a list of UI messages."""
    out: list[Message] = []
    for given in document.objects(""):
        role = given.text("role")
        if role not in _ROLES:
            raise given.unknown("role", role, ", ".join(_ROLES))
        given.json("id")
        meta = given.json("metadata")
        if meta is not None and not isinstance(meta, dict):
            raise refuse(given.at("metadata"), meta, "is an object")
        steps: list[_Step] = [] if role == "assistant" else [_Step()]
        for part in given.objects("parts"):
            kind = part.text("type")
            if kind == "step-start":
                steps.append(_Step())
                continue
            if not steps:
                steps.append(_Step())
            steps[-1].add(part, kind)
        for each in steps or [_Step()]:
            out.append(Message(role=_ROLES[role], parts=tuple(each.parts), meta=meta))
            meta = None
            if each.results:
                out.append(tool_results(*each.results))
    return out


class _Step:
    """The parts between two marks of a step."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.results: list[ToolResultPart] = []

    def add(self, part: Fields, kind: str) -> None:
        """One more part."""
        if kind in ("text", "reasoning"):
            part.leave("state")
        if kind == "text":
            self.parts.append(_text(part))
        elif kind == "reasoning":
            more = _own(part, "providerMetadata")
            signature = None if more is None else more.text_or_none("signature")
            provider = None if more is None else more.text_or_none("provider")
            self.parts.append(ThinkingPart(text=part.text("text"), signature=signature, provider=provider))
        elif kind == "file":
            self.parts.append(_file(part))
        elif kind == f"data-{OWN}":
            part.json("id")
            self.parts.append(part_in(part.raw("data")))
        elif kind.startswith(("data-", "source-")):
            part.leave(*part.names())
            part.note("type", "left out: it is no part of what was said")
        elif kind == "dynamic-tool" or kind.startswith("tool-"):
            self._tool(part, kind)
        else:
            raise part.unknown("type", kind, "text, reasoning, file, tool-NAME, dynamic-tool, data-NAME, step-start")

    def _tool(self, part: Fields, kind: str) -> None:
        if part.flag("providerExecuted"):
            raise refuse(part.at("providerExecuted"), "true", "is false: the provider's own tools are no tool uses")
        part.leave("title", "approval", "preliminary")
        name = part.text("toolName") if kind == "dynamic-tool" else kind.removeprefix("tool-")
        id, state = part.text("toolCallId"), part.text("state")
        use = _use(part, id, name)
        more = _own(part, "resultProviderMetadata")
        files = () if more is None else tuple(_attachment(each) for each in more.objects("attachments"))
        self.parts.append(use)
        if state == "output-available":
            content = part.json("output")
            self.results.append(ToolResultPart(tool_use_id=id, content=content, attachments=files))
        elif state == "output-error":
            text = part.text("errorText")
            content = more.json("output") if more is not None and more.has("output") else text
            self.results.append(ToolResultPart(tool_use_id=id, content=content, attachments=files, is_error=True))
        elif state not in _OPEN:
            raise part.unknown("state", state, f"{', '.join(_OPEN)}, output-available, output-error")


def _text(part: Fields) -> Part:
    text, more = part.text("text"), _own(part, "providerMetadata")
    if more is None:
        return TextPart(text=text)
    found = part_in(more.raw("part"))
    if not isinstance(found, CitationsPart) or found.text != text:
        raise refuse(more.at("part"), found, "holds the text beside it with its citations")
    return found


def _use(part: Fields, id: str, name: str) -> ToolUsePart:
    more = _own(part, "callProviderMetadata")
    signature = None if more is None else more.text_or_none("signature")
    provider = None if more is None else more.text_or_none("provider")
    if not part.has("input"):
        raw = part.raw("rawInput") if part.has("rawInput") else b'""'
        said = load_json(raw)
        text = said if isinstance(said, str) else raw.decode()
        return ToolUsePart(id=id, name=name, input_text=text, signature=signature, provider=provider)
    part.leave("rawInput")
    return tool_use_of(id, name, part.raw("input").decode(), signature=signature, provider=provider)


def _file(part: Fields) -> ImagePart | DocumentPart:
    part.leave("providerMetadata")
    media, url, name = part.text("mediaType"), part.text("url"), part.text_or_none("filename")
    held = data_of(part.at("url"), url)
    if held is None:
        return file_of(part.at("mediaType"), media, uri=url, name=name)
    return file_of(part.at("mediaType"), media, data=held[1], name=name)


def _attachment(given: Fields) -> ImagePart | DocumentPart:
    found = part_in(given.whole())
    if not isinstance(found, ImagePart | DocumentPart):
        raise refuse(given.path, found, "is an image or a document")
    return found


def _own(part: Fields, name: str) -> Fields | None:
    """What Actum itself put beside a part; what other providers put there is left out."""
    if not part.has(name):
        return None
    beside = part.inside(name)
    mine = beside.inside(OWN) if beside.has(OWN) else None
    beside.leave(*beside.names())
    return mine
