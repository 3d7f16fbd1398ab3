"""Runs that wait for a person: suspended with a checkpoint, continued as a new run with what was answered."""

import asyncio

import pytest

from actum.base.errors import (
    AlreadyAnswered,
    AnswerRefused,
    ContinuationRefused,
    DurableDataError,
    InvalidValue,
    RunNotFound,
    SessionEnded,
    UnknownItem,
)
from actum.base.value import dump, replace
from actum.lifecycle.states import RunStatus, Suspension
from actum.loop.checkpoint import read_checkpoint, suspension_of
from actum.messages.message import user
from actum.planning.planner import AwaitInput, PlanResult, PlanResumeInput, Question
from actum.planning.policy import RunPolicy, ToolRestriction
from actum.records.failures import ToolFailure, ToolFailureKind
from actum.records.kinds import InputRequested, PendingKind, RunSuspended
from actum.records.types import RecordType
from actum.runtime.given import PendingInput, PreparedRun
from actum.runtime.inherit import load_checkpoint
from actum.storage.contract import OwnedStore
from actum.storage.memory import MemoryBackend
from actum.testing.samples import at
from actum.tools.call import ToolOutcome
from actum.tools.define import tool
from tests.support.chains import chain_of, first_turn
from tests.support.frail import settled
from tests.support.runlogs import log_of
from tests.support.scenario import RUN, SESSION, Cast, Gate, Worker, begun, onward, playing, uses

WHICH = PlanResult.awaiting(AwaitInput.clarification("which one?"))


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


async def pending(worker: Worker) -> dict[str, PendingInput]:
    """What the session waits for, by the id of its call, or by its prompt."""
    return {str(item.tool_call_id or item.prompt): item for item in await worker.runtime.pending(SESSION)}


async def test_a_question_suspends_the_run_and_its_answer_goes_on(store: OwnedStore) -> None:
    cast = Cast(onward(WHICH, "the red one it is"))
    async with playing(store, cast) as worker:
        out = await first_turn(worker)
        (item,) = await worker.runtime.pending(SESSION)
        assert (item.kind, item.prompt, item.run_id, item.asked_by) == (
            PendingKind.CLARIFICATION,
            "which one?",
            RUN,
            RUN,
        )
        assert await worker.runtime.pending(run_id=RUN) == (item,)
        done = await worker.runtime.continue_run(RUN, {item.item_id: "the red one"})
        assert await worker.runtime.pending(SESSION) == ()
    assert (done.status, done.text) == (RunStatus.COMPLETED, "the red one it is")
    chain = await chain_of(store, RUN)
    assert chain.statuses == [RunStatus.SUSPENDED, RunStatus.COMPLETED]
    assert [message.text for message in chain.messages] == ["go", "the red one", "the red one it is"]
    assert chain.messages[1].meta == {"item_id": item.item_id}
    assert out.suspension is not None
    assert isinstance(cast.inputs[-1], PlanResumeInput)
    assert (await store.load_session(SESSION)).head_run_id == done.run_id
    assert (await store.load_run(done.run_id)).chain_id == RUN


FALSY = [(False, "false"), (0, "0"), ("", '""'), (None, "null"), ([], "[]"), ({}, "{}")]


@pytest.mark.parametrize("answer, words", FALSY)
async def test_a_falsy_answer_is_an_answer(store: OwnedStore, answer: object, words: str) -> None:
    async with playing(store, Cast(onward(WHICH, "done"))) as worker:
        await first_turn(worker)
        (item,) = await worker.runtime.pending(SESSION)
        done = await worker.runtime.continue_run(RUN, {item.item_id: answer})
    assert done.status is RunStatus.COMPLETED
    assert (await chain_of(store, RUN)).messages[1].text == words


FORM = AwaitInput.questions(
    Question(id="colour", text="Which colour?", options=("red", "blue")),
    Question(id="sizes", text="Which sizes?", options=("s", "m", "l"), multiple=True),
    prompt="About your order",
)
WRONG_FORMS: list[object] = [
    "red",
    {},
    {"colour": "red"},
    {"colour": "red", "sizes": ["s"], "more": 1},
    {"colour": "green", "sizes": []},
    {"colour": ["red"], "sizes": ["s"]},
    {"colour": "red", "sizes": "s"},
    {"colour": "red", "sizes": ["s", "s"]},
    {"colour": None, "sizes": []},
]


