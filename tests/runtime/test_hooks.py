"""Which tools a run may use, and the hook that can only tighten."""

import asyncio
from typing import Any

import pytest

from actum.base.errors import InvalidValue, RunConflict
from actum.loop.limits import terms_of
from actum.messages.message import Message, user
from actum.planning.planner import PlanInput
from actum.planning.policy import (
    PolicyHook,
    PolicyInput,
    RunPolicy,
    Terms,
    Tightening,
    ToolRestriction,
)
from actum.records.failures import FailureKind, ToolFailureKind
from actum.records.kinds import PolicyDecision, RunRequested, payload_of
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.children import child_run_id
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing.samples import T0
from actum.testing.script import ManualClock
from tests.support.frail import Gate, MortalBackend
from tests.support.runlogs import RunLog, decisions, failures, proven
from tests.support.scenario import AGENT, RUN, SESSION, Cast, Worker, asks, begun, playing, uses


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


async def _played(store: OwnedStore, cast: Cast, *, policy: RunPolicy | None = None, **options: Any) -> RunLog:
    async with playing(store, cast, **options) as worker:
        await worker.play(policy=policy)
    return await proven(store, RUN)


async def again_and_again(plan_input: PlanInput) -> Message | str:
    return "enough" if plan_input.finalize else uses(f"c{plan_input.run.step}=a")


# Restrictions


def tagged(*plans: Any) -> Cast:
    cast = Cast(*plans).returns("read", tags=["safe"]).returns("write", tags=["disk"])
    return cast.returns("mail", tags=["safe", "net"])


@pytest.mark.parametrize(
    "restriction, left",
    [
        (ToolRestriction(), ["read", "write", "mail"]),
        (ToolRestriction(tools=("write",)), ["write"]),
        (ToolRestriction(tools=()), []),
        (ToolRestriction(tags=("safe",)), ["read", "mail"]),
        (ToolRestriction(tags=("safe",), without_tags=("net",)), ["read"]),
        (ToolRestriction(without_tags=("disk", "net")), ["read"]),
    ],
)
async def test_a_planner_is_offered_what_the_run_may_use(
    store: OwnedStore, restriction: ToolRestriction, left: list[str]
) -> None:
    cast = tagged("hi")
    async with playing(store, cast) as worker:
        await worker.play(restrict=restriction)
    assert [each.name for each in cast.inputs[0].tools] == left


async def test_a_call_of_a_tool_that_the_run_may_not_use_is_denied_and_the_others_run(store: OwnedStore) -> None:
    cast = tagged(uses("read", "write"), "done")
    async with playing(store, cast) as worker:
        await worker.play(restrict=ToolRestriction(without_tags=("disk",)))
    log = await proven(store, RUN)
    assert cast.ran == {"read": 1}
    assert failures(log) == {"read": None, "write": ToolFailureKind.DENIED}


async def test_a_restriction_that_names_what_nobody_has_is_refused(store: OwnedStore) -> None:
    async with playing(store, tagged("hi")) as worker:
        for wrong in (ToolRestriction(tools=("wirte",)), ToolRestriction(tags=("sfae",))):
            with pytest.raises(InvalidValue):
                await worker.start(restrict=wrong)


async def test_what_bounds_a_run_is_part_of_what_was_asked(store: OwnedStore) -> None:
    async with playing(store, tagged("hi")) as worker:
        await worker.play(policy=RunPolicy(max_tool_calls=3))
        await worker.play(policy=RunPolicy(max_tool_calls=3))
        with pytest.raises(RunConflict):
            await worker.start(policy=RunPolicy(max_tool_calls=4))


async def test_the_tightest_bound_of_runtime_agent_and_caller_holds(store: OwnedStore) -> None:
    agents = RunPolicy(max_tool_calls=5, tool_timeout=7)
    runtime = Runtime(store, policy=RunPolicy(max_tool_calls=9, time_budget=60, tool_timeout=3))
    runtime.register(Agent(AGENT, planner=Cast("hi"), policy=agents))
    await runtime.client(AGENT).run(SESSION, [user("go")], run_id=RUN, policy=RunPolicy(max_tool_calls=2))
    await runtime.close()
    requested = payload_of(await store.load_run_record(RUN, "run_requested"))
    assert isinstance(requested, RunRequested)
    bounds = RunPolicy(max_tool_calls=2, time_budget=60.0, tool_timeout=3.0)
    assert terms_of(requested.options) == Terms(policy=bounds)


