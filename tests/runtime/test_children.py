"""Agents as tools: real child runs, in a session and without one, side by side and inside each other."""

import asyncio

import pytest

from actum.base.errors import InvalidValue
from actum.lifecycle.states import RunStatus, StartOutcome
from actum.loop.limits import terms_of
from actum.messages.message import assistant, user
from actum.messages.parts import tool_use
from actum.planning.planner import PlanInput, PlanResult
from actum.planning.policy import RunPolicy, ToolRestriction
from actum.records.failures import FailureKind, Recovery, ToolFailure, ToolFailureKind
from actum.records.kinds import ChildRunLinked, RunRequested, ToolResultReceived
from actum.records.types import RecordType
from actum.runtime.children import child_run_id
from actum.storage.contract import OwnedStore
from actum.storage.memory import MemoryBackend
from actum.testing.samples import at
from actum.tools.call import ToolOutcome
from tests.support.frail import settled
from tests.support.runlogs import RunLog, proven
from tests.support.scenario import RUN, SESSION, Cast, Gate, asks, begun, playing, uses

CHILD = child_run_id(RUN, "sub")
GO = [user("go")]


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


def _received(log: RunLog, call_id: str) -> ToolResultReceived:
    found = [each for each in log.payloads(RecordType.TOOL_RESULT_RECEIVED) if isinstance(each, ToolResultReceived)]
    return next(each for each in found if each.tool_call_id == call_id)


async def test_a_call_of_an_agent_is_a_child_run_of_the_same_session(store: OwnedStore) -> None:
    sub = Cast(uses("look"), "it is fine", agent_id="sub").returns("look")
    cast = Cast(asks("sub"), "done").asking(sub)
    async with playing(store, cast) as worker:
        await worker.play(labels={"who": "ada"}, turn_id="t1")
    log, child = await proven(store, RUN), await proven(store, CHILD)
    assert (child.run.parent_run_id, child.run.tool_call_id) == (RUN, "sub")
    assert (child.run.session_id, child.run.agent_id) == (SESSION, "sub")
    assert child.run.labels == {"who": "ada"}
    assert [record.turn_id for record in child.records] == ["t1"] * len(child.records)
    assert [message.text for message in child.messages if message.text] == ["do sub", "it is fine"]
    assert log.results["sub"].content == "it is fine"
    assert _received(log, "sub").call_run_id == CHILD
    assert log.payloads(RecordType.CHILD_RUN_LINKED) == [
        ChildRunLinked(tool_name="sub", tool_call_id="sub", child_run_id=CHILD, child_agent_id="sub")
    ]
    assert (await store.load_session(SESSION)).head_run_id is None


async def test_children_run_side_by_side_and_answer_in_the_order_of_their_calls(store: OwnedStore) -> None:
    gate = Gate("slow")
    slow = Cast(uses("wait"), "slowly", agent_id="slow").returns("wait", gate)
    quick = Cast("quickly", agent_id="quick")
    cast = Cast(asks("a=slow", "b=quick", "c=quick"), "done").asking(slow).asking(quick)
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
        await worker.runtime.output(child_run_id(RUN, "b"))
        await worker.runtime.output(child_run_id(RUN, "c"))
        gate.opened.set()
        await worker.runtime.output(RUN)
    log = await proven(store, RUN)
    assert [part.content for part in log.messages[-2].tool_results] == ["slowly", "quickly", "quickly"]


@pytest.mark.parametrize("session", [True, False], ids=["session", "one-shot"])
async def test_a_child_may_ask_an_agent_itself(store: OwnedStore, *, session: bool) -> None:
    deep = Cast("42", agent_id="deep")
    sub = Cast(asks("deep"), "it says 42", agent_id="sub").asking(deep)
    cast = Cast(asks("sub"), "done").asking(sub)
    async with playing(store, cast) as worker:
        if session:
            await worker.play()
        else:
            await worker.client.run_one_shot(GO, run_id=RUN)
    grandchild = await proven(store, child_run_id(CHILD, "deep"))
    assert grandchild.run.parent_run_id == CHILD
    assert grandchild.run.session_id == (SESSION if session else None)
    assert (await proven(store, RUN)).results["sub"].content == "it says 42"


FAILURE = ToolFailure(kind=ToolFailureKind.RATE_LIMITED, message="later", recovery=Recovery.FINISH)


@pytest.mark.parametrize(
    "ends, kind, says",
    [
        (ValueError("no idea"), "internal", "no idea"),
        (PlanResult.failed(FailureKind.PROVIDER, "away"), "unavailable", "away"),
        (PlanResult.failed(FailureKind.REFUSAL, "declined"), "domain_rejection", "declined"),
        (PlanResult.failed(FailureKind.TIMEOUT, "too slow"), "timeout", "too slow"),
        (PlanResult.tool_result(ToolOutcome(failure=FAILURE)), "rate_limited", "later"),
    ],
)
async def test_a_child_that_failed_answers_with_a_failure(
    store: OwnedStore, ends: object, kind: str, says: str
) -> None:
    cast = Cast(asks("sub"), "done").asking(Cast(ends, agent_id="sub"))
    async with playing(store, cast) as worker:
        out = await worker.client.run(SESSION, GO, run_id=RUN)
    log = await proven(store, RUN)
    assert out.status is RunStatus.COMPLETED
    assert log.results["sub"].is_error
    assert log.results["sub"].content["error"] == kind
    assert says in log.results["sub"].content["message"]