async def test_a_form_of_single_and_multiple_choice(store: OwnedStore) -> None:
    async with playing(store, Cast(onward(PlanResult.awaiting(FORM), "done"))) as worker:
        await first_turn(worker)
        (item,) = await worker.runtime.pending(SESSION)
        assert item.kind is PendingKind.QUESTIONS
        for wrong in WRONG_FORMS:
            with pytest.raises(AnswerRefused):
                await worker.runtime.continue_run(RUN, {item.item_id: wrong})
        assert await worker.runtime.pending(SESSION) == (item,)
        await worker.runtime.continue_run(RUN, {item.item_id: {"colour": "red", "sizes": ["s", "l"]}})
    said = (await chain_of(store, RUN)).messages[1].text
    assert said == 'Which colour?\nred\n\nWhich sizes?\n["s","l"]'


async def test_what_is_not_answered_stays_pending_and_nobody_plans_meanwhile(store: OwnedStore) -> None:
    both = PlanResult.awaiting(AwaitInput.clarification("who?"), AwaitInput.clarification("when?"))
    cast = Cast(onward(both, both, "done"))
    async with playing(store, cast) as worker:
        await first_turn(worker)
        items = await pending(worker)
        second = await worker.runtime.continue_run(RUN, {items["when?"].item_id: "now"})
        assert second.status is RunStatus.SUSPENDED
        assert cast.planned == {0: 1}
        (left,) = await worker.runtime.pending(SESSION)
        assert (left.item_id, left.asked_by, left.run_id) == (items["who?"].item_id, RUN, second.run_id)
        done = await worker.runtime.continue_run(RUN, {left.item_id: "me"})
    assert done.text == "done"
    chain = await chain_of(store, RUN)
    assert [message.text for message in chain.messages] == ["go", "now", "me", "done"]
    assert chain.types(RecordType.INPUT_ANSWERED) == [0, 1, 1]


async def test_a_call_that_waits_lets_the_others_run_and_keeps_their_results(store: OwnedStore) -> None:
    cast = Cast(onward(uses("quick", "careful", "late"), "done"))
    cast.returns("quick", 1).returns("careful", 2, confirm=True).returns("late", 3)
    async with playing(store, cast) as worker:
        await first_turn(worker)
        assert cast.ran == {"quick": 1, "late": 1}
        suspended = await log_of(store, RUN)
        assert suspended.messages[-1].tool_uses
        (item,) = await worker.runtime.pending(SESSION)
        assert (item.kind, item.tool_name, item.arguments) == (PendingKind.CONFIRMATION, "careful", {})
        done = await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")
    assert done.text == "done"
    assert cast.ran == {"quick": 1, "late": 1, "careful": 1}
    chain = await chain_of(store, RUN)
    (results,) = [message for message in chain.messages if message.tool_results]
    assert [(part.tool_use_id, part.content) for part in results.tool_results] == [
        ("quick", 1),
        ("careful", 2),
        ("late", 3),
    ]
    assert chain.types(RecordType.TOOL_RESULT_RECEIVED) == [2, 1]


async def test_the_checkpoint_is_small_private_and_known_by_its_bytes(store: OwnedStore) -> None:
    secret = "x" * 10_000
    cast = Cast(onward(uses("quick", "careful"), "done")).returns("quick", secret).returns("careful", confirm=True)
    async with playing(store, cast) as worker:
        out = await first_turn(worker)
    held = await store.load_run_suspension(RUN)
    assert held.suspension_id == out.suspension
    assert len(held.data) < 1500
    checkpoint = await load_checkpoint(store, RUN)
    assert suspension_of(checkpoint) == held
    assert [(left.tool_call_id, left.result_run_id) for left in checkpoint.calls] == [("quick", RUN), ("careful", None)]
    (said,) = (await log_of(store, RUN)).payloads(RecordType.RUN_SUSPENDED)
    assert isinstance(said, RunSuspended)
    assert said.required_tools == ("careful",)
    for record in (await log_of(store, RUN)).records:
        assert held.data not in record.payload
    changed = dump(replace(checkpoint, step=1))
    with pytest.raises(DurableDataError):
        read_checkpoint(RUN, Suspension(suspension_id=held.suspension_id, data=changed))
    with pytest.raises(DurableDataError):
        read_checkpoint("another", held)


