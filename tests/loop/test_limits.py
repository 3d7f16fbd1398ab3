import pytest

from actum.loop.journal import Call, Group, Journal, Plan
from actum.loop.limits import (
    fixed_call_made,
    reached,
    recovery_turns,
    remaining_calls,
    terms_left,
    terms_now,
    terms_of,
    terms_option,
    tightened_by,
)
from actum.messages.message import assistant
from actum.messages.parts import tool_use
from actum.planning.policy import Limit, RunPolicy, Terms, Tightening, ToolRestriction
from actum.records.failures import ToolFailure, ToolFailureKind
from actum.records.kinds import PlanDecided, PolicyDecision, RunRequested, ToolResultReceived

FAILURE = ToolFailure(kind=ToolFailureKind.DOMAIN_REJECTION, message="no")


def counted(name: str) -> bool:
    return name != "note"


def journal(*plans: str, policy: RunPolicy | None = None) -> Journal:
    """A journal of these plans: names of tools apart by blanks, one with `!` failed."""
    made = Journal("r")
    terms = Terms(policy=policy or RunPolicy())
    made.requested = RunRequested(agent_version="1", request_digest="d", options=terms_option(terms))
    for step, names in enumerate(plans):
        uses = [tool_use(f"{step}.{n}", name.rstrip("!"), {}) for n, name in enumerate(names.split())]
        ids = tuple(use.id for use in uses)
        decided = PlanDecided(step=step, kind="tool_calls", call_ids=ids)
        made.plans.append(Plan(decided, assistant(*uses), Group(step, ids, answered=True)))
        for use, name in zip(uses, names.split(), strict=True):
            failure = FAILURE if name.endswith("!") else None
            result = ToolResultReceived(tool_call_id=use.id, call_run_id="r", failure=failure)
            made.calls[use.id] = Call(use.id, use, result=result)
    return made


@pytest.mark.parametrize(
    "plans, left", [((), 3), (("a",), 2), (("a note note",), 2), (("a b", "c"), 0), (("a b c d",), 0), (("a!",), 2)]
)
def test_calls_that_count_are_taken_off(plans: tuple[str, ...], left: int) -> None:
    assert remaining_calls(Terms(policy=RunPolicy(max_tool_calls=3)), journal(*plans), counted) == left


def test_without_a_bound_any_number_is_left() -> None:
    assert remaining_calls(Terms(), journal("a b c"), counted) is None


@pytest.mark.parametrize(
    "plans, turns",
    [
        ((), 0),
        (("a",), 0),
        (("a!",), 1),
        (("a!", "b a!"), 2),
        (("a!", "b"), 0),
        (("a!", "b", "c!"), 1),
        (("note!",), 0),
    ],
)
def test_failures_count_in_a_row(plans: tuple[str, ...], turns: int) -> None:
    assert recovery_turns(journal(*plans), counted) == turns


@pytest.mark.parametrize(
    "policy, elapsed, limit",
    [
        (RunPolicy(), 1e6, None),
        (RunPolicy(time_budget=10), 9.999, None),
        (RunPolicy(time_budget=10, max_tool_calls=1), 10.0, Limit.TIME),
        (RunPolicy(max_tool_calls=2, max_recovery_turns=0), 0.0, Limit.TOOL_CALLS),
        (RunPolicy(max_tool_calls=3, max_recovery_turns=0), 0.0, Limit.RECOVERY_TURNS),
        (RunPolicy(max_recovery_turns=1), 0.0, None),
    ],
)
def test_the_limit_that_a_run_has_reached(policy: RunPolicy, elapsed: float, limit: Limit | None) -> None:
    assert reached(Terms(policy=policy), journal("a", "b!"), elapsed, counted) is limit


def test_what_a_hook_decided_holds_for_the_rest_of_the_run() -> None:
    made = journal(policy=RunPolicy(max_tool_calls=9, tool_timeout=1))
    restrict = ToolRestriction(tags=("safe",))
    made.decisions.append(tightened_by(Tightening(policy=RunPolicy(max_tool_calls=2), restrict=restrict, reason="r")))
    made.decisions.append(tightened_by(Tightening(policy=RunPolicy(max_tool_calls=5), reason="r")))
    made.decisions.append(PolicyDecision(rule="one_end", decision="no_plan", reason="r"))
    assert terms_now(made) == Terms(policy=RunPolicy(max_tool_calls=2, tool_timeout=1.0), restrictions=(restrict,))


def test_terms_that_bound_nothing_leave_no_option() -> None:
    assert terms_option(Terms()) == {}
    assert terms_of({}) == Terms()
    assert terms_now(Journal("r")) == Terms()


@pytest.mark.parametrize("elapsed, left", [(0.0, 60.0), (20.5, 39.5), (70.0, 0.0)])
def test_what_is_left_goes_on(elapsed: float, left: float) -> None:
    made = journal("a b", policy=RunPolicy(max_tool_calls=3, time_budget=60, plan_timeout=5))
    policy = RunPolicy(max_tool_calls=1, time_budget=left, plan_timeout=5.0)
    assert terms_left(made, elapsed, counted) == Terms(policy=policy)


def test_a_fixed_call_is_made_once() -> None:
    made = journal()
    assert not fixed_call_made(made)
    made.decisions.append(PolicyDecision(rule="time_budget", decision="last_plan", reason="r"))
    assert not fixed_call_made(made)
    made.decisions.append(PolicyDecision(rule="time_budget", decision="fixed_call", reason="r"))
    assert fixed_call_made(made)
