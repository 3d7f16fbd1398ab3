import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.base.errors import ContractError, ModelError, ProviderError, TranscriptError
from actum.base.value import Verbatim, dump, dump_json
from actum.messages.message import Message, Role, assistant, system, tool_results, user
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
from actum.model.request import ModelRequest, ModelSettings, ToolChoice, ToolDefinition
from actum.providers.openai.chat import encode_chat
from tests.support.vendor_specs import chat_request_breaches

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
ASK = [user("two things"), assistant(tool_use("t1", "a.x", {"n": 1}), tool_use("t2", "a.y", {"n": 2}))]


def result(tool_use_id: str, content: object = "ok", **more: Any) -> ToolResultPart:
    return ToolResultPart(tool_use_id=tool_use_id, content=content, **more)


def encoded(*messages: Message, **more: Any) -> Encoded:
    """Encode, and let the vendor's own schema judge the body."""
    request = ModelRequest(model="gpt-4.1", messages=messages, **more)
    before = dump(request)
    made = encode_chat(request)
    assert dump(request) == before
    body = json.loads(dump_json(made.body))
    assert chat_request_breaches(body) == []
    return made


def sent(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    messages_sent: list[dict[str, Any]] = encoded(*messages, **more).body["messages"]
    return messages_sent


MARK = "a cache checkpoint left out: OpenAI caches by itself"


def rules(made: Encoded) -> list[tuple[str, int | None, int | None]]:
    return [(each.rule, each.message_index, each.part_index) for each in made.projections]


def refused(*messages: Message, **more: Any) -> ProviderError:
    with pytest.raises(ProviderError) as error:
        encode_chat(ModelRequest(model="gpt-4.1", messages=messages, **more))
    assert error.value.kind == "model_request"
    assert not error.value.retryable
    return error.value


def test_a_plain_conversation() -> None:
    assert sent(system("Be brief."), user("hi"), assistant("hello"), user("bye")) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "bye"},
    ]


def test_tool_uses_keep_their_bytes_and_results_their_order() -> None:
    spelled = ToolUsePart(id="t1", name="sum", input=Verbatim(b'{ "n" : 1.0,"big":12345678901234567890 }'))
    broken = ToolUsePart(id="t2", name="sum", input_text='{"n": 1')
    made = sent(
        user("go"), assistant("Adding.", spelled, broken), tool_results(result("t2", "r2"), result("t1", {"s": 1}))
    )
    assert made[1] == {
        "role": "assistant",
        "content": "Adding.",
        "tool_calls": [
            {
                "id": "t1",
                "type": "function",
                "function": {"name": "sum", "arguments": '{ "n" : 1.0,"big":12345678901234567890 }'},
            },
            {"id": "t2", "type": "function", "function": {"name": "sum", "arguments": '{"n": 1'}},
        ],
    }
    assert made[2:] == [
        {"role": "tool", "tool_call_id": "t2", "content": "r2"},
        {"role": "tool", "tool_call_id": "t1", "content": '{"s":1}'},
    ]


def test_results_split_over_messages_are_refused() -> None:
    with pytest.raises(TranscriptError):
        encode_chat(ModelRequest(model="m", messages=(*ASK, tool_results(result("t1")), tool_results(result("t2")))))


@pytest.mark.parametrize(
    "parts",
    [
        (result("t1"), TextPart(text="note"), result("t2")),
        (TextPart(text="and Rome?"), result("t1"), result("t2")),
        (ImagePart(bytes=PNG, format="png"), result("t1"), result("t2")),
    ],
)
def test_content_before_a_result_would_have_to_move_and_is_refused(parts: tuple[Any, ...]) -> None:
    assert "message 2" in refused(*ASK, user(*parts)).message


def test_content_behind_the_results_follows_them() -> None:
    made = sent(*ASK, user(result("t1", "r1"), result("t2", "r2"), "and Rome?"))
    assert [each["role"] for each in made] == ["user", "assistant", "tool", "tool", "user"]
    assert made[4] == {"role": "user", "content": "and Rome?"}


def test_what_is_blank_does_not_stand_before_a_result() -> None:
    made = encoded(*ASK, user(" ", CacheCheckpointPart(), result("t1"), result("t2")))
    assert [each["role"] for each in made.body["messages"]] == ["user", "assistant", "tool", "tool"]
    assert rules(made) == [("blank text left out", 2, 0), (MARK, 2, 1)]


