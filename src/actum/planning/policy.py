"""What bounds a run: how much it may call and take, which tools it may use, and what happens at a limit.

A policy may come from the runtime, the agent, the caller of a run, and a hook. Put together, the tightest of each bound
holds, and a tool must pass every restriction: nobody can give a run more than another has left it.
"""

from collections.abc import Awaitable, Callable, Iterable
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

from actum.base.checks import Count, Identifier, Labels, Reason, refuse
from actum.base.errors import InvalidValue
from actum.base.value import Json, Value, conform, dump_json, replace, verbatim
from actum.messages.parts import ToolUsePart
from actum.tools.call import invalid_call
from actum.tools.registry import ToolRegistry
from actum.tools.spec import ToolSpec


class Limit(StrEnum):
    """The bounds of a policy that can be used up; each is named after its field."""

    TOOL_CALLS = "max_tool_calls"
    RECOVERY_TURNS = "max_recovery_turns"
    TIME = "time_budget"


# More than thirty years; whoever means no bound gives None.
_LONGEST_S: Final = 1_000_000_000


def _seconds(path: str, value: object) -> float:
    if type(value) not in (int, float) or not 0 <= value <= _LONGEST_S:  # type: ignore[operator]  # a number by now
        raise refuse(path, value, f"is a number of seconds from 0 to {_LONGEST_S}")
    return float(value)  # type: ignore[arg-type]  # the line above has looked


Seconds = Annotated[float, _seconds]


class FixedCall(Value):
    """A call that the runtime makes itself where a limit is reached: a terminal tool, with these arguments."""

    tool: str
    arguments: dict[str, Json] = {}

    def part(self, call_id: str) -> ToolUsePart:
        """The call as a tool use with this id."""
        return ToolUsePart(id=call_id, name=self.tool, input=verbatim(dump_json(self.arguments)))


class OnLimit(Value):
    """The fixed call for each limit; a limit without one leads to one last plan, which may call nothing."""

    max_tool_calls: FixedCall | None = None
    max_recovery_turns: FixedCall | None = None
    time_budget: FixedCall | None = None

    def of(self, limit: Limit) -> FixedCall | None:
        """The fixed call for this limit."""
        call: FixedCall | None = getattr(self, limit)
        return call


class RunPolicy(Value):
    """The bounds of a run; None is no bound. A limit that is reached leads to one last plan, or to a fixed call.

    `max_tool_calls` counts every call that plans make, but those of bookkeeping tools.
    `max_recovery_turns` counts, in a row, the plans after answers with a failure among them. `time_budget` is the time
    of the whole run, in seconds from its start; time in which it is suspended does not count. `plan_timeout` bounds
    each plan and `tool_timeout` each call, in seconds, beside the tool's own timeout.
    """

    max_tool_calls: Count | None = None
    max_recovery_turns: Count | None = None
    time_budget: Seconds | None = None
    plan_timeout: Seconds | None = None
    tool_timeout: Seconds | None = None
    on_limit: OnLimit = OnLimit()


class ToolRestriction(Value):
    """Which tools a run may use: only these by name, only those with one of these tags, none with one of the others.

    None restricts nothing; an empty tuple leaves no tool.
    """

    tools: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    without_tags: tuple[str, ...] = ()

    def allows(self, spec: ToolSpec) -> bool:
        """Whether the tool passes."""
        if self.tools is not None and spec.name not in self.tools:
            return False
        if self.tags is not None and not set(self.tags) & set(spec.tags):
            return False
        return not set(self.without_tags) & set(spec.tags)


