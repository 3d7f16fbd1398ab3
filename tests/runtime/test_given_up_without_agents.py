"""A run whose process is dead comes to its end without its agent: given up, or canceled where it was to stop anyway."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from actum.base.errors import InvalidValue, NotFound, RunNotReady
from actum.engines.contract import RecoveryPolicy
from actum.engines.local import LocalEngine
from actum.lifecycle.states import RunStatus
from actum.messages.message import assistant
from actum.runtime.children import child_run_id
from actum.runtime.output import RunOutput
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing.samples import T0, at
from actum.testing.script import ManualClock
from tests.support.frail import MortalBackend, settled, until_dead
from tests.support.runlogs import RunLog, log_of, proven
from tests.support.scenario import RUN, SESSION, Cast, Gate, Waits, Worker, asks, begun, playing, uses
from tests.support.trees import lawful, ran_at_most_once

CHILD = child_run_id(RUN, "sub")
before_and_after = pytest.mark.parametrize("after", [False, True], ids=["before", "after"])


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


@asynccontextmanager
async def without_agents(store: OwnedStore) -> AsyncIterator[Runtime]:
    """A runtime that knows no agent."""
    waits = Waits()
    runtime = Runtime(store, LocalEngine(clock=ManualClock(T0), wait=waits), clock=ManualClock(T0), wait=waits)
    try:
        yield runtime
    finally:
        await runtime.close()


def story() -> tuple[Cast, Cast]:
    """Two tools beside an agent that uses one itself; then one more, and the answer."""
    sub = Cast(uses("look"), "seen", agent_id="sub").returns("look", "a view")
    group = assistant(*uses("a", "b").parts, *asks("sub").parts)
    cast = Cast(group, uses("c"), "done").asking(sub)
    return cast.returns("a", 1).returns("b", ValueError("no")).returns("c", [3], idempotent=True), sub


def without_its_child(sub: Cast) -> Cast:
    """The root of a story that asks this agent, in a process where that is not registered."""
    return Cast(asks("sub"), "done").takes(sub.agent().as_tool())


async def died_at(call: int, *, after: bool) -> tuple[OwnedStore, Cast, Cast, bool]:
    """The store of a worker that died in the story at this call to it; False when the story came to its end first."""
    store = await begun(backend := MemoryBackend())
    root, sub = story()
    mortal = MortalBackend(backend, dies_at=call, after=after)
    worker = Worker(LocalStore(mortal), root)
    died = await until_dead(mortal, worker.play())
    await worker.runtime.close()
    return store, root, sub, died


async def parked(store: OwnedStore, cast: Cast, gate: Gate) -> None:
    """The story's run, left running by its process in the middle of a tool."""
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()


async def left_running(store: OwnedStore) -> bool:
    try:
        return (await store.load_run(RUN)).status is RunStatus.RUNNING
    except NotFound:
        return False


async def recovered(runtime: Runtime) -> None:
    for run_id in await runtime.recover("fail"):
        await runtime.output(run_id)


async def ensured(runtime: Runtime) -> None:
    await runtime.ensure_run_completion(RUN, recovery="fail")


async def settles(runtime: Runtime) -> None:
    await runtime.settle(SESSION, recovery="fail")


ways = pytest.mark.parametrize("give_up", [recovered, ensured, settles])


@ways
@before_and_after
async def test_a_worker_that_died_at_any_call_is_given_up_by_one_without_its_agents(
    give_up: Callable[[Runtime], Awaitable[None]], *, after: bool
) -> None:
    call, died, given_up = 0, True, 0
    while died:
        call += 1
        store, root, sub, died = await died_at(call, after=after)
        if not await left_running(store):
            continue
        given_up += 1
        ran = (dict(root.ran), dict(sub.ran))
        async with without_agents(store) as runtime:
            await give_up(runtime)
            out = await runtime.output(RUN)
        assert (out.status, out.failure and out.failure.kind) == (RunStatus.FAILED, "recovery")
        await lawful(store)
        await proven(store, RUN)
        await ran_at_most_once(store, root, sub)
        assert (dict(root.ran), dict(sub.ran)) == ran
    assert given_up > 15


@before_and_after
async def test_without_its_agent_a_run_ends_exactly_as_with_it(*, after: bool) -> None:
    call, died = 0, True
    while died:
        call += 1
        told: list[object] = []
        for knows in (True, False):
            store, root, _, died = await died_at(call, after=after)
            if not await left_running(store):
                continue
            if knows:
                async with playing(store, root) as worker:
                    await ensured(worker.runtime)
            else:
                async with without_agents(store) as runtime:
                    await ensured(runtime)
            told.append([_told(await proven(store, run.run_id)) for run in await lawful(store)])
        assert told[1:] == told[:1]