BLANK = [user("q"), assistant("", tool_use("t1", "a.x", {})), tool_results(result("t1"))]


def test_blank_texts_and_messages_are_left_out_and_reported() -> None:
    made = encoded(*BLANK)
    assert made.body["messages"][1]["content"] is None
    assert rules(made) == [("blank text left out", 1, 0)]
    made = encoded(user("q"), assistant(" \n\t"), user("hello?"))
    assert made.body["messages"] == [{"role": "user", "content": "q"}, {"role": "user", "content": "hello?"}]
    assert rules(made) == [("a blank assistant message left out", 1, None), ("blank text left out", 1, 0)]
    made = encoded(user(CacheCheckpointPart()), user("x"))
    assert rules(made) == [("a blank user message left out", 0, None), (MARK, 0, 0)]
    assert "blank" in refused(user("")).message


@pytest.mark.parametrize("content", ["", " \n", None])
def test_an_empty_result_keeps_its_place(content: object) -> None:
    made = sent(user("mkdir"), assistant(tool_use("t1", "sh", {})), tool_results(result("t1", content)))
    assert made[2] == {"role": "tool", "tool_call_id": "t1", "content": "(no content)"}


@pytest.mark.parametrize(
    "content, body",
    [
        ("n/a", '{"error":"n/a"}'),
        (None, '{"error":null}'),
        ({"error": "denied", "message": "No."}, '{"error":"denied","message":"No."}'),
    ],
)
def test_an_error_says_that_it_is_one(content: object, body: str) -> None:
    made = sent(user("go"), assistant(tool_use("t1", "sh", {})), tool_results(result("t1", content, is_error=True)))
    assert made[2]["content"] == body


def test_spaces_at_the_end_of_a_text_stay() -> None:
    thought = ThinkingPart(text="plan \n", signature="c2ln")
    made = encoded(user("continue"), assistant(thought, "keep \n", "Draft: \n"))
    assert made.body["messages"][1]["content"] == [
        {"type": "text", "text": "keep \n"},
        {"type": "text", "text": "Draft: \n"},
    ]
    assert rules(made) == [("thinking left out", 1, 0)]


def test_an_image_beside_results_follows_the_last_one() -> None:
    image = ImagePart(bytes=PNG, format="png", metadata={"detail": "low", "made": "today"})
    made = sent(*ASK, user(result("t1", "shot taken"), result("t2", "Home"), image))
    assert [each["role"] for each in made[2:]] == ["tool", "tool", "user"]
    block = made[4]["content"][0]
    assert block["image_url"]["detail"] == "low"
    assert base64.b64decode(block["image_url"]["url"].removeprefix("data:image/png;base64,")) == PNG


def test_attachments_of_a_result_follow_the_last_result_and_name_their_call() -> None:
    image = ImagePart(bytes=PNG, format="png")
    made = encoded(*ASK, user(result("t1", "", attachments=(image,)), result("t2", "Home"), "thanks"))
    tail = made.body["messages"][2:]
    assert [each["role"] for each in tail] == ["tool", "tool", "user", "user"]
    assert tail[0]["content"] == "(no content)"
    assert tail[2]["content"][0] == {"type": "text", "text": "Attachments of tool call t1:"}
    assert tail[2]["content"][1]["type"] == "image_url"
    assert tail[3] == {"role": "user", "content": "thanks"}
    assert rules(made) == [
        ("an empty result says so", 2, 0),
        ("attachments of a tool result follow the results as a user message", 2, 0),
    ]


def test_both_system_messages_arrive_in_order() -> None:
    made = sent(system("Rule A."), system("Rule B", CacheCheckpointPart(), "Rule C"), user("hi"))
    assert made[0] == {"role": "system", "content": "Rule A."}
    assert [block["text"] for block in made[1]["content"]] == ["Rule B", "Rule C"]


def test_a_system_message_in_the_middle_is_refused() -> None:
    with pytest.raises(TranscriptError):
        encode_chat(ModelRequest(model="m", messages=(user("hi"), assistant("yes"), system("Be brief."), user("go"))))


def test_an_assistant_may_begin_and_a_user_may_speak_twice() -> None:
    assert [each["role"] for each in sent(assistant("welcome"), user("one"), user("two"))] == [
        "assistant",
        "user",
        "user",
    ]


