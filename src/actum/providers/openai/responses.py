"""Request -> Responses body. Pure: what the provider cannot carry is refused here, before any network call."""

import re
from typing import Final

from actum.base.value import Json
from actum.model.aliases import Aliases, AliasRule
from actum.model.encoded import Draft, Encoded, draft_of
from actum.model.request import ModelRequest, OutputSchema, ToolChoice
from actum.providers.openai.reasoning import FAMILY
from actum.providers.openai.responses_items import input_items

PROVIDER: Final = FAMILY

_ALIASES: Final = AliasRule(id=re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII))
_HOTTEST: Final = 2
_FEWEST_TOKENS: Final = 16
_OWN: Final = frozenset({"model", "input", "tools", "tool_choice", "stream", "store"})
# Models that do not reason refuse to be asked for their reasoning; every other one is asked.
_UNREASONING: Final = re.compile(r"(ft:)?(gpt-3|gpt-4|chatgpt-4|gpt-5[^:]*-chat)", re.ASCII)


def encode_responses(request: ModelRequest, *, stream: bool = False) -> Encoded:
    """The body for `/responses`; as `project_responses`, and nothing in it is refused.

    Raises ProviderError of kind `model_request`, naming every message that Responses cannot express.
    """
    return project_responses(request, stream=stream).or_refused()


def project_responses(request: ModelRequest, *, stream: bool = False) -> Encoded:
    """The body for `/responses`, and the report of all that would be refused in it.

    Nothing is kept at OpenAI, so reasoning is asked for in its encrypted form, which goes back with the next request.
    Raises InvalidValue for a malformed request, TranscriptError for a transcript against the planner's law.
    """
    draft = draft_of(request, _ALIASES)
    request, aliases = draft.request, draft.aliases
    body: dict[str, Json] = {"model": request.model, "input": input_items(draft), "store": False}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": aliases.name(tool.name),
                **({"description": tool.description} if tool.description else {}),
                "parameters": tool.input_schema,
                # Left out it would mean true, which refuses most schemas.
                "strict": False,
            }
            for tool in request.tools
        ]
        body |= _choice(draft.choice, aliases)
    body |= _settings(draft)
    if "include" not in body and not _UNREASONING.match(request.model):
        body["include"] = ["reasoning.encrypted_content"]
    if stream:
        body["stream"] = True
    return draft.encoded(PROVIDER, body)


def _choice(choice: ToolChoice | None, aliases: Aliases) -> dict[str, Json]:
    if choice is None:
        return {}
    if choice.name is None:
        return {"tool_choice": "required" if choice.mode == "any" else choice.mode}
    return {"tool_choice": {"type": "function", "name": aliases.name(choice.name)}}


def _format(output: OutputSchema) -> Json:
    described = {"description": output.description} if output.description else {}
    schema = {"name": output.name, **described, "schema": output.json_schema, "strict": True}
    return {"format": {"type": "json_schema", **schema}}


def _settings(draft: Draft) -> dict[str, Json]:
    settings, told, output = draft.request.settings, draft.projecting, draft.request.output
    if settings.temperature is not None and settings.temperature > _HOTTEST:
        told.refused(f"a temperature is at most {_HOTTEST}")
    if settings.top_p is not None and settings.top_p > 1:
        told.refused("top_p is at most 1")
    if settings.max_output_tokens is not None and settings.max_output_tokens < _FEWEST_TOKENS:
        told.refused(f"at least {_FEWEST_TOKENS} output tokens are allowed")
    if settings.stop_sequences:
        told.refused("Responses takes no stop sequences")
    if settings.seed is not None:
        told.refused("Responses takes no seed")
    given: dict[str, Json] = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_output_tokens": settings.max_output_tokens,
        "parallel_tool_calls": settings.parallel_tool_calls if draft.request.tools else None,
        "reasoning": None if settings.reasoning_effort is None else {"effort": settings.reasoning_effort},
        "text": None if output is None else _format(output),
    }
    body = {name: value for name, value in given.items() if value is not None}
    twice = sorted(settings.extra.keys() & (_OWN | body.keys()))
    if twice:
        told.refused(f"extra settings {', '.join(twice)} are set by the request itself")
    return settings.extra | body
