"""Request -> Converse body. Pure: what Bedrock cannot carry is refused here, before any network call."""

from collections.abc import Sequence
from typing import Final

from actum.base.value import Json, dump_json
from actum.messages.message import Role
from actum.model.aliases import AliasRule
from actum.model.encoded import Draft, Encoded, draft_of
from actum.model.request import ModelRequest, OutputSchema
from actum.providers.bedrock.messages import PROVIDER, Content, contents_of

_ALIASES: Final = AliasRule(id_prefix="tooluse_")
_STOPS: Final = 2500
_EFFORT_CHARS: Final = 16
_OWN: Final = frozenset({"modelId", "messages", "system", "toolConfig", "inferenceConfig", "outputConfig"})


def encode_converse(request: ModelRequest, *, stream: bool = False) -> Encoded:
    """The body for Converse and ConverseStream; as `project_converse`, and nothing in it is refused.

    Raises ProviderError of kind `model_request`, naming every message that Bedrock cannot express.
    """
    return project_converse(request, stream=stream).or_refused()


def project_converse(request: ModelRequest, *, stream: bool = False) -> Encoded:  # noqa: ARG001 - both calls take one body
    """The body for Converse and ConverseStream, and the report of all that would be refused in it.

    The model is no part of the body: it stands in the address. Bytes stand in it as bytes, in `data` as base64. Raises
    InvalidValue for a malformed request, TranscriptError for a transcript against the planner's law.
    """
    draft = draft_of(request, _ALIASES)
    contents = contents_of(draft)
    system = [each.block for content in contents if content.role is Role.SYSTEM for each in content.blocks]
    spoken = [content for content in contents if content.role is not Role.SYSTEM]
    body: dict[str, Json] = {"system": system} if system else {}
    body["messages"] = [
        {"role": str(content.role), "content": [each.block for each in content.blocks]} for content in spoken
    ]
    body |= _tools(draft)
    body |= _output(draft.request.output, draft.request.settings.reasoning_effort, draft)
    body |= _settings(draft)
    _thinking_leads(draft, spoken)
    return draft.encoded(PROVIDER, body)


def _tools(draft: Draft) -> dict[str, Json]:
    request, told = draft.request, draft.projecting
    used = {use.name: None for message in request.messages for use in message.tool_uses}
    choice = draft.choice
    if choice is not None and choice.mode == "none":
        if not used:
            told.mapped("no tool is offered, for Bedrock has no word for the choice of none")
            return {}
        told.left_out("the choice of no tool left out: Bedrock has no word for it")
    if not request.tools and used:
        # Converse takes no tool use without a tool; the transcript names which there were.
        told.mapped("the tools that the transcript uses are named, for Bedrock wants them offered")
        tools = [_tool(draft.aliases.name(name), "", {"type": "object"}) for name in used]
    else:
        tools = [_tool(draft.aliases.name(tool.name), tool.description, tool.input_schema) for tool in request.tools]
    if not tools:
        return {}
    config: dict[str, Json] = {"tools": tools}
    if choice is not None and choice.name is not None:
        config["toolChoice"] = {"tool": {"name": draft.aliases.name(choice.name)}}
    elif choice is not None and choice.mode != "none":
        config["toolChoice"] = {choice.mode: {}}
    return {"toolConfig": config}


def _tool(name: str, description: str, schema: dict[str, Json]) -> dict[str, Json]:
    described = {"description": description} if description else {}
    return {"toolSpec": {"name": name, **described, "inputSchema": {"json": schema}}}


def _output(output: OutputSchema | None, effort: str | None, draft: Draft) -> dict[str, Json]:
    config: dict[str, Json] = {}
    if output is not None:
        described = {"description": output.description} if output.description else {}
        # The schema is a text there, not a value.
        schema = {"schema": dump_json(output.json_schema).decode(), "name": output.name, **described}
        config["textFormat"] = {"type": "json_schema", "structure": {"jsonSchema": schema}}
    if effort is not None:
        if len(effort) > _EFFORT_CHARS:
            draft.projecting.refused(f"a reasoning effort has at most {_EFFORT_CHARS} characters")
        config["effort"] = effort
    return {"outputConfig": config} if config else {}


def _settings(draft: Draft) -> dict[str, Json]:
    settings, told = draft.request.settings, draft.projecting
    for name, value in (("temperature", settings.temperature), ("top_p", settings.top_p)):
        if value is not None and value > 1:
            told.refused(f"{name} is at most 1")
    if settings.max_output_tokens == 0:
        told.refused("max_output_tokens is at least 1")
    if len(settings.stop_sequences) > _STOPS or not all(settings.stop_sequences):
        told.refused(f"at most {_STOPS} stop sequences are taken, none of them empty")
    if settings.seed is not None:
        told.left_out("the seed left out: Bedrock takes none")
    if settings.parallel_tool_calls is False and draft.request.tools:
        told.left_out("the wish for one tool call at a time left out: Bedrock has no word for it")
    given: dict[str, Json] = {
        "maxTokens": settings.max_output_tokens,
        "temperature": settings.temperature,
        "topP": settings.top_p,
        "stopSequences": list(settings.stop_sequences) or None,
    }
    config = {name: value for name, value in given.items() if value is not None}
    twice = sorted(settings.extra.keys() & _OWN)
    if twice:
        told.refused(f"extra settings {', '.join(twice)} are set by the request itself")
    return settings.extra | ({"inferenceConfig": config} if config else {})


def _thinking_leads(draft: Draft, contents: Sequence[Content]) -> None:
    """Refuse what Anthropic's models refuse: with thinking on, a turn in which tools are used begins with thinking."""
    if not _thinking_is_on(draft.request.settings.extra):
        return
    asked = [
        i
        for i, content in enumerate(contents)
        if content.role is Role.USER and not any("toolResult" in each.block for each in content.blocks)
    ]
    answers = [content for content in contents[asked[-1] + 1 if asked else 0 :] if content.role is Role.ASSISTANT]
    if not any("toolUse" in each.block for content in answers for each in content.blocks):
        return
    first = answers[0].blocks[0]
    if "reasoningContent" not in first.block:
        rule = "while thinking is on, a turn that uses tools begins with its own thinking"
        draft.projecting.refused(rule, first.message, first.part)


def _thinking_is_on(extra: dict[str, Json]) -> bool:
    fields = extra.get("additionalModelRequestFields")
    thinking = fields.get("thinking") if isinstance(fields, dict) else None
    return isinstance(thinking, dict) and thinking.get("type") == "enabled"
