"""A request on its way into one provider's words, whichever provider that is: `draft_of` begins, `Encoded` is the end.

What no provider takes is refused here once: two tools of one name, a choice of a tool that is not offered.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from actum.base.value import Json, exact, spelled
from actum.messages.message import Message, Role
from actum.messages.parts import ToolResultPart, ToolUsePart
from actum.model.aliases import Aliases, AliasRule
from actum.model.projection import Fate, Projecting, Projection, ProjectionReport, refusal_of
from actum.model.request import ModelRequest, ToolChoice
from actum.transcript.validate import validate_planner_transcript


@dataclass(frozen=True)
class Encoded:
    """A request's body, the aliases in it, and what became of the transcript.

    A tool's input may stand in the body as the model spelled it (`Verbatim`); `data` are the bytes to send.
    """

    body: dict[str, Json]
    aliases: Aliases
    report: ProjectionReport

    @cached_property
    def projections(self) -> tuple[Projection, ...]:
        """What a response tells of its request: everything but the aliases, which are led back."""
        return tuple(each for each in self.report.projections if each.fate is not Fate.ALIASED)

    @cached_property
    def data(self) -> bytes:
        """The body as JSON bytes, the same for the same request."""
        return spelled(self.body)

    def or_refused(self) -> "Encoded":
        """The same, unless something in it is refused: then ProviderError, kind `model_request`, names all of it."""
        if not self.report.accepted:
            raise refusal_of(self.report)
        return self


@dataclass(frozen=True)
class Draft:
    """A lawful request in its exact form, its aliases, and the projections so far."""

    request: ModelRequest
    aliases: Aliases
    projecting: Projecting

    @property
    def choice(self) -> ToolChoice | None:
        """The request's tool choice, where a choice can be made and the tool that it names is offered."""
        choice, names = self.request.tool_choice, {tool.name for tool in self.request.tools}
        return choice if choice is not None and names and choice.name in {None, *names} else None

    def encoded(self, provider: str, body: dict[str, Json]) -> Encoded:
        """The end of the encoding."""
        report = self.projecting.report(provider, self.request.model)
        return Encoded(body=body, aliases=self.aliases, report=report)


def draft_of(request: ModelRequest, rule: AliasRule) -> Draft:
    """The beginning of an encoding for a provider that takes such names and ids.

    Raises InvalidValue for a malformed request, TranscriptError for a transcript against the planner's law.
    """
    request = exact(request)
    validate_planner_transcript(request.messages)
    uses = [part for message in request.messages for part in message.parts if isinstance(part, ToolUsePart)]
    offered = [tool.name for tool in request.tools]
    # What an id is called may not depend on its neighbours, so every id is aliased by itself.
    aliases = Aliases((*offered, *(use.name for use in uses)), (use.id for use in uses), rule)
    projecting = Projecting()
    if not aliases.told_apart:
        projecting.refused("two tool names, or two tool use ids, would be one for the provider")
    if len(set(offered)) != len(offered):
        projecting.refused("two tools have one name")
    _report_choice(request.tool_choice, offered, projecting)
    _report_aliases(request, aliases, projecting)
    return Draft(request=request, aliases=aliases, projecting=projecting)


def _report_choice(choice: ToolChoice | None, offered: list[str], projecting: Projecting) -> None:
    if choice is None or choice.mode in ("auto", "none"):
        return
    if not offered:
        projecting.refused("a tool is asked for and none is offered")
    elif choice.name is not None and choice.name not in offered:
        projecting.refused(f"the tool {choice.name!r} is asked for and not offered")


def _report_aliases(request: ModelRequest, aliases: Aliases, projecting: Projecting) -> None:
    if not aliases.any:
        return
    for tool in request.tools:
        if aliases.name(tool.name) != tool.name:
            projecting.aliased(f"the tool {tool.name!r} is called {aliases.name(tool.name)!r}")
    for index, message in enumerate(request.messages):
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolUsePart) and aliases.name(part.name) != part.name:
                projecting.aliased(f"the tool is called {aliases.name(part.name)!r}", index, position)
            id = part.id if isinstance(part, ToolUsePart) else _answered(part)
            if id is not None and aliases.id(id) != id:
                projecting.aliased(f"the tool use is called {aliases.id(id)!r}", index, position)


def _answered(part: object) -> str | None:
    return part.tool_use_id if isinstance(part, ToolResultPart) else None


def groups_of(messages: Sequence[Message]) -> Iterator[list[int]]:
    """The indexes of the messages that become one.

    Assistant messages do where another one follows a tool use, for it would stand between tool uses and their results;
    every other message stands alone.
    """
    index = 0
    while index < len(messages):
        end = index + 1
        if messages[index].role is Role.ASSISTANT:
            while end < len(messages) and messages[end].role is Role.ASSISTANT:
                end += 1
            if end > index + 1 and not any(message.tool_uses for message in messages[index : end - 1]):
                end = index + 1
        yield list(range(index, end))
        index = end
