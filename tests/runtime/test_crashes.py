"""A worker dies at every call to its store, before and after the commit, and another one goes on from the records."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from actum.base.errors import NotFound
from actum.lifecycle.states import RunStatus
from actum.messages.message import Message, user
from actum.messages.parts import ToolResultPart
from actum.storage.backend import Backend
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.storage.sqlite.backend import SQLiteBackend
from tests.support.frail import MortalBackend, until_dead
from tests.support.runlogs import RunLog, log_of, never_poisoned, proven
from tests.support.scenario import RUN, Cast, Gate, Worker, begun, playing, uses

Opened: TypeAlias = Callable[[], AbstractAsyncContextManager[Backend]]

before_and_after = pytest.mark.parametrize("after", [False, True], ids=["before", "after"])


@asynccontextmanager
async def _memory() -> AsyncIterator[Backend]:
    yield MemoryBackend()


@pytest.fixture(params=["memory", pytest.param("sqlite", marks=pytest.mark.slow)])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Opens an empty backend, a new one each time."""
    count = 0

    @asynccontextmanager
    async def sqlite() -> AsyncIterator[Backend]:
        nonlocal count
        count += 1
        backend = await SQLiteBackend.open(tmp_path / f"{count}.db")
        yield backend
        await backend.close()

    return _memory if request.param == "memory" else sqlite


def story() -> Cast:
    """Two tools side by side, one of them failing; then one that may run again; then the answer."""
    cast = Cast(uses("a", "b"), uses("c"), "done")
    return cast.returns("a", 1).returns("b", ValueError("no")).returns("c", [3], idempotent=True)


async def _die(mortal: MortalBackend, cast: Cast) -> bool:
    """Plays the story until the backend dies and the worker with it; False when it came to its end first."""
    worker = Worker(LocalStore(mortal), cast)
    died = await until_dead(mortal, worker.play())
    await worker.runtime.close()
    return died


async def _recovered(store: OwnedStore, cast: Cast) -> RunLog:
    """A second worker takes up what the first one left: its run, or, where nothing was stored, the request again."""
    async with playing(store, cast) as worker:
        try:
            before = await log_of(store, RUN)
        except NotFound:
            await worker.play()
            return await proven(store, RUN)
        never_poisoned(before)
        taken = await worker.runtime.recover()
        assert taken == ((RUN,) if before.run.status is RunStatus.RUNNING else ())
        await worker.runtime.output(RUN)
        assert await worker.runtime.recover() == ()
    return await proven(store, RUN)


def _same_but_for_lost_calls(log: RunLog, expected: RunLog, cast: Cast) -> list[str]:
    """The calls whose result was lost; every other part of the transcript is as if nobody had died."""
    lost: list[str] = []
    assert len(log.messages) == len(expected.messages)
    for message, wanted in zip(log.messages, expected.messages, strict=True):
        if message != wanted:
            lost += _lost(message, wanted)
    assert "c" not in lost
    for call, count in cast.ran.items():
        assert count <= 1 or call == "c"
        assert count >= 1
    return lost


def _lost(message: Message, wanted: Message) -> list[str]:
    lost = []
    for part, usual in zip(message.parts, wanted.parts, strict=True):
        if part == usual:
            continue
        assert isinstance(part, ToolResultPart)
        assert isinstance(usual, ToolResultPart)
        assert part.tool_use_id == usual.tool_use_id
        assert part.is_error
        assert part.content["error"] == "outcome_unknown"
        lost.append(part.tool_use_id)
    return lost


@before_and_after
async def test_a_death_at_any_call_changes_nothing_but_what_is_unknown(opened: Opened, *, after: bool) -> None:
    async with opened() as backend:
        store, cast = await begun(backend), story()
        async with playing(store, cast) as worker:
            await worker.play()
        expected = await proven(store, RUN)
    lost: set[str] = set()
    died_at = 0
    while True:
        async with opened() as backend:
            store, cast = await begun(backend), story()
            died = await _die(MortalBackend(backend, dies_at=died_at + 1, after=after), cast)
            if died:
                log = await _recovered(store, cast)
                assert log.run.status is RunStatus.COMPLETED
                lost.update(_same_but_for_lost_calls(log, expected, cast))
        if not died:
            break
        died_at += 1
    assert died_at > 15
    assert lost == {"a", "b"}


