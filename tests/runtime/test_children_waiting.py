"""A child that waits for a person makes its parents wait; the answer goes through the root to the same tool call."""

import pytest

from actum.base.errors import AlreadyAnswered
from actum.lifecycle.states import RunStatus
from actum.loop.checkpoint import Checkpoint
from actum.messages.message import Message, user
from actum.planning.planner import AwaitInput, PlanResult
from actum.records.kinds import PendingKind
from actum.records.types import RecordType
from actum.runtime.children import child_run_id
from actum.runtime.given import PendingInput
from actum.runtime.inherit import load_checkpoint
from actum.storage.contract import OwnedStore
from actum.storage.memory import MemoryBackend
from tests.support.runlogs import log_of
from tests.support.scenario import RUN, SESSION, Cast, Worker, asks, begun, onward, playing, uses
from tests.support.trees import lawful

CHILD = child_run_id(RUN, "sub")
GO = [user("go")]


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


def careful(agent_id: str = "sub") -> Cast:
    """Edits once a person has agreed, then says what came of it."""
    return Cast(onward(uses("edit"), f"{agent_id} is done"), agent_id=agent_id).returns("edit", "edited", confirm=True)


async def waiting(worker: Worker) -> tuple[PendingInput, ...]:
    return await worker.runtime.pending(SESSION)


async def test_an_answer_through_the_root_resumes_the_childs_call(store: OwnedStore) -> None:
    sub = careful()
    cast = Cast(onward(asks("sub", "other"), "done")).asking(sub).asking(Cast("kept", agent_id="other"))
    async with playing(store, cast) as worker:
        first = await worker.client.run(SESSION, GO, run_id=RUN)
        assert first.status is RunStatus.SUSPENDED
        assert sub.ran == {}
        (item,) = await waiting(worker)
        assert (item.run_id, item.asked_by, item.kind) == (RUN, CHILD, PendingKind.CONFIRMATION)
        out = await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")
    assert (out.status, out.text) == (RunStatus.COMPLETED, "done")
    assert sub.ran == {"edit": 1}
    log = await log_of(store, out.run_id)
    child = await store.load_run(child_run_id(out.run_id, "sub"))
    assert (child.predecessor_run_id, child.parent_run_id, child.tool_call_id) == (CHILD, out.run_id, "sub")
    assert log.results["sub"].content == "sub is done"
    assert log.results["other"].content == "kept"
    assert (await store.load_run(CHILD)).successor_run_id == child.run_id
    await lawful(store)


async def test_two_children_are_answered_one_after_the_other(store: OwnedStore) -> None:
    left, right = careful("left"), careful("right")
    async with playing(store, Cast(onward(asks("left", "right"), "done")).asking(left).asking(right)) as worker:
        await worker.client.run(SESSION, GO, run_id=RUN)
        items = {item.agent_id: item.item_id for item in await waiting(worker)}
        assert set(items) == {"left", "right"}
        second = await worker.runtime.continue_run(RUN, {items["right"]: True}, by="ada")
        assert second.status is RunStatus.SUSPENDED
        assert (left.ran, right.ran) == ({}, {"edit": 1})
        assert [item.item_id for item in await waiting(worker)] == [items["left"]]
        with pytest.raises(AlreadyAnswered):
            await worker.runtime.continue_run(RUN, {items["right"]: False}, by="ada")
        out = await worker.runtime.continue_run(RUN, {items["left"]: True}, by="bob")
    assert (out.status, out.text) == (RunStatus.COMPLETED, "done")
    assert (left.ran, right.ran) == ({"edit": 1}, {"edit": 1})
    log = await log_of(store, out.run_id)
    assert {each: part.content for each, part in log.results.items()} == {
        "left": "left is done",
        "right": "right is done",
    }
    await lawful(store)


async def test_a_grandchilds_question_bubbles_to_the_root_and_its_answer_down(store: OwnedStore) -> None:
    asked = PlanResult.awaiting(AwaitInput(kind=PendingKind.CLARIFICATION, prompt="which one?"))
    deep = Cast(onward(asked, "that"), agent_id="deep")
    sub = Cast(onward(asks("deep"), "sub heard"), agent_id="sub").asking(deep)
    async with playing(store, Cast(onward(asks("sub"), "done")).asking(sub)) as worker:
        await worker.client.run(SESSION, GO, run_id=RUN)
        (item,) = await waiting(worker)
        assert (item.prompt, item.asked_by) == ("which one?", child_run_id(CHILD, "deep"))
        out = await worker.runtime.continue_run(RUN, {item.item_id: "the red one"})
    assert out.status is RunStatus.COMPLETED
    sub_again = child_run_id(out.run_id, "sub")
    deep_again = await log_of(store, child_run_id(sub_again, "deep"))
    assert [message.text for message in deep_again.messages] == ["do deep", "the red one", "that"]
    assert (await log_of(store, sub_again)).results["deep"].content == "that"
    await lawful(store)