async def test_terms_are_kept_when_another_worker_takes_the_run_up() -> None:
    backend = MemoryBackend()
    store = await begun(backend)
    cast = tagged(uses("c1=read"), uses("c2=read", "c3=write"), "enough")
    policy, restrict = RunPolicy(max_tool_calls=2), ToolRestriction(tags=("safe",))
    mortal = MortalBackend(backend)
    gate = Gate()

    async def dies(_: PlanInput) -> object:
        gate.reached.set()
        await gate.opened.wait()
        return "never"

    first = Worker(LocalStore(mortal), tagged(uses("c1=read"), dies))
    await first.start(policy=policy, restrict=restrict)
    await gate.reached.wait()
    mortal.die_at(mortal.calls + 1, after=False)
    await first.runtime.close()
    async with playing(store, cast) as second:
        assert await second.recover() == (RUN,)
    log = await proven(store, RUN)
    assert cast.ran == {}
    denied = ToolFailureKind.DENIED
    assert failures(log) == {"c1": None, "c2": denied, "c3": denied}
    assert [each.name for each in cast.inputs[0].tools] == ["read", "mail"]


async def test_a_child_keeps_to_its_parents_tags_and_time(store: OwnedStore) -> None:
    clock = ManualClock(T0)
    sub = Cast("done by the child", agent_id="sub").returns("read", tags=["safe"]).returns("write", tags=["disk"])

    async def thinks(plan_input: PlanInput) -> Message | str:
        clock.advance(20)
        return asks("sub") if plan_input.run.step == 0 else "done"

    cast = Cast(thinks).asking(sub, tags=["safe"])
    restrict = ToolRestriction(tools=("sub",), tags=("safe",))
    async with playing(store, cast, clock=clock) as worker:
        await worker.play(restrict=restrict, policy=RunPolicy(time_budget=60))
    log, child = await proven(store, RUN), await proven(store, child_run_id(RUN, "sub"))
    assert log.results["sub"].content == "done by the child"
    assert [each.name for each in sub.inputs[0].tools] == ["read"]
    requested = child.payloads(RecordType.RUN_REQUESTED)[0]
    assert isinstance(requested, RunRequested)
    tags = ToolRestriction(tags=("safe",))
    assert terms_of(requested.options) == Terms(policy=RunPolicy(time_budget=40.0), restrictions=(tags,))


# The hook


async def test_a_hook_sees_labels_and_metadata_and_tightens(store: OwnedStore) -> None:
    await store.set_session_metadata(SESSION, {"plan": "free"})
    seen: list[PolicyInput] = []

    def hook(given: PolicyInput) -> Tightening | None:
        seen.append(given)
        if given.session_metadata.get("plan") != "free":
            return None
        return Tightening(
            policy=RunPolicy(max_tool_calls=1), restrict=ToolRestriction(tags=("safe",)), reason="free plan"
        )

    cast = tagged(uses("c1=read"), "enough")
    async with playing(store, cast, policy_hook=hook) as worker:
        await worker.play(labels={"team": "red"}, policy=RunPolicy(max_tool_calls=9))
    log = await proven(store, RUN)
    assert (seen[0].labels, seen[0].run_id, seen[0].step) == ({"team": "red"}, RUN, 0)
    assert [each.name for each in cast.inputs[0].tools] == ["read", "mail"]
    assert cast.inputs[1].finalize
    assert [rule for rule, _ in decisions(log)] == ["hook", "max_tool_calls"]
    hooked = log.payloads(RecordType.POLICY_DECISION)[0]
    assert isinstance(hooked, PolicyDecision)
    assert hooked.reason == "free plan"


async def test_a_hook_cannot_loosen_and_what_it_said_once_stays(store: OwnedStore) -> None:
    async def hook(given: PolicyInput) -> Tightening | None:
        if given.step == 0:
            return Tightening(policy=RunPolicy(max_tool_calls=1), reason="suspicious")
        return Tightening(policy=RunPolicy(max_tool_calls=100), reason="trusted after all")

    cast = Cast(again_and_again).returns("a")
    async with playing(store, cast, policy_hook=hook) as worker:
        await worker.play(policy=RunPolicy(max_tool_calls=5))
    log = await proven(store, RUN)
    assert cast.ran == {"c0": 1}
    assert [rule for rule, _ in decisions(log)] == ["hook", "max_tool_calls"]


async def _raises(_: PolicyInput) -> Tightening | None:
    raise ValueError("the rules are away")


async def _cancels(_: PolicyInput) -> Tightening | None:
    raise asyncio.CancelledError


HOOKS: list[Any] = [
    _raises,
    _cancels,
    lambda _: {"policy": {}},
    lambda _: Tightening(policy=RunPolicy(max_tool_calls=-1), reason="odd"),
    lambda _: Tightening(reason=""),
]


@pytest.mark.parametrize("hook", HOOKS, ids=range(len(HOOKS)))
async def test_a_run_that_the_hook_cannot_judge_does_not_go_on(store: OwnedStore, hook: PolicyHook) -> None:
    cast = Cast("never")
    async with playing(store, cast, policy_hook=hook) as worker:
        await worker.play()
        out = await worker.runtime.output(RUN)
    assert out.failure is not None
    assert (out.failure.kind, out.failure.code) == (FailureKind.INTERNAL, "policy_hook")
    assert cast.planned == {}
    await proven(store, RUN)
