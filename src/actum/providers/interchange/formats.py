"""The door: a transcript into another format, and out of one.

A format is a list or an object of JSON as its owner documents it, in bytes, so that a tool's input keeps its spelling.
Exporters for providers are the encoders that calls use; so what a call would refuse, they refuse.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from actum.base.checks import refuse
from actum.base.value import Json, exact, spelled
from actum.messages.message import Message
from actum.model.projection import Projecting, ProjectionReport, refusal_of
from actum.model.request import ModelRequest
from actum.providers.accept import words_of
from actum.providers.interchange.ai_sdk import write_ui_messages
from actum.providers.interchange.ai_sdk_import import read_ui_messages
from actum.providers.interchange.anthropic import read_anthropic
from actum.providers.interchange.bedrock import read_bedrock
from actum.providers.interchange.gemini import read_gemini
from actum.providers.interchange.langchain import write_langchain
from actum.providers.interchange.langchain_import import read_langchain
from actum.providers.interchange.openai_chat import read_chat
from actum.providers.interchange.openai_responses import read_items
from actum.providers.interchange.reading import Fields, Imported, document_of
from actum.transcript.validate import validate_planner_transcript

_ANY_MODEL: Final = "any"


@dataclass(frozen=True)
class Exported:
    """A transcript in another format: its JSON bytes, and what does not stand in them just so."""

    data: bytes
    report: ProjectionReport


_Read = Callable[[Fields], list[Message]]
_Write = Callable[[tuple[Message, ...], str], tuple[Json, ProjectionReport]]


def import_messages(data: bytes, format: str) -> Imported:
    """The messages in `data`, a document in this format; see `FORMATS`.

    Roles and parts keep their order; ids, counts and other facts of a call are left out, and each is noted with its
    path. Raises InvalidValue, with the path, for JSON that is none, a field that the format does not have, and whatever
    no part can hold. Whether the messages are a lawful transcript is `validate_planner_transcript`'s to say.
    """
    read, _ = _known(format)
    document = document_of(data)
    messages = read(document)
    document.done()
    return Imported(messages=tuple(exact(each) for each in messages), notes=tuple(document.notes))


def export_messages(messages: Sequence[Message], format: str, *, model: str | None = None) -> Exported:
    """A lawful transcript as a document in this format; `model` counts where a provider treats models differently.

    Raises ProviderError, kind `model_request`, naming all that the format cannot say; TranscriptError for a transcript
    against the planner's law; InvalidValue for a malformed message or an unknown format.
    """
    _, write = _known(format)
    document, report = write(tuple(messages), model or _ANY_MODEL)
    if not report.accepted:
        raise refusal_of(report)
    return Exported(data=spelled(document), report=report)


def _known(format: str) -> tuple[_Read, _Write]:
    if format not in FORMATS:
        raise refuse("format", format, f"is one of {', '.join(sorted(FORMATS))}")
    return FORMATS[format]


def _by_provider(provider: str, *members: str) -> _Write:
    """The exporter that a provider's encoder is: these members of its body, or the one list."""

    def write(messages: tuple[Message, ...], model: str) -> tuple[Json, ProjectionReport]:
        encoded = words_of(provider).project(ModelRequest(model=model, messages=messages))
        found = {name: encoded.body[name] for name in members if name in encoded.body}
        return found if len(members) > 1 else encoded.body[members[0]], encoded.report

    return write


def _by_hand(format: str, make: Callable[[tuple[Message, ...], Projecting], Json]) -> _Write:
    def write(messages: tuple[Message, ...], model: str) -> tuple[Json, ProjectionReport]:
        lawful = tuple(exact(each) for each in messages)
        validate_planner_transcript(lawful)
        told = Projecting()
        document = make(lawful, told)
        return document, told.report(format, model)

    return write


FORMATS: Final[dict[str, tuple[_Read, _Write]]] = {
    "ai-sdk": (read_ui_messages, _by_hand("ai-sdk", write_ui_messages)),
    "anthropic": (read_anthropic, _by_provider("anthropic", "system", "messages")),
    "bedrock": (read_bedrock, _by_provider("bedrock", "system", "messages")),
    "gemini": (read_gemini, _by_provider("gemini", "systemInstruction", "contents")),
    "langchain": (read_langchain, _by_hand("langchain", write_langchain)),
    "openai": (read_items, _by_provider("openai", "input")),
    "openai-agents": (read_items, _by_provider("openai", "input")),
    "openai-chat": (read_chat, _by_provider("openai-chat", "messages")),
}
