import json
from typing import Any

import pytest

from actum.base.errors import InvalidValue, ProviderError, TranscriptError
from actum.messages.message import Message, assistant, user
from actum.messages.parts import ThinkingPart, ToolResultPart, tool_use
from actum.model.encoded import Encoded
from actum.model.request import ModelRequest, ModelSettings, OutputSchema, ToolChoice, ToolDefinition
from actum.providers.bedrock.encode import encode_converse, project_converse
from tests.support.judge_bedrock import converse_request_breaches

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
TOOLS = (
    ToolDefinition(name="a.x", description="Adds.", input_schema=SCHEMA),
    ToolDefinition(name="y", input_schema={}),
)
USED = (user("go"), assistant(tool_use("t1", "a.x", {})), user(ToolResultPart(tool_use_id="t1", content="ok")))


def encoded(*messages: Message, **more: Any) -> Encoded:
    made = encode_converse(ModelRequest(model="anthropic.claude", messages=messages or (user("hi"),), **more))
    assert converse_request_breaches(made.body) == []
    return made


def rules(made: Encoded) -> list[str]:
    return [each.rule for each in made.projections]


def refused(**more: Any) -> str:
    with pytest.raises(ProviderError) as error:
        encode_converse(ModelRequest(model="anthropic.claude", messages=(user("hi"),), **more))
    return error.value.message


def test_tools_and_their_choice() -> None:
    body = encoded(tools=TOOLS, tool_choice=ToolChoice(mode="tool", name="a.x")).body
    assert body["toolConfig"] == {
        "tools": [
            {"toolSpec": {"name": "a_x", "description": "Adds.", "inputSchema": {"json": SCHEMA}}},
            {"toolSpec": {"name": "y", "inputSchema": {"json": {}}}},
        ],
        "toolChoice": {"tool": {"name": "a_x"}},
    }
    for mode in ("auto", "any"):
        assert encoded(tools=TOOLS, tool_choice=ToolChoice(mode=mode)).body["toolConfig"]["toolChoice"] == {mode: {}}


def test_the_choice_of_no_tool_is_said_as_far_as_it_can_be() -> None:
    none = ToolChoice(mode="none")
    fresh = encoded(tools=TOOLS, tool_choice=none)
    assert "toolConfig" not in fresh.body
    assert rules(fresh) == ["no tool is offered, for Bedrock has no word for the choice of none"]
    used = encoded(*USED, tools=TOOLS, tool_choice=none)
    assert set(used.body["toolConfig"]) == {"tools"}
    assert rules(used) == ["the choice of no tool left out: Bedrock has no word for it"]


def test_tools_that_only_the_transcript_knows_are_named() -> None:
    made = encoded(*USED)
    assert made.body["toolConfig"] == {
        "tools": [{"toolSpec": {"name": "a_x", "inputSchema": {"json": {"type": "object"}}}}]
    }
    assert rules(made) == ["the tools that the transcript uses are named, for Bedrock wants them offered"]


def test_settings() -> None:
    settings = ModelSettings(
        temperature=0,
        top_p=1.0,
        max_output_tokens=5,
        stop_sequences=("END",),
        reasoning_effort="high",
        extra={"requestMetadata": {"team": "x"}},
    )
    body = encoded(settings=settings).body
    assert body["inferenceConfig"] == {"maxTokens": 5, "temperature": 0, "topP": 1.0, "stopSequences": ["END"]}
    assert body["outputConfig"] == {"effort": "high"}
    assert body["requestMetadata"] == {"team": "x"}
    assert set(encoded().body) == {"messages"}


def test_a_form_of_the_answer_is_a_schema_as_text() -> None:
    output = OutputSchema(json_schema=SCHEMA, name="sum", description="A sum.")
    form = encoded(output=output).body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert json.loads(form.pop("schema")) == SCHEMA
    assert form == {"name": "sum", "description": "A sum."}


def test_what_bedrock_has_no_word_for_is_reported() -> None:
    made = encoded(tools=TOOLS, settings=ModelSettings(seed=7, parallel_tool_calls=False))
    assert rules(made) == [
        "the seed left out: Bedrock takes none",
        "the wish for one tool call at a time left out: Bedrock has no word for it",
    ]
    assert rules(encoded(settings=ModelSettings(parallel_tool_calls=True))) == []


@pytest.mark.parametrize(
    "settings, says",
    [
        (ModelSettings(temperature=1.5), "temperature is at most 1"),
        (ModelSettings(top_p=2), "top_p is at most 1"),
        (ModelSettings(max_output_tokens=0), "at least 1"),
        (ModelSettings(stop_sequences=("",)), "none of them empty"),
        (ModelSettings(stop_sequences=("x",) * 2501), "at most 2500"),
        (ModelSettings(reasoning_effort="x" * 17), "at most 16"),
        (ModelSettings(extra={"messages": [], "inferenceConfig": {}}), "inferenceConfig, messages"),
    ],
)
def test_settings_that_bedrock_does_not_take_are_refused(settings: ModelSettings, says: str) -> None:
    assert says in refused(settings=settings)


def test_everything_wrong_is_told_at_once() -> None:
    request = ModelRequest(
        model="m", messages=(assistant("welcome"),), settings=ModelSettings(temperature=3, max_output_tokens=0)
    )
    made = project_converse(request)
    assert len(made.report.projections) == 3
    assert not made.report.accepted


THINKING = ModelSettings(
    extra={"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}}
)
THOUGHT = ThinkingPart(text="hm", signature="c2ln", provider="bedrock")


def test_with_thinking_on_a_turn_with_tools_begins_with_thinking() -> None:
    ask, use, answer = USED
    thought = (ask, assistant(THOUGHT, *use.parts), answer)
    assert encoded(*thought, settings=THINKING).report.accepted
    # What is over is over: only the running turn is looked at.
    assert encoded(*USED, assistant("done"), user("more"), settings=THINKING).report.accepted
    assert encoded(user("hi"), assistant("no tools"), settings=THINKING).report.accepted
    foreign = assistant(ThinkingPart(text="hm", provider="openai"), *use.parts)
    for messages in (USED, (ask, foreign, answer)):
        with pytest.raises(ProviderError, match="begins with its own thinking"):
            encoded(*messages, settings=THINKING)
    adaptive = ModelSettings(extra={"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}})
    assert encoded(*USED, settings=adaptive).report.accepted


def test_malformed_requests_are_no_matter_of_the_provider() -> None:
    with pytest.raises(TranscriptError):
        encode_converse(ModelRequest(model="m", messages=USED[:2]))
    with pytest.raises(InvalidValue):
        encode_converse(ModelRequest(model=7, messages=USED))  # type: ignore[arg-type] # the point of the test


def test_the_same_request_makes_the_same_bytes() -> None:
    request = ModelRequest(model="m", messages=USED, tools=TOOLS)
    assert encode_converse(request).data == encode_converse(request, stream=True).data