async def test_several_questions_of_one_child_are_answered_one_by_one(store: OwnedStore) -> None:
    asked = [AwaitInput(kind=PendingKind.CLARIFICATION, prompt=each) for each in ("which?", "when?", "why?")]
    sub = Cast(onward(PlanResult.awaiting(*asked), "clear"), agent_id="sub")
    async with playing(store, Cast(onward(asks("sub"), "done")).asking(sub)) as worker:
        out = await worker.client.run(SESSION, GO, run_id=RUN)
        for left in (2, 1, 0):
            first = (await waiting(worker))[0]
            out = await worker.runtime.continue_run(RUN, {first.item_id: f"about {first.prompt}"})
            assert len(await waiting(worker)) == left
    assert out.text == "done"
    assert sub.planned == {0: 2}
    await lawful(store)


async def test_a_child_that_waits_twice_is_answered_twice(store: OwnedStore) -> None:
    sub = Cast(onward(uses("a"), uses("b"), "both"), agent_id="sub")
    sub.returns("a", confirm=True).returns("b", confirm=True)
    async with playing(store, Cast(onward(asks("sub"), "done")).asking(sub)) as worker:
        out = await worker.client.run(SESSION, GO, run_id=RUN)
        for _ in range(2):
            assert out.status is RunStatus.SUSPENDED
            (item,) = await waiting(worker)
            out = await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")
    assert out.text == "done"
    assert sub.ran == {"a": 1, "b": 1}
    await lawful(store)


async def test_a_denial_reaches_the_child_and_its_parent_goes_on(store: OwnedStore) -> None:
    sub = careful()
    async with playing(store, Cast(onward(asks("sub"), "done")).asking(sub)) as worker:
        await worker.client.run(SESSION, GO, run_id=RUN)
        (item,) = await waiting(worker)
        out = await worker.runtime.continue_run(RUN, {item.item_id: False}, by="ada")
    assert out.status is RunStatus.COMPLETED
    child = await log_of(store, child_run_id(out.run_id, "sub"))
    assert child.results["edit"].content["error"] == "denied"
    assert sub.ran == {}
    await lawful(store)


async def test_an_agent_may_need_a_word_before_it_is_asked(store: OwnedStore) -> None:
    sub = Cast("hi", agent_id="sub")
    async with playing(store, Cast(onward(asks("sub"), "done")).asking(sub, confirm=True)) as worker:
        await worker.client.run(SESSION, GO, run_id=RUN)
        (item,) = await waiting(worker)
        assert sub.planned == {}
        out = await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")
    assert (await log_of(store, out.run_id)).results["sub"].content == "hi"
    await lawful(store)


async def test_withdrawing_a_parent_gives_its_childs_questions_up(store: OwnedStore) -> None:
    sub = careful()
    async with playing(store, Cast(onward(asks("sub"), "done")).asking(sub)) as worker:
        await worker.client.run(SESSION, GO, run_id=RUN)
        out = await worker.runtime.withdraw(RUN, "no longer wanted")
        assert (out.status, out.cancellation) == (RunStatus.CANCELED, "no longer wanted")
        assert await waiting(worker) == ()
    log = await log_of(store, out.run_id)
    assert log.results["sub"].content["error"] == "canceled"
    assert (await store.load_run(CHILD)).successor_run_id is None
    await lawful(store)


async def test_a_checkpoint_points_at_the_children_and_holds_no_words(store: OwnedStore) -> None:
    async with playing(store, Cast(onward(asks("sub"), "done")).asking(careful())) as worker:
        await worker.client.run(SESSION, GO, run_id=RUN)
    checkpoint = await load_checkpoint(store, RUN)
    assert isinstance(checkpoint, Checkpoint)
    assert [(left.tool_call_id, left.child_run_id) for left in checkpoint.calls] == [("sub", CHILD)]
    assert [(item.run_id, item.through) for item in checkpoint.items] == [(CHILD, "sub")]
    suspension = await store.load_run_suspension(RUN)
    assert b"do sub" not in suspension.data


async def test_answers_survive_a_death_between_the_roots_start_and_the_childs(store: OwnedStore) -> None:
    sub = careful()
    cast = Cast(onward(asks("sub"), "done")).asking(sub)
    async with playing(store, cast) as worker:
        await worker.client.run(SESSION, GO, run_id=RUN)
        (item,) = await waiting(worker)
        handle = await worker.runtime.start_continuation(RUN, {item.item_id: True}, by="ada")
    async with playing(store, cast) as second:
        await second.recover()
        out = await second.runtime.output(handle.run_id)
    assert out.text == "done"
    assert sub.ran == {"edit": 1}
    await lawful(store)


def _added(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages]


async def test_the_same_run_asks_again_for_what_its_child_asked_first(store: OwnedStore) -> None:
    async with playing(store, Cast(onward(asks("sub"), "done")).asking(careful())) as worker:
        await worker.client.run(SESSION, GO, run_id=RUN)
    log = await log_of(store, RUN)
    assert log.types[RecordType.INPUT_REQUESTED] == 1
    assert log.records[-1].type == RecordType.RUN_SUSPENDED
    assert _added(log.messages)[0] == "go"
