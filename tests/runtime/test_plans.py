"""Planning through the runtime: whatever a planner raises or returns, the run comes to one end that fits."""

import asyncio
from typing import Any

import pytest

from actum.base.errors import ProviderError, StoreUnavailable
from actum.base.limits import LOOP_STEPS, MIB
from actum.lifecycle.states import RunStatus
from actum.messages.message import Message, Role, assistant, user
from actum.messages.parts import TextPart, tool_use
from actum.model.response import TextDelta, ToolUseDelta, Usage, UsageChunk
from actum.planning.history import KeepNewestTurns
from actum.planning.planner import ModelUsage, PlanInput, PlanResult, PlanResumeInput
from actum.records.failures import FailureKind, Recovery, ToolFailureKind
from actum.records.kinds import PlanDecided, ToolCallScheduled
from actum.records.record import HistoryRef
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.output import RunOutput
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing.script import ScriptedModel
from actum.tools.call import ToolOutcome
from actum.tools.failures import ToolError
from tests.support.frail import AwayBackend
from tests.support.runlogs import proven
from tests.support.scenario import AGENT, RUN, SESSION, Cast, begun, playing, uses


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


async def _played(store: OwnedStore, cast: Cast) -> RunOutput:
    async with playing(store, cast) as worker:
        await worker.play()
        out = await worker.runtime.output(RUN)
    await proven(store, RUN)
    return out


class OwnBaseError(BaseException):
    pass


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


RAISED: list[tuple[BaseException, FailureKind]] = [
    (ValueError("no"), FailureKind.PLANNER),
    (TimeoutError(), FailureKind.TIMEOUT),
    (asyncio.CancelledError(), FailureKind.PLANNER),
    (OwnBaseError("own"), FailureKind.PLANNER),
    (GeneratorExit(), FailureKind.PLANNER),
    (StopAsyncIteration(), FailureKind.PLANNER),
    (Unspeakable(), FailureKind.PLANNER),
    (ValueError("ж🔥" * 5000), FailureKind.PLANNER),
    (ValueError("\ud800"), FailureKind.PLANNER),
    (StoreUnavailable(reason="its own store"), FailureKind.PLANNER),
    (ProviderError(provider="p", operation="o", kind="rate_limited", message="slow down"), FailureKind.PROVIDER),
]