def test_a_group_of_assistant_messages_with_calls_becomes_one() -> None:
    first, second = assistant("One.", tool_use("t1", "a", {})), assistant(tool_use("t2", "b", {}))
    made = encoded(user("go"), first, second, tool_results(result("t1"), result("t2")))
    assert [each["role"] for each in made.body["messages"]] == ["user", "assistant", "tool", "tool"]
    assert [call["id"] for call in made.body["messages"][1]["tool_calls"]] == ["t1", "t2"]
    assert rules(made) == [("joined with the assistant message before it", 2, None)]
    texts_first = encoded(user("go"), assistant("One."), second, tool_results(result("t2")))
    assert [each["role"] for each in texts_first.body["messages"]] == ["user", "assistant", "assistant", "tool"]


def test_text_behind_a_tool_use_is_refused() -> None:
    error = refused(user("go"), assistant(tool_use("t1", "a", {}), "and then"), tool_results(result("t1")))
    assert "message 1: part 1" in error.message


@pytest.mark.parametrize(
    "message",
    [
        assistant(ImagePart(bytes=PNG, format="png")),
        user(ImagePart(uri="s3://bucket/key")),
        user(DocumentPart(format="docx", bytes=b"PK")),
        user(DocumentPart(format="pdf", uri="https://x/y.pdf")),
        user(DocumentPart(format="txt", bytes=b"\xff")),
        system(ImagePart(bytes=PNG, format="png")),
        user(ThinkingPart(text="hm")),
    ],
)
def test_what_has_no_words_here_is_refused(message: Message) -> None:
    with pytest.raises((ProviderError, TranscriptError)):
        encode_chat(ModelRequest(model="m", messages=(message,)))


def test_documents_go_as_files_or_as_text() -> None:
    pdf = DocumentPart(format="pdf", bytes=b"%PDF-1.4\n", name="plan.pdf", context="The plan.")
    made = sent(
        user(
            pdf,
            DocumentPart(format="md", text="# Hi"),
            DocumentPart(format="txt", bytes=b"plain", name="a.txt", context="notes"),
            DocumentPart(format="html", chunks=("one", "two")),
            ImagePart(uri="https://x/y.png"),
        )
    )
    blocks = made[0]["content"]
    assert blocks[0]["text"] == "The plan."
    assert blocks[1]["file"]["filename"] == "plan.pdf"
    texts = [block["text"] for block in blocks[2:] if block["type"] == "text"]
    assert texts == [
        "Document document.md:",
        "# Hi",
        "Document a.txt (notes):",
        "plain",
        "Document document.html:",
        "one",
        "two",
    ]
    assert blocks[-1] == {"type": "image_url", "image_url": {"url": "https://x/y.png"}}


def test_citations_are_reported_as_left_out() -> None:
    made = encoded(user("q"), assistant(CitationsPart(text="So.", citations=(Citation(title="T"),))), user("ok"))
    assert made.body["messages"][1]["content"] == "So."
    assert rules(made) == [("citations left out", 1, 0)]


def test_cache_marks_leave_no_trace() -> None:
    plain = encoded(user("u"), assistant("a"), user("v"))
    marked = encoded(
        user("u", CacheCheckpointPart()), assistant("a", CacheCheckpointPart()), user(CacheCheckpointPart(), "v")
    )
    assert marked.body == plain.body


def test_tools_choice_and_settings() -> None:
    tools = (
        ToolDefinition(name="a.x", description="Does.", input_schema=SCHEMA),
        ToolDefinition(name="b", input_schema={}),
    )
    settings = ModelSettings(
        temperature=0.5,
        top_p=1,
        max_output_tokens=10,
        stop_sequences=("END",),
        seed=7,
        parallel_tool_calls=False,
        reasoning_effort="low",
        extra={"user": "u1"},
    )
    body = encoded(user("hi"), tools=tools, tool_choice=ToolChoice(mode="tool", name="a.x"), settings=settings).body
    assert body["tools"][0]["function"] == {"name": "a_x", "description": "Does.", "parameters": SCHEMA}
    assert body["tool_choice"] == {"type": "function", "function": {"name": "a_x"}}
    assert (body["max_completion_tokens"], body["stop"], body["user"]) == (10, ["END"], "u1")
    modes = {"auto": "auto", "none": "none", "any": "required"}
    for mode, word in modes.items():
        choice: Any = ToolChoice(mode=mode)  # type: ignore[arg-type]  # each is one of the modes
        assert encoded(user("hi"), tools=tools, tool_choice=choice).body["tool_choice"] == word
    assert "tool_choice" not in encoded(user("hi"), tool_choice=ToolChoice(mode="none")).body


