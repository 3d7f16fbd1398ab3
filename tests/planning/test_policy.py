import itertools

import pytest

from actum.base.errors import InvalidValue
from actum.base.value import dump, load
from actum.planning.policy import (
    FixedCall,
    Limit,
    OnLimit,
    RunPolicy,
    Terms,
    Tightening,
    ToolRestriction,
    check_policy,
    check_restriction,
    tightest,
)
from actum.tools.define import tool
from actum.tools.registry import ToolRegistry
from actum.tools.spec import ToolSpec

POLICIES = [
    RunPolicy(),
    RunPolicy(max_tool_calls=3, time_budget=9.0),
    RunPolicy(max_tool_calls=0, tool_timeout=2.5),
    RunPolicy(max_recovery_turns=1, plan_timeout=4.0, time_budget=1.0),
]
BOUNDS = [name for name in RunPolicy.__struct_fields__ if name != "on_limit"]


def end(why: str, *, confirm: bool = False, external: bool = False, terminal: bool = True) -> ToolSpec:
    def stop(why: str) -> str:
        """Stop."""
        return why

    return tool(name=why, terminal=terminal, confirm=confirm, external=external)(stop)


@pytest.mark.parametrize("first, second", list(itertools.product(POLICIES, POLICIES)))
def test_of_two_policies_the_tighter_of_each_bound_holds(first: RunPolicy, second: RunPolicy) -> None:
    both = tightest(first, second)
    for name in BOUNDS:
        given = [bound for policy in (first, second) if (bound := getattr(policy, name)) is not None]
        assert getattr(both, name) == (min(given) if given else None)
    assert tightest(second, first) == both
    assert tightest(both, first) == both


def test_every_limit_is_a_bound_and_has_its_place_for_a_fixed_call() -> None:
    assert {str(limit) for limit in Limit} == set(OnLimit.__struct_fields__)
    assert set(OnLimit.__struct_fields__) <= set(BOUNDS)


def test_the_fixed_call_of_the_nearer_policy_stands_before_the_other() -> None:
    far = RunPolicy(on_limit=OnLimit(max_tool_calls=FixedCall(tool="far"), time_budget=FixedCall(tool="far")))
    near = RunPolicy(on_limit=OnLimit(max_tool_calls=FixedCall(tool="near")))
    both = tightest(far, near).on_limit
    assert (both.of(Limit.TOOL_CALLS), both.of(Limit.TIME)) == (FixedCall(tool="near"), FixedCall(tool="far"))
    assert both.of(Limit.RECOVERY_TURNS) is None


def test_a_hook_has_no_say_in_what_happens_at_a_limit() -> None:
    policy = RunPolicy(max_tool_calls=1, on_limit=OnLimit(max_tool_calls=FixedCall(tool="mine")))
    assert Tightening(policy=policy, reason="r").bounds == RunPolicy(max_tool_calls=1)


def test_terms_read_back_as_they_were_written() -> None:
    fixed = OnLimit(time_budget=FixedCall(tool="end", arguments={"why": [1, None]}))
    restrictions = (ToolRestriction(tools=()), ToolRestriction(tags=("a",), without_tags=("b",)))
    terms = Terms(policy=RunPolicy(max_tool_calls=0, time_budget=0.5, on_limit=fixed), restrictions=restrictions)
    assert load(Terms, dump(terms)) == terms


def test_a_tool_passes_every_restriction_or_none() -> None:
    spec = tool(name="a", tags=["x"])(lambda: None)
    first, second = ToolRestriction(tags=("x",)), ToolRestriction(tools=("b",))
    assert Terms(restrictions=(first,)).allows(spec)
    assert not Terms(restrictions=(first, second)).allows(spec)
    assert Terms().tightened(None, first).tightened(None, first, None) == Terms(restrictions=(first,))


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan"), True, "1", 10**10, 10**400], ids=range(7))
@pytest.mark.parametrize("name", ["time_budget", "plan_timeout", "tool_timeout"])
def test_odd_seconds_are_refused(name: str, seconds: object) -> None:
    with pytest.raises(InvalidValue, match=name):
        check_policy(RunPolicy(**{name: seconds}), ToolRegistry())  # type: ignore[arg-type] # nonsense on purpose


def test_whole_seconds_are_the_same_as_their_number_with_a_point() -> None:
    assert dump(RunPolicy(time_budget=5)) == dump(RunPolicy(time_budget=5.0))


@pytest.mark.parametrize(
    "spec", [end("stop", confirm=True), end("stop", external=True), end("stop", terminal=False)], ids=range(3)
)
def test_a_fixed_call_waits_for_nobody_and_ends_the_run(spec: ToolSpec) -> None:
    policy = RunPolicy(on_limit=OnLimit(time_budget=FixedCall(tool="stop", arguments={"why": "x"})))
    assert check_policy(policy, ToolRegistry([end("stop")])) == policy
    with pytest.raises(InvalidValue):
        check_policy(policy, ToolRegistry([spec]))


@pytest.mark.parametrize("restriction", [ToolRestriction(tools=("b",)), ToolRestriction(tags=("safe", "x"))])
def test_a_restriction_names_what_is_there(restriction: ToolRestriction) -> None:
    with pytest.raises(InvalidValue):
        check_restriction(restriction, [tool(name="a", tags=["x"])(lambda: None)])


def test_a_tag_that_nobody_has_may_be_forbidden() -> None:
    restriction = ToolRestriction(without_tags=("net",))
    assert check_restriction(restriction, []) == restriction
