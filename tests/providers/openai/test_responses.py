import base64
import json
from typing import Any

import pytest
from hypothesis import given

from actum.base.errors import TranscriptError
from actum.base.value import Verbatim
from actum.messages.message import Message, assistant, system, tool_results, user
from actum.messages.parts import (
    CacheCheckpointPart,
    Citation,
    CitationsPart,
    DocumentPart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
    tool_use,
)
from actum.model.encoded import Encoded
from actum.model.projection import Fate
from actum.model.request import ModelRequest, ModelSettings, OutputSchema, ToolChoice, ToolDefinition
from actum.providers.accept import would_accept
from actum.providers.openai.reasoning import shown, signature_of
from actum.providers.openai.responses import project_responses
from actum.testing.provider_samples import PDF, PNG
from tests.support.strategies import transcripts
from tests.support.vendor_specs import responses_request_breaches

IMAGE = ImagePart(bytes=PNG, format="png")
PNG_URL = "data:image/png;base64," + base64.b64encode(PNG).decode()
PLAIN = ToolDefinition(name="a", input_schema={"type": "object"})
ASK = (user("two things"), assistant(tool_use("t1", "a.x", {"n": 1}), tool_use("t2", "a.y", {"n": 2})))
REASONING: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "encrypted_content": "gAAAA==",
    "summary": [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}],
}


def result(tool_use_id: str, content: object = "ok", **more: Any) -> ToolResultPart:
    return ToolResultPart(tool_use_id=tool_use_id, content=content, **more)


def thought(item: dict[str, Any]) -> ThinkingPart:
    return ThinkingPart(text=shown(item), signature=signature_of(item), provider="openai")


def encoded(*messages: Message, model: str = "gpt-5.1", **more: Any) -> Encoded:
    """Encode, and let the vendor's own schema judge what would be sent."""
    made = project_responses(ModelRequest(model=model, messages=messages, **more))
    if made.report.accepted:
        assert responses_request_breaches(json.loads(made.data)) == []
    return made


def sent(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    made = encoded(*messages, **more)
    assert made.report.of(Fate.REFUSED) == ()
    items: list[dict[str, Any]] = made.body["input"]
    return items


def told(made: Encoded, fate: Fate) -> list[tuple[int | None, int | None]]:
    return [(each.message_index, each.part_index) for each in made.report.of(fate)]


def test_a_plain_conversation() -> None:
    assert sent(system("Be brief."), user("hi"), assistant("hel", "lo"), user("bye", "now")) == [
        {"type": "message", "role": "system", "content": "Be brief."},
        {"type": "message", "role": "user", "content": "hi"},
        {"type": "message", "role": "assistant", "content": "hel"},
        {"type": "message", "role": "assistant", "content": "lo"},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "bye"}, {"type": "input_text", "text": "now"}],
        },
    ]


def test_every_item_stands_where_its_part_stood() -> None:
    spelled = ToolUsePart(id="c1", name="sum", input=Verbatim(b'{ "n" : 1.0 }'))
    broken = ToolUsePart(id="c2", name="sum", input_text='{"n": 1')
    made = sent(
        user("go"),
        assistant(thought(REASONING), "Adding.", spelled, "And again.", broken),
        user(result("c2", "r2"), "between", result("c1", {"s": 1}), "behind"),
    )
    assert made[1] == REASONING
    assert [item["type"] for item in made] == [
        "message",
        "reasoning",
        "message",
        "function_call",
        "message",
        "function_call",
        "function_call_output",
        "message",
        "function_call_output",
        "message",
    ]
    assert [made[3]["arguments"], made[5]["arguments"]] == ['{ "n" : 1.0 }', '{"n": 1']
    assert [made[6]["output"], made[8]["output"]] == ["r2", '{"s":1}']


def test_results_split_over_messages_are_refused() -> None:
    with pytest.raises(TranscriptError):
        encoded(*ASK, tool_results(result("t1")), tool_results(result("t2")))