def _told(log: RunLog) -> list[tuple[object, ...]]:
    """What the log says, without the attempts that each process names anew."""
    return [
        (record.event_key, record.type, record.payload if "call:started" not in record.event_key else None)
        for record in log.records
    ]


@before_and_after
async def test_of_two_that_give_up_at_once_one_writes_the_end(*, after: bool) -> None:
    call, died = 0, True
    while died:
        call += 1
        store, root, sub, died = await died_at(call, after=after)
        if not await left_running(store):
            continue
        async with without_agents(store) as left, without_agents(store) as right:
            taken = await asyncio.gather(left.recover("fail"), right.recover("fail"))
            outs = await asyncio.gather(left.output(RUN), right.output(RUN))
            both = [run_id for each in taken for run_id in each]
            for run_id in both:
                await left.output(run_id)
        assert len(set(both)) == len(both)
        assert RUN in both
        assert outs[0] == outs[1]
        await lawful(store)
        await ran_at_most_once(store, root, sub)


async def test_who_gives_up_may_die_as_often_as_it_likes() -> None:
    for call in range(10, 35, 4):
        store = await begun(backend := MemoryBackend())
        root, sub = story()
        mortal = MortalBackend(backend, dies_at=call, after=True)
        worker = Worker(LocalStore(mortal), root)
        await until_dead(mortal, worker.play())
        await worker.runtime.close()
        assert await left_running(store)
        for again in range(1, 60):
            mortal = MortalBackend(backend, dies_at=again)
            async with without_agents(LocalStore(mortal)) as runtime:
                if not await until_dead(mortal, recovered(runtime)):
                    break
        assert not await left_running(store)
        await lawful(store)
        await ran_at_most_once(store, root, sub)


async def canceled(store: OwnedStore) -> str:
    async with without_agents(store) as runtime:
        await runtime.cancel_run(RUN, "user_stop")
    return "user_stop"


async def session_ended(store: OwnedStore) -> str:
    await store.end_session(SESSION, at(5))
    return "session_ended"


@pytest.mark.parametrize("policy", ["continue", "fail"])
@pytest.mark.parametrize("stop", [canceled, session_ended])
async def test_a_run_that_is_to_stop_is_brought_to_its_canceled_end_by_anybody(
    store: OwnedStore, stop: Callable[[OwnedStore], Awaitable[str]], policy: RecoveryPolicy
) -> None:
    gate = Gate()
    sub = Cast(uses("w"), "never", agent_id="sub").returns("w", gate)
    await parked(store, Cast(asks("sub"), "never").asking(sub), gate)
    reason = await stop(store)
    async with without_agents(store) as runtime:
        assert sorted(await runtime.recover(policy)) == sorted([RUN, CHILD])
        outs: list[RunOutput] = [await runtime.output(each) for each in (RUN, CHILD)]
    assert [(out.status, out.cancellation) for out in outs] == [(RunStatus.CANCELED, reason)] * 2
    for run_id in (RUN, CHILD):
        assert (await proven(store, run_id)).run.cancellation_reason == reason
    await lawful(store)
    assert sub.ran == {"w": 1}


async def test_a_session_that_has_ended_cancels_also_the_run_that_is_given_up_with_its_agent(
    store: OwnedStore,
) -> None:
    gate = Gate()
    cast = Cast(uses("w"), "never").returns("w", gate)
    await parked(store, cast, gate)
    await store.end_session(SESSION, at(5))
    async with playing(store, cast) as worker:
        (out,) = await worker.runtime.settle(SESSION, recovery="fail")
    assert out.cancellation == "session_ended"
    await proven(store, RUN)


async def test_a_run_that_lives_is_given_up_by_nobody(store: OwnedStore) -> None:
    gate = Gate("late")
    async with playing(store, Cast(uses("a"), "done").returns("a", gate)) as worker, without_agents(store) as runtime:
        await worker.start()
        await gate.reached.wait()
        await runtime.cancel_run(RUN, "user_stop")
        assert await runtime.recover("fail") == ()
        for policy in ("continue", "fail"):
            with pytest.raises(RunNotReady) as refused:
                await runtime.ensure_run_completion(RUN, recovery=policy)
            assert refused.value.reason is None
        worker.waits.look()
        assert (await worker.runtime.output(RUN)).cancellation == "user_stop"
    await proven(store, RUN)


