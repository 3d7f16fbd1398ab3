"""Where a run stands, told from records: calls, children, chain, prompts and costs, each counted once."""

import pytest

from actum.base.errors import RunNotFound
from actum.lifecycle.states import RunStatus
from actum.messages.message import Message, assistant, user
from actum.messages.parts import tool_use
from actum.model.response import Usage
from actum.planning.planner import AwaitInput, ModelUsage, PlanResult
from actum.records import makers
from actum.records.kinds import PendingKind, Phase
from actum.records.record import NewRecord
from actum.records.types import RecordType
from actum.runtime.children import child_run_id
from actum.runtime.snapshots import PromptRef, RunSnapshot
from actum.storage.contract import OwnedStore
from actum.storage.memory import MemoryBackend
from actum.testing.samples import T0
from tests.support.scenario import AGENT, RUN, SESSION, Cast, Gate, asks, begun, onward, playing, uses

CHILD = child_run_id(RUN, "sub")
GO = [user("go")]


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


def used(count: int | None) -> tuple[ModelUsage, ...]:
    """One model call with so many tokens in, and twice as many out."""
    return (ModelUsage(model="m", usage=Usage(input=count, output=None if count is None else 2 * count)),)


def says(answer: str, count: int | None) -> PlanResult:
    return PlanResult.final(answer, usage=used(count))


def calls(message: Message, count: int) -> PlanResult:
    return PlanResult.calls(message, usage=used(count))


async def test_a_run_in_the_middle_shows_what_is_open(store: OwnedStore) -> None:
    gate = Gate()
    sub = Cast(uses("w"), "sub", agent_id="sub").returns("w", gate)
    message = assistant(tool_use("a", "a", {}), tool_use("sub", "sub", {"message": "do it"}))
    async with playing(store, Cast(message, "done").returns("a", 1).asking(sub)) as worker:
        await worker.start(turn_id="t1")
        await gate.reached.wait()
        shot = await worker.runtime.snapshot(RUN)
        assert (shot.status, shot.phase) == (RunStatus.RUNNING, Phase.EXECUTING_TOOLS)
        (turn,) = shot.turns
        assert (turn.run_id, turn.turn_id) == (RUN, "t1")
        first, second = turn.calls
        assert (first.tool_name, first.attempts, first.result and first.result.content) == ("a", 1, 1)
        assert (second.child_run_id, second.attempts, second.result) == (CHILD, 0, None)
        (child,) = shot.children
        assert (child.run_id, child.status, child.turns[0].calls[0].attempts) == (CHILD, RunStatus.RUNNING, 1)
        gate.opened.set()
        await worker.runtime.output(RUN)
        done = await worker.runtime.snapshot(RUN)
    assert (done.status, done.last_answer, done.children[0].last_answer) == (RunStatus.COMPLETED, "done", "sub")
    assert (done.pending, done.failure, done.cancellation) == ((), None, None)


def _own(shot: RunSnapshot) -> list[int | None]:
    return [shot.usage.input, *[count for child in shot.children for count in _own(child)]]


async def test_usage_is_counted_once_over_children_and_chain(store: OwnedStore) -> None:
    deep = Cast(onward(PlanResult.calls(uses("edit"), usage=used(1)), says("deep", 10)), agent_id="deep")
    deep.returns("edit", confirm=True)
    sub = Cast(onward(calls(asks("deep"), 100), says("sub", 1_000)), agent_id="sub").asking(deep)
    cast = Cast(onward(calls(asks("sub"), 10_000), says("done", 100_000))).asking(sub)
    async with playing(store, cast) as worker:
        await worker.client.run(SESSION, GO, run_id=RUN)
        waiting = await worker.runtime.snapshot(RUN)
        assert waiting.status is RunStatus.SUSPENDED
        assert waiting.total_usage == Usage(input=10_101, output=20_202)
        assert [each.kind for each in waiting.pending] == [PendingKind.CONFIRMATION]
        out = await worker.runtime.continue_run(RUN, {waiting.pending[0].item_id: True}, by="ada")
        before, after = await worker.runtime.snapshot(RUN), await worker.runtime.snapshot(out.run_id)
        runs = await worker.runtime.continuations(RUN)
        assert runs == await worker.runtime.continuations(out.run_id)
    assert after.total_usage == before.total_usage == Usage(input=111_111, output=222_222)
    assert sorted([*_own(before), *_own(after)], key=str) == sorted([10_000, 100, 1, 100_000, 1_000, 10], key=str)
    assert [run.run_id for run in runs] == [RUN, out.run_id]
    assert (before.successor_run_id, after.predecessor_run_id) == (out.run_id, RUN)
    assert before.pending == ()
    (first, second) = after.turns
    assert (first.calls[0].result is not None, second.calls) == (True, ())
    assert first.calls[0].child_run_id == child_run_id(out.run_id, "sub")


async def test_a_count_that_one_call_does_not_know_is_unknown(store: OwnedStore) -> None:
    sub = Cast(says("sub", None), agent_id="sub")
    async with playing(store, Cast(calls(asks("sub"), 5), says("done", 6)).asking(sub)) as worker:
        await worker.play()
        shot = await worker.runtime.snapshot(RUN)
    assert (shot.usage, shot.total_usage) == (Usage(input=11, output=22), Usage())


async def test_a_chain_ends_where_a_new_turn_takes_its_place(store: OwnedStore) -> None:
    asked = PlanResult.awaiting(AwaitInput(kind=PendingKind.CLARIFICATION, prompt="which?"))
    async with playing(store, Cast(asked)) as worker:
        await worker.client.run(SESSION, GO, run_id=RUN)
        (item,) = (await worker.runtime.snapshot(RUN)).pending
        out = await worker.runtime.continue_run(RUN, {item.item_id: "that"})
        gone = await worker.runtime.withdraw(out.run_id, "enough")
        chain = await worker.runtime.continuations(out.run_id)
        shot = await worker.runtime.snapshot(gone.run_id)
        with pytest.raises(RunNotFound):
            await worker.runtime.continuations("nobody")
    assert [run.run_id for run in chain] == [RUN, out.run_id, gone.run_id]
    assert (shot.status, shot.cancellation, shot.pending) == (RunStatus.CANCELED, "enough", ())


async def test_prompts_are_found_over_the_whole_tree_in_order(store: OwnedStore) -> None:
    gate = Gate()
    sub = Cast(uses("w"), "sub", agent_id="sub").returns("w", gate)
    async with playing(store, Cast(asks("sub"), "done").asking(sub)) as worker:
        await worker.start()
        await gate.reached.wait()
        for run_id, agent_id, version in ((CHILD, "sub", "sha256:b"), (RUN, AGENT, "sha256:a")):
            for key in ("one", "two"):
                payload = makers.prompt_rendered(prompt_id="greeting", version=version)
                rendered = NewRecord(
                    event_key=f"x:{key}",
                    run_id=run_id,
                    agent_id=agent_id,
                    session_id=SESSION,
                    type=RecordType.PROMPT_RENDERED,
                    payload=payload,
                    timestamp=T0,
                )
                await store.append_run_record(rendered)
        gate.opened.set()
        await worker.runtime.output(RUN)
        refs = await worker.runtime.prompt_refs(RUN)
    assert refs == (
        PromptRef(run_id=RUN, prompt_id="greeting", version="sha256:a"),
        PromptRef(run_id=CHILD, prompt_id="greeting", version="sha256:b"),
    )
