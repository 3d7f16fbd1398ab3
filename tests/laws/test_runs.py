"""Laws of runs: whatever a story does, wherever its workers die and whoever stops it, its log is never poisoned."""

import asyncio
from collections import Counter

from hypothesis import event, given, settings
from hypothesis import strategies as st

from actum.base.errors import NotFound, RunNotRunning, SessionEnded
from actum.lifecycle.states import RunStatus
from actum.messages.message import Message, assistant
from actum.messages.parts import tool_use
from actum.planning.planner import PlanResult
from actum.records.failures import FailureKind, Recovery, ToolFailureKind
from actum.records.kinds import ToolCallScheduled, ToolResultReceived
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing.samples import at
from actum.tools.failures import ToolError
from tests.support.frail import MortalBackend, until_dead
from tests.support.runlogs import RunLog, log_of, never_poisoned, proven
from tests.support.scenario import RUN, SESSION, Cast, Worker, begun

TOOLS = ("fine", "broken", "again", "finish", "end", "nobody")
ENDS = ("answer", "error", "refused")

# The tools of each step, by the order of their calls; ids are taken from few names, so that they come again.
steps = st.lists(st.lists(st.sampled_from(TOOLS), min_size=1, max_size=3), max_size=3)
# Where each worker dies: at which call to its store, and whether that call is still carried out.
deaths = st.lists(st.tuples(st.integers(1, 45), st.booleans()), max_size=4)
stops = st.sampled_from(["nobody", "caller", "host"])


def _cast(story: list[list[str]], end: str) -> Cast:
    said: dict[str, object] = {
        "answer": "done",
        "error": ValueError("no idea"),
        "refused": PlanResult.failed(FailureKind.REFUSAL, "declined", remainder=assistant("I began")),
    }
    cast = Cast(*[_calls(names) for names in story], said[end])
    cast.returns("fine", {"c": 7}).returns("broken", ValueError("no")).returns("again", idempotent=True)
    finish = ToolError(ToolFailureKind.DENIED, "enough", Recovery.FINISH)
    return cast.returns("finish", finish).returns("end", terminal=True)


def _calls(names: list[str]) -> Message:
    return assistant(*[tool_use(f"c{n}", name, {}) for n, name in enumerate(names)])


async def _stop(store: OwnedStore, who: str, cast: Cast) -> None:
    if who == "host":
        await store.end_session(SESSION, at(5))
    elif who == "caller":
        worker = Worker(store, cast)
        try:
            await worker.runtime.cancel_run(RUN, "user_stop")
        except (NotFound, RunNotRunning) as error:
            event(f"came too early or too late: {type(error).__name__}")
        await worker.runtime.close()


async def _turn(store: OwnedStore, worker: Worker) -> None:
    """What a worker does when it comes: go on with the run, or, when nobody has begun it, begin it."""
    try:
        await store.load_run(RUN)
    except NotFound:
        await worker.play()
    else:
        await worker.recover()


async def _lived(
    story: list[list[str]], end: str, fates: list[tuple[int, bool]], who: str
) -> tuple[RunLog, Cast] | None:
    store = await begun(backend := MemoryBackend())
    cast = _cast(story, end)
    for n, (call, after) in enumerate([*fates, (0, False)]):
        mortal = MortalBackend(backend, dies_at=call, after=after)
        worker = Worker(LocalStore(mortal), cast)
        try:
            await until_dead(mortal, _turn(store, worker))
        except SessionEnded:
            return None  # nobody had begun it in time
        finally:
            await worker.runtime.close()
        if n == 0:
            await _stop(store, who, cast)
        try:
            never_poisoned(await log_of(store, RUN))
        except NotFound:
            event("died before its start")
    return await proven(store, RUN), cast


@settings(max_examples=150)
@given(story=steps, end=st.sampled_from(ENDS), fates=deaths, who=stops)
def test_a_run_comes_to_one_lawful_end_and_runs_its_tools_at_most_once(
    story: list[list[str]], end: str, fates: list[tuple[int, bool]], who: str
) -> None:
    lived = asyncio.run(_lived(story, end, fates, who))
    if lived is None:
        return
    log, cast = lived
    event(f"{log.run.status}, {len(fates)} deaths")
    scheduled = {
        each.tool_call_id: each.tool_name
        for each in log.payloads(RecordType.TOOL_CALL_SCHEDULED)
        if isinstance(each, ToolCallScheduled)
    }
    for call_id, count in cast.ran.items():
        assert count == 1 or scheduled[call_id] == "again"
    _tells_what_happened(log, cast.ran)
    if who == "nobody":
        assert log.run.cancellation_reason is None
        assert log.run.status is not RunStatus.CANCELED


def _tells_what_happened(log: RunLog, ran: Counter[str]) -> None:
    """A result is of a tool that ran; a call of which it is said that it was not started has not run."""
    for result in log.payloads(RecordType.TOOL_RESULT_RECEIVED):
        assert isinstance(result, ToolResultReceived)
        if result.failure is None:
            assert ran[result.tool_call_id] >= 1
        elif "was not started" in result.failure.message:
            assert ran[result.tool_call_id] == 0
