import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.base.errors import ProviderError
from actum.base.value import Verbatim, dump, spelled
from actum.messages.message import Message, Role, assistant, system, tool_results, user
from actum.messages.parts import (
    CacheCheckpointPart,
    CharRange,
    ChunkRange,
    Citation,
    CitationsPart,
    DocumentPart,
    ImagePart,
    PageRange,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
    tool_use,
)
from actum.model.encoded import Encoded
from actum.model.request import ModelRequest
from actum.providers.bedrock.encode import encode_converse, project_converse
from actum.testing.provider_samples import PDF, PNG
from tests.support.judge_bedrock import converse_request_breaches

MARK = CacheCheckpointPart()
POINT = {"cachePoint": {"type": "default"}}
ASK = (user("two things"), assistant(tool_use("t1", "a.x", {"n": 1}), tool_use("t2", "a.y", {"n": 2})))


def result(tool_use_id: str, content: object = "ok", **more: Any) -> ToolResultPart:
    return ToolResultPart(tool_use_id=tool_use_id, content=content, **more)


def encoded(*messages: Message, **more: Any) -> Encoded:
    """Encode, and let botocore's own description judge the body."""
    request = ModelRequest(model="anthropic.claude", messages=messages, **more)
    before = dump(request)
    made = encode_converse(request)
    assert dump(request) == before
    assert converse_request_breaches(made.body) == []
    return made


def sent(*messages: Message) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = json.loads(encoded(*messages).data)["messages"]
    return made


def rules(made: Encoded) -> list[tuple[str, int | None, int | None]]:
    return [(each.rule, each.message_index, each.part_index) for each in made.projections]


def refused(*messages: Message) -> ProviderError:
    with pytest.raises(ProviderError) as error:
        encode_converse(ModelRequest(model="anthropic.claude", messages=messages))
    assert (error.value.kind, error.value.retryable, error.value.provider) == ("model_request", False, "bedrock")
    return error.value


def test_a_plain_conversation() -> None:
    made = encoded(system("Rule A."), system("Rule B", "C"), user("hi"), assistant("hello"), user("bye"))
    assert made.body == {
        "system": [{"text": "Rule A."}, {"text": "Rule B"}, {"text": "C"}],
        "messages": [
            {"role": "user", "content": [{"text": "hi"}]},
            {"role": "assistant", "content": [{"text": "hello"}]},
            {"role": "user", "content": [{"text": "bye"}]},
        ],
    }
    assert made.report.projections == ()


def test_tool_uses_keep_their_bytes_and_results_their_order() -> None:
    use = ToolUsePart(id="t1", name="sum", input=Verbatim(b'{ "n" : 1.0,"big":12345678901234567890, "n":2 }'))
    broken = ToolUsePart(id="t2", name="sum", input_text='{"n": 1')
    made = encoded(user("go"), assistant("Adding.", use, broken), tool_results(result("t2", "r2"), result("t1", {})))
    assert b'"input":{ "n" : 1.0,"big":12345678901234567890, "n":2 }' in made.data
    first, second = made.body["messages"][1:]
    assert first["content"][2]["toolUse"]["input"] == {"input_text": '{"n": 1'}
    assert [each["toolResult"] for each in second["content"]] == [
        {"toolUseId": "t2", "content": [{"text": "r2"}]},
        {"toolUseId": "t1", "content": [{"json": {}}]},
    ]


def test_parallel_results_stand_in_one_message_as_stored() -> None:
    """C03."""
    made = sent(*ASK, tool_results(result("t2", "r2"), result("t1", "r1")))
    assert [message["role"] for message in made] == ["user", "assistant", "user"]
    assert [each["toolResult"]["toolUseId"] for each in made[2]["content"]] == ["t2", "t1"]


def test_results_lead_their_message() -> None:
    """C04."""
    after = sent(*ASK, user(result("t1"), result("t2"), "and Rome?"))
    assert [next(iter(each)) for each in after[2]["content"]] == ["toolResult", "toolResult", "text"]
    for parts in ((result("t1"), "note", result("t2")), ("and Rome?", result("t1"), result("t2"))):
        assert "message 2: part" in refused(*ASK, user(*parts)).message