class Terms(Value):
    """What holds for one run: its policy, and every restriction of its tools. Stored with the run's start."""

    policy: RunPolicy = RunPolicy()
    restrictions: tuple[ToolRestriction, ...] = ()

    def allows(self, spec: ToolSpec) -> bool:
        """Whether the run may use the tool."""
        return all(each.allows(spec) for each in self.restrictions)

    def tightened(self, policy: RunPolicy | None, *restrictions: ToolRestriction | None) -> "Terms":
        """These terms and more of them: the tightest of each bound, and one restriction more."""
        more = tuple(each for each in restrictions if each is not None and each not in self.restrictions)
        return Terms(policy=tightest(self.policy, policy), restrictions=(*self.restrictions, *more))


class PolicyInput(Value):
    """What a policy hook is asked with: the run, its labels, its session's metadata, and the terms so far."""

    run_id: Identifier
    agent_id: Identifier
    session_id: Identifier | None = None
    labels: Labels = {}
    session_metadata: Labels = {}
    step: Count = 0
    terms: Terms = Terms()


class Tightening(Value):
    """What a policy hook adds, and why. It cannot loosen anything; its `on_limit` is not looked at."""

    policy: RunPolicy = RunPolicy()
    restrict: ToolRestriction | None = None
    reason: Reason

    @property
    def bounds(self) -> RunPolicy:
        """Its bounds alone: what happens at a limit is not a hook's to say."""
        return replace(self.policy, on_limit=OnLimit())


# Judges a run before each of its plans, sync or async; it can only tighten. One that fails ends the run.
PolicyHook: TypeAlias = Callable[[PolicyInput], "Tightening | Awaitable[Tightening | None] | None"]


def tightest(first: RunPolicy, second: RunPolicy | None) -> RunPolicy:
    """The tighter of each bound; a fixed call of `second` stands before one of `first`."""
    if second is None:
        return first
    bounds = {name: _least(first, second, name) for name in RunPolicy.__struct_fields__ if name != "on_limit"}
    calls = {limit: second.on_limit.of(limit) or first.on_limit.of(limit) for limit in Limit}
    return replace(first, **bounds, on_limit=OnLimit(**{str(limit): call for limit, call in calls.items()}))


def check_policy(policy: RunPolicy, tools: ToolRegistry) -> RunPolicy:
    """The policy in its exact form, for an agent with these tools.

    Raises InvalidValue for a bound that is none, and for a fixed call of no terminal tool, of one that asks a person
    first, or with arguments that do not fit.
    """
    policy = conform(policy, "policy")
    for limit in Limit:
        fixed = policy.on_limit.of(limit)
        if fixed is not None:
            _check_call(f"policy.on_limit.{limit}", fixed, tools)
    return policy


def check_restriction(restriction: ToolRestriction, tools: Iterable[ToolSpec]) -> ToolRestriction:
    """The restriction in its exact form. Raises InvalidValue for a name or tag that no tool of the agent has.

    A word that nothing answers to restricts something else than its author meant.
    """
    exact = conform(restriction, "restrict")
    specs = list(tools)
    known = {"tools": {spec.name for spec in specs}, "tags": {tag for spec in specs for tag in spec.tags}}
    for field, words in (("tools", exact.tools), ("tags", exact.tags)):
        unknown = sorted(set(words or ()) - known[field])
        if unknown:
            raise refuse(f"restrict.{field}", unknown, f"name what the agent has: {sorted(known[field])}")
    return exact


def _check_call(path: str, fixed: FixedCall, tools: ToolRegistry) -> None:
    spec = tools.find(fixed.tool)
    if not isinstance(spec, ToolSpec) or not spec.terminal or spec.confirm or spec.external:
        raise refuse(f"{path}.tool", fixed.tool, "names a terminal tool of the agent that waits for nobody")
    wrong = invalid_call(spec, fixed.part("fixed"))
    if wrong is not None:
        raise InvalidValue(field=f"{path}.arguments", value=str(fixed.arguments), rule=f"fit the tool: {wrong.message}")


def _least(first: RunPolicy, second: RunPolicy, name: str) -> float | None:
    bounds = [bound for bound in (getattr(first, name), getattr(second, name)) if bound is not None]
    return min(bounds, default=None)
