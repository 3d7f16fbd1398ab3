"""How a run stands to its terms, read from its journal alone. Pure: time comes as an argument.

What a policy decided is itself a record, `policy_decision`, so a run that is taken up elsewhere stands where it stood.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from actum.base.value import Json, dump, dump_json, load, load_json, replace
from actum.loop.journal import Journal, Plan
from actum.messages.parts import ToolUsePart
from actum.planning.policy import Limit, Terms, Tightening
from actum.records.kinds import PolicyDecision

# The key under which a run's terms stand in the options of its request.
TERMS: Final = "terms"
# The rule of a decision by the hook, and the words for what was done at a limit.
HOOK: Final = "hook"
REFUSED: Final = "refused"
LAST_PLAN: Final = "last_plan"
FIXED_CALL: Final = "fixed_call"

Counted = Callable[[str], bool]


def terms_option(terms: Terms) -> dict[str, Json]:
    """The terms as an option of a run's request; nothing when they bound nothing."""
    return {} if terms == Terms() else {TERMS: _plain(terms)}


def terms_of(options: Mapping[str, Json]) -> Terms:
    """The terms in the options of a run's request."""
    given = options.get(TERMS)
    return Terms() if given is None else load(Terms, dump_json(given))


def terms_now(journal: Journal) -> Terms:
    """The terms with which the run started, and all that its hook has tightened since."""
    terms = terms_of(journal.requested.options) if journal.requested is not None else Terms()
    for decision in journal.decisions:
        if decision.rule == HOOK:
            tightening = load(Tightening, decision.decision.encode())
            terms = terms.tightened(tightening.bounds, tightening.restrict)
    return terms


def tightened_by(tightening: Tightening) -> PolicyDecision:
    """The decision that records what a hook added."""
    return PolicyDecision(rule=HOOK, decision=dump(tightening).decode(), reason=tightening.reason)


def remaining_calls(terms: Terms, journal: Journal, counted: Counted) -> int | None:
    """How many calls the run has left; None when nothing bounds them. `counted` says which tools count, by name."""
    most = terms.policy.max_tool_calls
    if most is None:
        return None
    # Calls that were refused are among them: a plan that asked for more than was left has used the run up.
    made = sum(counted(part.name) for plan in journal.plans for part in _uses(plan))
    return max(most - made, 0)


def recovery_turns(journal: Journal, counted: Counted) -> int:
    """How many of the newest plans, in a row, had a failure among the answers of tools that count."""
    turns = 0
    for plan in reversed(journal.plans):
        calls = [journal.calls[each] for each in plan.decided.call_ids]
        failed = any(
            call.result is not None and call.result.failure is not None and counted(call.part.name) for call in calls
        )
        if not failed:
            return turns
        turns += 1
    return turns


def reached(terms: Terms, journal: Journal, elapsed_s: float, counted: Counted) -> Limit | None:
    """The limit that the run has reached before its next plan; None when it may go on as it likes."""
    policy = terms.policy
    if policy.time_budget is not None and elapsed_s >= policy.time_budget:
        return Limit.TIME
    if remaining_calls(terms, journal, counted) == 0:
        return Limit.TOOL_CALLS
    if policy.max_recovery_turns is not None and recovery_turns(journal, counted) > policy.max_recovery_turns:
        return Limit.RECOVERY_TURNS
    return None


def fixed_call_made(journal: Journal) -> bool:
    """Whether the run has used its one fixed call; when that failed, a last plan takes its place."""
    return fixed_call(journal.decisions)


def fixed_call(decisions: Iterable[PolicyDecision]) -> bool:
    """Whether a fixed call was decided among these."""
    return any(decision.decision == FIXED_CALL for decision in decisions)


def terms_left(journal: Journal, elapsed_s: float, counted: Counted) -> Terms:
    """The terms for the run that continues this one: what is left of each budget, everything else as it was."""
    terms = terms_now(journal)
    policy = terms.policy
    left = replace(policy, max_tool_calls=remaining_calls(terms, journal, counted))
    if policy.time_budget is not None:
        left = replace(left, time_budget=max(policy.time_budget - elapsed_s, 0.0))
    return replace(terms, policy=left)


def _uses(plan: Plan) -> tuple[ToolUsePart, ...]:
    return plan.message.tool_uses if plan.message is not None and plan.decided.call_ids else ()


def _plain(terms: Terms) -> Json:
    return load_json(dump(terms))