def test_redacted_thinking_goes_back_byte_for_byte() -> None:
    """C05."""
    redacted = base64.b64decode("b3BhcXVlLXJlYXNvbmluZy1ieXRlcy0AAf7/")
    signed = ThinkingPart(text="", signature="c2ln")
    opaque = ThinkingPart(redacted=redacted)
    made = encoded(user("go"), assistant(signed, opaque, "so", tool_use("t1", "a.x", {})), user(result("t1")))
    content = made.body["messages"][1]["content"]
    assert content[0] == {"reasoningContent": {"reasoningText": {"text": "", "signature": "c2ln"}}}
    assert content[1] == {"reasoningContent": {"redactedContent": redacted}}
    assert redacted.endswith(b"\x00\x01\xfe\xff")
    assert len(redacted) == 27
    assert [next(iter(each)) for each in content] == ["reasoningContent", "reasoningContent", "text", "toolUse"]


def test_interleaved_and_foreign_thinking() -> None:
    own = ThinkingPart(text="unsigned", provider="bedrock")
    foreign = ThinkingPart(text="hm", signature="s", provider="anthropic")
    use = ToolUsePart(id="t1", name="x", input=Verbatim(b"{}"), signature="s", provider="gemini")
    made = encoded(user("go"), assistant("a", own, foreign, "b", own, use), user(result("t1")))
    kinds = [next(iter(each)) for each in made.body["messages"][1]["content"]]
    assert kinds == ["text", "reasoningContent", "text", "reasoningContent", "toolUse"]
    assert rules(made)[:2] == [
        ("thinking of another provider left out", 1, 2),
        ("the signature of a tool use left out", 1, 5),
    ]


def test_no_message_ends_in_thinking() -> None:
    thought = ThinkingPart(text="hm", signature="c2ln", provider="bedrock")
    made = encoded(user("a"), assistant(thought, "b", thought, thought), user("c"), assistant(thought), user("d"))
    assert [[next(iter(each)) for each in message["content"]] for message in made.body["messages"]] == [
        ["text"],
        ["reasoningContent", "text"],
        ["text", "text"],
    ]
    assert [(each.message_index, each.part_index) for each in made.projections] == [(1, 2), (1, 3), (3, 0), (4, None)]


def test_blank_text_is_left_out_and_reported() -> None:
    """C06."""
    a = encoded(user("q"), assistant("", tool_use("t1", "a.x", {})), user(result("t1")))
    assert len(a.body["messages"][1]["content"]) == 1
    assert rules(a)[0] == ("blank text left out", 1, 0)
    b = encoded(user("q"), assistant(" \n\t"), user("hello?"))
    assert b.body["messages"] == [{"role": "user", "content": [{"text": "q"}, {"text": "hello?"}]}]
    assert rules(b) == [
        ("a blank assistant message left out", 1, None),
        ("blank text left out", 1, 0),
        ("joined with the user message before it", 2, None),
    ]
    c = encoded(user("mkdir"), assistant(tool_use("t1", "sh.run", {})), user(result("t1", "")))
    assert c.body["messages"][2]["content"] == [
        {"toolResult": {"toolUseId": "t1", "content": [{"text": "(no content)"}]}}
    ]


def test_only_the_last_text_of_a_last_answer_loses_its_end() -> None:
    """C06."""
    parts = (ThinkingPart(text="plan \n", signature="c2ln"), TextPart(text="keep \n"), TextPart(text="Draft: \n"))
    last = encoded(user("continue"), assistant(*parts))
    texts = [each["text"] for each in last.body["messages"][1]["content"] if "text" in each]
    assert texts == ["keep \n", "Draft:"]
    assert b'"plan \\n"' in last.data
    assert rules(last) == [("blanks at the end of a last assistant message left out", 1, 2)]
    assert sent(user("continue"), assistant(*parts), user("on"))[1]["content"][2] == {"text": "Draft: \n"}


def points(*messages: Message) -> list[list[int]]:
    made = sent(*messages)
    found = [[i for i, each in enumerate(message["content"]) if each == POINT] for message in made]
    assert all(0 not in each for each in found)
    assert sum(map(len, found)) <= 4
    return found


def test_cache_points_stand_where_they_may() -> None:
    """C07."""
    many = [message for i in range(6) for message in (user(f"u{i}", MARK), assistant(f"a{i}"))]
    assert points(*many) == [[], [], [], [], [1], [], [1], [], [1], [], [1], []]
    assert points(user(MARK, "hi")) == [[]]
    assert points(user("long context", "", MARK)) == [[1]]
    thought = ThinkingPart(text="t", signature="c2ln")
    assert points(user("q"), assistant(thought, MARK, "a"), user("on")) == [[], [], []]
    assert points(user("x", MARK, MARK)) == [[1]]
    assert points(*ASK, user(result("t1"), MARK, result("t2"), MARK)) == [[], [], [2]]
    assert "every message is blank" in refused(user(MARK)).message
    led = encoded(system(MARK, "s", MARK), user("q"))
    assert led.body["system"] == [{"text": "s"}, POINT]
    assert [rule for rule, _, _ in rules(led)] == ["a cache checkpoint behind nothing that can be cached left out"]
    assert [rule for rule, _, _ in rules(encoded(*many))] == ["a cache checkpoint before the last 4 left out"] * 2


