import asyncio
import contextvars
import functools
import gc
import threading
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from actum.messages.parts import ImagePart, ToolUsePart, tool_use
from actum.tools import call
from actum.tools.call import RESULT_BYTES, ToolOutcome, call_tool, invalid_call
from actum.tools.define import tool
from actum.tools.failures import ToolError
from actum.tools.spec import ToolContext, ToolOutput, ToolSpec

CONTEXT = ToolContext(run_id="r1", session_id="s1", tool_call_id="c1", attempt="a1", idempotency_key="k1")


async def called(
    spec: ToolSpec, arguments: dict[str, Any] | None = None, within: float | None = None, max_bytes: int = RESULT_BYTES
) -> ToolOutcome:
    given = tool_use("c1", spec.name, arguments or {})
    return await call_tool(spec, given, CONTEXT, timeout=within, max_bytes=max_bytes)


def kind_of(outcome: ToolOutcome) -> str | None:
    return None if outcome.failure is None else outcome.failure.kind


class OwnError(BaseException):
    """Something that no `except Exception` sees."""


async def test_sync_and_async_tools_answer() -> None:
    @tool
    def double(n: int) -> int:
        return 2 * n

    @tool
    async def triple(n: int) -> int:
        await asyncio.sleep(0)
        return 3 * n

    assert await called(double, {"n": 2}) == ToolOutcome(content=4)
    assert await called(triple, {"n": 2}) == ToolOutcome(content=6)


async def test_a_sync_tool_does_not_hold_up_the_loop() -> None:
    gate = threading.Event()

    @tool
    def waiting() -> str:
        return "opened" if gate.wait(30) else "forgotten"

    task = asyncio.create_task(called(waiting))
    await asyncio.sleep(0)
    gate.set()
    assert (await task).content == "opened"


async def test_a_tool_gets_its_context_and_the_callers_context_variables() -> None:
    tenant = contextvars.ContextVar[str]("tenant")
    tenant.set("acme")

    @tool
    def where(here: ToolContext) -> list[str]:
        return [here.run_id, here.idempotency_key, tenant.get()]

    assert (await called(where)).content == ["r1", "k1", "acme"]


@pytest.mark.parametrize(
    "given",
    [
        ToolUsePart(id="c1", name="touch", input_text='{"path": "a'),
        ToolUsePart(id="c1", name="touch", input_text="[1]"),
        ToolUsePart(id="c1", name="touch", input_text=""),
        ToolUsePart(id="c1", name="touch", input=b'{"path":"a","path":"b"}'),  # type: ignore[arg-type]  # bytes become verbatim
        tool_use("c1", "touch", {"path": 7}),
        tool_use("c1", "touch", {}),
        tool_use("c1", "touch", {"path": "a", "mode": "b"}),
    ],
)
async def test_a_malformed_call_runs_nothing(given: ToolUsePart) -> None:
    ran = []

    @tool
    def touch(path: str) -> str:
        ran.append(path)
        return path

    outcome = await call_tool(touch, given, CONTEXT)
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.recovery) == ("invalid_call", "correct_call")
    assert outcome.failure.issues
    assert invalid_call(touch, given) == outcome.failure
    assert ran == []


async def test_a_fitting_call_is_no_invalid_call() -> None:
    assert invalid_call(tool(name="t")(lambda: "x"), tool_use("c1", "t", {})) is None


async def test_a_tool_may_say_how_it_failed() -> None:
    @tool
    def book() -> str:
        raise ToolError("domain_rejection", "The room is taken.", "finish")

    outcome = await called(book)
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.recovery) == ("domain_rejection", "finish")
    part = outcome.part("c1")
    assert part.is_error
    assert part.content == {"error": "domain_rejection", "message": "The room is taken."}


ERRORS: list[tuple[Callable[[], BaseException], str]] = [
    (lambda: ValueError("bad"), "internal"),
    (lambda: StopIteration("over"), "internal"),
    (asyncio.CancelledError, "internal"),
    (asyncio.TimeoutError, "timeout"),
    (lambda: OwnError("own"), "internal"),
    (GeneratorExit, "internal"),
]


@pytest.mark.parametrize("error, kind", ERRORS)
@pytest.mark.parametrize("waits", [False, True])
async def test_whatever_a_tool_raises_is_a_failed_call(
    error: Callable[[], BaseException], kind: str, *, waits: bool
) -> None:
    def bad() -> str:
        raise error()

    async def bad_later() -> str:
        await asyncio.sleep(0)
        raise error()

    async def good() -> str:
        return "ok"

    failed, fine = await asyncio.gather(called(tool(bad_later if waits else bad)), called(tool(good)))
    assert kind_of(failed) == kind
    assert fine.content == "ok"
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("error, kind", ERRORS[1:])  # a check says no by ValueError, which is an invalid call
async def test_whatever_its_own_checks_raise_is_a_failed_call(error: Callable[[], BaseException], kind: str) -> None:
    def bad(value: int) -> int:
        raise error()

    def takes(n: Annotated[int, AfterValidator(bad)]) -> int:
        return n

    def gives() -> Annotated[int, AfterValidator(bad)]:
        return 1

    assert kind_of(await called(tool(takes), {"n": 1})) == kind
    assert kind_of(await called(tool(gives))) == kind
    failure = invalid_call(tool(takes), tool_use("c1", "takes", {"n": 1}))
    assert failure is not None
    assert failure.kind == kind


