"""Tools through the runtime: every call gets its one result, whatever its tool does, and the run goes on."""

import asyncio
import hashlib
import threading
from itertools import count
from typing import Any

import pytest

from actum.base.errors import RunNotFound, TooLarge
from actum.base.limits import KIB, MIB
from actum.base.value import dump_json
from actum.lifecycle.states import RunStatus
from actum.messages.message import assistant, user
from actum.messages.parts import ImagePart, ToolUsePart, tool_use
from actum.records.failures import Recovery, ToolFailureKind
from actum.records.kinds import ToolCallStarted, ToolResultReceived
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.tools.failures import Issue, ToolError
from actum.tools.spec import ToolOutput
from tests.support.frail import AwayBackend, HeldBackend, settled
from tests.support.runlogs import RunLog, proven
from tests.support.scenario import RUN, SESSION, Cast, Gate, begun, playing, request, uses


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


async def _played(store: OwnedStore, cast: Cast) -> RunLog:
    async with playing(store, cast) as worker:
        await worker.play()
    return await proven(store, RUN)


class OwnBaseError(BaseException):
    pass


RAISED = [asyncio.CancelledError(), TimeoutError(), OwnBaseError("own"), GeneratorExit(), StopIteration(), ValueError()]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("how", ["returns", "sync"])
async def test_whatever_a_tool_raises_is_its_own_failure(store: OwnedStore, error: BaseException, how: str) -> None:
    cast = Cast(uses("t1=fine", "t2=bad"), "done").returns("fine")
    getattr(cast, how)("bad", error)
    log = await _played(store, cast)
    assert log.run.status is RunStatus.COMPLETED
    assert log.results["t1"].content == "ok"
    assert log.results["t2"].is_error
    assert log.results["t2"].content["error"] == ("timeout" if isinstance(error, TimeoutError) else "internal")
    assert cast.ran == {"t1": 1, "t2": 1}


async def test_a_tool_that_cancels_its_own_task_stops_nobody_else(store: OwnedStore) -> None:
    async def cancels() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "never"

    log = await _played(store, Cast(uses("a", "b"), "done").returns("a").does("b", cancels))
    assert log.messages[-1].text == "done"
    assert log.results["b"].content["error"] == "internal"
    assert log.results["a"].content == "ok"


@pytest.mark.parametrize("error", RAISED[:4], ids=lambda error: type(error).__name__)
async def test_a_real_cancellation_is_not_taken_for_a_tools_failure(store: OwnedStore, error: BaseException) -> None:
    gate = Gate()

    async def waits() -> object:
        try:
            return await gate.passed()
        except asyncio.CancelledError:
            raise error from None

    cast = Cast(uses("t1=a", "t2=b"), "never").returns("a").does("b", waits)
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
        await settled()
        await worker.runtime.cancel_run(RUN, "user_stop")
        out = await worker.runtime.output(RUN)
    log = await proven(store, RUN)
    assert (out.status, out.cancellation) == (RunStatus.CANCELED, "user_stop")
    assert log.results["t1"].content == "ok"
    assert log.results["t2"].is_error
    assert cast.planned == {0: 1}


async def test_a_sync_tool_cannot_be_stopped_and_its_late_result_is_refused(store: OwnedStore) -> None:
    begun_work, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def slow() -> str:
        begun_work.set()
        may_end.wait(10)
        ended.set()
        return "late"

    cast = Cast(uses("slow"), "never").takes(slow)
    async with playing(store, cast) as worker:
        await worker.start()
        await asyncio.to_thread(begun_work.wait, 10)
        await worker.runtime.cancel_run(RUN, "user_stop")
        await worker.runtime.output(RUN)
        log = await proven(store, RUN)
        may_end.set()
        await asyncio.to_thread(ended.wait, 10)
        await settled()
    assert await proven(store, RUN) == log
    assert log.results["slow"].content["error"] == "canceled"


INVALID: list[ToolUsePart] = [
    tool_use("t", "nobody", {}),
    tool_use("t", "a", {"no": "such"}),
    ToolUsePart(id="t", name="a", input_text='{"cut":'),
]


