"""Every format both ways: what was once imported survives every further trip, and what goes as it is comes back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actum.base.errors import InvalidValue, ProviderError, TranscriptError
from actum.messages.message import Message, Role, assistant, system, user
from actum.messages.parts import DocumentPart, ImagePart, Part, ThinkingPart, ToolResultPart, ToolUsePart, tool_use
from actum.providers.interchange.formats import FORMATS, Exported, export_messages, import_messages
from actum.testing.provider_samples import PDF, PNG, SPELLED, standard_conversation
from tests.providers.test_any_transcript import wild
from tests.support.strategies import texts, verbatim_objects

# Formats that keep room for parts that they have no word of their own for.
ROOMY = ("ai-sdk", "langchain")
SLOW = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


def spoken(messages: tuple[Message, ...]) -> list[tuple[Role, Part]]:
    """The parts in order, each with its side; how many messages they were is not said everywhere."""
    return [(message.role, part) for message in messages for part in message.parts]


def exported(messages: tuple[Message, ...], format: str) -> Exported | None:
    """The document; None for a transcript that the format cannot say."""
    try:
        return export_messages(messages, format)
    except ProviderError:
        return None


def said() -> st.SearchStrategy[str]:
    return texts().filter(lambda text: bool(text.strip()) and text == text.strip())


@st.composite
def plain(draw: st.DrawFn) -> tuple[Message, ...]:
    """A transcript of what every format has its own words for: text, tools with any spelling, results of text."""
    messages = [system(draw(said()))]
    for turn in range(draw(st.integers(1, 3))):
        messages.append(user(draw(said())))
        ids = [f"call_{turn}_{number}" for number in range(draw(st.integers(0, 3)))]
        uses = [ToolUsePart(id=id, name=f"tool_{id}", input=draw(verbatim_objects())) for id in ids]
        messages.append(assistant(draw(said()), *uses))
        if ids:
            answers = [ToolResultPart(tool_use_id=id, content=draw(said())) for id in draw(st.permutations(ids))]
            messages += [user(*answers), assistant(draw(said()))]
    messages.append(user(draw(said())))
    return tuple(messages)


@pytest.mark.parametrize("format", FORMATS)
@SLOW
@given(messages=plain())
def test_what_a_format_has_words_for_comes_back_as_it_was(format: str, messages: tuple[Message, ...]) -> None:
    made = exported(messages, format)
    if made is not None and not made.report.projections:
        found = import_messages(made.data, format)
        assert spoken(found.messages) == spoken(messages)
        assert found.notes == ()


@pytest.mark.parametrize("format", FORMATS)
@SLOW
@given(messages=wild())
def test_what_was_imported_once_survives_every_further_trip(format: str, messages: tuple[Message, ...]) -> None:
    made = exported(messages, format)
    if made is not None:
        found = import_messages(made.data, format)
        again = exported(found.messages, format)
        assert again is not None
        # Neighbours of the same side, between which something blank stood, may be one message the next time.
        assert spoken(import_messages(again.data, format).messages) == spoken(found.messages)


@pytest.mark.parametrize("format", FORMATS)
def test_the_standard_conversation_makes_the_trip_and_is_still_the_same_document(format: str) -> None:
    own = ThinkingPart(text="hm", signature="c2ln", provider=format)
    made = export_messages(standard_conversation((own,)), format)
    found = import_messages(made.data, format)
    assert export_messages(found.messages, format).data == made.data
    assert found.notes == ()


@pytest.mark.parametrize("format", FORMATS)
def test_a_tools_input_keeps_its_spelling(format: str) -> None:
    use = ToolUsePart(id="call_1", name="look", input=SPELLED)
    messages = (user("hi"), assistant("so", use), user(ToolResultPart(tool_use_id="call_1", content="ok")))
    found = import_messages(export_messages(messages, format).data, format)
    assert bytes(found.messages[1].tool_uses[0].input) == bytes(SPELLED)


@pytest.mark.parametrize("format", ROOMY)
def test_a_roomy_format_loses_no_part(format: str) -> None:
    parts: tuple[Part, ...] = (
        ThinkingPart(text="hm", signature="c2ln", provider="anthropic"),
        ThinkingPart(redacted=b"\x00\xff", provider="bedrock"),
    )
    shown = (
        ImagePart(bytes=PNG, format="png"),
        ImagePart(uri="https://example.com/a", metadata={"detail": "low"}),
        DocumentPart(format="pdf", bytes=PDF, name="plan", context="The plan.", cite=True),
        DocumentPart(format="md", chunks=("So it", "is.")),
    )
    broken = ToolUsePart(id="call_2", name="weather.lookup", input_text='{"city": "Ul', signature="c2ln")
    results = (
        ToolResultPart(tool_use_id="call_1", content="shot", attachments=(shown[0],)),
        ToolResultPart(tool_use_id="call_2", content="invalid_call", is_error=True),
    )
    messages = (
        system("Be brief."),
        user("hi", *shown),
        assistant(*parts, "so", tool_use("call_1", "look", {"n": 2**70}), broken, "behind"),
        user(*results),
        assistant("done"),
    )
    assert import_messages(export_messages(messages, format).data, format).messages == messages


@pytest.mark.parametrize("format", FORMATS)
def test_a_transcript_against_the_law_is_not_exported(format: str) -> None:
    with pytest.raises(TranscriptError):
        export_messages((user("hi"), assistant(tool_use("t1", "look", {})), user("on")), format)


def test_what_a_provider_cannot_say_is_refused() -> None:
    with pytest.raises(ProviderError, match="message 0: part 0: "):
        export_messages((user(DocumentPart(format="docx", bytes=b"PK", name="plan.docx")),), "anthropic")


def objects_in(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all objects but those inside of values that are anybody's JSON."""
    if isinstance(value, dict):
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        if key not in ("input", "args", "response", "json", "output", "value"):
            yield from objects_in(each, (*path, key))


def noticed(document: Any, format: str) -> bool:
    """Whether a field called `surprise` was refused, or noted as left out."""
    try:
        found = import_messages(json.dumps(document).encode(), format)
    except InvalidValue as error:
        return "surprise" in str(error)
    return any(note.path.endswith(".surprise") for note in found.notes)


@pytest.mark.parametrize("format", FORMATS)
def test_a_field_that_nobody_knows_is_never_dropped_in_silence(format: str) -> None:
    spelled = export_messages(standard_conversation(), format).data
    paths = list(objects_in(json.loads(spelled)))
    assert len(paths) > 20
    for path in paths:
        document = inside = json.loads(spelled)
        for key in path:
            inside = inside[key]
        inside["surprise"] = 1
        assert noticed(document, format), path


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(InvalidValue, match="ai-sdk, anthropic"):
        import_messages(b"[]", "nobody's")
    with pytest.raises(InvalidValue, match="ai-sdk, anthropic"):
        export_messages((user("hi"),), "nobody's")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[1]", b"[" * 500])
def test_what_is_no_json_of_messages_is_refused(format: str, data: bytes) -> None:
    with pytest.raises(InvalidValue):
        import_messages(data, format)
