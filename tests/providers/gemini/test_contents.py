import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.base.errors import ProviderError
from actum.base.value import Verbatim, dump, replace
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
from actum.model.request import ModelRequest
from actum.providers.gemini.encode import encode_gemini, project_gemini
from actum.testing.provider_samples import PDF, PNG
from tests.support.judge_gemini import gemini_request_breaches

OLD = "gemini-2.5-pro"
NEW = "gemini-3-pro"
IMAGE = ImagePart(format="png", bytes=PNG)
INLINE = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(PNG).decode()}}


def result(tool_use_id: str, content: object = "ok", **more: Any) -> ToolResultPart:
    return ToolResultPart(tool_use_id=tool_use_id, content=content, **more)


def encoded(*messages: Message, model: str = OLD) -> Encoded:
    """Encode, and let Google's own document judge the body."""
    request = ModelRequest(model=model, messages=messages)
    before = dump(request)
    made = encode_gemini(request)
    assert dump(request) == before
    assert gemini_request_breaches(made.body) == []
    return made


def sent(*messages: Message, model: str = OLD) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = json.loads(encoded(*messages, model=model).data)["contents"]
    return made


def rules(made: Encoded) -> list[tuple[str, int | None, int | None]]:
    return [(each.rule, each.message_index, each.part_index) for each in made.projections]


def refused(*messages: Message) -> str:
    with pytest.raises(ProviderError) as error:
        encode_gemini(ModelRequest(model=OLD, messages=messages))
    assert (error.value.kind, error.value.retryable, error.value.provider) == ("model_request", False, "gemini")
    return error.value.message


def test_a_plain_conversation() -> None:
    made = encoded(
        system("Rule A."), system("Rule B", CacheCheckpointPart()), user("hi"), assistant("hello"), user("bye")
    )
    assert made.body == {
        "systemInstruction": {"parts": [{"text": "Rule A."}, {"text": "Rule B"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"text": "hello"}]},
            {"role": "user", "parts": [{"text": "bye"}]},
        ],
    }
    assert rules(made) == [("a cache checkpoint left out: Gemini caches by itself", 1, 1)]


def test_responses_carry_the_names_of_their_calls() -> None:
    """C10, C03."""
    calls = tuple(
        tool_use(f"call_{n}", "weather.lookup", {"city": city}) for n, city in ((1073, "Ulm"), (1074, "Graz"))
    )
    answers = (result("call_1074", "n/a", is_error=True), result("call_1073", {"c": 7}))
    made = sent(user("two cities"), assistant(*calls), tool_results(*answers))
    assert [content["role"] for content in made] == ["user", "model", "user"]
    assert made[1]["parts"] == [
        {"functionCall": {"id": "call_1073", "name": "weather_lookup", "args": {"city": "Ulm"}}},
        {"functionCall": {"id": "call_1074", "name": "weather_lookup", "args": {"city": "Graz"}}},
    ]
    assert made[2]["parts"] == [
        {"functionResponse": {"id": "call_1074", "name": "weather_lookup", "response": {"error": "n/a"}}},
        {"functionResponse": {"id": "call_1073", "name": "weather_lookup", "response": {"c": 7}}},
    ]


def test_one_id_in_two_turns_names_the_call_before_it() -> None:
    turns = [message for name in ("a", "b") for message in (assistant(tool_use("t", name, {})), user(result("t")))]
    made = sent(user("go"), *turns)
    assert [made[i]["parts"][0]["functionResponse"]["name"] for i in (2, 4)] == ["a", "b"]


@pytest.mark.parametrize(
    "content, error, response",
    [
        ("text", False, {"output": "text"}),
        ("", False, {"output": ""}),
        (None, False, {"output": None}),
        ([1, None], False, {"output": [1, None]}),
        ({"c": 7}, False, {"c": 7}),
        ({"output": 7, "more": 8}, False, {"output": {"output": 7, "more": 8}}),
        ({"error": 7}, False, {"output": {"error": 7}}),
        ({"error": "denied", "message": "no"}, True, {"error": "denied", "message": "no"}),
        ({"c": 7}, True, {"error": {"c": 7}}),
        (None, True, {"error": None}),
        ({"big": [2**53, -(2**53)]}, False, {"big": [2**53, -(2**53)]}),
        ({"big": [2**53 + 1]}, False, {"output": '{"big":[9007199254740993]}'}),
    ],
)
def test_a_results_content(content: object, response: dict[str, Any], *, error: bool) -> None:
    made = sent(user("x"), assistant(tool_use("t1", "x", {})), user(result("t1", content, is_error=error)))
    assert made[2]["parts"][0]["functionResponse"]["response"] == response


