"""What `ProviderContract` sends: an example of each form of a part, and a conversation with everything in it."""

import base64
from typing import Final, NamedTuple

from actum.base.value import Verbatim
from actum.messages.message import Message, assistant, system, user
from actum.messages.parts import (
    CacheCheckpointPart,
    CharRange,
    Citation,
    CitationsPart,
    DocumentPart,
    ImagePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
    tool_use,
)
from actum.model.request import ToolDefinition
from actum.model.rules import PartForm

# One black pixel, and the shortest text that begins as a PDF does.
PNG: Final = base64.b64decode(
    b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
PDF: Final = b"%PDF-1.4\n"
# How a model may spell its input: blanks, numbers and characters as nobody else would write them.
SPELLED: Final = Verbatim(b'{ "city" : "Ulm \xe2\x98\x82", "n":1.50, "big":12345678901234567890 }')

TOOLS: Final = (
    ToolDefinition(
        name="weather.lookup",
        description="The weather of a city.",
        input_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    ),
    ToolDefinition(name="plain_tool", input_schema={"type": "object", "properties": {}}),
)


class FormSample(NamedTuple):
    """A transcript with one part of some form, and where it stands."""

    messages: tuple[Message, ...]
    message_index: int
    part_index: int


def standard_conversation(thinking: tuple[ThinkingPart, ...] = (), *, ids: str = "call_") -> tuple[Message, ...]:
    """A conversation with everything that may move from one provider to another.

    Tools, parallel results, thinking of whoever led it, images, a document, a failed tool, cache marks. Each text and
    id in it that a provider must send is unique: `mark-01`, `mark-02` and so on, in order.
    """
    first, second, third = (f"{ids}{number}" for number in ("mark-06", "mark-07", "mark-15"))
    image = ImagePart(bytes=PNG, format="png")
    return (
        system("mark-01"),
        system("mark-02", CacheCheckpointPart()),
        user("mark-03", image, DocumentPart(format="pdf", bytes=PDF, name="plan"), "mark-04", CacheCheckpointPart()),
        assistant(
            *thinking,
            "mark-05",
            ToolUsePart(id=first, name="weather.lookup", input=SPELLED),
            tool_use(second, "weather.lookup", {"city": "mark-08"}),
        ),
        user(
            ToolResultPart(tool_use_id=second, content="mark-09"),
            ToolResultPart(tool_use_id=first, content={"says": "mark-10"}, is_error=True),
            TextPart(text="mark-11"),
        ),
        assistant(*thinking, "mark-12"),
        user("mark-13", image),
        assistant(*thinking, "mark-14", tool_use(third, "plain_tool", {})),
        user(ToolResultPart(tool_use_id=third, content="mark-16", attachments=(image,)), CacheCheckpointPart()),
        assistant("mark-17"),
        user("mark-18"),
    )


def form_samples(own_thinking: tuple[ThinkingPart, ...]) -> dict[PartForm, FormSample]:
    """An example of every form; a provider that makes thinking gives its own, with a signature and redacted."""
    signed = next((part for part in own_thinking if part.text is not None), _SIGNED)
    redacted = next((part for part in own_thinking if part.redacted is not None), _REDACTED)
    foreign = ThinkingPart(text="hm", signature="c2ln", provider="somebody-else")
    said: dict[PartForm, Part] = {
        PartForm.THINKING: signed,
        PartForm.REDACTED_THINKING: redacted,
        PartForm.FOREIGN_THINKING: foreign,
        PartForm.CITATIONS: _CITED,
    }
    uses: dict[PartForm, ToolUsePart] = {
        PartForm.TOOL_USE: tool_use("t1", "plain_tool", {"city": "Ulm"}),
        PartForm.DOTTED_NAME: tool_use("t1", "weather.lookup", {}),
        PartForm.FOREIGN_ID: tool_use("id of another: ж", "plain_tool", {}),
        PartForm.MALFORMED_INPUT: ToolUsePart(id="t1", name="plain_tool", input_text='{"city": "Ul'),
    }
    found = {PartForm.SYSTEM: FormSample((system("Be brief."), user("hi")), 0, 0)}
    found |= {form: FormSample((user("hi", part, "bye"),), 0, 1) for form, part in _ASKED.items()}
    asked = user("hi", DocumentPart(format="txt", text="So it is.", name="plan", cite=True))
    found |= {form: FormSample((asked, assistant(part, "so"), user("on")), 1, 0) for form, part in said.items()}
    for form, use in uses.items():
        answer = ToolResultPart(tool_use_id=use.id, content="ok")
        found[form] = FormSample((user("hi"), assistant(use), user(answer)), 1, 0)
    for form, result in _RESULTS.items():
        found[form] = FormSample((user("hi"), assistant(tool_use("t1", "plain_tool", {})), user(result)), 2, 0)
    return found


_SIGNED: Final = ThinkingPart(text="hm", signature="c2ln")
_REDACTED: Final = ThinkingPart(redacted=b"opaque\x00\x01\xfe\xff")
_CITED: Final = CitationsPart(
    text="It is so.",
    citations=(Citation(title="plan", source="document:0", location=CharRange(start=0, end=5), excerpt="So it"),),
)
_ASKED: Final[dict[PartForm, Part]] = {
    PartForm.TEXT: TextPart(text="text \n"),
    PartForm.BLANK_TEXT: TextPart(text=" \n\t"),
    PartForm.IMAGE_BYTES: ImagePart(bytes=PNG, format="png"),
    PartForm.IMAGE_URI: ImagePart(uri="https://example.com/a.png", format="png"),
    PartForm.PDF_BYTES: DocumentPart(format="pdf", bytes=PDF, name="plan.pdf", context="The plan."),
    PartForm.PDF_URI: DocumentPart(format="pdf", uri="https://example.com/plan.pdf"),
    PartForm.TEXT_DOCUMENT: DocumentPart(format="txt", text="So it is.", name="plan.txt", context="The plan."),
    PartForm.CHUNKED_DOCUMENT: DocumentPart(format="txt", chunks=("So it", "is."), name="plan.txt"),
    PartForm.TEXT_FILE: DocumentPart(format="csv", bytes=b"a,b\n1,2\n", name="table.csv"),
    PartForm.OFFICE_FILE: DocumentPart(format="docx", bytes=b"PK\x03\x04", name="plan.docx"),
    PartForm.CACHE_CHECKPOINT: CacheCheckpointPart(),
}
_RESULTS: Final[dict[PartForm, ToolResultPart]] = {
    PartForm.RESULT_TEXT: ToolResultPart(tool_use_id="t1", content="fine"),
    PartForm.RESULT_JSON: ToolResultPart(tool_use_id="t1", content={"c": [7, None, True, 2**70]}),
    PartForm.RESULT_EMPTY: ToolResultPart(tool_use_id="t1", content=""),
    PartForm.RESULT_ERROR: ToolResultPart(tool_use_id="t1", content="n/a", is_error=True),
    PartForm.RESULT_IMAGE: ToolResultPart(
        tool_use_id="t1", content="shot", attachments=(ImagePart(bytes=PNG, format="png"),)
    ),
    PartForm.RESULT_PDF: ToolResultPart(
        tool_use_id="t1", content="read", attachments=(DocumentPart(format="pdf", bytes=PDF, name="plan.pdf"),)
    ),
}