def test_an_image_in_a_result_and_beside_it() -> None:
    """C08."""
    shot = ImagePart(format="png", bytes=PNG)
    beside = encoded(*ASK, user(result("t1", "shot taken"), result("t2", "Home"), shot))
    assert beside.body["messages"][2]["content"][2] == {"image": {"format": "png", "source": {"bytes": PNG}}}
    inside = encoded(*ASK, user(result("t1", attachments=(shot,)), result("t2", None, attachments=(shot,))))
    contents = [each["toolResult"]["content"] for each in inside.body["messages"][2]["content"]]
    assert [[next(iter(each)) for each in content] for content in contents] == [["text", "image"], ["image"]]


NAMES: tuple[str | None, ...] = (
    None,
    None,
    "Q1: budget #3.pdf",
    "plan  final.txt",
    "分期报告.pdf",
    "n" * 300,
    "Q1: budget #3.pdf",
)


def names(count: int) -> list[str]:
    parts = [DocumentPart(format="pdf", bytes=PDF, name=name) for name in NAMES[:count]]
    turns = [message for part in parts for message in (user("read", part), assistant("ok"))]
    return [each["document"]["name"] for message in sent(*turns) for each in message["content"] if "document" in each]


def test_documents_have_lawful_names_that_never_change() -> None:
    """C09."""
    found = names(7)
    assert found == [
        "document",
        "document (2)",
        "Q1 budget 3 pdf",
        "plan final txt",
        "pdf",
        "n" * 200,
        "Q1 budget 3 pdf (2)",
    ]
    assert all(names(count) == found[:count] for count in range(1, 7))


def test_two_long_names_are_told_apart_and_results_share_the_names() -> None:
    long = DocumentPart(format="pdf", bytes=PDF, name="n" * 300)
    made = encoded(
        user("read", long, long), assistant(tool_use("t1", "x", {})), user(result("t1", attachments=(long,)))
    )
    first = [each["document"]["name"] for each in made.body["messages"][0]["content"][1:]]
    last = made.body["messages"][2]["content"][0]["toolResult"]["content"][1]["document"]["name"]
    assert [len(each) for each in (*first, last)] == [200, 200, 200]
    assert len({*first, last}) == 3


@given(st.lists(st.text(max_size=8), max_size=12))
def test_any_names_become_lawful_and_different(given_names: list[str]) -> None:
    parts = [DocumentPart(format="pdf", bytes=PDF, name=name) for name in given_names]
    made = sent(user("read", *parts))
    found = [each["document"]["name"] for each in made[0]["content"][1:]]
    assert len(set(found)) == len(given_names)


def test_documents_of_every_kind() -> None:
    parts = (
        DocumentPart(format="docx", bytes=b"PK", name="a", context="The plan."),
        DocumentPart(format="txt", text="So it is.", name="b", cite=True, context=" "),
        DocumentPart(format="pdf", chunks=("one", "two"), name="c"),
        DocumentPart(format="pdf", uri="s3://bucket/key.pdf", name="d"),
    )
    content = encoded(user(*parts, "read")).body["messages"][0]["content"]
    assert [each["document"] for each in content[:4]] == [
        {"name": "a", "source": {"bytes": b"PK"}, "format": "docx", "context": "The plan."},
        {"name": "b", "source": {"text": "So it is."}, "format": "txt", "citations": {"enabled": True}},
        {"name": "c", "source": {"content": [{"text": "one"}, {"text": "two"}]}},
        {"name": "d", "source": {"s3Location": {"uri": "s3://bucket/key.pdf"}}, "format": "pdf"},
    ]


def test_a_document_alone_is_introduced_by_its_name() -> None:
    made = encoded(user(DocumentPart(format="pdf", bytes=PDF, name="plan"), DocumentPart(format="pdf", bytes=PDF)))
    assert made.body["messages"][0]["content"][0] == {"text": "Documents: plan, document"}
    assert rules(made) == [("a document without any text beside it is introduced by its name", 0, 0)]