def test_images_and_documents_inside_a_result() -> None:
    """C08."""
    parts = (
        IMAGE,
        DocumentPart(format="pdf", bytes=PDF, name="plan", context="The plan."),
        DocumentPart(format="txt", text="So it is."),
        DocumentPart(format="txt", chunks=("a", "b")),
    )
    made = encoded(
        user("x"), assistant(tool_use("t1", "x", {})), user(result("t1", {"a": 1}, attachments=parts), "and")
    )
    response = made.body["contents"][2]["parts"][0]["functionResponse"]
    assert response["response"] == {"output": {"a": 1}, "attachments": ["Document plan (The plan.):"]}
    kinds = [each["inlineData"]["mimeType"] for each in response["parts"]]
    assert kinds == ["image/png", "application/pdf", "text/plain", "text/plain"]
    assert base64.b64decode(response["parts"][0]["inlineData"]["data"]) == PNG
    assert base64.b64decode(response["parts"][3]["inlineData"]["data"]) == b"a\nb"
    assert rules(made) == [("names of attached documents are told in the response", 2, 0)]


def test_arguments_keep_their_spelling_where_they_can() -> None:
    spelled = Verbatim(b'{ "n" : 1.50, "x":[ ] }')
    uses = (
        ToolUsePart(id="t1", name="x", input=spelled),
        ToolUsePart(id="t2", name="x", input_text='{"n": 1'),
        ToolUsePart(id="t3", name="x", input=Verbatim(b'{"n":1,"n":2}')),
        tool_use("t4", "x", {"big": 2**70}),
    )
    made = encoded(user("go"), assistant(*uses), user(*(result(use.id) for use in uses)))
    assert b'"args":{ "n" : 1.50, "x":[ ] }' in made.data
    given = [each["functionCall"]["args"] for each in json.loads(made.data)["contents"][1]["parts"]]
    assert given[1:] == [{"input_text": '{"n": 1'}, {"input_text": '{"n":1,"n":2}'}, {"big": 2**70}]
    assert rules(made) == [
        ("malformed input is sent as the text in an object", 1, 1),
        ("malformed input is sent as the text in an object", 1, 2),
        ("Gemini reads integers beyond 2**53 as the nearest double", 1, 3),
    ]


def test_thinking_and_signatures_stay_in_place() -> None:
    thought = ThinkingPart(text="hm", signature="c2ln", provider="gemini")
    bare = ThinkingPart(text="so", provider="gemini")
    behind = ThinkingPart(text="", signature="ZW5k", provider="gemini")
    use = ToolUsePart(id="t1", name="x", input=Verbatim(b"{}"), signature="dXNl", provider="gemini")
    made = sent(user("go"), assistant(behind, thought, bare, "text", behind, use), user(result("t1")), model=NEW)
    assert made[1]["parts"] == [
        {"text": "", "thought": True, "thoughtSignature": "ZW5k"},
        {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "so", "thought": True},
        {"text": "text", "thoughtSignature": "ZW5k"},
        {"functionCall": {"id": "t1", "name": "x", "args": {}}, "thoughtSignature": "dXNl"},
    ]


def test_foreign_thinking_and_signatures_are_left_out() -> None:
    use = ToolUsePart(id="t1", name="x", input=Verbatim(b"{}"), signature="s", provider="openai")
    thoughts = (
        ThinkingPart(text="hm", signature="s"),
        ThinkingPart(redacted=b"x", provider="anthropic"),
        ThinkingPart(text="", provider="gemini"),
    )
    made = encoded(user("go"), assistant(*thoughts, use), user(result("t1")))
    assert made.body["contents"][1]["parts"] == [{"functionCall": {"id": "t1", "name": "x", "args": Verbatim(b"{}")}}]
    assert rules(made) == [
        ("thinking of another provider left out", 1, 0),
        ("thinking of another provider left out", 1, 1),
        ("blank thinking without a signature left out", 1, 2),
        ("the signature of another provider left out", 1, 3),
    ]


def test_a_signature_that_is_no_base64_is_none_of_geminis() -> None:
    use = ToolUsePart(id="t1", name="x", input=Verbatim(b"{}"), signature="_w==", provider="gemini")
    odd = ThinkingPart(text="hm", signature="no!", provider="gemini")
    made = encoded(
        user("go"), assistant(odd, use, replace(use, id="t2", signature="0")), user(result("t1"), result("t2"))
    )
    assert [part.get("thoughtSignature") for part in made.body["contents"][1]["parts"]] == ["_w==", None]
    assert [(each.message_index, each.part_index) for each in made.projections] == [(1, 0), (1, 2)]


def test_a_running_turn_that_another_model_began_is_marked_for_models_that_want_it() -> None:
    uses = (tool_use("t1", "x", {}), tool_use("t2", "x", {}))
    turn = (assistant("a", *uses), user(result("t1"), result("t2")))
    messages = (user("go"), *turn, assistant("done"), user("more"), *turn, *turn)

    def marked(model: str) -> list[tuple[int, int]]:
        contents = sent(*messages, model=model)
        mark = "skip_thought_signature_validator"
        return [
            (i, j)
            for i, content in enumerate(contents)
            for j, part in enumerate(content["parts"])
            if part.get("thoughtSignature") == mark
        ]

    assert marked(NEW) == [(5, 1), (7, 1)]
    assert marked("models/gemini-10-flash") == [(5, 1), (7, 1)]
    assert marked(OLD) == []
    told = [(rule, index) for rule, index, _ in rules(encoded(*messages, model=NEW))]
    assert told == [("a tool use without a signature carries Gemini's mark for those", index) for index in (5, 7)]


