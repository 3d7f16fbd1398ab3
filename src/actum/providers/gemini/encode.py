"""Request -> generateContent body. Pure: what Gemini cannot carry is refused here, before any network call."""

import re
from typing import Final

from actum.base.value import Json
from actum.model.aliases import AliasRule
from actum.model.encoded import Draft, Encoded, draft_of
from actum.model.request import ModelRequest, OutputSchema
from actum.providers.gemini.contents import PROVIDER, Contents

# A name begins with a letter or `_`; dots are taken in a declaration and refused in a call.
_ALIASES: Final = AliasRule(name=re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII))
_STOPS: Final = 5
_HOTTEST: Final = 2
_INT32: Final = 2**31
_LEVELS: Final = ("minimal", "low", "medium", "high")
_MODES: Final = {"auto": "AUTO", "none": "NONE", "any": "ANY", "tool": "ANY"}
_OWN: Final = frozenset({"model", "contents", "systemInstruction", "tools", "toolConfig"})
_CONFIG: Final = "generationConfig"


def encode_gemini(request: ModelRequest, *, stream: bool = False) -> Encoded:
    """The body for generateContent and its stream; as `project_gemini`, and nothing in it is refused.

    Raises ProviderError of kind `model_request`, naming every message that Gemini cannot express.
    """
    return project_gemini(request, stream=stream).or_refused()


def project_gemini(request: ModelRequest, *, stream: bool = False) -> Encoded:  # noqa: ARG001 - both calls take one body
    """The body for generateContent and its stream, and the report of all that would be refused in it.

    The model is no part of the body: it stands in the address. Raises InvalidValue for a malformed request,
    TranscriptError for a transcript against the planner's law.
    """
    draft = draft_of(request, _ALIASES)
    contents = Contents(draft)
    body: dict[str, Json] = {"systemInstruction": {"parts": contents.system}} if contents.system else {}
    body["contents"] = contents.out
    body |= _tools(draft)
    body |= _settings(draft)
    return draft.encoded(PROVIDER, body)


def _tools(draft: Draft) -> dict[str, Json]:
    request, aliases, choice = draft.request, draft.aliases, draft.choice
    if not request.tools:
        return {}
    declared = [
        {
            "name": aliases.name(tool.name),
            **({"description": tool.description} if tool.description else {}),
            "parametersJsonSchema": tool.input_schema,
        }
        for tool in request.tools
    ]
    body: dict[str, Json] = {"tools": [{"functionDeclarations": declared}]}
    if choice is not None:
        named = {"allowedFunctionNames": [aliases.name(choice.name)]} if choice.name is not None else {}
        body["toolConfig"] = {"functionCallingConfig": {"mode": _MODES[choice.mode], **named}}
    return body


def _settings(draft: Draft) -> dict[str, Json]:
    settings, told = draft.request.settings, draft.projecting
    if settings.temperature is not None and settings.temperature > _HOTTEST:
        told.refused(f"a temperature is at most {_HOTTEST}")
    if settings.top_p is not None and settings.top_p > 1:
        told.refused("top_p is at most 1")
    if settings.max_output_tokens is not None and not 0 < settings.max_output_tokens < _INT32:
        told.refused("max_output_tokens is at least 1 and below 2**31")
    if settings.seed is not None and not -_INT32 <= settings.seed < _INT32:
        told.refused("a seed has 32 bits")
    if len(settings.stop_sequences) > _STOPS or not all(settings.stop_sequences):
        told.refused(f"at most {_STOPS} stop sequences are taken, none of them empty")
    if settings.parallel_tool_calls is False and draft.request.tools:
        told.left_out("the wish for one tool call at a time left out: Gemini has no word for it")
    given: dict[str, Json] = {
        "temperature": settings.temperature,
        "topP": settings.top_p,
        "maxOutputTokens": settings.max_output_tokens,
        "stopSequences": list(settings.stop_sequences) or None,
        "seed": settings.seed,
        "thinkingConfig": _thinking(settings.reasoning_effort, draft),
        **_output(draft.request.output),
    }
    config = {name: value for name, value in given.items() if value is not None}
    extra = dict(settings.extra)
    more = extra.pop(_CONFIG, {})
    if not isinstance(more, dict):
        told.refused(f"extra setting {_CONFIG} is an object")
        more = {}
    twice = sorted([*(extra.keys() & _OWN), *(more.keys() & config.keys())])
    if twice:
        told.refused(f"extra settings {', '.join(twice)} are set by the request itself")
    return extra | ({_CONFIG: more | config} if more or config else {})


def _thinking(effort: str | None, draft: Draft) -> Json:
    if effort is None:
        return None
    if effort.lower() not in _LEVELS:
        draft.projecting.refused(f"a reasoning effort is one of {', '.join(_LEVELS)}")
    return {"thinkingLevel": effort.upper()}


def _output(output: OutputSchema | None) -> dict[str, Json]:
    if output is None:
        return {}
    described = {"description": output.description} if output.description else {}
    schema = described | output.json_schema
    return {"responseMimeType": "application/json", "responseJsonSchema": schema}