@pytest.mark.parametrize(
    "part",
    [
        ImagePart(uri="https://example.com/a.png", format="png"),
        ImagePart(uri="s3://bucket/a.png"),
        ImagePart(bytes=b"", format="png"),
        DocumentPart(format="pdf", uri="https://example.com/a.pdf"),
        DocumentPart(format="pdf", bytes=b""),
        DocumentPart(format="txt", text=" "),
        DocumentPart(format="txt", chunks=()),
        DocumentPart(format="txt", chunks=("a", " ")),
    ],
)
def test_what_has_no_words_is_refused_where_it_stands(part: ImagePart | DocumentPart) -> None:
    assert refused(user("look", part)).message.startswith("message 0: part 1: ")
    inside = refused(user("x"), assistant(tool_use("t1", "x", {})), user(result("t1", attachments=(part,))))
    assert inside.message.startswith("message 2: part 0: ")


def test_sides_take_turns() -> None:
    """C11."""
    picture = ImagePart(format="png", bytes=PNG)
    made = encoded(
        user("one"), user("two", picture), assistant("a"), assistant("b", tool_use("t1", "x", {})), user(result("t1"))
    )
    assert [[next(iter(each)) for each in message["content"]] for message in made.body["messages"]] == [
        ["text", "text", "image"],
        ["text", "text", "toolUse"],
        ["toolResult"],
    ]
    assert rules(made)[:2] == [
        ("joined with the user message before it", 1, None),
        ("joined with the assistant message before it", 3, None),
    ]
    assert "message 0: Bedrock wants a user's message first" in refused(assistant("welcome"), user("hi")).message


@pytest.mark.parametrize(
    "messages",
    [
        (system(ImagePart(format="png", bytes=PNG)), user("x")),
        (user("x"), assistant("y", ImagePart(format="png", bytes=PNG)), user("z")),
    ],
)
def test_a_part_of_the_wrong_side_is_refused(messages: tuple[Message, ...]) -> None:
    assert "holds text" in refused(*messages).message


def test_citations_keep_their_places() -> None:
    cited = CitationsPart(
        text="It is so.",
        citations=(
            Citation(title="plan", source="s", location=CharRange(start=0, end=5), excerpt="So it"),
            Citation(location=ChunkRange(start=1, end=2), excerpt=" "),
            Citation(location=PageRange(start=1, end=2)),
        ),
    )
    made = encoded(
        user("so?", cited), assistant(cited, CitationsPart(text="plain"), CitationsPart(text=" ")), user("on")
    )
    content = made.body["messages"][1]["content"]
    assert content == [
        {
            "citationsContent": {
                "content": [{"text": "It is so."}],
                "citations": [
                    {
                        "title": "plan",
                        "source": "s",
                        "sourceContent": [{"text": "So it"}],
                        "location": {"documentChar": {"start": 0, "end": 5}},
                    },
                    {"location": {"documentChunk": {"start": 1, "end": 2}}},
                    {"location": {"documentPage": {"start": 1, "end": 2}}},
                ],
            }
        },
        {"text": "plain"},
    ]
    assert rules(made) == [("citations of a user left out", 0, 1), ("blank text left out", 1, 2)]


@pytest.mark.parametrize(
    "content, block",
    [
        ("text", {"text": "text"}),
        (None, {"text": "(no content)"}),
        (" \n", {"text": "(no content)"}),
        ([1, 2**70], {"text": "[1,1180591620717411303424]"}),
        (False, {"text": "false"}),
        ({"a": None}, {"json": {"a": None}}),
    ],
)
def test_a_results_content(content: object, block: dict[str, Any]) -> None:
    made = encoded(user("x"), assistant(tool_use("t1", "x", {})), user(result("t1", content, is_error=True)))
    told = made.body["messages"][2]["content"][0]["toolResult"]
    assert told == {"toolUseId": "t1", "content": [block], "status": "error"}


TEXTS = st.text(min_size=1, max_size=6).map(lambda text: TextPart(text=text))
PARTS = st.lists(TEXTS | st.just(MARK), max_size=3)
MESSAGES = st.lists(st.tuples(st.sampled_from([Role.USER, Role.ASSISTANT]), PARTS), max_size=8)


@given(MESSAGES)
def test_any_texts_are_lawful_in_order_or_refused(
    drawn: list[tuple[Role, list[TextPart | CacheCheckpointPart]]],
) -> None:
    messages = [Message(role=role, parts=tuple(parts)) for role, parts in drawn if parts or role is Role.USER]
    made = project_converse(ModelRequest(model="anthropic.claude", messages=tuple(messages)))
    if not made.report.accepted:
        return
    assert converse_request_breaches(made.body) == []
    texts = [part.text for message in messages for part in message.parts if isinstance(part, TextPart)]
    said = [each["text"] for message in made.body["messages"] for each in message["content"] if "text" in each]
    assert [text.rstrip() for text in said] == [text.rstrip() for text in texts if text.strip()]
    assert spelled(made.body) == made.data
