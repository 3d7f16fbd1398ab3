import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.base.errors import TranscriptError
from actum.base.value import Verbatim
from actum.messages.message import Message, assistant, system, tool_results, user
from actum.messages.parts import (
    CacheCheckpointPart,
    CharRange,
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
from actum.providers.anthropic.encode import MAX_TOKENS, project
from actum.testing.provider_samples import PNG
from tests.support.strategies import transcripts
from tests.support.vendor_specs import messages_request_breaches

MARK = CacheCheckpointPart()
IMAGE = ImagePart(bytes=PNG, format="png")
EPHEMERAL = {"type": "ephemeral"}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
PLAIN = ToolDefinition(name="a", input_schema=SCHEMA)


def result(tool_use_id: str, content: object = "ok", **more: Any) -> ToolResultPart:
    return ToolResultPart(tool_use_id=tool_use_id, content=content, **more)


def encoded(*messages: Message, **more: Any) -> Encoded:
    """Encode, and let the vendor's own schema judge what would be sent."""
    made = project(ModelRequest(model="claude-sonnet-4-5", messages=messages, **more))
    if made.report.accepted:
        assert messages_request_breaches(json.loads(made.data)) == []
    return made


def sent(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    made = encoded(*messages, **more)
    assert made.report.of(Fate.REFUSED) == ()
    found: list[dict[str, Any]] = json.loads(made.data)["messages"]
    return found


def told(made: Encoded, fate: Fate) -> list[tuple[int | None, int | None]]:
    return [(each.message_index, each.part_index) for each in made.report.of(fate)]


ASK = (user("two things"), assistant(tool_use("t1", "a.x", {"n": 1}), tool_use("t2", "a.y", {"n": 2})))


class TestResults:
    def test_a_split_answer_is_refused(self) -> None:
        with pytest.raises(TranscriptError):
            encoded(*ASK, tool_results(result("t1")), tool_results(result("t2")))

    def test_results_keep_their_order_in_one_message(self) -> None:
        made = sent(*ASK, tool_results(result("t2", "r2"), result("t1", "r1")))
        assert made[2] == {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t2", "content": "r2"},
                {"type": "tool_result", "tool_use_id": "t1", "content": "r1"},
            ],
        }

    @pytest.mark.parametrize(
        "parts",
        [
            (result("t1"), TextPart(text="note"), result("t2")),
            (TextPart(text="and Rome?"), result("t1"), result("t2")),
            (IMAGE, result("t1"), result("t2")),
        ],
    )
    def test_content_before_a_result_would_have_to_move_and_is_refused(self, parts: tuple[Any, ...]) -> None:
        assert {index for index, _ in told(encoded(*ASK, user(*parts)), Fate.REFUSED)} == {2}

    def test_content_behind_the_results_follows_them(self) -> None:
        made = sent(*ASK, user(result("t1", "r1"), result("t2", "r2"), "and Rome?"))
        assert [block["type"] for block in made[2]["content"]] == ["tool_result", "tool_result", "text"]

    @pytest.mark.parametrize("content", ["", " \n", None])
    def test_an_empty_result_keeps_its_place(self, content: object) -> None:
        made = sent(user("mkdir"), assistant(tool_use("t1", "sh", {})), tool_results(result("t1", content)))
        assert made[2]["content"] == [{"type": "tool_result", "tool_use_id": "t1"}]

    def test_an_image_stays_in_its_result_and_beside_it(self) -> None:
        source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}
        block = {"type": "image", "source": source}
        inside = sent(*ASK, tool_results(result("t1", "shot", attachments=(IMAGE,)), result("t2", "Home")))
        assert inside[2]["content"][0]["content"] == [{"type": "text", "text": "shot"}, block]
        beside = sent(*ASK, user(result("t1", "shot"), result("t2", "Home"), IMAGE))
        assert beside[2]["content"][2] == block

    def test_an_image_alone_is_a_result(self) -> None:
        made = sent(
            user("go"),
            assistant(tool_use("t1", "shot", {})),
            user(result("t1", "", attachments=(IMAGE,), is_error=True)),
        )
        block = made[2]["content"][0]
        assert [each["type"] for each in block["content"]] == ["image"]
        assert block["is_error"] is True