@pytest.mark.parametrize(
    "more",
    [
        {"tool_choice": ToolChoice(mode="any")},
        {"tools": (ToolDefinition(name="a", input_schema={}),), "tool_choice": ToolChoice(mode="tool", name="b")},
        {"tools": (ToolDefinition(name="a", input_schema={}), ToolDefinition(name="a", input_schema={}))},
        {"settings": ModelSettings(temperature=2.1)},
        {"settings": ModelSettings(top_p=1.1)},
        {"settings": ModelSettings(stop_sequences=("a", "b", "c", "d", "e"))},
        {"settings": ModelSettings(stop_sequences=("",))},
        {"settings": ModelSettings(extra={"stream": True})},
        {"settings": ModelSettings(temperature=1, extra={"temperature": 0})},
    ],
)
def test_a_request_that_cannot_be_expressed_is_refused(more: dict[str, Any]) -> None:
    refused(user("hi"), **more)


def test_a_streamed_request_asks_for_usage() -> None:
    body = encode_chat(ModelRequest(model="m", messages=(user("hi"),)), stream=True).body
    assert chat_request_breaches(body) == []
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_foreign_ids_and_names_are_aliased_alike_everywhere() -> None:
    foreign = "tooluse_" + "é" * 50
    made = encoded(user("go"), assistant(tool_use(foreign, "fs.read file", {})), tool_results(result(foreign)))
    call = made.body["messages"][1]["tool_calls"][0]
    assert call["id"] == made.body["messages"][2]["tool_call_id"]
    assert len(call["id"]) <= 40
    assert made.aliases.original(call["function"]["name"]) == "fs.read file"


texts = st.text(st.characters(codec="utf-8"), max_size=6)
names = st.text("ab._ é-", min_size=1, max_size=70)
contents = st.none() | texts | st.dictionaries(texts, st.integers(), max_size=2) | st.lists(st.booleans(), max_size=2)
images = st.just(ImagePart(bytes=PNG, format="png"))


@st.composite
def transcripts(draw: st.DrawFn) -> tuple[Message, ...]:
    messages = [system(draw(texts))] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 3))):
        messages.append(user(*draw(st.lists(texts | images, max_size=2))))
        ids = draw(st.lists(texts.filter(bool), max_size=3, unique=True))
        thinking = [ThinkingPart(text="hm", signature="s")] if draw(st.booleans()) else []
        uses = [tool_use(each, draw(names), {"n": draw(texts)}) for each in ids]
        messages.append(Message(role=Role.ASSISTANT, parts=(*thinking, TextPart(text=draw(texts)), *uses)))
        if ids:
            attached = st.lists(images, max_size=1).map(tuple)
            answers = [
                result(each, draw(contents), attachments=draw(attached), is_error=draw(st.booleans())) for each in ids
            ]
            messages.append(user(*answers, *draw(st.lists(texts, max_size=1))))
    messages.append(user("go on"))
    return tuple(messages)


@given(transcripts())
def test_any_valid_transcript_makes_a_valid_body(messages: tuple[Message, ...]) -> None:
    made = encoded(*messages)
    waiting: list[str] = []
    for each in made.body["messages"]:
        if each["role"] == "tool":
            waiting.remove(each["tool_call_id"])
            assert each["content"].strip()
        else:
            assert waiting == []
            waiting = [call["id"] for call in each.get("tool_calls", ())]
        blocks = each["content"] if isinstance(each["content"], list) else []
        assert each["content"] != []
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
    called = [use.name for message in messages for use in message.tool_uses]
    spoken = [call["function"]["name"] for each in made.body["messages"] for call in each.get("tool_calls", ())]
    assert [made.aliases.original(name) for name in spoken] == called


def test_a_malformed_request_is_refused_by_name() -> None:
    with pytest.raises(ContractError):
        encode_chat(ModelRequest(model="m", messages=(user("\ud800"),)))


def test_errors_are_model_errors() -> None:
    assert isinstance(refused(user("")), ModelError)