@pytest.mark.parametrize("content", [{"a": [1, None]}, "", None, 0, False, '{"x": 1}', "text"])
async def test_a_final_tool_result_reaches_the_parent_as_it_is(store: OwnedStore, content: object) -> None:
    sub = Cast(PlanResult.tool_result(ToolOutcome(content=content)), agent_id="sub")
    async with playing(store, Cast(asks("sub"), "done").asking(sub)) as worker:
        await worker.play()
    log = await proven(store, RUN)
    assert (log.results["sub"].content, log.results["sub"].is_error) == (content, False)


async def test_the_result_of_a_terminal_tool_is_the_childs_answer(store: OwnedStore) -> None:
    sub = Cast(uses("end"), agent_id="sub").returns("end", {"answer": 7}, terminal=True)
    async with playing(store, Cast(asks("sub"), "done").asking(sub)) as worker:
        await worker.play()
    assert (await proven(store, RUN)).results["sub"].content == {"answer": 7}


async def test_an_answer_that_has_no_room_in_its_message_is_a_failure(store: OwnedStore) -> None:
    sub = Cast("x" * 9_000_000, agent_id="sub")
    async with playing(store, Cast(asks("a=sub", "b=sub"), "done").asking(sub)) as worker:
        await worker.play()
    log = await proven(store, RUN)
    assert {each.content["error"] for each in log.results.values()} == {"malformed_result"}


@pytest.mark.parametrize("arguments", [{}, {"message": ""}, {"message": 7}, {"message": "go", "more": 1}])
async def test_a_call_without_a_task_starts_no_child(store: OwnedStore, arguments: dict[str, object]) -> None:
    call = assistant(tool_use("sub", "sub", arguments))
    async with playing(store, Cast(call, "done").asking(Cast("never", agent_id="sub"))) as worker:
        await worker.play()
    log = await proven(store, RUN)
    assert log.results["sub"].content["error"] == "invalid_call"
    assert log.types[RecordType.CHILD_RUN_LINKED] == 0


async def test_an_agent_that_is_not_registered_starts_no_child(store: OwnedStore) -> None:
    cast = Cast(asks("sub"), "done").asking(Cast("never", agent_id="sub"))
    cast.asked.clear()
    async with playing(store, cast) as worker:
        await worker.play()
    log = await proven(store, RUN)
    assert log.results["sub"].content["error"] == "unavailable"
    assert log.types[RecordType.CHILD_RUN_LINKED] == 0


async def test_a_name_that_no_tool_may_have_is_refused() -> None:
    agent = Cast("hi", agent_id="odd name").agent()
    with pytest.raises(InvalidValue):
        agent.as_tool()
    assert agent.as_tool("named", "Ask it.").description == "Ask it."
    with pytest.raises(RuntimeError):
        agent.as_tool("named")(message="hi")


@pytest.mark.parametrize("at_once", ["tool", "plan"])
async def test_a_canceled_parent_ends_its_children_first(store: OwnedStore, at_once: str) -> None:
    gate = Gate()

    async def thinks(_: PlanInput) -> object:
        return await gate.passed()

    deep = Cast(thinks, agent_id="deep") if at_once == "plan" else Cast(uses("w"), agent_id="deep").returns("w", gate)
    sub = Cast(asks("deep"), "never", agent_id="sub").asking(deep)
    cast = Cast(asks("sub", "other"), "never").asking(sub).asking(Cast("kept", agent_id="other"))
    before = asyncio.all_tasks()
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
        await settled()
        await worker.runtime.cancel_run(RUN, "user_stop", by="ada")
        out = await worker.runtime.output(RUN)
        await settled()
        assert asyncio.all_tasks() == before
    logs = [await proven(store, each) for each in (RUN, CHILD, child_run_id(CHILD, "deep"))]
    assert out.cancellation == "user_stop"
    assert [log.run.cancellation_reason for log in logs] == ["user_stop"] * 3
    assert logs[0].results["sub"].content["error"] == "canceled"
    assert logs[0].results["other"].content == "kept"
    everything = (await store.list_session_run_records(SESSION, limit=1000)).items
    ends = [each.run_id for each in everything if each.type == RecordType.RUN_COMPLETED]
    assert ends[-3:] == [child_run_id(CHILD, "deep"), CHILD, RUN]


