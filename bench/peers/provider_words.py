"""How long litellm and pydantic-ai take to put the same transcript into a provider's words: their own mapping alone.

    python -m bench.peers.provider_words CHAT_MESSAGES.json REPEATS

Run in the peers' own environment by `python -m bench.providers --peers`. Prints milliseconds of the processor.
"""

import asyncio
import copy
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MODEL = "claude-sonnet-4-5"
_TOOL = {"type": "function", "function": {"name": "search_text", "parameters": {"type": "object", "properties": {}}}}


def fastest(work: Callable[[Any], object], given: Any, repeats: int) -> float:  # noqa: ANN401 - the peer's own messages
    """Milliseconds of the fastest of so many runs, each over its own copy: some peers change it."""
    times = []
    for _ in range(repeats):
        own = copy.deepcopy(given)
        begun = time.process_time()
        made = work(own)
        times.append(time.process_time() - begun)
        if not made:
            sys.exit("the peer made nothing")
    return min(times) * 1000


def of_litellm(messages: list[dict[str, Any]], repeats: int) -> dict[str, float]:
    """Its transformations for Anthropic and Bedrock; for OpenAI it passes messages through."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig
    from litellm.llms.bedrock.chat.converse_transformation import AmazonConverseConfig

    anthropic, bedrock = AnthropicConfig(), AmazonConverseConfig()
    options = {"max_tokens": 100}
    return {
        "anthropic": fastest(
            lambda own: json.dumps(anthropic.transform_request(_MODEL, own, dict(options), {}, {})), messages, repeats
        ),
        "bedrock": fastest(
            lambda own: json.dumps(
                bedrock._transform_request(  # noqa: SLF001 - it has no other name for it
                    "anthropic.claude-3-sonnet-20240229-v1:0", own, {"maxTokens": 100, "tools": [_TOOL]}, {}
                )
            ),
            messages,
            repeats,
        ),
    }


def of_pydantic_ai(messages: list[dict[str, Any]], repeats: int) -> dict[str, float]:
    """Its mappings for Anthropic and for OpenAI's Chat Completions."""
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    history: list[Any] = []
    for each in messages:
        if each["role"] == "user":
            history.append(ModelRequest(parts=[UserPromptPart(content=each["content"])]))
        elif each["role"] == "tool":
            found = json.loads(each["content"])
            part = ToolReturnPart(tool_name="search_text", content=found, tool_call_id=each["tool_call_id"])
            history.append(ModelRequest(parts=[part]))
        else:
            calls = [
                ToolCallPart(
                    tool_name=call["function"]["name"], args=call["function"]["arguments"], tool_call_id=call["id"]
                )
                for call in each.get("tool_calls", ())
            ]
            history.append(ModelResponse(parts=[TextPart(content=each["content"]), *calls]))
    parameters = ModelRequestParameters()
    anthropic = AnthropicModel(_MODEL, provider=AnthropicProvider(api_key="none"))
    openai = OpenAIChatModel("gpt-4.1", provider=OpenAIProvider(api_key="none"))
    mapped = {
        "anthropic": lambda own: asyncio.run(anthropic._map_message(own, parameters, {})),  # noqa: SLF001 - as above
        "openai-chat": lambda own: asyncio.run(openai._map_messages(own, parameters)),  # noqa: SLF001 - as above
    }
    return {name: fastest(lambda own, m=made: json.dumps(m(own)), history, repeats) for name, made in mapped.items()}


def main() -> None:
    """Print both peers' milliseconds by provider, as one line of JSON."""
    messages, repeats = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), int(sys.argv[2])
    figures = {"litellm": of_litellm(messages, repeats), "pydantic-ai": of_pydantic_ai(messages, repeats)}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