def test_files_go_into_the_output_of_their_call() -> None:
    pdf = DocumentPart(format="pdf", bytes=PDF, name="plan.pdf")
    made = sent(*ASK, user(result("t1", "shot", attachments=(IMAGE, pdf)), result("t2", "Home"), IMAGE))
    assert made[3]["output"][0] == {"type": "input_text", "text": "shot"}
    assert made[3]["output"][1]["image_url"] == PNG_URL
    assert made[3]["output"][2]["filename"] == "plan.pdf"
    assert made[5]["content"][0]["image_url"] == PNG_URL


@pytest.mark.parametrize(
    "content, is_error, output",
    [
        ("", False, "(no content)"),
        (None, False, "(no content)"),
        ("n/a", True, '{"error":"n/a"}'),
        ({"error": "denied"}, True, '{"error":"denied"}'),
    ],
)
def test_an_output_says_what_it_is(content: object, is_error: bool, output: str) -> None:  # noqa: FBT001 - a column
    answer = result("t1", content, is_error=is_error)
    made = encoded(user("go"), assistant(tool_use("t1", "sh", {})), user(answer))
    assert made.body["input"][2]["output"] == output
    assert told(made, Fate.MAPPED) == [(2, 0)]


@pytest.mark.parametrize(
    "part",
    [
        ThinkingPart(text="hm", signature="c2ln", provider="anthropic"),
        ThinkingPart(text="hm", signature="c2ln"),
        ThinkingPart(text="hm", provider="openai"),
        ThinkingPart(redacted=b"x", provider="openai"),
    ],
)
def test_thinking_that_openai_did_not_make_is_left_out(part: ThinkingPart) -> None:
    made = encoded(user("go"), assistant(part, "so"), user("on"))
    assert told(made, Fate.LEFT_OUT) == [(1, 0)]
    assert len(made.body["input"]) == 3


def test_blank_texts_and_messages_are_left_out_and_reported() -> None:
    made = encoded(user("q"), assistant("", tool_use("t1", "a", {})), user(result("t1"), " "))
    assert told(made, Fate.LEFT_OUT) == [(1, 0), (2, 1)]
    made = encoded(user("q"), assistant(" \n\t"), user("hello?"))
    assert told(made, Fate.LEFT_OUT) == [(1, None), (1, 0)]
    assert not encoded(user("")).report.accepted


def test_documents_go_as_files_or_as_text() -> None:
    blocks = sent(
        user(
            DocumentPart(format="pdf", bytes=PDF, context="The plan."),
            DocumentPart(format="pdf", uri="https://x/y.pdf"),
            DocumentPart(format="md", text="# Hi", name="a.md"),
            ImagePart(uri="https://x/y.png", metadata={"detail": "low"}),
        )
    )[0]["content"]
    assert [block["type"] for block in blocks] == [
        "input_text",
        "input_file",
        "input_file",
        "input_text",
        "input_text",
        "input_image",
    ]
    assert (blocks[1]["filename"], blocks[2]["file_url"]) == ("document.pdf", "https://x/y.pdf")
    assert [block["text"] for block in blocks[3:5]] == ["Document a.md:", "# Hi"]
    assert blocks[5]["detail"] == "low"


@pytest.mark.parametrize(
    "message, place",
    [
        (assistant("x", IMAGE), (1, 1)),
        (user("x", ImagePart(uri="s3://b/k")), (1, 1)),
        (user("x", DocumentPart(format="docx", bytes=b"PK")), (1, 1)),
        (user("x", DocumentPart(format="pdf", uri="s3://b/k")), (1, 1)),
        (user("x", DocumentPart(format="txt", bytes=b"\xff")), (1, 1)),
        (user("x", ThinkingPart(text="hm")), (1, 1)),
    ],
)
def test_what_has_no_item_is_refused(message: Message, place: tuple[int, int]) -> None:
    report = would_accept([user("a"), message], "openai")
    assert [(each.message_index, each.part_index) for each in report.of(Fate.REFUSED)] == [place]