@pytest.mark.parametrize("error, kind", RAISED, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("step", [0, 1])
async def test_whatever_a_planner_raises_is_how_its_run_failed(
    store: OwnedStore, error: BaseException, kind: FailureKind, step: int
) -> None:
    cast = Cast(*[uses("a")] * step, error).returns("a")
    out = await _played(store, cast)
    assert out.status is RunStatus.FAILED
    assert out.failure is not None
    assert out.failure.kind is kind
    assert cast.planned[step] == 1


async def test_a_planner_that_cancels_its_own_task_stops_nobody_else(store: OwnedStore) -> None:
    async def cancels(_: PlanInput) -> object:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "never"

    out = await _played(store, Cast(cancels))
    assert out.failure is not None
    assert out.failure.message == "CancelledError: "


NONSENSE: list[object] = [
    None,
    {"final_response": "hi"},
    7,
    PlanResult.final(Message(role=Role.ASSISTANT, parts=("text",))),  # type: ignore[arg-type] # nonsense on purpose
    PlanResult.final(assistant("ok"), notes=(7,)),  # type: ignore[arg-type] # nonsense on purpose
    PlanResult.final(Message(role=Role.ASSISTANT, parts=(TextPart(text="\ud800"),))),
    PlanResult.final("x" * (17 * MIB)),
    PlanResult.calls(*[tool_use(f"c{n}", "a", {}) for n in range(1200)]),
]


@pytest.mark.parametrize("nonsense", NONSENSE, ids=range(len(NONSENSE)))
async def test_a_plan_that_cannot_be_taken_ends_the_run_with_the_reason(store: OwnedStore, nonsense: object) -> None:
    async def plan(_: PlanInput) -> object:
        return nonsense

    cast = Cast(plan).returns("a")
    out = await _played(store, cast)
    assert out.status is RunStatus.FAILED
    assert out.failure is not None
    assert out.failure.kind is FailureKind.PLANNER
    assert (cast.planned, cast.ran) == ({0: 1}, {})


async def test_an_answer_that_is_too_large_keeps_what_it_cost(store: OwnedStore) -> None:
    usage = (ModelUsage(model="m", usage=Usage(input=3, output=5)),)
    out = await _played(store, Cast(PlanResult.final("x" * (17 * MIB), usage=usage)))
    assert out.failure is not None
    assert out.failure.code == "too_large"
    assert (out.usage.input, out.usage.output) == (3, 5)


async def test_the_text_before_a_failure_is_kept_and_marked(store: OwnedStore) -> None:
    failed = PlanResult.failed(FailureKind.REFUSAL, "declined", remainder=assistant("Let me check"))
    out = await _played(store, Cast(uses("a"), failed).returns("a"))
    log = await proven(store, RUN)
    assert out.failure is not None
    assert (out.failure.kind, out.text) == (FailureKind.REFUSAL, "Let me check")
    assert log.messages[-1].meta == {"partial": True}
    async with playing(store, Cast("yes")) as worker:
        again = await worker.client.run(SESSION, [*log.messages, user("go on")])
    assert again.text == "yes"


BEGUN = [
    TextDelta(index=0, text="Let me check"),
    UsageChunk(usage=Usage(input=25)),
    ToolUseDelta(index=1, id="t1", name="a", input='{"city":"Ber'),
]
WHOLE = ToolUseDelta(index=1, input='lin"}')
GONE = ProviderError(provider="p", operation="stream", kind="connection", message="reset")
STREAMS: dict[str, list[Any]] = {
    "reset": [*BEGUN, GONE],
    "no stop": BEGUN,
    "reset after a whole call": [*BEGUN, WHOLE, GONE],
    "no stop after a whole call": [*BEGUN, WHOLE],
}


@pytest.mark.parametrize("chunks", STREAMS.values(), ids=STREAMS)
async def test_a_model_whose_stream_breaks_runs_no_tool_and_keeps_its_text(
    store: OwnedStore, chunks: list[Any]
) -> None:
    cast = Cast().returns("a")
    runtime = Runtime(store, listener=lambda _run, _step: lambda _chunk: None)
    runtime.register(Agent(AGENT, model=ScriptedModel([chunks, "on we go"]), tools=cast.tools))
    out = await runtime.client(AGENT).run(SESSION, [user("weather?")], run_id=RUN)
    log = await proven(store, RUN)
    assert out.failure is not None
    assert (out.failure.kind, out.text) == (FailureKind.PROVIDER, "Let me check")
    assert log.messages[-1].meta == {"partial": True}
    assert not any(message.tool_uses for message in log.messages)
    assert cast.ran == {}
    assert (out.usage.input, out.usage.output) == (25, None)
    again = await runtime.client(AGENT).run(SESSION, [*log.messages, user("go on")])
    await runtime.close()
    assert again.text == "on we go"


async def test_usage_is_the_sum_over_all_calls_and_unknown_where_one_is(store: OwnedStore) -> None:
    def used(count: int | None, cached: int | None = None) -> ModelUsage:
        return ModelUsage(model="m", usage=Usage(input=count, output=count, cache_read=cached))

    cast = Cast(
        PlanResult.calls(uses("a"), usage=(used(1), used(2, 4))), PlanResult.final("done", usage=(used(10, 1),))
    )
    out = await _played(store, cast.returns("a"))
    assert (out.usage.input, out.usage.output, out.usage.cache_read) == (13, 13, None)
    log = await proven(store, RUN)
    assert log.types[RecordType.USAGE] == 3


async def test_the_planner_sees_the_results_and_what_their_failures_ask_for(store: OwnedStore) -> None:
    def fails(recovery: Recovery) -> ToolError:
        return ToolError(ToolFailureKind.DOMAIN_REJECTION, "no", recovery)

    cast = Cast(uses("a", "b", "c"), "done").returns("a", 1)
    cast.returns("b", fails(Recovery.REPLAN)).returns("c", fails(Recovery.CORRECT_CALL))
    await _played(store, cast)
    resumed = cast.inputs[1]
    assert isinstance(resumed, PlanResumeInput)
    assert [part.tool_use_id for part in resumed.results] == ["a", "b", "c"]
    assert resumed.recovery is Recovery.CORRECT_CALL
    assert not resumed.finalize


async def test_a_failure_that_asks_to_finish_leads_to_one_last_plan(store: OwnedStore) -> None:
    stop = ToolError(ToolFailureKind.DENIED, "enough", Recovery.FINISH)
    cast = Cast(uses("a"), "sorry").returns("a", stop)
    out = await _played(store, cast)
    assert out.text == "sorry"
    assert cast.inputs[1].finalize
    assert cast.inputs[1].tools == ()


async def test_a_last_plan_that_calls_tools_breaks_the_limit(store: OwnedStore) -> None:
    calls = PlanResult.calls(uses("a"), synthesize_after_tools=True)
    cast = Cast(calls, uses("again=a")).returns("a")
    out = await _played(store, cast)
    assert out.failure is not None
    assert out.failure.kind is FailureKind.LIMIT
    assert cast.ran == {"a": 1}


async def test_a_synthesis_is_asked_for_after_the_tools(store: OwnedStore) -> None:
    calls = PlanResult.calls(uses("a"), synthesize_after_tools=True)
    cast = Cast(calls, "summed up").returns("a")
    await _played(store, cast)
    assert cast.inputs[1].finalize
    log = await proven(store, RUN)
    decided = log.payloads(RecordType.PLAN_DECIDED)[0]
    assert isinstance(decided, PlanDecided)
    assert decided.synthesize_after_tools


async def test_a_run_that_will_not_end_is_ended_at_its_bound(store: OwnedStore) -> None:
    async def again(plan_input: PlanInput) -> object:
        return "enough" if plan_input.finalize else uses("a")

    cast = Cast(again).returns("a")
    out = await _played_long(store, cast)
    assert out.text == "enough"
    assert cast.inputs[-1].finalize
    assert len(cast.inputs) == LOOP_STEPS


async def _played_long(store: OwnedStore, cast: Cast) -> RunOutput:
    async with playing(store, cast) as worker:
        await worker.play()
        return await worker.runtime.output(RUN)


async def test_a_tool_id_that_comes_again_is_another_call(store: OwnedStore) -> None:
    cast = Cast(uses("c1=a"), uses("c1=a", "c1#2=a"), "done").returns("a")
    await _played(store, cast)
    log = await proven(store, RUN)
    assert cast.ran == {"c1": 1, "c1#2": 1, "c1#2#2": 1}
    calls = [each for each in log.payloads(RecordType.TOOL_CALL_SCHEDULED) if isinstance(each, ToolCallScheduled)]
    assert [(call.tool_call_id, call.model_tool_call_id) for call in calls] == [
        ("c1", None),
        ("c1#2", "c1"),
        ("c1#2#2", "c1#2"),
    ]


@pytest.mark.parametrize("call_id", ["x" * 5000, " ", "\0", "ж" * 250, "a#b", "call"])
async def test_whatever_id_a_model_gives_its_call_is_answered_under_it(store: OwnedStore, call_id: str) -> None:
    cast = Cast(assistant(tool_use(call_id, "a", {})), "done").returns("a")
    out = await _played(store, cast)
    log = await proven(store, RUN)
    assert out.text == "done"
    assert list(log.results) == [call_id]


async def test_a_final_tool_result_is_the_answer(store: OwnedStore) -> None:
    out = await _played(store, Cast(PlanResult.tool_result(ToolOutcome(content={"c": 7}))))
    assert (out.status, out.text) == (RunStatus.COMPLETED, '{"c":7}')


async def test_notes_are_recorded_and_are_no_part_of_the_transcript(store: OwnedStore) -> None:
    out = await _played(store, Cast(PlanResult.final("done", notes=("one", "two"))))
    log = await proven(store, RUN)
    assert log.types[RecordType.PLANNER_NOTE] == 2
    assert [message.text for message in log.messages] == ["go", "done"]
    assert out.text == "done"


async def test_a_history_policy_changes_the_view_and_not_the_store(store: OwnedStore) -> None:
    async with playing(store, Cast("one")) as worker:
        await worker.play()
    first = await proven(store, RUN)
    cast = Cast("two")
    async with playing(store, cast, history=KeepNewestTurns(1)) as worker:
        await worker.client.run(SESSION, [*first.messages, user("next")], run_id="run-2")
    assert [message.text for message in await cast.inputs[0].prepare_messages()] == ["next"]
    assert [message.text for message in (await proven(store, "run-2")).messages] == ["go", "one", "next", "two"]


async def test_a_store_that_is_away_while_the_planner_reads_fails_no_plan() -> None:
    away = AwayBackend(MemoryBackend())
    store = await begun(away)

    async def reads(plan_input: PlanInput) -> object:
        if not away.refused:
            away.away = 1
        try:
            return f"{len(await plan_input.prepare_messages())} messages"
        except StoreUnavailable as error:
            raise ValueError("wrapped by the planner") from error

    async with playing(store, Cast("one")) as worker:
        await worker.play(run_id="run-0")
        before = await store.load_run("run-0")
    through = HistoryRef(run_id="run-0", through=before.end_record_id or "")
    cast = Cast(reads)
    async with playing(store, cast) as worker:
        out = await worker.client.run(SESSION, [user("and?")], run_id=RUN, history=through)
    assert out.text == "3 messages"
    assert cast.planned == {0: 2}
    await proven(store, RUN)


async def test_a_plan_that_was_thought_is_stored_when_the_store_comes_back() -> None:
    away = AwayBackend(MemoryBackend())
    store = await begun(away)
    away.reads_too = False

    async def thinks(plan_input: PlanInput) -> object:
        away.away = 4
        return uses("a") if plan_input.run.step == 0 else "done"

    cast = Cast(thinks).returns("a")
    async with playing(LocalStore(away), cast) as worker:
        await worker.play()
    assert cast.planned == {0: 1, 1: 1}
    assert cast.ran == {"a": 1}
    await proven(store, RUN)
