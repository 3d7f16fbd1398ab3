"""Documents as others write them: what comes along, what is noted, what is refused."""

import json
from typing import Any

import pytest

from actum.base.errors import InvalidValue
from actum.base.value import Verbatim
from actum.messages.message import assistant, system, tool_results, user
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
from actum.providers.interchange.formats import import_messages
from actum.providers.interchange.reading import Imported, Note


def read(format: str, document: Any) -> Imported:
    return import_messages(json.dumps(document).encode(), format)


def test_an_answer_of_chat_completions_with_what_servers_add() -> None:
    call = {"id": "call_1", "type": "function", "index": 0, "function": {"name": "look", "arguments": '{"n": 1.0}'}}
    found = read(
        "openai-chat",
        [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "name": "ada", "content": [{"type": "text", "text": "hi"}]},
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "hm",
                "refusal": None,
                "annotations": [],
                "audio": None,
                "tool_calls": [call],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "ok"}]},
            {"role": "assistant", "content": "", "refusal": "No."},
        ],
    )
    assert found.messages == (
        system("Be brief."),
        user("hi"),
        assistant(
            ThinkingPart(text="hm", provider="openai-chat"),
            ToolUsePart(id="call_1", name="look", input=Verbatim(b'{"n": 1.0}')),
        ),
        tool_results(ToolResultPart(tool_use_id="call_1", content="ok")),
        assistant("", "No."),
    )
    assert [note.path for note in found.notes] == ["[0].role", "[1].name", "[3].content", "[4].refusal"]


@pytest.mark.parametrize(
    "document, path",
    [
        ([{"role": "function", "name": "look", "content": "ok"}], "[0].role"),
        ([{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}], "[0].content[0].type"),
        ([{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}], "[0].content[0].file.file_data"),
        ([{"role": "assistant", "tool_calls": [{"id": "c", "type": "custom"}]}], "[0].tool_calls[0].type"),
        ([{"role": "user", "content": 1}], "[0].content"),
        ([{"content": "hi"}], "[0].role"),
    ],
)
def test_what_no_part_holds_is_refused_with_its_path(document: Any, path: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        read("openai-chat", document)
    assert refused.value.field == path


def test_items_of_an_answer_and_of_the_agents_sdk() -> None:
    found = read(
        "openai-agents",
        [
            {"role": "user", "content": "hi"},
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": "c2VjcmV0",
            },
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "so", "annotations": [], "logprobs": []}],
            },
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "look",
                "arguments": "{",
                "status": "completed",
            },
            {"type": "function_call_output", "call_id": "call_1", "output": [{"type": "input_text", "text": "no"}]},
        ],
    )
    thought = found.messages[1].parts[0]
    assert isinstance(thought, ThinkingPart)
    assert (thought.text, thought.provider) == ("hm", "openai")
    assert found.messages[1].parts[1:] == (
        TextPart(text="so"),
        ToolUsePart(id="call_1", name="look", input_text="{"),
    )
    assert found.messages[2] == tool_results(ToolResultPart(tool_use_id="call_1", content="no"))
    assert Note("[2].id", "left out") in found.notes


def test_messages_of_anthropic_with_marks_citations_and_results_of_blocks() -> None:
    cited = {
        "type": "char_location",
        "cited_text": "So it",
        "document_index": 0,
        "document_title": "plan",
        "start_char_index": 0,
        "end_char_index": 5,
        "file_id": None,
    }
    mark = {"type": "ephemeral", "ttl": "1h"}
    text_document = {"type": "text", "media_type": "text/plain", "data": "So it is."}
    result = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    found = read(
        "anthropic",
        {
            "system": [{"type": "text", "text": "Be brief.", "cache_control": mark}],
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "document",
                            "source": text_document,
                            "title": "plan",
                            "context": None,
                            "citations": {"enabled": True},
                        }
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "So it is.", "citations": [cited]},
                        {"type": "tool_use", "id": "t1", "name": "look", "input": {}, "caller": {"type": "direct"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": result, "is_error": True}],
                },
            ],
        },
    )
    citation = Citation(title="plan", source="document:0", location=CharRange(start=0, end=5), excerpt="So it")
    assert found.messages == (
        system("Be brief.", CacheCheckpointPart()),
        user(DocumentPart(format="txt", text="So it is.", name="plan", cite=True)),
        assistant(CitationsPart(text="So it is.", citations=(citation,)), tool_use("t1", "look", {})),
        tool_results(ToolResultPart(tool_use_id="t1", content="ab", is_error=True)),
    )
    assert [note.path for note in found.notes] == [
        "system[0].cache_control.ttl",
        "messages[1].content[1].caller",
        "messages[2].content[0].content",
    ]


