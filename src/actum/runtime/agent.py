"""An agent: an id, who plans for it, and what it may use."""

import hashlib
from collections.abc import Callable, Iterable

from actum.base.checks import identifier, refuse
from actum.base.value import dump_json
from actum.model.client import ModelClient
from actum.model.request import ModelSettings
from actum.planning.history import HistoryPolicy
from actum.planning.model_planner import ModelPlanner
from actum.planning.planner import Planner
from actum.planning.policy import RunPolicy, check_policy
from actum.planning.prompt import PromptUse
from actum.providers.pick import named
from actum.tools.agents import agent_tool
from actum.tools.registry import ToolRegistry
from actum.tools.spec import ToolSpec


class Agent:
    """Who answers: a `model` with `instructions`, or a `planner` of your own, and the `tools` that it may use.

    `model` is a client, or a name such as `openai-chat:gpt-4.1`; `instructions` a text, or a prompt of the runtime's
    registry. `history` is what the planner is shown of a long transcript; everything unless given. `policy` bounds
    every run of the agent. Raises InvalidValue for an odd id, a model's name without a provider that is known here, two
    tools of one name, both a model and a planner, or neither.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        model: ModelClient | str | None = None,
        instructions: str | PromptUse | None = None,
        planner: Planner | None = None,
        tools: Iterable[ToolSpec | Callable[..., object]] = (),
        policy: RunPolicy | None = None,
        history: HistoryPolicy | None = None,
        settings: ModelSettings | None = None,
    ) -> None:
        self.agent_id = identifier("agent_id", agent_id)
        if (model is None) == (planner is None):
            raise refuse("model", model, "is given exactly when no planner is")
        if isinstance(model, str):
            named(model)  # a slip of the pen is told here, not by the first run
        if planner is not None and (instructions is not None or settings is not None):
            raise refuse("instructions", instructions, "stand beside a model; a planner has its own")
        if planner is not None and not isinstance(planner, Planner):
            raise refuse("planner", planner, "has plan_start and plan_resume")
        self.planner: Planner = planner or ModelPlanner(model or "", instructions, settings=settings or ModelSettings())
        self.tools = ToolRegistry(tools)
        self.policy = check_policy(policy, self.tools) if policy is not None else None
        self.history = history
        told = instructions.prompt_id if isinstance(instructions, PromptUse) else instructions
        self._described = [agent_id, model if isinstance(model, str) else getattr(model, "model", None), told]

    @property
    def version(self) -> str:
        """A digest of what the agent is told and may use; it stands in every run's request."""
        tools = [[spec.name, spec.version] for spec in self.tools]
        return hashlib.sha256(dump_json([*self._described, tools])).hexdigest()[:32]

    def as_tool(
        self,
        name: str | None = None,
        description: str | None = None,
        *,
        tags: Iterable[str] = (),
        confirm: bool = False,
    ) -> ToolSpec:
        """The agent as a tool of another one: each call is a child run, and its answer is the call's result.

        The child sees the one message that the call gives it, and nothing of its parent's conversation. `name` is the
        agent's id unless given; `confirm` asks a person before each call. Both agents are registered in one runtime.
        Raises InvalidValue for a name that no tool may have.
        """
        return agent_tool(self.agent_id, name=name, description=description, tags=tags, confirm=confirm)

    def __repr__(self) -> str:
        return f"Agent({self.agent_id!r}, tools={[spec.name for spec in self.tools]})"
