"""Real providers, asked for real. Each runs only where its key is in the environment, and costs a few tokens.

`ACTUM_LIVE_MODELS` names other models: `openai:gpt-5.1,anthropic:claude-opus-4-5`.
"""

import os
from contextlib import aclosing

import pytest
from pydantic import BaseModel

from actum import ModelRequest, ModelSettings, StopReason, ToolChoice, ToolResultPart, complete, pick, user
from actum.model.fold import fold
from actum.providers.accept import would_accept
from actum.testing.provider_samples import TOOLS, standard_conversation

KEYS = {
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "bedrock": "AWS_ACCESS_KEY_ID",
    "gemini": "GEMINI_API_KEY",
}
MODELS = os.environ.get(
    "ACTUM_LIVE_MODELS",
    "openai:gpt-5-mini,openai-chat:gpt-4.1-mini,anthropic:claude-haiku-4-5,"
    "bedrock:amazon.nova-lite-v1:0,gemini:gemini-2.5-flash",
)
SETTINGS = ModelSettings(max_output_tokens=2000)

pytestmark = [
    pytest.mark.live,
    pytest.mark.parametrize(
        "name",
        [
            pytest.param(
                name,
                marks=pytest.mark.skipif(
                    not os.environ.get(KEYS.get(name.partition(":")[0], "")), reason="its key is not in the environment"
                ),
            )
            for name in MODELS.split(",")
        ],
    ),
]


class Town(BaseModel):
    name: str
    country: str


async def test_a_tool_is_called_and_its_result_is_read(name: str) -> None:
    model = pick(name)
    asked = (user("What is the weather in Ulm? Use the tool."),)
    request = ModelRequest(model=model.model, messages=asked, tools=TOOLS, settings=SETTINGS)
    called = await model.complete(request)
    assert called.stop is StopReason.TOOL_USE
    use = called.message.tool_uses[0]
    assert use.name == "weather.lookup"
    assert "Ulm" in use.arguments["city"]
    results = [ToolResultPart(tool_use_id=each.id, content={"celsius": 7}) for each in called.message.tool_uses]
    more = ModelRequest(
        model=model.model, messages=(*asked, called.message, user(*results)), tools=TOOLS, settings=SETTINGS
    )
    async with aclosing(model.stream(more)) as chunks:
        answered = fold([chunk async for chunk in chunks])
    assert answered.stop is StopReason.END_TURN
    assert "7" in answered.message.text
    assert answered.usage.output


async def test_a_conversation_of_another_provider_goes_on(name: str) -> None:
    model = pick(name)
    messages = (*standard_conversation()[:2], user("Say yes."), *standard_conversation()[3:7])
    assert would_accept(messages, name.partition(":")[0], model.model, TOOLS).accepted
    choice = ToolChoice(mode="none")
    request = ModelRequest(model=model.model, messages=messages, tools=TOOLS, tool_choice=choice, settings=SETTINGS)
    assert (await model.complete(request)).stop in (StopReason.END_TURN, StopReason.TOOL_USE)


async def test_an_answer_of_a_type(name: str) -> None:
    assert (await complete(name, Town, "The capital of Austria.", settings=SETTINGS)).country == "Austria"
