"""Two workers drive one run at once, over a store that knows no owners: every interleaving comes to the same."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from itertools import chain, count, repeat
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actum.base.errors import RunNotFound, RunNotRunning, SessionEnded
from actum.lifecycle.states import RunStatus
from actum.planning.planner import PlanInput
from actum.planning.policy import FixedCall, OnLimit, RunPolicy
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing.samples import at as seconds_after
from tests.support.frail import HeldBackend, TurnBackend, Turnstile, settled
from tests.support.runlogs import RunLog, decisions, proven
from tests.support.scenario import RUN, SESSION, WATCH_S, Cast, Gate, Waits, Worker, begun, request, uses
from tests.support.worker_store import WorkerStore


class TurnWaits(Waits):
    """Pauses that wait for their turn, too."""

    def __init__(self, turnstile: Turnstile, name: str) -> None:
        super().__init__()
        self._turnstile = turnstile
        self._name = name

    async def __call__(self, seconds: float) -> None:
        """Waits for so many seconds of the story."""
        if seconds == WATCH_S:
            await super().__call__(seconds)
        else:
            await self._turnstile.pause(self._name)


class Pair:
    """Two workers, `A` and `B`, over one store, and a turnstile between them and it. Both ask the same of the run."""

    def __init__(self, backend: MemoryBackend, cast: Cast, **asked: Any) -> None:
        self._asked = asked
        self.turnstile = Turnstile("A", "B")
        self.cast = cast
        self._backend = backend
        self.a, self.b = (self._worker(name) for name in "AB")

    def through(self, name: str) -> LocalStore:
        """The store, as somebody of this name has it."""
        return LocalStore(TurnBackend(self._backend, self.turnstile, name))

    def _worker(self, name: str) -> Worker:
        return Worker(WorkerStore(self.through(name)), self.cast, waits=TurnWaits(self.turnstile, name))

    async def played(self, order: Iterator[str], *others: Coroutine[Any, Any, object]) -> None:
        """Both start the run and wait for its end, and the others do their own, in this order of calls."""
        doing = [
            asyncio.ensure_future(each) for each in (self.a.play(**self._asked), self.b.play(**self._asked), *others)
        ]
        while not all(task.done() for task in doing):
            if not await self.turnstile.release(next(order)):
                assert all(task.done() for task in doing), "nobody can go on"
        await self._closed()
        for task in doing:
            task.result()

    async def _closed(self) -> None:
        closing = asyncio.ensure_future(asyncio.gather(self.a.runtime.close(), self.b.runtime.close()))
        while not closing.done():
            await self.turnstile.release("A")
        await closing


def story() -> Cast:
    cast = Cast(uses("a", "b"), uses("c"), "done")
    return cast.returns("a", 1).returns("b", ValueError("no")).returns("c", [3], idempotent=True)


def switched(*lengths: int) -> Iterator[str]:
    """A for so many calls, then B for so many, and so on; in the end by turns."""
    parts = [repeat(name, length) for name, length in zip("ABABAB", lengths, strict=False)]
    return chain(*parts, (name for _ in repeat(None) for name in "AB"))


async def _alone() -> RunLog:
    store = await begun(MemoryBackend())
    worker = Worker(store, story())
    await worker.play()
    await worker.runtime.close()
    return await proven(store, RUN)


async def _both(order: Iterator[str]) -> tuple[RunLog, Cast, Pair]:
    backend = MemoryBackend()
    store = await begun(backend)
    pair = Pair(backend, story())
    await pair.played(order)
    return await proven(store, RUN), pair.cast, pair


def _as_if_alone(log: RunLog, cast: Cast, expected: RunLog) -> None:
    assert log.messages == expected.messages
    assert log.run.status is RunStatus.COMPLETED
    assert log.types == expected.types
    assert cast.ran == {"a": 1, "b": 1, "c": 1}


@pytest.mark.parametrize("block", range(4))
async def test_one_worker_passes_the_other_at_any_call(block: int) -> None:
    expected = await _alone()
    for first in range(block, 44, 4):
        log, cast, pair = await _both(switched(first, 1000))
        _as_if_alone(log, cast, expected)
        assert {"A", "B"} <= set(pair.turnstile.passed)


def bounded_story() -> Cast:
    """A call, a plan with more calls than are left, and the fixed call at the limit."""
    cast = Cast(uses("a"), uses("b", "c"), "never").returns("a", 1).returns("b").returns("c")
    return cast.returns("end", "over", terminal=True)


async def test_one_worker_passes_the_other_at_any_call_of_a_run_that_reaches_its_limit() -> None:
    policy = RunPolicy(max_tool_calls=2, on_limit=OnLimit(max_tool_calls=FixedCall(tool="end")))
    seen: list[object] = []
    for first in range(0, 40, 2):
        store = await begun(backend := MemoryBackend())
        pair = Pair(backend, bounded_story(), policy=policy)
        await pair.played(switched(first, 1000))
        log = await proven(store, RUN)
        seen.append((log.messages, decisions(log), log.types, log.run.status))
        assert pair.cast.ran == {"a": 1, "limit-2": 1}
    assert seen == seen[:1] * len(seen)


async def test_workers_that_take_turns_by_any_rhythm_come_to_the_same() -> None:
    expected = await _alone()
    for a, b in [(1, 1), (1, 2), (2, 1), (3, 2), (5, 3), (7, 11), (4, 9)]:
        log, cast, _ = await _both(name for _ in repeat(None) for name in "A" * a + "B" * b)
        _as_if_alone(log, cast, expected)


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(order=st.lists(st.sampled_from("AB"), max_size=120))
def test_any_interleaving_comes_to_the_same(order: list[str]) -> None:
    async def play() -> None:
        expected = await _alone()
        log, cast, _ = await _both(chain(order, (name for _ in repeat(None) for name in "AB")))
        _as_if_alone(log, cast, expected)

    asyncio.run(play())


def _with_c(order: str, at: int) -> Iterator[str]:
    """In the order of these letters, over and over; at this call C, who stops the run, goes before all."""
    return chain((order[i % len(order)] for i in range(at)), repeat("C", 12), (x for _ in repeat(None) for x in order))


# Until this call a stop may come too early, before there is a run.
EARLY = 20
orders = pytest.mark.parametrize("order", ["AB", "ABB", "AAAAAAABBBBBBBBB"])


async def _canceled(pair: Pair) -> None:
    canceler = Worker(WorkerStore(pair.through("C")), pair.cast)
    with suppress(RunNotFound, RunNotRunning):
        await canceler.runtime.cancel_run(RUN, "user_stop")


@pytest.mark.slow
@orders
async def test_a_cancellation_at_any_call_leaves_no_call_open(order: str) -> None:
    ends: set[tuple[RunStatus, str | None]] = set()
    for moment in count(4):
        store = await begun(backend := MemoryBackend())
        pair = Pair(backend, story())
        await pair.played(_with_c(order, moment), _canceled(pair))
        log = await proven(store, RUN)
        assert max(pair.cast.ran.values(), default=0) <= 1
        ends.add((log.run.status, log.run.cancellation_reason))
        if moment > EARLY and log.run.cancellation_reason is None:
            break
    # Whose cancellation came in the very moment of its last write may still complete.
    assert {(RunStatus.CANCELED, "user_stop"), (RunStatus.COMPLETED, None)} <= ends


@pytest.mark.parametrize("plan", ["calls", "answer", "error"])
async def test_a_plan_that_slips_in_before_an_end_is_seen_by_it(plan: str) -> None:
    store = await begun(backend := MemoryBackend())
    said, status = {
        "calls": (uses("a"), RunStatus.CANCELED),
        "answer": ("done", RunStatus.COMPLETED),
        "error": (ValueError("no"), RunStatus.FAILED),
    }[plan]
    gate = Gate(said)
    cast = Cast(lambda _: gate.passed()).returns("a")
    backends = HeldBackend(backend), HeldBackend(backend)
    first, second = (Worker(WorkerStore(LocalStore(each)), cast) for each in backends)
    # The first worker will store its plan, and then be slow: it does not come to its own end in time.
    slow = backends[0].hold_write(3)
    await first.engine.accept(request())
    await gate.reached.wait()
    await Worker(store, cast).runtime.cancel_run(RUN, "user_stop")
    # The second worker finds the start, then the cancellation, and is about to store an end with nothing to close.
    ending = backends[1].hold_write(2)
    await second.engine.accept(request())
    await ending.reached.wait()
    gate.opened.set()
    await settled()
    ending.opened.set()
    await second.runtime.output(RUN)
    log = await proven(store, RUN)
    assert log.run.status is status
    slow.opened.set()
    await first.runtime.output(RUN)
    assert await proven(store, RUN) == log
    assert cast.ran == {}
    for worker in (first, second):
        await worker.runtime.close()


async def test_a_plan_that_slips_in_before_a_failure_is_the_plan() -> None:
    store = await begun(backend := MemoryBackend())
    plans = iter([uses("a"), ValueError("the model is gone"), "done"])

    async def thinks(_: PlanInput) -> object:
        return next(plans)

    cast = Cast(thinks).returns("a")
    backends = HeldBackend(backend), HeldBackend(backend)
    first, second = (Worker(WorkerStore(LocalStore(each)), cast) for each in backends)
    # Both plans wait at the store: that of the first worker, and the failure of the second one's planner.
    writes = [each.hold_write(2) for each in backends]
    slow = backends[0].hold_write(3)
    for worker, write in zip((first, second), writes, strict=True):
        await worker.engine.accept(request())
        await write.reached.wait()
    for write in writes:
        write.opened.set()
        await settled()
    slow.opened.set()
    for worker in (first, second):
        await worker.runtime.output(RUN)
        await worker.runtime.close()
    log = await proven(store, RUN)
    assert log.run.status is RunStatus.COMPLETED
    assert log.messages[-1].text == "done"


@pytest.mark.slow
@orders
async def test_a_session_that_ends_at_any_call_leaves_no_call_open(order: str) -> None:
    ends: set[tuple[RunStatus, str | None]] = set()
    refused = 0
    for moment in count(4):
        store = await begun(backend := MemoryBackend())
        pair = Pair(backend, story())
        try:
            await pair.played(_with_c(order, moment), pair.through("C").end_session(SESSION, seconds_after(5)))
        except SessionEnded:
            refused += 1
            continue
        log = await proven(store, RUN)
        assert max(pair.cast.ran.values(), default=0) <= 1
        ends.add((log.run.status, log.run.cancellation_reason))
        if moment > EARLY and log.run.cancellation_reason is None:
            break
    assert ends == {(RunStatus.CANCELED, "session_ended"), (RunStatus.COMPLETED, None)}
    assert refused < 5


async def test_a_worker_waits_for_the_tool_of_another_and_then_no_longer() -> None:
    store = await begun(MemoryBackend())
    gate = Gate("late")
    cast = Cast(uses("a"), "done").returns("a", gate, timeout=30)
    first, second = Worker(WorkerStore(store), cast), Worker(WorkerStore(store), cast)
    await first.engine.accept(request())
    await gate.reached.wait()
    await second.engine.accept(request())
    await second.runtime.output(RUN)
    assert sum(second.waits.pauses) > 30
    gate.opened.set()
    await first.runtime.output(RUN)
    log = await proven(store, RUN)
    assert log.results["a"].content["error"] == "outcome_unknown"
    assert cast.ran == {"a": 1}
    await first.runtime.close()
    await second.runtime.close()