class TestThinking:
    def test_redacted_thinking_goes_back_byte_for_byte(self) -> None:
        data = "b3BhcXVlLXJlYXNvbmluZy1ieXRlcy0AAf7/"
        redacted = ThinkingPart(redacted=base64.b64decode(data))
        signed = ThinkingPart(text="", signature="c2ln", provider="anthropic")
        made = sent(user("go"), assistant(signed, redacted, "so", tool_use("t1", "a.x", {})), user(result("t1")))
        assert made[1]["content"][:2] == [
            {"type": "thinking", "thinking": "", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": data},
        ]

    def test_interleaved_thinking_stays_where_it_was(self) -> None:
        thoughts = [ThinkingPart(text=f"t{n}", signature=f"s{n}", provider="anthropic") for n in (1, 2)]
        made = sent(
            user("go"),
            assistant(thoughts[0], tool_use("c1", "a", {}), thoughts[1], tool_use("c2", "b", {})),
            user(result("c1"), result("c2")),
        )
        kinds = [block["type"] for block in made[1]["content"]]
        assert kinds == ["thinking", "tool_use", "thinking", "tool_use"]

    @pytest.mark.parametrize(
        "part",
        [
            ThinkingPart(text="hm", signature="s", provider="openai"),
            ThinkingPart(redacted=b"x", provider="bedrock"),
            ThinkingPart(text="hm", provider="anthropic"),
        ],
    )
    def test_foreign_and_unsigned_thinking_is_left_out(self, part: ThinkingPart) -> None:
        made = encoded(user("go"), assistant(part, "so"), user("on"))
        assert told(made, Fate.LEFT_OUT) == [(1, 0)]
        assert json.loads(made.data)["messages"][1]["content"] == [{"type": "text", "text": "so"}]

    def test_a_message_does_not_end_in_thinking(self) -> None:
        signed = ThinkingPart(text="hm", signature="s", provider="anthropic")
        made = encoded(user("go"), assistant("so", signed, signed), user("on"), assistant(signed), user("on", MARK))
        assert told(made, Fate.LEFT_OUT) == [(1, 1), (1, 2), (3, None), (3, 0)]
        assert [each["role"] for each in json.loads(made.data)["messages"]] == ["user", "assistant", "user", "user"]

    def test_thinking_that_the_next_message_goes_on_from_stays(self) -> None:
        signed = ThinkingPart(text="hm", signature="s", provider="anthropic")
        made = encoded(user("go"), assistant(signed), assistant(tool_use("t", "a", {})), user(result("t")))
        assert [block["type"] for block in made.body["messages"][1]["content"]] == ["thinking", "tool_use"]
        assert told(made, Fate.MAPPED) == [(2, None)]
        assert told(made, Fate.LEFT_OUT) == []


class TestBlanks:
    def test_blank_texts_and_messages_are_left_out_and_reported(self) -> None:
        made = encoded(user("q"), assistant("", tool_use("t1", "a.x", {})), tool_results(result("t1")))
        assert [block["type"] for block in made.body["messages"][1]["content"]] == ["tool_use"]
        assert told(made, Fate.LEFT_OUT) == [(1, 0)]
        made = encoded(user("q"), assistant(" \n\t"), user("hello?"))
        assert [each["role"] for each in made.body["messages"]] == ["user", "user"]
        assert told(made, Fate.LEFT_OUT) == [(1, None), (1, 0)]
        assert not encoded(user("")).report.accepted

    def test_only_the_last_text_of_an_unanswered_assistant_loses_its_blanks(self) -> None:
        thought = ThinkingPart(text="plan \n", signature="c2ln")
        said = assistant(thought, "keep \n", "Draft: \n")
        last = encoded(user("continue"), said)
        assert [block.get("text", block.get("thinking")) for block in last.body["messages"][1]["content"]] == [
            "plan \n",
            "keep \n",
            "Draft:",
        ]
        assert told(last, Fate.MAPPED) == [(1, 2)]
        followed = encoded(user("continue"), said, user("on"))
        assert followed.body["messages"][1]["content"][2]["text"] == "Draft: \n"
        assert followed.report.projections == ()


def marks(body: dict[str, Any]) -> list[Any]:
    """The text or type of every block that holds a cache mark, in order."""
    blocks = [*body.get("system", ()), *(block for each in body["messages"] for block in each["content"])]
    return [block.get("text", block["type"]) for block in blocks if block.get("cache_control") == EPHEMERAL]


class TestCacheMarks:
    def test_the_last_four_of_many_are_kept(self) -> None:
        turns = [each for n in range(6) for each in (user(f"u{n}", MARK), assistant(f"a{n}"))]
        made = encoded(*turns)
        assert marks(made.body) == ["u2", "u3", "u4", "u5"]
        assert told(made, Fate.LEFT_OUT) == [(0, 1), (2, 1)]
        assert encoded(*turns).data == made.data

    @pytest.mark.parametrize(
        "messages, marked, left_out",
        [
            ((user(MARK, "hi"),), [], [(0, 0)]),
            ((user("long context", "", MARK),), ["long context"], [(0, 1)]),
            (
                (user("q"), assistant(ThinkingPart(text="t", signature="s"), MARK, "a"), user("on")),
                [],
                [(1, 1)],
            ),
            (
                (user("q"), assistant(ThinkingPart(text="t", provider="openai"), MARK, "a"), user("on")),
                ["q"],
                [(1, 0)],
            ),
            ((user("x", MARK, MARK),), ["x"], []),
            ((user("x"), user(MARK), user("y")), ["x"], [(1, None)]),
            ((system("rules", MARK), user("x")), ["rules"], []),
            (
                (user("x"), assistant(tool_use("t", "a", {}), MARK), user(result("t"), MARK)),
                ["tool_use", "tool_result"],
                [],
            ),
            ((user(IMAGE, MARK),), ["image"], []),
        ],
    )
    def test_a_mark_stands_on_the_block_before_it(
        self, messages: tuple[Message, ...], marked: list[str], left_out: list[Any]
    ) -> None:
        made = encoded(*messages)
        assert marks(made.body) == marked
        assert told(made, Fate.LEFT_OUT) == left_out

    def test_a_mark_alone_is_nothing_to_send(self) -> None:
        assert not encoded(user(MARK)).report.accepted


class TestOrder:
    def test_both_system_messages_arrive_in_order(self) -> None:
        made = encoded(system("Rule A."), system("Rule B"), user("hi"))
        assert made.body["system"] == [{"type": "text", "text": "Rule A."}, {"type": "text", "text": "Rule B"}]

    def test_a_system_message_in_the_middle_is_refused(self) -> None:
        with pytest.raises(TranscriptError):
            encoded(user("hi"), assistant("yes"), system("Be brief."), user("go"))

    def test_an_assistant_does_not_begin(self) -> None:
        made = encoded(assistant("welcome"), user("hi"))
        assert told(made, Fate.REFUSED) == [(0, None)]
        assert told(encoded(user(" "), assistant("welcome"), user("hi")), Fate.REFUSED) == [(1, None)]

    def test_a_group_of_assistant_messages_with_calls_becomes_one(self) -> None:
        first, second = assistant("One.", tool_use("t1", "a", {})), assistant(tool_use("t2", "b", {}))
        made = encoded(user("go"), first, second, tool_results(result("t1"), result("t2")))
        assert [each["role"] for each in made.body["messages"]] == ["user", "assistant", "user"]
        assert told(made, Fate.MAPPED) == [(2, None)]


class TestDocuments:
    def test_every_source_has_its_form(self) -> None:
        made = sent(
            user(
                DocumentPart(format="pdf", bytes=b"%PDF", name="Q1: budget #3.pdf", context="c"),
                DocumentPart(format="md", text="# Hi"),
                DocumentPart(format="txt", chunks=("one", "two")),
                DocumentPart(format="pdf", uri="https://x/y.pdf", name=" "),
            )
        )
        blocks = made[0]["content"]
        assert [block["source"]["type"] for block in blocks] == ["base64", "text", "content", "url"]
        assert (blocks[0]["title"], blocks[0]["context"]) == ("Q1: budget #3.pdf", "c")
        assert "title" not in blocks[3]

    @pytest.mark.parametrize(
        "part",
        [
            DocumentPart(format="docx", bytes=b"PK"),
            DocumentPart(format="txt", bytes=b"\xff"),
            DocumentPart(format="txt", text=" "),
            DocumentPart(format="txt", chunks=("a", "")),
            DocumentPart(format="txt", chunks=()),
            DocumentPart(format="txt", uri="https://x/y.txt"),
            DocumentPart(format="pdf", uri="s3://b/y.pdf"),
            ImagePart(uri="s3://b/y.png"),
        ],
    )
    def test_what_has_no_form_is_refused(self, part: Any) -> None:
        assert told(encoded(user("x", part)), Fate.REFUSED) == [(0, 1)]
        answered = user(result("t", attachments=(part,)))
        assert told(encoded(user("x"), assistant(tool_use("t", "a", {})), answered), Fate.REFUSED) == [(2, 0)]

    def test_all_documents_are_cited_or_none(self) -> None:
        documents = (DocumentPart(format="txt", text="a", cite=True), DocumentPart(format="txt", text="b"))
        assert told(encoded(user(*documents)), Fate.REFUSED) == [(0, 1)]

    def test_citations_go_back_where_their_document_is(self) -> None:
        citation = Citation(title="t", source="document:0", location=CharRange(start=0, end=2), excerpt="So")
        cited = CitationsPart(text="It is.", citations=(citation,))
        made = sent(user(DocumentPart(format="txt", text="So.", cite=True)), assistant(cited), user("on"))
        assert made[1]["content"][0]["citations"][0]["cited_text"] == "So"
        foreign = encoded(user("hi"), assistant(cited), user("on"))
        assert told(foreign, Fate.LEFT_OUT) == [(1, 0)]


class TestTools:
    def test_an_input_is_sent_as_the_model_spelled_it(self) -> None:
        spelled = b'{ "n" : 1.50, "n":10e2,"big":123456789012345678901234567890, "s":"\\u0436" }'
        made = encoded(
            user("go"), assistant(ToolUsePart(id="t1", name="sum", input=Verbatim(spelled))), user(result("t1"))
        )
        assert spelled in made.data

    def test_malformed_input_is_said_to_be_it(self) -> None:
        made = encoded(
            user("go"), assistant(ToolUsePart(id="t1", name="sum", input_text='{"n": 1')), user(result("t1"))
        )
        assert made.body["messages"][1]["content"][0]["input"] == {"input_text": '{"n": 1'}
        assert told(made, Fate.MAPPED) == [(1, 0)]

    def test_choice_and_parallel_calls(self) -> None:
        tools = (PLAIN, ToolDefinition(name="b.c", description="Does.", input_schema={}))
        for mode in ("auto", "any", "none"):
            choice = ToolChoice(mode=mode)
            assert encoded(user("hi"), tools=tools, tool_choice=choice).body["tool_choice"] == {"type": mode}
        alone = ModelSettings(parallel_tool_calls=False)
        body = encoded(user("hi"), tools=tools, tool_choice=ToolChoice(mode="tool", name="b.c"), settings=alone).body
        assert body["tool_choice"] == {"type": "tool", "name": "b_c", "disable_parallel_tool_use": True}
        assert body["tools"][1] == {"name": "b_c", "description": "Does.", "input_schema": {"type": "object"}}
        assert encoded(user("hi"), tools=tools, settings=alone).body["tool_choice"] == {
            "type": "auto",
            "disable_parallel_tool_use": True,
        }
        assert "tool_choice" not in encoded(user("hi"), settings=alone, tool_choice=ToolChoice(mode="none")).body


class TestSettings:
    def test_they_are_said_in_anthropics_words(self) -> None:
        settings = ModelSettings(
            temperature=1, top_p=0.5, max_output_tokens=10, stop_sequences=("END",), reasoning_effort="high"
        )
        output = OutputSchema(json_schema={"type": "object", "additionalProperties": False})
        body = encoded(user("hi"), settings=settings, output=output).body
        assert body["max_tokens"] == 10
        assert (body["temperature"], body["top_p"], body["stop_sequences"]) == (1, 0.5, ["END"])
        assert body["thinking"] == {"type": "adaptive"}
        assert body["output_config"] == {
            "format": {"type": "json_schema", "schema": output.json_schema},
            "effort": "high",
        }
        assert encoded(user("hi")).body["max_tokens"] == MAX_TOKENS
        silent = encoded(user("hi"), settings=ModelSettings(reasoning_effort="none")).body
        assert (silent["thinking"], "output_config" in silent) == ({"type": "disabled"}, False)
        budget = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
        assert encoded(user("hi"), settings=ModelSettings(extra=budget)).body["thinking"] == budget["thinking"]

    @pytest.mark.parametrize(
        "more",
        [
            {"settings": ModelSettings(temperature=1.1)},
            {"settings": ModelSettings(top_p=1.1)},
            {"settings": ModelSettings(seed=1)},
            {"settings": ModelSettings(max_output_tokens=0)},
            {"settings": ModelSettings(stop_sequences=(" ",))},
            {"settings": ModelSettings(reasoning_effort="some")},
            {"settings": ModelSettings(reasoning_effort="low", temperature=0)},
            {
                "settings": ModelSettings(reasoning_effort="low"),
                "tools": (PLAIN,),
                "tool_choice": ToolChoice(mode="any"),
            },
            {"settings": ModelSettings(extra={"system": "x"})},
            {"tools": (PLAIN, PLAIN)},
            {"tools": (ToolDefinition(name="a", input_schema={"type": "array"}),)},
            {"tool_choice": ToolChoice(mode="any")},
        ],
    )
    def test_what_anthropic_does_not_take_is_refused(self, more: dict[str, Any]) -> None:
        assert told(encoded(user("hi"), **more), Fate.REFUSED) == [(None, None)]


@given(transcripts(welcome=False))
def test_any_lawful_transcript_makes_a_lawful_body_or_says_why_not(messages: tuple[Message, ...]) -> None:
    made = encoded(*messages)
    body = json.loads(made.data)
    blocks = [block for each in body["messages"] for block in each["content"]]
    assert all(each["content"] for each in body["messages"])
    assert all(block["text"].strip() for block in blocks if block["type"] == "text")
    assert len(marks(body)) <= 4
    called = [use.id for message in messages for use in message.tool_uses]
    assert [block["id"] for block in blocks if block["type"] == "tool_use"] == called
    answered = [each.tool_use_id for message in messages for each in message.tool_results]
    assert [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"] == answered


@given(st.sampled_from(["", " ", "x"]), st.booleans())
def test_a_conversation_that_is_left_out_is_refused(text: str, thought: bool) -> None:  # noqa: FBT001 - hypothesis draws it
    part = ThinkingPart(text="t", provider="x") if thought else TextPart(text=text)
    made = encoded(user(text), assistant(part))
    assert made.report.accepted == bool(text.strip())
