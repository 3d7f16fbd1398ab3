"""Contents of Gemini, with its system instruction -> our messages.

Not every call has an id there. One without gets the place where it stands; its response is the next one of its name.
"""

from typing import Final

from actum.base.checks import refuse
from actum.base.value import Json
from actum.messages.message import Message, Role
from actum.messages.parts import DocumentPart, ImagePart, Part, TextPart, ThinkingPart, ToolResultPart, ToolUsePart
from actum.model.fold import tool_use_of
from actum.providers.gemini.contents import PROVIDER
from actum.providers.interchange.building import Building
from actum.providers.interchange.files import file_of
from actum.providers.interchange.reading import Fields

_ROLES: Final = {"user": Role.USER, "function": Role.USER, "model": Role.ASSISTANT}
_FOREIGN_SIGNATURE: Final = "skip_thought_signature_validator"


def read_gemini(document: Fields) -> list[Message]:
    """The messages in an object of `systemInstruction` and `contents`."""
    building, calls = Building(), _Calls()
    if document.has("systemInstruction"):
        given = document.inside("systemInstruction")
        given.leave("role")
        building.message(Role.SYSTEM, [TextPart(text=part.text("text")) for part in given.objects("parts")])
    for given in document.objects("contents"):
        role = given.text_or_none("role") or "user"
        if role not in _ROLES:
            raise given.unknown("role", role, ", ".join(_ROLES))
        building.message(_ROLES[role], [each for part in given.objects("parts") for each in _parts(part, calls)])
    return building.finished()


class _Calls:
    """The calls that no response has come for, by name."""

    def __init__(self) -> None:
        self._made = 0
        self._open: list[tuple[str, str]] = []

    def made(self, id: str | None, name: str) -> str:
        """The id of a call."""
        self._made += 1
        known = id or f"call_{self._made}"
        self._open.append((known, name))
        return known

    def answered(self, id: str | None, name: str) -> str | None:
        """The id of the call that a response is for; None when there is none."""
        found = next((each for each in self._open if id in (None, each[0]) and each[1] == name), None)
        if found is not None:
            self._open.remove(found)
        return id if found is None else found[0]


def _parts(given: Fields, calls: _Calls) -> list[Part]:
    given.leave("videoMetadata", "mediaResolution", "partMetadata")
    signature = given.text_or_none("thoughtSignature")
    if signature == _FOREIGN_SIGNATURE:
        signature = None
    if given.has("functionCall"):
        return [_call(given.inside("functionCall"), signature, calls)]
    if given.flag("thought"):
        return [ThinkingPart(text=given.text("text"), signature=signature, provider=PROVIDER)]
    # A signature that comes with something else is thinking without words behind it, as in an answer.
    behind: list[Part] = [] if signature is None else [ThinkingPart(text="", signature=signature, provider=PROVIDER)]
    if given.has("text"):
        return [TextPart(text=given.text("text")), *behind]
    if given.has("functionResponse"):
        return [_response(given.inside("functionResponse"), calls), *behind]
    return [_file(given), *behind]


def _file(given: Fields) -> ImagePart | DocumentPart:
    if given.has("inlineData"):
        blob = given.inside("inlineData")
        name = blob.text_or_none("displayName")
        return file_of(blob.at("mimeType"), blob.text("mimeType"), data=blob.data("data"), name=name)
    if given.has("fileData"):
        file = given.inside("fileData")
        name = file.text_or_none("displayName")
        return file_of(file.at("mimeType"), file.text("mimeType"), uri=file.text("fileUri"), name=name)
    known = "text, inlineData, fileData, functionCall, functionResponse"
    raise given.unknown("", ", ".join(given.names()), known)


def _call(given: Fields, signature: str | None, calls: _Calls) -> ToolUsePart:
    given.leave("willContinue", "partialArgs")
    name = given.text("name")
    id = calls.made(given.text_or_none("id"), name)
    input = given.raw("args").decode() if given.has("args") else "{}"
    return tool_use_of(id, name, input, signature=signature, provider=None if signature is None else PROVIDER)


def _response(given: Fields, calls: _Calls) -> ToolResultPart:
    given.leave("willContinue", "scheduling")
    name = given.text("name")
    id = calls.answered(given.text_or_none("id"), name)
    if id is None:
        raise refuse(given.at("name"), name, "is the name of a call before it, for it has no id")
    files = tuple(_file(part) for part in given.objects("parts"))
    content: Json = given.json("response") if given.has("response") else None
    failed = isinstance(content, dict) and set(content) == {"error"}
    if isinstance(content, dict) and set(content) in ({"output"}, {"error"}):
        # Gemini reads these two as the whole of a response.
        content = content["error" if failed else "output"]
    return ToolResultPart(tool_use_id=id, content=content, attachments=files, is_error=failed)
