"""Our messages -> UI messages of the Vercel AI SDK. The assistant's messages up to the next question are one there.

Each of them is a step, and a tool's result stands with its use. What a UI message has no part for goes as a data part
of the type `data-actum`, or beside its part as metadata of the provider `actum`, so that nothing is lost.
"""

import base64
from typing import Final, assert_never

from actum.base.value import Json, dump_json
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
from actum.model.projection import Projecting
from actum.providers.interchange.files import MEDIA_TYPES
from actum.providers.interchange.own import known, spelled_part

OWN: Final = "actum"


def write_ui_messages(messages: tuple[Message, ...], told: Projecting) -> Json:
    """A list of UI messages, and to `told` what they do not say just so."""
    return _Writer(told).written(messages)


class _Writer:
    def __init__(self, told: Projecting) -> None:
        self._told = told
        self._out: list[dict[str, Json]] = []
        # The tool parts that wait for their results, by the id of the use.
        self._open: dict[str, tuple[dict[str, Json], ToolUsePart]] = {}

    def written(self, messages: tuple[Message, ...]) -> list[dict[str, Json]]:
        for index, message in enumerate(messages):
            if message.role is Role.ASSISTANT:
                self._step(index, message)
            else:
                self._said(index, message)
        return self._out

    def _begin(self, message: Message, role: str) -> list[Json]:
        parts: list[Json] = []
        made: dict[str, Json] = {"id": f"msg-{len(self._out) + 1}", "role": role}
        if message.meta is not None:
            made["metadata"] = message.meta
        self._out.append(made | {"parts": parts})
        return parts

    def _step(self, index: int, message: Message) -> None:
        going_on = bool(self._out) and self._out[-1]["role"] == "assistant"
        if going_on and message.meta is not None:
            self._told.left_out("the meta of a later step left out", index)
        parts = self._out[-1]["parts"] if going_on else self._begin(message, "assistant")
        parts.append({"type": "step-start"})
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolUsePart):
                made: dict[str, Json] = {"type": f"tool-{part.name}", "toolCallId": part.id, "state": "input-available"}
                if part.input_text is None:
                    made["input"] = part.input
                self._open[part.id] = made, part
                self._beside(made, "callProviderMetadata", known(signature=part.signature, provider=part.provider))
                parts.append(made)
            elif isinstance(part, ToolResultPart):
                self._told.refused("an assistant message holds no tool result", index, position)
            else:
                parts.append(_part(part))

    def _said(self, index: int, message: Message) -> None:
        said: list[Json] = []
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolResultPart):
                if said:
                    self._told.refused("a tool result behind other content would have to be moved", index, position)
                self._result(part, index, position)
            elif isinstance(part, ToolUsePart):
                self._told.refused("only an assistant message holds tool uses", index, position)
            else:
                said.append(_part(part))
        for made, use in self._open.values():
            if use.input_text is not None and made["state"] == "input-available":
                self._told.refused("a malformed tool use has a failed result", index)
        if [each.tool_use_id for each in message.tool_results] != list(self._open)[: len(message.tool_results)]:
            self._told.mapped("results stand with their tool uses, in the order of those", index)
        self._open = {}
        if said or not message.tool_results:
            self._begin(message, str(message.role)).extend(said)
        elif message.meta is not None:
            self._told.left_out("the meta of a message of results left out", index)

    def _result(self, part: ToolResultPart, index: int, position: int) -> None:
        made, use = self._open[part.tool_use_id]
        more: dict[str, Json] = {}
        if part.attachments:
            more["attachments"] = [spelled_part(each) for each in part.attachments]
        if part.is_error:
            made["state"] = "output-error"
            made["errorText"] = part.content if isinstance(part.content, str) else dump_json(part.content).decode()
            if not isinstance(part.content, str):
                more["output"] = part.content
            if use.input_text is not None:
                made["rawInput"] = use.input_text
        elif use.input_text is not None:
            self._told.refused("a malformed tool use has a failed result", index, position)
        else:
            made["state"] = "output-available"
            made["output"] = part.content
        self._beside(made, "resultProviderMetadata", more)

    def _beside(self, made: dict[str, Json], name: str, more: dict[str, Json]) -> None:
        if more:
            made[name] = {OWN: more}


def _part(part: Part) -> dict[str, Json]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ThinkingPart() if part.text is not None:
            more = known(signature=part.signature, provider=part.provider)
            return {"type": "reasoning", "text": part.text} | ({"providerMetadata": {OWN: more}} if more else {})
        case ImagePart() if part.metadata is None and part.format is not None:
            return _file(f"image/{part.format}", part.bytes, part.uri)
        case DocumentPart() if part.text is None and part.chunks is None and part.context is None and not part.cite:
            named = {} if part.name is None else {"filename": part.name}
            return _file(MEDIA_TYPES[part.format], part.bytes, part.uri) | named
        case CitationsPart():
            # Its text is what a reader shall see; the citations have no part there that stands with a text.
            return {"type": "text", "text": part.text, "providerMetadata": {OWN: {"part": spelled_part(part)}}}
        case ThinkingPart() | ImagePart() | DocumentPart() | CacheCheckpointPart() | ToolUsePart() | ToolResultPart():
            return {"type": f"data-{OWN}", "data": spelled_part(part)}
        case _:
            assert_never(part)


def _file(media: str, data: bytes | None, uri: str | None) -> dict[str, Json]:
    url = uri if data is None else f"data:{media};base64,{base64.b64encode(data).decode()}"
    return {"type": "file", "mediaType": media, "url": url}