@before_and_after
async def test_recovery_may_die_as_often_as_it_likes(opened: Opened, *, after: bool) -> None:
    async with opened() as backend:
        store, cast = await begun(backend), story()
        async with playing(store, cast) as worker:
            await worker.play()
        expected = await proven(store, RUN)
    for first in range(2, 40, 5):
        async with opened() as backend:
            store, cast = await begun(backend), story()
            await _die(MortalBackend(backend, dies_at=first, after=after), cast)
            for again in range(1, 60):
                mortal = MortalBackend(backend, dies_at=again, after=after)
                if not await _die_recovering(mortal, cast):
                    break
            log = await _recovered(store, cast)
            assert log.run.status is RunStatus.COMPLETED
            _same_but_for_lost_calls(log, expected, cast)


async def _die_recovering(mortal: MortalBackend, cast: Cast) -> bool:
    worker = Worker(LocalStore(mortal), cast)
    died = await until_dead(mortal, worker.recover())
    await worker.runtime.close()
    return died


@before_and_after
async def test_a_canceled_run_is_canceled_however_its_worker_dies(opened: Opened, *, after: bool) -> None:
    died_at = 0
    while True:
        async with opened() as backend:
            store = await begun(backend)
            quick, gate = Gate("ok"), Gate()
            quick.opened.set()
            cast = Cast(uses("a", "b"), "done").returns("a", quick).returns("b", gate)
            mortal = MortalBackend(backend)
            worker = Worker(LocalStore(mortal), cast)
            await worker.start()
            await quick.reached.wait()
            await gate.reached.wait()
            died_at += 1
            mortal.die_at(mortal.calls + died_at, after=after)
            await until_dead(mortal, _canceled(worker))
            await worker.runtime.close()
            async with playing(store, cast) as second:
                await second.runtime.cancel_run(RUN, "user_stop")
                await second.runtime.recover()
                await second.runtime.output(RUN)
            log = await proven(store, RUN)
            assert log.run.status is RunStatus.CANCELED
            assert log.run.cancellation_reason == "user_stop"
            assert cast.ran == {"a": 1, "b": 1}
            answered = log.results["a"].content
            assert answered == "ok" or answered["error"] == "outcome_unknown"
            assert log.results["b"].content["error"] in {"canceled", "outcome_unknown"}
            if not mortal.died.is_set():
                break
    assert died_at > 2


async def _canceled(worker: Worker) -> None:
    await worker.runtime.cancel_run(RUN, "user_stop")
    await worker.runtime.output(RUN)


async def test_recovery_goes_on_with_nobody_elses_runs() -> None:
    backend = MemoryBackend()
    store = await begun(backend)
    gate = Gate("late")
    cast = Cast(uses("a"), "done").returns("a", gate)
    async with playing(store, cast) as first, playing(store, cast) as second:
        await first.start()
        await gate.reached.wait()
        assert await second.runtime.recover() == ()
        gate.opened.set()
        await first.runtime.output(RUN)
    log = await proven(store, RUN)
    assert log.results["a"].content == "late"
    assert cast.ran == {"a": 1}


async def test_an_unanswered_call_is_closed_once_however_often_recovery_runs() -> None:
    backend = MemoryBackend()
    store = await begun(backend)
    gate = Gate()
    cast = Cast(uses("t1=a"), "done").returns("a", gate)
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
    for _ in range(3):
        async with playing(store, cast) as worker:
            await worker.runtime.recover()
            await worker.runtime.output(RUN)
    log = await proven(store, RUN)
    assert [message.role for message in log.messages] == ["user", "assistant", "user", "assistant"]
    assert log.results["t1"].content["error"] == "outcome_unknown"
    async with playing(store, Cast("next")) as worker:
        out = await worker.client.run("s1", [*log.messages, user("and now?")])
    assert out.text == "next"
