"""Request -> Messages body. Pure: what the provider cannot carry is refused here, before any network call."""

import re
from typing import Final

from actum.base.value import Json
from actum.model.aliases import AliasRule
from actum.model.encoded import Draft, Encoded, draft_of
from actum.model.request import ModelRequest, ToolDefinition
from actum.providers.anthropic.blocks import FAMILY, blocks_of

PROVIDER: Final = FAMILY
# Anthropic wants a bound for every answer; a request that names none gets this one.
MAX_TOKENS: Final = 8192

_ALIASES: Final = AliasRule(
    name=re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII),
    id=re.compile(r"[A-Za-z0-9_-]{1,512}", re.ASCII),
    id_prefix="toolu_",
)
_EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
_OWN: Final = frozenset({"model", "messages", "system", "tools", "tool_choice", "max_tokens", "stream"})


def encode(request: ModelRequest, *, stream: bool = False) -> Encoded:
    """The body for `/v1/messages`; as `project`, and nothing in it is refused.

    Raises ProviderError of kind `model_request`, naming every message that Anthropic cannot express.
    """
    return project(request, stream=stream).or_refused()


def project(request: ModelRequest, *, stream: bool = False) -> Encoded:
    """The body for `/v1/messages`, and the report of all that would be refused in it.

    Raises InvalidValue for a malformed request, TranscriptError for a transcript against the planner's law.
    """
    draft = draft_of(request, _ALIASES)
    request = draft.request
    system, messages = blocks_of(draft)
    limit = request.settings.max_output_tokens
    if limit == 0:
        draft.projecting.refused("an answer has at least one token")
    body: dict[str, Json] = {"model": request.model, "max_tokens": MAX_TOKENS if limit is None else limit}
    if request.tools:
        body["tools"] = [_tool(draft, tool) for tool in request.tools]
        body |= _choice(draft)
    if system:
        body["system"] = system
    body["messages"] = messages
    body |= _settings(draft)
    if stream:
        body["stream"] = True
    return draft.encoded(PROVIDER, body)


def _tool(draft: Draft, tool: ToolDefinition) -> dict[str, Json]:
    if tool.input_schema.get("type", "object") != "object":
        draft.projecting.refused(f"the input of the tool {tool.name!r} is an object")
    described = {"description": tool.description} if tool.description else {}
    name = draft.aliases.name(tool.name)
    return {"name": name, **described, "input_schema": {"type": "object"} | tool.input_schema}


def _choice(draft: Draft) -> dict[str, Json]:
    choice, parallel = draft.choice, draft.request.settings.parallel_tool_calls
    mode = choice.mode if choice is not None else "auto"
    if choice is None and parallel is not False:
        return {}
    chosen: dict[str, Json] = {"type": mode}
    if choice is not None and choice.name is not None:
        chosen["name"] = draft.aliases.name(choice.name)
    if parallel is False and mode != "none":
        chosen["disable_parallel_tool_use"] = True
    return {"tool_choice": chosen}


def _settings(draft: Draft) -> dict[str, Json]:
    settings, told, output = draft.request.settings, draft.projecting, draft.request.output
    if settings.temperature is not None and settings.temperature > 1:
        told.refused("a temperature is at most 1")
    if settings.top_p is not None and settings.top_p > 1:
        told.refused("top_p is at most 1")
    if not all(each.strip() for each in settings.stop_sequences):
        told.refused("a stop sequence is not blank")
    if settings.seed is not None:
        told.refused("Anthropic takes no seed")
    shape: dict[str, Json] = {}
    if output is not None:
        shape["format"] = {"type": "json_schema", "schema": output.json_schema}
    thinking = _thinking(draft)
    if thinking is not None and thinking["type"] != "disabled":
        shape["effort"] = settings.reasoning_effort
    given: dict[str, Json] = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "stop_sequences": list(settings.stop_sequences) or None,
        "thinking": thinking,
        "output_config": shape or None,
    }
    body = {name: value for name, value in given.items() if value is not None}
    twice = sorted(settings.extra.keys() & (_OWN | body.keys()))
    if twice:
        told.refused(f"extra settings {', '.join(twice)} are set by the request itself")
    return settings.extra | body


def _thinking(draft: Draft) -> dict[str, Json] | None:
    """How far the model shall think. A model that takes a budget of tokens instead gets it through `extra`."""
    settings, told, choice = draft.request.settings, draft.projecting, draft.choice
    effort = settings.reasoning_effort
    if effort is None:
        return None
    if effort == "none":
        return {"type": "disabled"}
    if effort not in _EFFORTS:
        told.refused(f"a reasoning effort is none, {', '.join(_EFFORTS)}")
    if settings.temperature not in (None, 1):
        told.refused("a model that thinks has temperature 1")
    if choice is not None and choice.mode in ("any", "tool"):
        told.refused("a model that thinks is not forced to use a tool")
    return {"type": "adaptive"}