# External tools


def external() -> Cast:
    cast = Cast(onward(uses("fetch", "quick"), "done")).returns("quick", 1)

    def fetch() -> list[int]:
        """Fetches from elsewhere."""
        raise AssertionError

    return cast.takes(tool(external=True)(fetch))


@pytest.mark.parametrize("answer", [[1, 2], [], ToolOutcome(content=[3])], ids=["list", "empty", "outcome"])
async def test_an_external_tool_is_answered_by_the_application(store: OwnedStore, answer: object) -> None:
    cast = external()
    async with playing(store, cast) as worker:
        await first_turn(worker)
        items = await pending(worker)
        assert items["fetch"].kind is PendingKind.EXTERNAL_TOOLS
        for wrong in ["text", {"a": 1}, None]:
            with pytest.raises(AnswerRefused):
                await worker.runtime.continue_run(RUN, {items["fetch"].item_id: wrong})
        done = await worker.runtime.continue_run(RUN, {items["fetch"].item_id: answer})
    assert done.status is RunStatus.COMPLETED
    expected = answer.content if isinstance(answer, ToolOutcome) else answer
    chain = await chain_of(store, RUN)
    assert chain.results["fetch"].content == expected
    assert chain.types(RecordType.TOOL_CALL_STARTED) == [1, 0]


async def test_an_external_tool_may_fail(store: OwnedStore) -> None:
    async with playing(store, external()) as worker:
        await first_turn(worker)
        items = await pending(worker)
        failure = ToolFailure(kind=ToolFailureKind.UNAVAILABLE, message="the line is dead")
        await worker.runtime.continue_run(RUN, {items["fetch"].item_id: failure})
    result = (await chain_of(store, RUN)).results["fetch"]
    assert (result.is_error, result.content["error"]) == (True, "unavailable")


# What is refused


async def test_every_wrong_answer_has_its_own_error_and_writes_nothing(store: OwnedStore) -> None:
    async with playing(store, Cast(onward(WHICH, "done"))) as worker:
        await first_turn(worker)
        (item,) = await worker.runtime.pending(SESSION)
        before = await log_of(store, RUN)
        with pytest.raises(RunNotFound):
            await worker.runtime.continue_run("nobody", {item.item_id: "x"})
        with pytest.raises(InvalidValue):
            await worker.runtime.continue_run(RUN, {})
        with pytest.raises(UnknownItem):
            await worker.runtime.continue_run(RUN, {"item-nobody": "x"})
        with pytest.raises(UnknownItem):
            await worker.runtime.continue_run(RUN, {item.item_id: "x", "item-nobody": "x"})
        with pytest.raises(InvalidValue):
            await worker.runtime.continue_run(RUN, {item.item_id: float("nan")})
        with pytest.raises(AnswerRefused):
            await worker.runtime.continue_run(RUN, {item.item_id: ToolOutcome(content="x")})
        assert await log_of(store, RUN) == before
        done = await worker.runtime.continue_run(RUN, {item.item_id: "x"})
        for run_id in (RUN, done.run_id):
            with pytest.raises(AlreadyAnswered):
                await worker.runtime.continue_run(run_id, {item.item_id: "y"})
            again = await worker.runtime.continue_run(run_id, {item.item_id: "x"})
            assert again.run_id == done.run_id
            with pytest.raises(UnknownItem):
                await worker.runtime.continue_run(run_id, {"item-nobody": "x"})
    await chain_of(store, RUN)


async def test_an_answer_of_another_run_is_foreign(store: OwnedStore) -> None:
    async with playing(store, Cast(onward(WHICH, "done"))) as worker:
        await first_turn(worker)
        await worker.client.run(SESSION, [user("aside")], run_id="side")
        asked_by = {item.run_id: item.item_id for item in await worker.runtime.pending(SESSION)}
        assert set(asked_by) == {RUN, "side"}
        with pytest.raises(UnknownItem):
            await worker.runtime.continue_run(RUN, {asked_by["side"]: "x"})


