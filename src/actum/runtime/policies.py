"""How a run stands to what bounds it: before a plan, to the calls of a plan, and while a tool runs.

The runtime, the agent, the caller and a hook may each bound a run; the tightest holds. What the first three say is
stored with the start; what the hook adds, and what is done at a limit, is recorded as `policy_decision`.
"""

from dataclasses import dataclass
from inspect import isawaitable
from typing import Final

from actum.base.clock import Clock
from actum.base.errors import InvalidValue, TooLarge
from actum.base.value import conform
from actum.loop.limits import (
    FIXED_CALL,
    LAST_PLAN,
    REFUSED,
    Counted,
    fixed_call_made,
    reached,
    remaining_calls,
    terms_left,
    terms_now,
    tightened_by,
)
from actum.messages.parts import ToolUsePart
from actum.planning.failures import failure_of
from actum.planning.policy import (
    FixedCall,
    Limit,
    PolicyHook,
    PolicyInput,
    RunPolicy,
    Terms,
    Tightening,
    ToolRestriction,
    check_policy,
    check_restriction,
)
from actum.records.failures import Failure, FailureKind, Recovery, ToolFailure, ToolFailureKind, cut_message
from actum.records.kinds import PolicyDecision
from actum.runtime.agent import Agent
from actum.runtime.apart import OutOfTime, apart
from actum.runtime.ledger import OpenRun
from actum.tools.spec import ToolSpec

# How long a hook may take to answer, in seconds; a run that nobody can judge does not go on.
HOOK_S: Final = 10.0
# How long a last plan may take, in seconds, where the run's time is used up and nothing bounds a single plan.
LAST_PLAN_S: Final = 60.0


@dataclass(frozen=True)
class Standing:
    """How a run stands before a plan.

    `limit` is the limit that was reached, `fixed` the call that is made there instead of a plan. `within_s` bounds the
    plan, in seconds; `by_budget` says that it is the run's time budget that does. With a `failure` nobody is asked.
    """

    terms: Terms = Terms()  # noqa: RUF009 - a frozen value
    limit: Limit | None = None
    fixed: FixedCall | None = None
    within_s: float | None = None
    by_budget: bool = False
    decisions: tuple[PolicyDecision, ...] = ()
    failure: Failure | None = None