def test_a_block_of_anthropics_own_tools_is_refused() -> None:
    block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    with pytest.raises(InvalidValue, match="tool_use"):
        read("anthropic", {"messages": [{"role": "assistant", "content": [block]}]})


def test_blocks_of_bedrock_have_one_member_and_places_that_no_part_names_are_noted() -> None:
    cited = {
        "content": [{"text": "so"}],
        "citations": [{"title": "t", "location": {"web": {"url": "https://example.com"}}}],
    }
    found = read("bedrock", {"messages": [{"role": "assistant", "content": [{"citationsContent": cited}]}]})
    assert found.messages == (assistant(CitationsPart(text="so", citations=(Citation(title="t"),))),)
    assert [note.says for note in found.notes] == ["left out"]
    with pytest.raises(InvalidValue, match="exactly one member"):
        read("bedrock", {"messages": [{"role": "user", "content": [{"text": "a", "image": {}}]}]})


def test_contents_of_gemini_without_ids_find_their_calls_by_name() -> None:
    call = {"functionCall": {"name": "look", "args": {}}}
    found = read(
        "gemini",
        {
            "contents": [
                {"parts": [{"text": "hi"}]},
                {"role": "model", "parts": [call, call]},
                {
                    "role": "function",
                    "parts": [
                        {"functionResponse": {"name": "look", "response": {"output": "a"}}},
                        {"functionResponse": {"name": "look", "response": {"error": "b"}}},
                    ],
                },
            ]
        },
    )
    assert found.messages[1] == assistant(tool_use("call_1", "look", {}), tool_use("call_2", "look", {}))
    assert found.messages[2] == tool_results(
        ToolResultPart(tool_use_id="call_1", content="a"),
        ToolResultPart(tool_use_id="call_2", content="b", is_error=True),
    )
    with pytest.raises(InvalidValue, match="name of a call before it"):
        read("gemini", {"contents": [{"parts": [{"functionResponse": {"name": "look", "response": {}}}]}]})


def test_messages_of_langchain_with_older_blocks() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}}
    found = read(
        "langchain",
        [
            {"type": "human", "data": {"content": [picture], "type": "human", "id": None, "example": False}},
            {
                "type": "ai",
                "data": {
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "c2ln", "index": 0},
                        {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
                    ],
                    "tool_calls": [{"name": "look", "args": {}, "id": "t1", "type": "tool_call"}],
                    "usage_metadata": {"input_tokens": 1},
                    "response_metadata": {},
                },
            },
            {"type": "tool", "data": {"content": "ok", "tool_call_id": "t1", "status": "success", "artifact": None}},
        ],
    )
    assert found.messages == (
        user(ImagePart(uri="https://example.com/a.png", metadata={"detail": "low"})),
        assistant(ThinkingPart(text="hm", signature="c2ln"), tool_use("t1", "look", {})),
        tool_results(ToolResultPart(tool_use_id="t1", content="ok")),
    )
    assert [note.path for note in found.notes] == ["[1].data.usage_metadata", "[1].data.content[0].index"]


def test_ui_messages_keep_their_steps_and_say_what_is_no_part() -> None:
    found = read(
        "ai-sdk",
        [
            {"id": "a", "role": "user", "metadata": {"user": 1}, "parts": [{"type": "text", "text": "hi"}]},
            {
                "id": "b",
                "role": "assistant",
                "parts": [
                    {"type": "step-start"},
                    {"type": "reasoning", "text": "hm", "state": "done"},
                    {
                        "type": "tool-look",
                        "toolCallId": "t1",
                        "state": "output-available",
                        "input": {},
                        "output": [1],
                    },
                    {
                        "type": "dynamic-tool",
                        "toolName": "find",
                        "toolCallId": "t2",
                        "state": "output-error",
                        "input": {},
                        "errorText": "no",
                    },
                    {"type": "step-start"},
                    {"type": "source-url", "sourceId": "s", "url": "https://example.com"},
                    {"type": "text", "text": "so", "state": "done"},
                ],
            },
        ],
    )
    assert found.messages == (
        user("hi", meta={"user": 1}),
        assistant(ThinkingPart(text="hm"), tool_use("t1", "look", {}), tool_use("t2", "find", {})),
        tool_results(
            ToolResultPart(tool_use_id="t1", content=[1]),
            ToolResultPart(tool_use_id="t2", content="no", is_error=True),
        ),
        assistant("so"),
    )
    assert Note("[1].parts[5].type", "left out: it is no part of what was said") in found.notes


@pytest.mark.parametrize("state", ["input-streaming", "output-denied"])
def test_a_tool_in_a_state_that_is_no_result_is_refused(state: str) -> None:
    part = {"type": "tool-look", "toolCallId": "t1", "state": state, "input": {}}
    with pytest.raises(InvalidValue, match="output-available"):
        read("ai-sdk", [{"id": "a", "role": "assistant", "parts": [part]}])