async def test_an_ended_session_takes_no_answers(store: OwnedStore) -> None:
    async with playing(store, Cast(onward(WHICH, "done"))) as worker:
        await first_turn(worker)
        (item,) = await worker.runtime.pending(SESSION)
        prepared = await worker.runtime.prepare_continuation(RUN, {item.item_id: "x"})
        await store.end_session(SESSION, at(5))
        with pytest.raises(SessionEnded):
            await worker.runtime.continue_run(RUN, {item.item_id: "x"})
        with pytest.raises(SessionEnded):
            await worker.runtime.start_prepared(prepared)
        with pytest.raises(SessionEnded):
            await worker.runtime.withdraw(RUN)
    assert (await chain_of(store, RUN)).statuses == [RunStatus.SUSPENDED]


async def test_a_run_without_a_session_cannot_wait(store: OwnedStore) -> None:
    cast = Cast(onward(uses("careful"), "done")).returns("careful", confirm=True)
    async with playing(store, cast) as worker:
        out = await worker.client.run_one_shot([user("go")], run_id="one")
        assert out.text == "done"
        asked = await worker.client.run_one_shot([user("go")], run_id="two", labels={})
        assert asked.status is RunStatus.COMPLETED
    assert cast.ran == {}
    log = await log_of(store, "one")
    assert log.results["careful"].content["error"] == "denied"
    async with playing(store, Cast(WHICH)) as worker:
        out = await worker.client.run_one_shot([user("go")], run_id="three")
        with pytest.raises(ContinuationRefused):
            await worker.runtime.continue_run("three", {"item": 1})
    assert (out.status, out.failure is not None and out.failure.kind) == (RunStatus.FAILED, "planner")


# Prepared runs


