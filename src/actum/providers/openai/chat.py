"""Request -> Chat Completions body. Pure: what the provider cannot carry is refused here, before any network call."""

from dataclasses import dataclass
from typing import Final

from actum.base.value import Json, conform
from actum.model.request import ModelRequest, ModelSettings, ToolChoice
from actum.model.response import Projection
from actum.providers.openai.aliases import Aliases
from actum.providers.openai.chat_messages import chat_messages
from actum.providers.openai.chat_parts import refusal
from actum.transcript.validate import validate_planner_transcript

_STOPS: Final = 4
_HOTTEST: Final = 2
_OWN: Final = frozenset({"model", "messages", "tools", "tool_choice", "stream", "stream_options", "n"})


@dataclass(frozen=True)
class EncodedChat:
    """A request's body, the aliases in it, and what it could not carry."""

    body: dict[str, Json]
    aliases: Aliases
    projections: tuple[Projection, ...]


def encode_chat(request: ModelRequest, *, stream: bool = False) -> EncodedChat:
    """The body for `/chat/completions`.

    Raises InvalidValue for a malformed request, TranscriptError for a transcript against the planner's law, and
    ProviderError of kind `model_request`, naming the message, for what Chat Completions cannot express.
    """
    request = conform(request)
    validate_planner_transcript(request.messages)
    uses = [use for message in request.messages for use in message.tool_uses]
    named = {tool.name for tool in request.tools}
    if len(named) != len(request.tools):
        raise refusal("two tools have one name")
    aliases = Aliases({*named, *(use.name for use in uses)}, (use.id for use in uses))
    messages, projections = chat_messages(request.messages, aliases)
    if not messages:
        raise refusal("nothing is left to send: every message is blank")
    body: dict[str, Json] = {"model": request.model, "messages": messages}
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
    body |= _choice(request.tool_choice, named, aliases) | _settings(request.settings, with_tools=bool(named))
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return EncodedChat(body=body, aliases=aliases, projections=tuple(projections))


def _choice(choice: ToolChoice | None, named: set[str], aliases: Aliases) -> dict[str, Json]:
    if choice is None or (not named and choice.mode in ("auto", "none")):
        return {}
    if not named:
        raise refusal("a tool is asked for and none is offered")
    if choice.name is None:
        return {"tool_choice": "required" if choice.mode == "any" else choice.mode}
    if choice.name not in named:
        raise refusal(f"the tool {choice.name!r} is asked for and not offered")
    return {"tool_choice": {"type": "function", "function": {"name": aliases.name(choice.name)}}}


def _settings(settings: ModelSettings, *, with_tools: bool) -> dict[str, Json]:
    if settings.temperature is not None and settings.temperature > _HOTTEST:
        raise refusal(f"a temperature is at most {_HOTTEST}")
    if settings.top_p is not None and settings.top_p > 1:
        raise refusal("top_p is at most 1")
    if len(settings.stop_sequences) > _STOPS or not all(settings.stop_sequences):
        raise refusal(f"at most {_STOPS} stop sequences are taken, none of them empty")
    given: dict[str, Json] = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_completion_tokens": settings.max_output_tokens,
        "stop": list(settings.stop_sequences) or None,
        "seed": settings.seed,
        "parallel_tool_calls": settings.parallel_tool_calls if with_tools else None,
        "reasoning_effort": settings.reasoning_effort,
    }
    body = {name: value for name, value in given.items() if value is not None}
    twice = sorted(settings.extra.keys() & (_OWN | body.keys()))
    if twice:
        raise refusal(f"extra settings {', '.join(twice)} are set by the request itself")
    return body | settings.extra