@pytest.mark.parametrize("part", INVALID, ids=["unknown tool", "wrong argument", "no JSON"])
async def test_a_call_that_cannot_be_run_is_answered_and_runs_nothing(store: OwnedStore, part: ToolUsePart) -> None:
    cast = Cast(assistant(part, tool_use("b", "a", {})), "done").returns("a")
    log = await _played(store, cast)
    assert log.results["t"].content["error"] == "invalid_call"
    assert log.results["b"].content == "ok"
    assert cast.ran == {"b": 1}
    assert log.types[RecordType.TOOL_CALL_STARTED] == 1


async def test_a_terminal_tool_ends_the_run(store: OwnedStore) -> None:
    cast = Cast(uses("a", "end"), "never").returns("a").returns("end", {"sent": True}, terminal=True)
    log = await _played(store, cast)
    assert log.run.status is RunStatus.COMPLETED
    assert log.results["end"].content == {"sent": True}
    assert cast.planned == {0: 1}


async def test_a_terminal_tool_that_failed_ends_nothing(store: OwnedStore) -> None:
    cast = Cast(uses("end"), "I could not").returns("end", ValueError("no"), terminal=True)
    log = await _played(store, cast)
    assert log.messages[-1].text == "I could not"


async def test_each_call_is_told_its_place_and_keeps_one_key_over_its_tries(store: OwnedStore) -> None:
    gate = Gate("never opened")
    cast = Cast(uses("a"), "done").returns("a", gate, idempotent=True)
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
    gate.opened.set()
    async with playing(store, cast) as second:
        await second.runtime.recover()
        await second.runtime.output(RUN)
    log = await proven(store, RUN)
    first, again = cast.contexts
    assert first.idempotency_key == again.idempotency_key == f"{RUN}/a"
    started = log.payloads(RecordType.TOOL_CALL_STARTED)
    attempts = [each.attempt for each in started if isinstance(each, ToolCallStarted)]
    assert attempts == [first.attempt, again.attempt]
    assert len(set(attempts)) == 2
    assert first.session_id == SESSION


SIZES = [64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 1200 * KIB, 5 * MIB]