def test_citations_and_cache_marks_are_left_out() -> None:
    cited = CitationsPart(text="So.", citations=(Citation(title="T"),))
    made = encoded(user("q", CacheCheckpointPart()), assistant(cited), user("ok"))
    assert told(made, Fate.LEFT_OUT) == [(0, 1), (1, 0)]
    assert made.body["input"][1]["content"] == "So."


def test_nothing_is_kept_there_and_reasoning_comes_encrypted() -> None:
    assert encoded(user("hi")).body["store"] is False
    asked = ["reasoning.encrypted_content"]
    for model in ("gpt-5.1", "o3", "some-server-model"):
        assert encoded(user("hi"), model=model).body["include"] == asked
    for model in ("gpt-4.1", "gpt-4o-mini", "ft:gpt-4o:acme", "gpt-5.1-chat-latest"):
        assert "include" not in encoded(user("hi"), model=model).body
    own = ModelSettings(extra={"include": []})
    assert encoded(user("hi"), settings=own).body["include"] == []


def test_tools_choice_and_settings() -> None:
    tools = (ToolDefinition(name="a.x", description="Does.", input_schema={"type": "object"}), PLAIN)
    settings = ModelSettings(
        temperature=0.5, top_p=1, max_output_tokens=16, parallel_tool_calls=False, reasoning_effort="low"
    )
    output = OutputSchema(json_schema={"type": "object"}, name="city", description="A city.")
    body = encoded(
        user("hi"), tools=tools, tool_choice=ToolChoice(mode="tool", name="a.x"), settings=settings, output=output
    ).body
    assert body["tools"][0]["name"] == "a_x"
    assert body["tool_choice"] == {"type": "function", "name": "a_x"}
    assert (body["max_output_tokens"], body["parallel_tool_calls"]) == (16, False)
    assert body["reasoning"] == {"effort": "low"}
    assert body["text"]["format"] == {
        "type": "json_schema",
        "name": "city",
        "description": "A city.",
        "schema": {"type": "object"},
        "strict": True,
    }
    for mode, word in (("auto", "auto"), ("none", "none"), ("any", "required")):
        choice: Any = ToolChoice(mode=mode)  # type: ignore[arg-type]  # each is one of the modes
        assert encoded(user("hi"), tools=tools, tool_choice=choice).body["tool_choice"] == word


@pytest.mark.parametrize(
    "more",
    [
        {"settings": ModelSettings(temperature=2.1)},
        {"settings": ModelSettings(top_p=1.1)},
        {"settings": ModelSettings(max_output_tokens=15)},
        {"settings": ModelSettings(stop_sequences=("x",))},
        {"settings": ModelSettings(seed=1)},
        {"settings": ModelSettings(extra={"store": True})},
        {"settings": ModelSettings(reasoning_effort="low", extra={"reasoning": {}})},
        {"tools": (PLAIN, PLAIN)},
        {"tool_choice": ToolChoice(mode="any")},
        {"tools": (PLAIN,), "tool_choice": ToolChoice(mode="tool", name="b")},
    ],
)
def test_what_responses_does_not_take_is_refused(more: dict[str, Any]) -> None:
    assert told(encoded(user("hi"), **more), Fate.REFUSED) == [(None, None)]


@given(transcripts())
def test_any_lawful_transcript_makes_a_lawful_body_in_its_order(messages: tuple[Message, ...]) -> None:
    items = json.loads(encoded(*messages).data)["input"]
    expected: list[str] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolUsePart):
                expected.append(f"call {part.id}")
            elif isinstance(part, ToolResultPart):
                expected.append(f"output {part.tool_use_id}")
            elif isinstance(part, TextPart | CitationsPart) and part.text.strip():
                expected.append(part.text)
    found: list[str] = []
    for item in items:
        if item["type"] == "message":
            content = item["content"]
            found += [content] if isinstance(content, str) else [block["text"] for block in content]
        else:
            found.append(f"{item['type'].removeprefix('function_').removeprefix('call_')} {item['call_id']}")
    assert found == expected