async def test_a_tool_that_cancels_the_task_it_is_in_stops_only_itself() -> None:
    @tool
    async def confused() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "never"

    assert kind_of(await called(confused)) == "internal"


async def test_a_cancelled_error_is_the_tools_own_even_in_a_task_that_was_cancelled_before() -> None:
    @tool
    async def bad() -> str:
        raise asyncio.CancelledError

    async def caller() -> ToolOutcome:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return await called(bad)
        raise AssertionError

    assert kind_of(await asyncio.create_task(caller())) == "internal"


async def test_a_real_cancellation_passes_and_leaves_no_task() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def waiting() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    task = asyncio.create_task(called(waiting))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
    assert len(asyncio.all_tasks()) == 1


async def test_a_real_cancellation_passes_a_sync_tool_whose_late_result_reaches_nobody() -> None:
    begun, gate, left = threading.Event(), threading.Event(), threading.Event()

    @tool
    def waiting() -> str:
        begun.set()
        gate.wait(30)
        left.set()
        return "late"

    task = asyncio.create_task(called(waiting))
    await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.set()
    assert await asyncio.to_thread(left.wait, 30)


def test_a_sync_tool_may_outlive_its_loop() -> None:
    gate, left = threading.Event(), threading.Event()

    @tool
    def waiting() -> str:
        gate.wait(30)
        left.set()
        return "late"

    async def main() -> ToolOutcome:
        return await called(waiting, within=0.01)

    assert kind_of(asyncio.run(main())) == "timeout"
    gate.set()
    assert left.wait(30)


@pytest.mark.parametrize("own, given", [(0.01, None), (None, 0.01), (0.01, 60.0), (60.0, 0.01)])
async def test_the_tighter_timeout_counts(own: float | None, given: float | None) -> None:
    stopped = asyncio.Event()

    @tool(timeout=own)
    async def slow() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    outcome = await called(slow, within=given)
    assert kind_of(outcome) == "timeout"
    assert "0.01 seconds" in (outcome.failure.message if outcome.failure else "")
    assert stopped.is_set()
    assert len(asyncio.all_tasks()) == 1


async def test_a_task_that_will_not_stop_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call, "STOPPING_S", 0.01)
    release = asyncio.Event()

    @tool(timeout=0.01)
    async def stubborn() -> str:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    assert kind_of(await called(stubborn)) == "timeout"
    release.set()
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not asyncio.current_task()))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("waits", [False, True])
async def test_an_interpreter_on_its_way_out_is_not_held_up(error: type[BaseException], *, waits: bool) -> None:
    def leave() -> str:
        raise error

    async def leave_later() -> str:
        raise error

    with pytest.raises(error):
        await called(tool(leave_later if waits else leave))


async def test_a_result_that_does_not_fit_is_malformed() -> None:
    @tool
    def wrong() -> int:
        return "7"  # type: ignore[return-value]  # the wrong type is the point

    assert kind_of(await called(wrong)) == "malformed_result"


async def test_attachments_are_parts() -> None:
    @tool
    def shot() -> ToolOutput:
        return ToolOutput("seen", attachments=(ImagePart(bytes=b"png", format="png"),))

    @tool
    def wrong() -> ToolOutput:
        return ToolOutput("seen", attachments=("x",))  # type: ignore[arg-type]  # the wrong type is the point

    outcome = await called(shot)
    assert outcome.part("c1").attachments == (ImagePart(bytes=b"png", format="png"),)
    assert kind_of(await called(wrong)) == "malformed_result"


@pytest.mark.parametrize("size, fits", [(RESULT_BYTES - 2, True), (RESULT_BYTES - 1, False)])
async def test_a_result_is_whole_or_refused(size: int, *, fits: bool) -> None:
    @tool
    def long() -> str:
        return "x" * size

    outcome = await called(long)
    if fits:
        assert outcome.content == "x" * size
    else:
        assert outcome.failure is not None
        assert outcome.failure.kind == "malformed_result"
        assert str(RESULT_BYTES) in outcome.failure.message


async def test_attachments_count_for_the_size() -> None:
    @tool
    def shot() -> ToolOutput:
        return ToolOutput("seen", attachments=(ImagePart(bytes=b"p" * 600, format="png"),))

    assert kind_of(await called(shot, max_bytes=800)) == "malformed_result"
    assert kind_of(await called(shot, max_bytes=900)) is None


async def test_an_error_without_a_text_still_has_a_type() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def mute() -> str:
        raise MuteError

    def wordy() -> str:
        raise ValueError("ж" * 5000)

    outcome = await called(tool(mute))
    assert outcome.failure is not None
    assert outcome.failure.message == "mute failed: MuteError"
    outcome = await called(tool(wordy))
    assert outcome.failure is not None
    assert outcome.failure.message.endswith("[cut]")


async def test_a_decorated_async_function_is_awaited() -> None:
    async def answer() -> int:
        return 42

    def logged(function: Callable[[], Awaitable[int]]) -> Callable[[], Awaitable[int]]:
        @functools.wraps(function)
        def wrapper() -> Awaitable[int]:
            return function()

        return wrapper

    assert (await called(tool(logged(answer)))).content == 42
    gc.collect()
