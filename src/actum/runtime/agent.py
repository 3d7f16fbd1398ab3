"""An agent: an id, who plans for it, and what it may use."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from actum.base.checks import identifier, refuse
from actum.base.value import dump_json
from actum.messages.message import Message
from actum.model.client import ModelClient
from actum.model.request import ModelSettings
from actum.planning.model_planner import ModelPlanner
from actum.planning.planner import Planner
from actum.tools.registry import ToolRegistry
from actum.tools.spec import ToolSpec
from actum.transcript.turns import keep_newest_turns


class HistoryPolicy(Protocol):
    """What a planner is shown of a transcript. The stored transcript stays as it is."""

    @property
    def turns(self) -> int | None:
        """How many of the newest turns are needed to make the view; None when all are."""
        ...

    def view(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The view of these messages. Raises TranscriptError when there is no lawful one."""
        ...


@dataclass(frozen=True)
class KeepNewestTurns:
    """Show the leading system messages and the newest `turns` whole turns. No turn is ever split."""

    turns: int

    def __post_init__(self) -> None:
        if type(self.turns) is not int or self.turns < 1:
            raise refuse("turns", self.turns, "is a whole number from 1")

    def view(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The newest whole turns."""
        return keep_newest_turns(messages, self.turns)


class Agent:
    """Who answers: a `model` with `instructions`, or a `planner` of your own, and the `tools` that it may use.

    `model` is a client, or a name such as `openai-chat:gpt-4.1`. `history` is what the planner is shown of a long
    transcript; everything unless given. Raises InvalidValue for an odd id, two tools of one name, both a model and a
    planner, or neither.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        model: ModelClient | str | None = None,
        instructions: str | None = None,
        planner: Planner | None = None,
        tools: Iterable[ToolSpec | Callable[..., object]] = (),
        history: HistoryPolicy | None = None,
        settings: ModelSettings | None = None,
    ) -> None:
        self.agent_id = identifier("agent_id", agent_id)
        if (model is None) == (planner is None):
            raise refuse("model", model, "is given exactly when no planner is")
        if planner is not None and (instructions is not None or settings is not None):
            raise refuse("instructions", instructions, "stand beside a model; a planner has its own")
        if planner is not None and not isinstance(planner, Planner):
            raise refuse("planner", planner, "has plan_start and plan_resume")
        self.planner: Planner = planner or ModelPlanner(model or "", instructions, settings=settings or ModelSettings())
        self.tools = ToolRegistry(tools)
        for spec in self.tools:
            if spec.confirm:
                raise refuse(f"tools.{spec.name}.confirm", True, "is not served yet: a run cannot wait for a person")  # noqa: FBT003 - the value shown
        self.history = history
        self._described = [agent_id, model if isinstance(model, str) else getattr(model, "model", None), instructions]

    @property
    def version(self) -> str:
        """A digest of what the agent is told and may use; it stands in every run's request."""
        tools = [[spec.name, spec.version] for spec in self.tools]
        return hashlib.sha256(dump_json([*self._described, tools])).hexdigest()[:32]

    def __repr__(self) -> str:
        return f"Agent({self.agent_id!r}, tools={[spec.name for spec in self.tools]})"
