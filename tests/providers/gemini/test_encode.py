from typing import Any

import pytest

from actum.base.errors import InvalidValue, ProviderError, TranscriptError
from actum.messages.message import assistant, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.model.encoded import Encoded
from actum.model.request import ModelRequest, ModelSettings, OutputSchema, ToolChoice, ToolDefinition
from actum.providers.gemini.encode import encode_gemini, project_gemini
from tests.support.judge_gemini import gemini_request_breaches

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
TOOLS = (
    ToolDefinition(name="a.x", description="Adds.", input_schema=SCHEMA),
    ToolDefinition(name="1y", input_schema={}),
)


def encoded(**more: Any) -> Encoded:
    made = encode_gemini(ModelRequest(model="gemini-3-pro", messages=(user("hi"),), **more))
    assert gemini_request_breaches(made.body) == []
    return made


def refused(**more: Any) -> str:
    with pytest.raises(ProviderError) as error:
        encode_gemini(ModelRequest(model="gemini-3-pro", messages=(user("hi"),), **more))
    return error.value.message


def test_tools_under_names_that_gemini_takes() -> None:
    made = encoded(tools=TOOLS)
    first, second = made.body["tools"][0]["functionDeclarations"]
    assert first == {"name": "a_x", "description": "Adds.", "parametersJsonSchema": SCHEMA}
    assert second["name"].startswith("t_1y_")
    assert [made.aliases.original(each["name"]) for each in (first, second)] == ["a.x", "1y"]
    assert "toolConfig" not in made.body


@pytest.mark.parametrize(
    "choice, config",
    [
        (ToolChoice(mode="auto"), {"mode": "AUTO"}),
        (ToolChoice(mode="none"), {"mode": "NONE"}),
        (ToolChoice(mode="any"), {"mode": "ANY"}),
        (ToolChoice(mode="tool", name="a.x"), {"mode": "ANY", "allowedFunctionNames": ["a_x"]}),
    ],
)
def test_the_choice_of_a_tool(choice: ToolChoice, config: dict[str, Any]) -> None:
    assert encoded(tools=TOOLS, tool_choice=choice).body["toolConfig"] == {"functionCallingConfig": config}
    if choice.mode in ("auto", "none"):
        assert "toolConfig" not in encoded(tool_choice=choice).body


def test_settings() -> None:
    settings = ModelSettings(
        temperature=1.5,
        top_p=1,
        max_output_tokens=5,
        stop_sequences=("END",),
        seed=-7,
        reasoning_effort="low",
        extra={"safetySettings": [], "generationConfig": {"topK": 5}},
    )
    body = encoded(settings=settings).body
    assert body["generationConfig"] == {
        "temperature": 1.5,
        "topP": 1,
        "maxOutputTokens": 5,
        "stopSequences": ["END"],
        "seed": -7,
        "thinkingConfig": {"thinkingLevel": "LOW"},
        "topK": 5,
    }
    assert body["safetySettings"] == []
    assert set(encoded().body) == {"contents"}


def test_a_form_of_the_answer() -> None:
    config = encoded(output=OutputSchema(json_schema=SCHEMA, description="A sum.")).body["generationConfig"]
    assert config == {
        "responseMimeType": "application/json",
        "responseJsonSchema": {"description": "A sum.", **SCHEMA},
    }
    own = {"description": "Mine.", **SCHEMA}
    config = encoded(output=OutputSchema(json_schema=own, description="A sum.")).body["generationConfig"]
    assert config["responseJsonSchema"] == own


def test_what_gemini_has_no_word_for_is_reported() -> None:
    made = encoded(tools=TOOLS, settings=ModelSettings(parallel_tool_calls=False))
    assert [each.rule for each in made.projections] == [
        "the wish for one tool call at a time left out: Gemini has no word for it"
    ]
    assert encoded(settings=ModelSettings(parallel_tool_calls=False)).projections == ()


@pytest.mark.parametrize(
    "settings, says",
    [
        (ModelSettings(temperature=2.5), "at most 2"),
        (ModelSettings(top_p=2), "top_p is at most 1"),
        (ModelSettings(max_output_tokens=0), "at least 1"),
        (ModelSettings(max_output_tokens=2**31), "below 2**31"),
        (ModelSettings(seed=2**31), "32 bits"),
        (ModelSettings(stop_sequences=("",)), "none of them empty"),
        (ModelSettings(stop_sequences=("x",) * 6), "at most 5"),
        (ModelSettings(reasoning_effort="extreme"), "minimal, low, medium, high"),
        (ModelSettings(extra={"contents": [], "tools": []}), "contents, tools"),
        (ModelSettings(seed=1, extra={"generationConfig": {"seed": 2}}), "seed"),
        (ModelSettings(extra={"generationConfig": 7}), "is an object"),
    ],
)
def test_settings_that_gemini_does_not_take_are_refused(settings: ModelSettings, says: str) -> None:
    assert says in refused(settings=settings)


def test_malformed_requests_are_no_matter_of_the_provider() -> None:
    with pytest.raises(TranscriptError):
        project_gemini(ModelRequest(model="m", messages=(user("go"), assistant(tool_use("t1", "x", {})))))
    with pytest.raises(InvalidValue):
        project_gemini(ModelRequest(model=7, messages=()))  # type: ignore[arg-type] # the point of the test


def test_the_same_request_makes_the_same_bytes() -> None:
    messages = (user("go"), assistant(tool_use("id ж", "a.x", {})), user(ToolResultPart(tool_use_id="id ж")))
    request = ModelRequest(model="m", messages=messages, tools=TOOLS)
    assert encode_gemini(request).data == encode_gemini(request, stream=True).data