async def test_an_application_keeps_a_prepared_run_and_starts_it_elsewhere(store: OwnedStore) -> None:
    cast = Cast(onward(uses("careful"), "done")).returns("careful", confirm=True)
    async with playing(store, cast) as worker:
        await first_turn(worker)
        (item,) = await worker.runtime.pending(SESSION)
        before = await log_of(store, RUN)
        prepared = await worker.runtime.prepare_continuation(RUN, {item.item_id: True}, by="ada")
        assert await log_of(store, RUN) == before
        kept = prepared.to_bytes()
    async with playing(store, cast) as worker:
        handle = await worker.runtime.start_prepared(PreparedRun.from_bytes(kept))
        out = await handle.wait()
        again = await worker.runtime.start_prepared(PreparedRun.from_bytes(kept))
        assert again.run_id == handle.run_id == prepared.run_id
        assert (await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")).run_id == handle.run_id
    assert out.text == "done"
    assert cast.ran == {"careful": 1}
    await chain_of(store, RUN)


async def test_a_prepared_run_that_was_changed_is_no_prepared_run(store: OwnedStore) -> None:
    cast = Cast(onward(uses("careful"), "done")).returns("careful", confirm=True)
    async with playing(store, cast) as worker:
        await first_turn(worker)
        (item,) = await worker.runtime.pending(SESSION)
        denied = await worker.runtime.prepare_continuation(RUN, {item.item_id: False}, by="ada")
        forged = denied.to_bytes().replace(b'"answer":false', b'"answer":true')
        assert forged != denied.to_bytes()
        with pytest.raises(InvalidValue):
            PreparedRun.from_bytes(forged)
        with pytest.raises(InvalidValue):
            PreparedRun.from_bytes(b"{}")
        approved = replace(denied, answers=tuple(replace(each, answer=True) for each in denied.answers))
        with pytest.raises(InvalidValue):
            await worker.runtime.start_prepared(PreparedRun.from_bytes(approved.to_bytes()))
    assert cast.ran == {}
    assert (await chain_of(store, RUN)).statuses == [RunStatus.SUSPENDED]


async def test_a_prepared_run_needs_its_agent_and_its_tools_as_they_were(store: OwnedStore) -> None:
    cast = Cast(onward(uses("careful"), "done")).returns("careful", confirm=True)
    async with playing(store, cast) as worker:
        await first_turn(worker)
        (item,) = await worker.runtime.pending(SESSION)
        prepared = await worker.runtime.prepare_continuation(RUN, {item.item_id: True}, by="ada")

    def careful(limit: int) -> str:
        """Another tool under the same name."""
        raise AssertionError(limit)

    changed = Cast("done").takes(tool(confirm=True)(careful))
    for other in (changed, Cast("done")):
        async with playing(store, other) as worker:
            with pytest.raises(AnswerRefused):
                await worker.runtime.start_prepared(prepared)
    async with playing(store, Cast("done", agent_id="another")) as worker:
        with pytest.raises(InvalidValue):
            await worker.runtime.start_prepared(prepared)


async def test_an_answer_waits_for_the_run_that_goes_on_and_is_judged_by_its_end(store: OwnedStore) -> None:
    gate = Gate(1)
    cast = Cast(onward(uses("a", "b"), "done")).returns("a", gate, confirm=True).returns("b", 2, confirm=True)
    async with playing(store, cast) as worker:
        await first_turn(worker)
        items = await pending(worker)
        first = asyncio.ensure_future(worker.runtime.continue_run(RUN, {items["a"].item_id: True}, by="ada"))
        await gate.reached.wait()
        second = asyncio.ensure_future(worker.runtime.continue_run(RUN, {items["b"].item_id: True}, by="bob"))
        third = asyncio.ensure_future(worker.runtime.continue_run(RUN, {items["a"].item_id: False}, by="eve"))
        await settled()
        gate.opened.set()
        assert (await first).status is RunStatus.SUSPENDED
        assert (await second).text == "done"
        with pytest.raises(AlreadyAnswered):
            await third
    chain = await chain_of(store, RUN)
    assert chain.statuses == [RunStatus.SUSPENDED, RunStatus.SUSPENDED, RunStatus.COMPLETED]
    assert cast.ran == {"a": 1, "b": 1}
    asked_again = chain.logs[1].payloads(RecordType.INPUT_REQUESTED)
    assert [each.run_id for each in asked_again if isinstance(each, InputRequested)] == [RUN]


async def test_the_time_in_which_a_person_thinks_counts_for_no_budget(store: OwnedStore) -> None:
    cast = Cast(onward(uses("careful"), uses("again"), "done"))
    cast.returns("careful", 1, confirm=True).returns("again", 2)
    async with playing(store, cast) as worker:
        await first_turn(worker, policy=RunPolicy(time_budget=100, max_tool_calls=2))
        (item,) = await worker.runtime.pending(SESSION)
        worker.clock.advance(10_000)
        out = await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")
    assert out.text == "done"
    assert cast.ran == {"careful": 1, "again": 1}
    terms = (await load_checkpoint(store, RUN)).terms
    assert (terms.policy.time_budget, terms.policy.max_tool_calls) == (100, 1)


async def test_restrictions_go_on_with_the_continuation(store: OwnedStore) -> None:
    cast = Cast(onward(uses("careful"), uses("other"), "done"))
    cast.returns("careful", 1, confirm=True).returns("other", 2)
    async with playing(store, cast) as worker:
        await first_turn(worker, restrict=ToolRestriction(tools=("careful",)))
        (item,) = await worker.runtime.pending(SESSION)
        await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")
    chain = await chain_of(store, RUN)
    assert chain.results["careful"].content == 1
    assert chain.results["other"].content["error"] == "denied"
    assert cast.ran == {"careful": 1}


async def test_a_suspended_run_that_cannot_be_read_stops_its_continuation_before_it_starts(store: OwnedStore) -> None:
    async with playing(store, Cast(onward(WHICH, "done"))) as worker:
        await first_turn(worker)
        (item,) = await worker.runtime.pending(SESSION)

        async def damaged(run_id: str) -> Suspension:
            return Suspension(suspension_id=f"sha256:{run_id}", data=b"{}")

        worker.runtime.store.load_run_suspension = damaged  # type: ignore[method-assign]  # bytes that rotted
        with pytest.raises(DurableDataError):
            await worker.runtime.continue_run(RUN, {item.item_id: "x"})
        del worker.runtime.store.load_run_suspension
        assert (await worker.runtime.continue_run(RUN, {item.item_id: "x"})).text == "done"


async def test_pending_is_asked_of_a_session_or_of_a_run(store: OwnedStore) -> None:
    async with playing(store, Cast("done")) as worker:
        with pytest.raises(InvalidValue):
            await worker.runtime.pending()
        with pytest.raises(InvalidValue):
            await worker.runtime.pending(SESSION, run_id=RUN)
        await worker.play()
        assert await worker.runtime.pending(run_id=RUN) == ()
        with pytest.raises(UnknownItem):
            await worker.runtime.continue_run(RUN, {"item": 1})