async def test_a_canceled_child_is_a_failed_call_of_its_parent(store: OwnedStore) -> None:
    gate = Gate()
    sub = Cast(uses("w"), "never", agent_id="sub").returns("w", gate)
    async with playing(store, Cast(asks("sub"), "done").asking(sub)) as worker:
        await worker.start()
        await gate.reached.wait()
        await worker.runtime.cancel_run(CHILD, "not_that_one")
        out = await worker.runtime.output(RUN)
    log = await proven(store, RUN)
    assert out.status is RunStatus.COMPLETED
    assert log.results["sub"].content["error"] == "canceled"
    assert "not_that_one" in log.results["sub"].content["message"]
    assert log.run.cancellation_reason is None


async def test_a_session_that_ends_before_a_child_starts_stops_child_and_parent(store: OwnedStore) -> None:
    async def ends(_: PlanInput) -> object:
        return asks("sub")

    cast = Cast(ends, "never").asking(Cast("never", agent_id="sub"))
    async with playing(store, cast) as worker:
        real = worker.engine._start_child  # noqa: SLF001 - the moment between the plan and the child's start

        async def late(step: object) -> None:
            await store.end_session(SESSION, at(5))
            await real(step)  # type: ignore[arg-type] # a step

        worker.engine._start_child = late  # type: ignore[method-assign] # noqa: SLF001 - the same
        await worker.play()
    log = await proven(store, RUN)
    child = await proven(store, CHILD)
    assert (child.run.status, child.run.start_outcome) == (RunStatus.CANCELED, StartOutcome.STOP)
    assert log.run.cancellation_reason == "session_ended"
    assert log.results["sub"].content["error"] == "canceled"


async def test_a_session_that_ends_in_the_middle_stops_the_whole_tree(store: OwnedStore) -> None:
    gate = Gate()
    sub = Cast(uses("w"), "never", agent_id="sub").returns("w", gate)
    async with playing(store, Cast(asks("sub"), "never").asking(sub)) as worker:
        await worker.start()
        await gate.reached.wait()
        await store.end_session(SESSION, at(5))
        worker.waits.look()
        await worker.runtime.output(RUN)
    for run_id in (RUN, CHILD):
        log = await proven(store, run_id)
        assert (log.run.status, log.run.cancellation_reason) == (RunStatus.CANCELED, "session_ended")


async def test_an_engine_that_stops_a_parent_stops_its_child(store: OwnedStore) -> None:
    gate = Gate()
    sub = Cast(uses("w"), "never", agent_id="sub").returns("w", gate)
    async with playing(store, Cast(asks("sub"), "never").asking(sub)) as worker:
        await worker.start()
        await gate.reached.wait()
        await worker.engine.cancel(RUN, "shutdown")
        out = await worker.runtime.output(RUN)
    assert out.cancellation == "engine_canceled"
    assert (await proven(store, CHILD)).run.cancellation_reason == "parent_ended"
    assert (await proven(store, RUN)).run.cancellation_reason is None


async def test_parked_with_its_child_a_tree_goes_on(store: OwnedStore) -> None:
    gate = Gate("found")
    sub = Cast(uses("w"), "it is there", agent_id="sub").returns("w", gate, idempotent=True)
    cast = Cast(asks("sub"), "done").asking(sub)
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
    gate.opened.set()
    async with playing(store, cast) as second:
        assert sorted(await second.runtime.recover()) == sorted([RUN, CHILD])
        await second.runtime.output(RUN)
    assert (await proven(store, RUN)).results["sub"].content == "it is there"
    assert sub.ran == {"w": 2}


async def test_what_a_run_may_not_use_its_children_may_not_use_either(store: OwnedStore) -> None:
    sub = Cast(uses("wipe"), "sub", agent_id="sub").returns("wipe", tags=["write"]).returns("look", tags=["read"])
    cast = Cast(asks("sub"), "done").asking(sub, tags=["read"])
    async with playing(store, cast) as worker:
        await worker.play(restrict=ToolRestriction(without_tags=("write",)))
    child = await proven(store, CHILD)
    assert child.results["wipe"].is_error
    assert sub.ran == {}
    assert [each.name for each in sub.inputs[0].tools] == ["look"]


async def test_a_child_has_the_time_that_its_parent_has_left(store: OwnedStore) -> None:
    sub = Cast("sub", agent_id="sub")
    async with playing(store, Cast(asks("sub"), "done").asking(sub)) as worker:
        await worker.play(policy=RunPolicy(time_budget=60))
    child = await proven(store, CHILD)
    requested = child.payloads(RecordType.RUN_REQUESTED)[0]
    assert isinstance(requested, RunRequested)
    assert terms_of(requested.options).policy.time_budget == 60


async def test_without_time_no_child_begins(store: OwnedStore) -> None:
    sub = Cast("sub", agent_id="sub")

    async def late(_: PlanInput) -> object:
        worker.clock.advance(61)
        return asks("sub")

    async with playing(store, Cast(late, "done").asking(sub)) as worker:
        await worker.play(policy=RunPolicy(time_budget=60))
    log = await proven(store, RUN)
    assert log.results["sub"].content["error"] == "timeout"
    assert sub.planned == {}