@pytest.mark.parametrize("size", SIZES)
async def test_a_large_result_is_kept_to_the_byte(store: OwnedStore, size: int) -> None:
    text = ("ж🔥" * (size // 6 + 1)).encode()[: size - size % 6].decode()
    log = await _played(store, Cast(uses("a"), "done").returns("a", text))
    kept = log.results["a"].content
    assert hashlib.sha256(kept.encode()).digest() == hashlib.sha256(text.encode()).digest()


async def test_a_result_above_the_bound_is_refused_with_its_size_and_the_turn_goes_on(store: OwnedStore) -> None:
    log = await _played(store, Cast(uses("a"), "done").returns("a", "x" * (20 * MIB)))
    told = log.results["a"].content
    assert told["error"] == "malformed_result"
    assert str(20 * MIB + 2) in told["message"]
    assert log.messages[-1].text == "done"


@pytest.mark.parametrize("calls", [1, 2, 3, 64])
async def test_results_that_just_fit_alone_fit_together(store: OwnedStore, calls: int) -> None:
    ids = [f"{n:02}" + "i" * 300 for n in range(calls)]
    cast = Cast(assistant(*[tool_use(each, "a", {}) for each in ids]), "done").takes(_as_large_as_may_be(calls, ids))
    log = await _played(store, cast)
    assert log.run.status is RunStatus.COMPLETED
    assert not any(part.is_error for part in log.results.values())


def _as_large_as_may_be(calls: int, ids: list[str]) -> Any:
    room = (16 * MIB - 16 * KIB - sum(len(dump_json(each)) for each in ids)) // calls - 128

    def a() -> str:
        return "x" * (room - 2)

    return a


async def test_a_batch_of_endless_complaints_keeps_the_turn(store: OwnedStore) -> None:
    issues = [Issue(path="p" * 20_000, rule="r" * 20_000) for _ in range(32)]
    bad = ToolError(ToolFailureKind.INVALID_CALL, "\x01" * 4096, Recovery.CORRECT_CALL, issues)
    cast = Cast(assistant(*[tool_use(f"c{n}", "a", {}) for n in range(100)]), "done").returns("a", bad)
    log = await _played(store, cast)
    assert log.messages[-1].text == "done"
    assert {part.content["error"] for part in log.results.values()} == {"invalid_call"}


async def test_a_tool_whose_started_record_lost_its_answer_runs_once(store: OwnedStore) -> None:
    away = AwayBackend(MemoryBackend())
    store = await begun(away)
    away.lost, away.reads_too = True, False
    async with playing(LocalStore(away), cast := Cast(uses("a"), "done").returns("a")) as worker:
        await worker.client.start(SESSION, [*request().messages], run_id=RUN)
        away.away = 0
        await worker.runtime.output(RUN)
    assert cast.ran == {"a": 1}
    await proven(store, RUN)


@pytest.mark.parametrize("lost", [False, True])
async def test_a_store_that_is_away_at_any_write_repeats_the_write_and_nothing_else(*, lost: bool) -> None:
    for first in count(2):
        inner = MemoryBackend()
        store = await begun(inner)
        away = AwayBackend(inner)
        away.lost, away.reads_too, away.away_from = lost, False, first
        cast = Cast(uses("a", "b"), "done").returns("a").returns("b", ValueError("no"))
        async with playing(LocalStore(away), cast) as worker:
            await worker.play()
        log = await proven(store, RUN)
        assert cast.ran == {"a": 1, "b": 1}
        assert cast.planned == {0: 1, 1: 1}
        assert log.results["a"].content == "ok"
        assert "ValueError" in log.results["b"].content["message"]
        if not away.refused:
            break
    # The plan, two attempts, two results and the end were each repeated.
    assert first > 7


async def test_a_result_that_only_waits_to_be_written_survives_a_cancellation(store: OwnedStore) -> None:
    inner = MemoryBackend()
    store = await begun(inner)
    held = HeldBackend(inner)
    cast = Cast(uses("a"), "never").returns("a", "done its work")
    async with playing(LocalStore(held), cast) as worker:
        writing = held.hold_write(4)
        await worker.start()
        await writing.reached.wait()
        await worker.runtime.cancel_run(RUN, "user_stop")
        await worker.runtime.output(RUN)
    log = await proven(store, RUN)
    received = log.payloads(RecordType.TOOL_RESULT_RECEIVED)[0]
    assert isinstance(received, ToolResultReceived)
    assert log.results["a"].content == "done its work"
    assert log.run.status is RunStatus.CANCELED


async def test_an_image_of_six_megabytes_beside_a_result_is_kept_to_the_byte(store: OwnedStore) -> None:
    image = ImagePart(bytes=bytes(range(256)) * (24 * KIB), format="png")
    cast = Cast(uses("a"), "done").returns("a", ToolOutput(content="shot taken", attachments=(image,)))
    log = await _played(store, cast)
    assert log.results["a"].content == "shot taken"
    assert log.results["a"].attachments == (image,)


async def test_a_message_of_ten_thousand_parts_is_kept(store: OwnedStore) -> None:
    many = user(*[f"part {n}" for n in range(10_000)])
    async with playing(store, Cast("done")) as worker:
        await worker.client.run(SESSION, [many], run_id=RUN)
    assert (await proven(store, RUN)).messages[0] == many


async def test_an_input_above_the_bound_starts_nothing(store: OwnedStore) -> None:
    async with playing(store, Cast("done")) as worker:
        with pytest.raises(TooLarge) as caught:
            await worker.client.start(SESSION, [user("x" * (17 * MIB))], run_id=RUN)
        assert caught.value.limit == 16 * MIB
        with pytest.raises(RunNotFound):
            await store.load_run(RUN)
        assert (await worker.client.run(SESSION, [user("x")], run_id=RUN)).text == "done"