async def test_going_on_takes_the_agent_and_says_so(store: OwnedStore) -> None:
    gate = Gate()
    await parked(store, Cast(uses("a")).returns("a", gate), gate)
    async with without_agents(store) as runtime:
        assert await runtime.recover() == ()
        for asked in (runtime.ensure_run_completion(RUN), runtime.settle(SESSION), runtime.output(RUN)):
            with pytest.raises(RunNotReady) as refused:
                await asked
            assert "its agent 'helper' is not registered here" in str(refused.value)
    assert (await store.load_run(RUN)).status is RunStatus.RUNNING


async def test_a_parent_whose_childs_agent_is_gone_says_which_run_cannot_go_on(store: OwnedStore) -> None:
    gate = Gate()
    sub = Cast(uses("w"), "never", agent_id="sub").returns("w", gate)
    cast = Cast(asks("sub"), "done").asking(sub)
    await parked(store, cast, gate)
    async with playing(store, without_its_child(sub)) as second:
        assert await second.runtime.recover() == (RUN,)
        with pytest.raises(RunNotReady) as refused:
            await second.runtime.output(RUN)
        assert refused.value.run_id == CHILD
        await second.runtime.recover("fail")
        out = await second.runtime.output(RUN)
    assert out.status is RunStatus.FAILED
    await lawful(store)


async def test_a_child_that_lives_elsewhere_is_waited_for_though_its_agent_is_not_here(store: OwnedStore) -> None:
    gate = Gate("it")
    sub = Cast(uses("w"), "found it", agent_id="sub").returns("w", gate, idempotent=True)
    cast = Cast(asks("sub"), "done").asking(sub)
    await parked(store, cast, gate)
    async with playing(store, cast) as left, playing(store, without_its_child(sub)) as right:
        ending = asyncio.ensure_future(left.runtime.ensure_run_completion(CHILD))
        await settled()
        assert await right.runtime.recover() == (RUN,)
        await settled()
        gate.opened.set()
        assert (await ending).text == "found it"
        assert (await right.runtime.output(RUN)).text == "done"
    await lawful(store)


async def test_a_run_that_another_takes_up_in_this_very_moment_is_waited_for() -> None:
    backend = MemoryBackend()
    store = await begun(backend)
    gate = Gate("late")
    cast = Cast(uses("a"), "done").returns("a", gate, idempotent=True)
    await parked(store, cast, gate)
    gate.opened.set()
    async with playing(store, cast) as worker:

        class Slow(LocalStore):
            """By the time that it has asked for an owner, another process has taken the run."""

            async def owner_alive(self, owner: str) -> bool:
                alive = await super().owner_alive(owner)
                await worker.runtime.recover()
                return alive

        async with without_agents(Slow(backend)) as runtime:
            assert (await runtime.output(RUN)).text == "done"
    assert (await log_of(store, RUN)).run.status is RunStatus.COMPLETED


async def test_what_waits_for_a_person_is_withdrawn_without_its_agent(store: OwnedStore) -> None:
    cast = Cast(uses("quick", "careful"), "never").returns("quick", 1).returns("careful", confirm=True)
    async with playing(store, cast) as worker:
        await worker.play()
    async with without_agents(store) as runtime:
        (item,) = await runtime.pending(SESSION)
        prepared = await runtime.prepare_continuation(RUN, {item.item_id: False}, by="ada")
        with pytest.raises(InvalidValue):
            await runtime.start_prepared(prepared)
        out = await runtime.withdraw(RUN, "changed my mind")
        assert (out.status, out.cancellation) == (RunStatus.CANCELED, "changed my mind")
        assert await runtime.withdraw(RUN, "changed my mind") == out
    await lawful(store)
    assert cast.ran == {"quick": 1}


@before_and_after
async def test_a_withdrawal_whose_process_dies_is_carried_out_without_the_agent(*, after: bool) -> None:
    call, died = 0, True
    while died:
        call += 1
        store = await begun(backend := MemoryBackend())
        cast = Cast(uses("careful"), "never").returns("careful", confirm=True)
        async with playing(store, cast) as worker:
            await worker.play()
        mortal = MortalBackend(backend, dies_at=call, after=after)
        async with without_agents(LocalStore(mortal)) as runtime:
            died = await until_dead(mortal, runtime.withdraw(RUN, "changed my mind"))
        async with without_agents(store) as runtime:
            await recovered(runtime)
            out = await runtime.withdraw(RUN, "changed my mind")
        assert (out.status, out.cancellation) == (RunStatus.CANCELED, "changed my mind")
        await lawful(store)
    assert call > 8