def test_blank_parts_are_left_out_and_reported() -> None:
    """C06."""
    made = encoded(system(" "), user("q"), assistant(" \n\t"), user("hello?"), assistant("", "keep \n"))
    assert [content["parts"] for content in made.body["contents"]] == [
        [{"text": "q"}],
        [{"text": "hello?"}],
        [{"text": "keep \n"}],
    ]
    assert rules(made) == [
        ("a blank system message left out", 0, None),
        ("blank text left out", 0, 0),
        ("a blank assistant message left out", 2, None),
        ("blank text left out", 2, 0),
        ("blank text left out", 4, 0),
    ]
    assert "every message is blank" in refused(user(CacheCheckpointPart()))


def test_assistant_messages_in_a_row_are_one_content() -> None:
    made = encoded(user("go"), assistant("a"), assistant("b", tool_use("t1", "x", {})), user(result("t1")))
    assert [len(content["parts"]) for content in made.body["contents"]] == [1, 3, 1]
    assert rules(made) == [("joined with the assistant message before it", 2, None)]
    assert len(encoded(user("one"), user("two", IMAGE)).body["contents"]) == 2


def test_who_may_speak_first() -> None:
    """C11."""
    assert [content["role"] for content in sent(assistant("welcome"), user("hi"))] == ["model", "user"]
    assert "before a tool use" in refused(assistant(tool_use("t1", "x", {})), user(result("t1")))


@pytest.mark.parametrize(
    "part, made",
    [
        (IMAGE, [INLINE]),
        (ImagePart(uri="gs://b/a.png"), [{"fileData": {"fileUri": "gs://b/a.png"}}]),
        (
            ImagePart(uri="https://x/a.webp", format="webp"),
            [{"fileData": {"mimeType": "image/webp", "fileUri": "https://x/a.webp"}}],
        ),
        (
            DocumentPart(format="md", uri="https://x/a.md"),
            [{"fileData": {"mimeType": "text/markdown", "fileUri": "https://x/a.md"}}],
        ),
        (
            DocumentPart(format="csv", bytes=b"a", context="Data."),
            [{"text": "Document document.csv (Data.):"}, {"inlineData": {"mimeType": "text/csv", "data": "YQ=="}}],
        ),
        (DocumentPart(format="txt", text="So.", name="n"), [{"text": "Document n:"}, {"text": "So."}]),
        (DocumentPart(format="txt", chunks=("a", " ", "b")), [{"text": "a"}, {"text": "b"}]),
        (CitationsPart(text="so", citations=(Citation(title="t"),)), [{"text": "so"}]),
    ],
)
def test_a_part_of_a_user(part: Any, made: list[dict[str, Any]]) -> None:
    assert sent(user(part))[0]["parts"] == made


@pytest.mark.parametrize(
    "part",
    [
        ImagePart(uri="s3://b/a.png", format="png"),
        DocumentPart(format="docx", bytes=b"PK"),
        DocumentPart(format="txt", text=" "),
        DocumentPart(format="txt", chunks=()),
        DocumentPart(format="pdf", uri="ftp://x"),
    ],
)
def test_what_has_no_words_is_refused_where_it_stands(part: Any) -> None:
    assert refused(user("look", part)).startswith("message 0: part 1: ")


@pytest.mark.parametrize("part", [ImagePart(uri="https://x/a.png"), DocumentPart(format="docx", bytes=b"PK")])
def test_what_has_no_words_in_a_result_is_refused(part: Any) -> None:
    said = refused(user("x"), assistant(tool_use("t1", "x", {})), user(result("t1", attachments=(part,))))
    assert said.startswith("message 2: part 0: ")


@pytest.mark.parametrize("messages", [(system(IMAGE), user("x")), (user("x"), assistant("y", IMAGE), user("z"))])
def test_a_part_of_the_wrong_side_is_refused(messages: tuple[Message, ...]) -> None:
    assert "holds text" in refused(*messages)


def test_a_wish_for_citations_is_left_out() -> None:
    made = encoded(user(DocumentPart(format="pdf", bytes=PDF, cite=True)))
    assert rules(made) == [("the wish for citations left out: Gemini cites no documents", 0, 0)]


TEXTS = st.text(min_size=1, max_size=6).map(lambda text: TextPart(text=text))
MESSAGES = st.lists(st.tuples(st.sampled_from([Role.USER, Role.ASSISTANT]), st.lists(TEXTS, max_size=3)), max_size=8)


@given(MESSAGES)
def test_any_texts_stay_in_order(drawn: list[tuple[Role, list[TextPart]]]) -> None:
    messages = [Message(role=role, parts=tuple(parts)) for role, parts in drawn if parts or role is Role.USER]
    made = project_gemini(ModelRequest(model=OLD, messages=tuple(messages)))
    texts = [part.text for message in messages for part in message.parts if isinstance(part, TextPart)]
    said = [part["text"] for content in made.body["contents"] for part in content["parts"]]
    assert said == [text for text in texts if text.strip()]
    assert made.report.accepted == bool(said)
