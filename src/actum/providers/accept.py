"""Would a provider take this transcript? Answered offline, by the very encoder that a call uses, without any SDK."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from actum.base.checks import refuse, several
from actum.base.errors import TranscriptError
from actum.messages.message import Message
from actum.model.encoded import Encoded
from actum.model.projection import Projecting, ProjectionReport
from actum.model.request import ModelRequest, ModelSettings, OutputSchema, ToolChoice, ToolDefinition
from actum.model.rules import PartRules

_ANY_MODEL: Final = "any"


class Project(Protocol):
    """An encoder that reports what it would refuse, in place of raising."""

    def __call__(self, request: ModelRequest, *, stream: bool = False) -> Encoded:
        """The body and the report."""
        ...


@dataclass(frozen=True)
class ProviderWords:
    """How one provider is spoken to: its encoder, and the table of what it does with each form of a part."""

    project: Project
    rules: PartRules


def would_accept(
    messages: Sequence[Message],
    provider: str,
    model: str | None = None,
    tools: Sequence[ToolDefinition] = (),
    *,
    tool_choice: ToolChoice | None = None,
    settings: ModelSettings = ModelSettings(),  # noqa: B008 - a frozen value
    output: OutputSchema | None = None,
) -> ProjectionReport:
    """What becomes of these messages at `provider` (`openai`, `anthropic`, ...): a report, `accepted` or not.

    A transcript against the planner's law is reported as refused, one entry a finding. Raises InvalidValue for an
    unknown provider and for malformed messages.
    """
    request = ModelRequest(
        model=model or _ANY_MODEL,
        messages=several("messages", messages, Message, "messages"),
        tools=tuple(tools),
        tool_choice=tool_choice,
        settings=settings,
        output=output,
    )
    projecting = Projecting()
    try:
        made = words_of(provider).project(request).report
    except TranscriptError as error:
        for finding in error.findings:
            projecting.refused(finding.rule, finding.message_index, finding.part_index)
        made = projecting.report(provider, model)
    return ProjectionReport(provider=provider, model=model, projections=made.projections)


def words_of(provider: str) -> ProviderWords:
    """The encoder and the rules of a provider, loaded when first asked for. Raises InvalidValue for an unknown one."""
    load = PROVIDERS.get(provider)
    if load is None:
        raise refuse("provider", provider, f"is one of {', '.join(sorted(PROVIDERS))}")
    return load()


def _openai_chat() -> ProviderWords:
    from actum.providers.openai.chat import project_chat
    from actum.providers.openai.rules import CHAT_RULES

    return ProviderWords(project=project_chat, rules=CHAT_RULES)


def _openai() -> ProviderWords:
    from actum.providers.openai.responses import project_responses
    from actum.providers.openai.rules import RESPONSES_RULES

    return ProviderWords(project=project_responses, rules=RESPONSES_RULES)


def _anthropic() -> ProviderWords:
    from actum.providers.anthropic.encode import project
    from actum.providers.anthropic.rules import RULES

    return ProviderWords(project=project, rules=RULES)


def _bedrock() -> ProviderWords:
    from actum.providers.bedrock.encode import project_converse
    from actum.providers.bedrock.rules import CONVERSE_RULES

    return ProviderWords(project=project_converse, rules=CONVERSE_RULES)


def _gemini() -> ProviderWords:
    from actum.providers.gemini.encode import project_gemini
    from actum.providers.gemini.rules import GEMINI_RULES

    return ProviderWords(project=project_gemini, rules=GEMINI_RULES)


PROVIDERS: Final[dict[str, Callable[[], ProviderWords]]] = {
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "gemini": _gemini,
    "openai": _openai,
    "openai-chat": _openai_chat,
}
