"""Laws of bounds: wherever its workers die, a run keeps to its terms, and ends as if nobody had died."""

import asyncio

from hypothesis import event, given, settings
from hypothesis import strategies as st

from actum.base.errors import NotFound
from actum.messages.message import Message, assistant
from actum.messages.parts import tool_use
from actum.planning.planner import PlanInput
from actum.planning.policy import FixedCall, OnLimit, PolicyInput, RunPolicy, Tightening, ToolRestriction
from actum.records.failures import ToolFailureKind
from actum.records.kinds import ToolCallScheduled
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.tools.failures import ToolError
from tests.support.frail import MortalBackend, until_dead
from tests.support.runlogs import RunLog, decisions, log_of, never_poisoned, proven
from tests.support.scenario import RUN, Cast, Worker, begun

# The tool that does not fail stands in most places, so that calls and not failures use a run up.
TOOLS = ("fine", "fine", "fine", "bad", "note", "disk", "nobody")
FIXED = OnLimit(max_tool_calls=FixedCall(tool="end"), max_recovery_turns=FixedCall(tool="end"))

steps = st.lists(st.lists(st.sampled_from(TOOLS), min_size=1, max_size=4), min_size=1, max_size=4)
deaths = st.lists(st.tuples(st.integers(1, 45), st.booleans()), max_size=3)
policies = st.builds(
    RunPolicy,
    max_tool_calls=st.sampled_from([None, 0, 1, 1, 2, 2, 3, 4]),
    max_recovery_turns=st.sampled_from([None, None, 0, 1, 2]),
    on_limit=st.sampled_from([OnLimit(), FIXED]),
)
restrictions = st.sampled_from([None, ToolRestriction(without_tags=("disk",)), ToolRestriction(tags=("safe",))])


def _cast(story: list[list[str]]) -> Cast:
    async def plan(plan_input: PlanInput) -> Message | str:
        step = plan_input.run.step
        if plan_input.finalize:
            return "enough"
        if step >= len(story):
            return "done"
        return assistant(*[tool_use(f"{step}.{n}", name, {}) for n, name in enumerate(story[step])])

    cast = Cast(plan).returns("fine", idempotent=True, tags=["safe"]).returns("disk", idempotent=True, tags=["disk"])
    cast.returns("bad", ToolError(ToolFailureKind.DOMAIN_REJECTION, "no"), idempotent=True, tags=["safe"])
    cast.returns("note", bookkeeping=True, idempotent=True, tags=["safe"])
    return cast.returns("end", terminal=True, idempotent=True, tags=["safe"])


def _hook(given: PolicyInput) -> Tightening | None:
    if given.step != 1:
        return None
    return Tightening(policy=RunPolicy(max_tool_calls=2), reason="seen enough")


async def _turn(store: OwnedStore, worker: Worker, policy: RunPolicy, restrict: ToolRestriction | None) -> None:
    """What a worker does when it comes: go on with the run, or, when nobody has begun it, begin it."""
    try:
        await store.load_run(RUN)
    except NotFound:
        await worker.play(policy=policy, restrict=restrict)
    else:
        await worker.recover()


async def _lived(
    story: list[list[str]],
    policy: RunPolicy,
    restrict: ToolRestriction | None,
    fates: list[tuple[int, bool]],
    *,
    hooked: bool,
) -> tuple[RunLog, Cast]:
    store = await begun(backend := MemoryBackend())
    cast = _cast(story)
    for call, after in [*fates, (0, False)]:
        mortal = MortalBackend(backend, dies_at=call, after=after)
        worker = Worker(LocalStore(mortal), cast, policy_hook=_hook if hooked else None)
        await until_dead(mortal, _turn(store, worker, policy, restrict))
        await worker.runtime.close()
        try:
            never_poisoned(await log_of(store, RUN))
        except NotFound:
            event("died before its start")
    return await proven(store, RUN), cast


@settings(max_examples=150)
@given(story=steps, policy=policies, restrict=restrictions, fates=deaths, hooked=st.booleans())
def test_a_run_keeps_to_its_terms_and_ends_as_if_nobody_had_died(
    story: list[list[str]],
    policy: RunPolicy,
    restrict: ToolRestriction | None,
    fates: list[tuple[int, bool]],
    hooked: bool,  # noqa: FBT001 - hypothesis gives it by name
) -> None:
    log, cast = asyncio.run(_lived(story, policy, restrict, fates, hooked=hooked))
    quiet, _ = asyncio.run(_lived(story, policy, restrict, [], hooked=hooked))
    assert log.messages == quiet.messages
    assert decisions(log) == decisions(quiet)
    assert log.run.status is quiet.run.status
    event(f"{len(fates)} deaths, {[decision for _, decision in decisions(log)][-1:]}")
    _keeps_to(log, cast, policy, restrict)


def _keeps_to(log: RunLog, cast: Cast, policy: RunPolicy, restrict: ToolRestriction | None) -> None:
    names = {
        each.tool_call_id: each.tool_name
        for each in log.payloads(RecordType.TOOL_CALL_SCHEDULED)
        if isinstance(each, ToolCallScheduled)
    }
    ran = [names[call_id] for call_id in cast.ran]
    if policy.max_tool_calls is not None:
        assert len([name for name in ran if name not in ("note", "end")]) <= policy.max_tool_calls
    if restrict is not None:
        assert "disk" not in ran
    last_plans = [each for each in cast.inputs if each.finalize]
    assert all(each.tools == () for each in last_plans)
    ended = [decision for _, decision in decisions(log)]
    assert ended.count("fixed_call") <= 1
    assert ended.count("last_plan") <= 1