@dataclass(frozen=True)
class Policies:
    """The bounds that a runtime sets for all its runs, and the hook that it asks."""

    clock: Clock
    policy: RunPolicy | None = None
    hook: PolicyHook | None = None

    def terms(self, agent: Agent, policy: RunPolicy | None = None, restrict: ToolRestriction | None = None) -> Terms:
        """The terms of a new run of this agent. Raises InvalidValue for a policy that this agent cannot keep."""
        terms = Terms()
        for given in (self.policy, agent.policy, policy):
            terms = terms.tightened(given)
        check_policy(terms.policy, agent.tools)
        return terms.tightened(None, check_restriction(restrict, agent.tools) if restrict is not None else None)

    def terms_left(self, agent: Agent, here: OpenRun) -> Terms:
        """The terms for the run that continues this one."""
        return terms_left(here.journal, self._elapsed(here), counts(agent))

    def child_terms(self, agent: Agent, here: OpenRun) -> Terms:
        """The terms of a child run of this agent: its own, and what its parent's leave it.

        A child has the time that a call of its parent has. Which tags a tool may have holds for the child's tools too;
        names do not, for they are those of the parent's tools.
        """
        tags = [
            ToolRestriction(tags=each.tags, without_tags=each.without_tags)
            for each in terms_now(here.journal).restrictions
            if each.tags is not None or each.without_tags
        ]
        return self.terms(agent).tightened(RunPolicy(time_budget=self.bound_of_call(here)), *tags)

    async def standing(self, agent: Agent, here: OpenRun, step: int, metadata: dict[str, str]) -> Standing:
        """How the run stands before this plan, after asking the hook."""
        terms = terms_now(here.journal)
        asked = await self._asked(here, step, metadata, terms)
        if isinstance(asked, Failure):
            return Standing(terms, failure=asked)
        decisions: tuple[PolicyDecision, ...] = ()
        if asked is not None:
            tighter = terms.tightened(asked.bounds, asked.restrict)
            decisions = (tightened_by(asked),) if tighter != terms else ()
            terms = tighter
        limit = reached(terms, here.journal, self._elapsed(here), counts(agent))
        return self.at(agent, here, terms, limit, decisions)

    def at(
        self,
        agent: Agent,
        here: OpenRun,
        terms: Terms,
        limit: Limit | None,
        decisions: tuple[PolicyDecision, ...] = (),
    ) -> Standing:
        """How a run with these terms stands at this limit, or at none."""
        within, budget = terms.policy.plan_timeout, terms.policy.time_budget
        if limit is None:
            left = None if budget is None else max(budget - self._elapsed(here), 0.0)
            by_budget = left is not None and (within is None or left < within)
            return Standing(terms, within_s=left if by_budget else within, by_budget=by_budget, decisions=decisions)
        fixed = self._fixed(agent, here, terms, limit)
        done = FIXED_CALL if fixed is not None else LAST_PLAN
        says = f"{limit} is {getattr(terms.policy, limit):g}, and the run has reached it"
        decision = PolicyDecision(rule=limit, decision=done, reason=says)
        if within is None and budget is not None:
            within = LAST_PLAN_S
        return Standing(terms, limit, fixed, within, decisions=(*decisions, decision))

    def bound_of_call(self, here: OpenRun) -> float | None:
        """How long a call that begins now may take, in seconds, beside its tool's own timeout; None: as it likes."""
        policy = terms_now(here.journal).policy
        bounds = [policy.tool_timeout] if policy.tool_timeout is not None else []
        if policy.time_budget is not None and not fixed_call_made(here.journal):
            bounds.append(max(policy.time_budget - self._elapsed(here), 0.0))
        return min(bounds, default=None)

    def _elapsed(self, here: OpenRun) -> float:
        return max((self.clock.now() - here.run.started_at).total_seconds(), 0.0)

    def _fixed(self, agent: Agent, here: OpenRun, terms: Terms, limit: Limit) -> FixedCall | None:
        fixed = terms.policy.on_limit.of(limit)
        spec = agent.tools.find(fixed.tool) if fixed is not None else None
        allowed = isinstance(spec, ToolSpec) and terms.allows(spec)
        return fixed if allowed and not fixed_call_made(here.journal) else None

    async def _asked(
        self, here: OpenRun, step: int, metadata: dict[str, str], terms: Terms
    ) -> Tightening | Failure | None:
        """What the hook adds; the failure of the run when it gives no answer that can be kept."""
        if self.hook is None:
            return None
        given = PolicyInput(
            run_id=here.run.run_id,
            agent_id=here.run.agent_id,
            session_id=here.run.session_id,
            labels=here.run.labels,
            session_metadata=metadata,
            step=step,
            terms=terms,
        )
        answer = await apart(_answer(self.hook, given), HOOK_S)
        if answer is None:
            return None
        if isinstance(answer, Tightening):
            try:
                return conform(answer, "tightening")
            except (InvalidValue, TooLarge) as error:
                return _unjudged(str(error))
        if isinstance(answer, OutOfTime):
            return _unjudged(f"it gave no answer within {answer.within_s:g} seconds")
        if isinstance(answer, BaseException):
            return _unjudged(failure_of(answer).message)
        return _unjudged(f"it gave a {type(answer).__name__}, not a Tightening")


def counts(agent: Agent) -> Counted:
    """Which tools of the agent count, by name: all but those for bookkeeping, the unknown ones included."""

    def counted(name: str) -> bool:
        spec = agent.tools.find(name)
        return not (isinstance(spec, ToolSpec) and spec.bookkeeping)

    return counted


def refusals(
    agent: Agent, here: OpenRun, terms: Terms, uses: tuple[ToolUsePart, ...]
) -> tuple[tuple[ToolFailure | None, ...], PolicyDecision | None]:
    """The failure with which each of a plan's calls is answered at once, None for one that may run; and what it is.

    Above the remaining calls nothing of the plan runs.
    """
    counted = counts(agent)
    asked, left = sum(counted(use.name) for use in uses), remaining_calls(terms, here.journal, counted)
    if left is not None and asked > left:
        says = f"The run has {left} calls left and this plan made {asked}; none of them was run."
        failure = ToolFailure(kind=ToolFailureKind.DENIED, message=says, recovery=Recovery.FINISH)
        return (failure,) * len(uses), PolicyDecision(rule=Limit.TOOL_CALLS, decision=REFUSED, reason=says)
    return tuple(_restricted(agent, terms, use) for use in uses), None


def _restricted(agent: Agent, terms: Terms, use: ToolUsePart) -> ToolFailure | None:
    spec = agent.tools.find(use.name)
    if not isinstance(spec, ToolSpec) or terms.allows(spec):
        return None
    says = f"{use.name} may not be used in this run; it was not run."
    return ToolFailure(kind=ToolFailureKind.DENIED, message=says, recovery=Recovery.REPLAN)


async def _answer(hook: PolicyHook, given: PolicyInput) -> object:
    made = hook(given)
    return await made if isawaitable(made) else made


def _unjudged(says: str) -> Failure:
    message = cut_message(f"The policy hook failed, and a run that it has not judged does not go on: {says}")
    return Failure(kind=FailureKind.INTERNAL, message=message, code="policy_hook")
