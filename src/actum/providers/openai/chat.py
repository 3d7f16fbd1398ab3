"""Request -> Chat Completions body. Pure: what the provider cannot carry is refused here, before any network call."""

import re
from typing import Final

from actum.base.value import Json
from actum.model.aliases import Aliases, AliasRule
from actum.model.encoded import Draft, Encoded, draft_of
from actum.model.request import ModelRequest, OutputSchema, ToolChoice
from actum.providers.openai.chat_messages import chat_messages

PROVIDER: Final = "openai-chat"

_ALIASES: Final = AliasRule(id=re.compile(r"[A-Za-z0-9_-]{1,40}", re.ASCII))
_STOPS: Final = 4
_HOTTEST: Final = 2
_OWN: Final = frozenset(
    {"model", "messages", "tools", "tool_choice", "response_format", "stream", "stream_options", "n"}
)


def encode_chat(request: ModelRequest, *, stream: bool = False) -> Encoded:
    """The body for `/chat/completions`; as `project_chat`, and nothing in it is refused.

    Raises ProviderError of kind `model_request`, naming every message that Chat Completions cannot express.
    """
    return project_chat(request, stream=stream).or_refused()


def project_chat(request: ModelRequest, *, stream: bool = False) -> Encoded:
    """The body for `/chat/completions`, and the report of all that would be refused in it.

    Raises InvalidValue for a malformed request, TranscriptError for a transcript against the planner's law.
    """
    draft = draft_of(request, _ALIASES)
    request, aliases = draft.request, draft.aliases
    body: dict[str, Json] = {"model": request.model, "messages": chat_messages(draft)}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": aliases.name(tool.name),
                    **({"description": tool.description} if tool.description else {}),
                    "parameters": tool.input_schema,
                },
            }
            for tool in request.tools
        ]
        body |= _choice(draft.choice, aliases)
    if request.output is not None:
        body["response_format"] = _format(request.output)
    body |= _settings(draft)
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return draft.encoded(PROVIDER, body)


def _choice(choice: ToolChoice | None, aliases: Aliases) -> dict[str, Json]:
    if choice is None:
        return {}
    if choice.name is None:
        return {"tool_choice": "required" if choice.mode == "any" else choice.mode}
    return {"tool_choice": {"type": "function", "function": {"name": aliases.name(choice.name)}}}


def _format(output: OutputSchema) -> dict[str, Json]:
    described = {"description": output.description} if output.description else {}
    schema = {"name": output.name, **described, "schema": output.json_schema, "strict": True}
    return {"type": "json_schema", "json_schema": schema}


def _settings(draft: Draft) -> dict[str, Json]:
    settings, told = draft.request.settings, draft.projecting
    if settings.temperature is not None and settings.temperature > _HOTTEST:
        told.refused(f"a temperature is at most {_HOTTEST}")
    if settings.top_p is not None and settings.top_p > 1:
        told.refused("top_p is at most 1")
    if len(settings.stop_sequences) > _STOPS or not all(settings.stop_sequences):
        told.refused(f"at most {_STOPS} stop sequences are taken, none of them empty")
    given: dict[str, Json] = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_completion_tokens": settings.max_output_tokens,
        "stop": list(settings.stop_sequences) or None,
        "seed": settings.seed,
        "parallel_tool_calls": settings.parallel_tool_calls if draft.request.tools else None,
        "reasoning_effort": settings.reasoning_effort,
    }
    body = {name: value for name, value in given.items() if value is not None}
    twice = sorted(settings.extra.keys() & (_OWN | body.keys()))
    if twice:
        told.refused(f"extra settings {', '.join(twice)} are set by the request itself")
    return settings.extra | body
