"""Approvals are evidence: for one call, by somebody, until some time, used once. Anything else runs no tool."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from actum.base.errors import AlreadyAnswered, AnswerRefused, ApprovalExpired, InvalidValue, UnknownItem
from actum.base.value import ABSENT, load_json, replace
from actum.lifecycle.states import RunStatus
from actum.loop import keys
from actum.loop.world import Opening, RunRequest
from actum.messages.message import assistant, user
from actum.messages.parts import tool_use
from actum.records import makers
from actum.records.kinds import InputAnswered, ToolAuthorization
from actum.records.record import Follows, NewRecord
from actum.records.types import RecordType
from actum.runtime.begin import begin
from actum.runtime.consent import CallInQuestion, ConfirmRule, arguments_digest
from actum.runtime.given import Approval, PendingInput
from actum.storage.contract import OwnedStore
from actum.storage.memory import MemoryBackend
from actum.testing.samples import T0
from actum.tools.define import tool
from tests.support.chains import chain_of
from tests.support.runlogs import log_of
from tests.support.scenario import AGENT, RUN, SESSION, Cast, Gate, Worker, begun, onward, playing, uses

PAY = assistant(tool_use("pay", "pay", {"to": "bob", "amount": 10}))


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


class Till:
    """A tool that pays, and what it paid."""

    def __init__(self, gate: Gate | None = None) -> None:
        self.paid: list[tuple[str, int]] = []
        self._gate = gate

    def cast(self, *, confirm: bool = True, idempotent: bool = False) -> Cast:
        """The story: pay, once somebody has agreed."""

        async def pay(to: str, amount: int) -> str:
            """Pays somebody."""
            self.paid.append((to, amount))
            if self._gate is not None:
                await self._gate.passed()
            return "paid"

        return Cast(onward(PAY, "done")).takes(tool(confirm=confirm, idempotent=idempotent)(pay))


async def asked(worker: Worker) -> PendingInput:
    """The one thing that the story waits for, once it does."""
    out = await worker.client.run(SESSION, [user("go")], run_id=RUN, follows=Follows())
    assert out.status is RunStatus.SUSPENDED
    (item,) = await worker.runtime.pending(SESSION)
    return item


async def test_an_approval_is_recorded_before_anything_runs_with_all_that_it_is_bound_to(store: OwnedStore) -> None:
    till = Till()
    async with playing(store, till.cast()) as worker:
        item = await asked(worker)
        assert item.arguments == {"to": "bob", "amount": 10}
        until = worker.clock.now() + timedelta(hours=1)
        approval = Approval(approved=True, arguments_digest=item.arguments_digest, expires_at=until)
        done = await worker.runtime.continue_run(RUN, {item.item_id: approval}, by="ada")
    log = await log_of(store, done.run_id)
    types = [record.type for record in log.records]
    assert types.index(RecordType.TOOL_AUTHORIZATION) < types.index(RecordType.TOOL_CALL_STARTED)
    (given,) = log.payloads(RecordType.TOOL_AUTHORIZATION)
    assert isinstance(given, ToolAuthorization)
    assert given.arguments_digest == arguments_digest(bytes(PAY.tool_uses[0].input)) == item.arguments_digest
    assert (given.tool_version, given.decision, given.by) == (item.tool_version, "approved", "ada")
    assert (given.at, given.expires_at) == (T0, until)
    (answered,) = log.payloads(RecordType.INPUT_ANSWERED)
    assert isinstance(answered, InputAnswered)
    assert (answered.item_id, answered.by) == (item.item_id, "ada")
    assert till.paid == [("bob", 10)]
    await chain_of(store, RUN)


async def test_a_denial_gives_the_model_a_result_of_its_own(store: OwnedStore) -> None:
    till = Till()
    async with playing(store, till.cast()) as worker:
        item = await asked(worker)
        denial = Approval(approved=False, reason="not before lunch")
        out = await worker.runtime.continue_run(RUN, {item.item_id: denial}, by="ada")
    assert out.text == "done"
    chain = await chain_of(store, RUN)
    result = chain.results["pay"]
    assert result.is_error
    assert result.content == {"error": "denied", "message": "ada has denied this call: not before lunch"}
    assert till.paid == []


WRONG: list[object] = ["yes", 1, None, {"approve": True}, {"approved": "yes"}, {"approved": True, "more": 1}, []]


@pytest.mark.parametrize("answer", WRONG, ids=str)
async def test_only_a_yes_is_a_yes(store: OwnedStore, answer: object) -> None:
    till = Till()
    async with playing(store, till.cast()) as worker:
        item = await asked(worker)
        with pytest.raises(AnswerRefused):
            await worker.runtime.continue_run(RUN, {item.item_id: answer}, by="ada")
        assert await worker.runtime.pending(SESSION) == (item,)
    assert till.paid == []


async def test_an_approval_names_who_gives_it(store: OwnedStore) -> None:
    till = Till()
    async with playing(store, till.cast()) as worker:
        item = await asked(worker)
        with pytest.raises(AnswerRefused):
            await worker.runtime.continue_run(RUN, {item.item_id: True})
        for nobody in ("", " "):
            with pytest.raises(InvalidValue):
                await worker.runtime.continue_run(RUN, {item.item_id: True}, by=nobody)
    assert till.paid == []


async def test_an_approval_of_other_arguments_is_refused(store: OwnedStore) -> None:
    till = Till()
    async with playing(store, till.cast()) as worker:
        item = await asked(worker)
        seen = Approval(approved=True, arguments_digest=arguments_digest(b'{"to":"bob","amount":1}'))
        with pytest.raises(AnswerRefused):
            await worker.runtime.continue_run(RUN, {item.item_id: seen}, by="ada")
    assert till.paid == []


# Time


async def test_an_approval_may_come_too_late_and_a_denial_never(store: OwnedStore) -> None:
    till = Till()
    rule = ConfirmRule(answer_within=timedelta(minutes=5))
    async with playing(store, till.cast(), confirm=rule) as worker:
        item = await asked(worker)
        assert item.expires_at == T0 + timedelta(minutes=5)
        worker.clock.advance(300)
        with pytest.raises(ApprovalExpired):
            await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")
        await worker.runtime.continue_run(RUN, {item.item_id: False}, by="ada")
    assert till.paid == []
    await chain_of(store, RUN)


async def test_an_approval_that_has_expired_already_is_refused(store: OwnedStore) -> None:
    till = Till()
    async with playing(store, till.cast()) as worker:
        item = await asked(worker)
        late = Approval(approved=True, expires_at=T0)
        with pytest.raises(ApprovalExpired):
            await worker.runtime.continue_run(RUN, {item.item_id: late}, by="ada")
    assert till.paid == []


# Stale: between the approval and the call


async def continued_but_not_driven(store: OwnedStore, cast: Cast, approval: object) -> str:
    """A continuation that is stored and has done nothing yet: its worker died right after the start."""
    async with playing(store, cast) as worker:
        item = await asked(worker)
        prepared = await worker.runtime.prepare_continuation(RUN, {item.item_id: approval}, by="ada")
        requests: list[RunRequest] = []

        async def accept(request: RunRequest) -> None:
            requests.append(request)

        worker.engine.accept = accept  # type: ignore[method-assign]  # the worker dies before it drives anything
        await worker.runtime.start_prepared(prepared)
        (request,) = requests
        await begin(store, request)
    return prepared.run_id


async def test_an_approval_that_expires_before_the_call_runs_nothing(store: OwnedStore) -> None:
    till = Till()
    approval = Approval(approved=True, expires_at=T0 + timedelta(minutes=1))
    run_id = await continued_but_not_driven(store, till.cast(), approval)
    async with playing(store, till.cast()) as worker:
        worker.clock.advance(61)
        assert await worker.recover() == (run_id,)
    result = (await chain_of(store, RUN)).results["pay"]
    assert result.content["error"] == "denied"
    assert "expired" in result.content["message"]
    assert till.paid == []


async def test_a_tool_that_changed_after_the_approval_does_not_run(store: OwnedStore) -> None:
    till, changed = Till(), []
    run_id = await continued_but_not_driven(store, till.cast(), approval=True)

    def pay(to: str, amount: int, fee: int = 1) -> str:
        """Pays somebody, and a fee."""
        changed.append((to, amount, fee))
        return "paid"

    async with playing(store, Cast(onward(PAY, "done")).takes(tool(confirm=True)(pay))) as worker:
        assert await worker.recover() == (run_id,)
    result = (await chain_of(store, RUN)).results["pay"]
    assert result.content["error"] == "denied"
    assert "changed" in result.content["message"]
    assert (till.paid, changed) == ([], [])


async def test_a_rule_that_changed_after_the_approval_does_not_let_the_call_run(store: OwnedStore) -> None:
    till = Till()
    run_id = await continued_but_not_driven(store, till.cast(), approval=True)
    stricter = ConfirmRule(version="2", asks=lambda _: True)
    async with playing(store, till.cast(), confirm=stricter) as worker:
        assert await worker.recover() == (run_id,)
    result = (await chain_of(store, RUN)).results["pay"]
    assert "rule" in result.content["message"]
    assert till.paid == []


async def test_a_rule_that_changed_before_the_answer_makes_it_stale(store: OwnedStore) -> None:
    till = Till()
    async with playing(store, till.cast()) as worker:
        item = await asked(worker)
    stricter = ConfirmRule(version="2", asks=lambda _: True)
    async with playing(store, till.cast(), confirm=stricter) as worker:
        with pytest.raises(AnswerRefused):
            await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")
        await worker.runtime.continue_run(RUN, {item.item_id: False}, by="ada")
    assert till.paid == []


# Forged, foreign, replayed


def _record(run_id: str, key: str, kind: str, payload: bytes) -> NewRecord:
    return NewRecord(
        event_key=key,
        run_id=run_id,
        agent_id=AGENT,
        session_id=SESSION,
        type=kind,
        payload=payload,
        timestamp=T0,
    )


async def test_an_approval_written_into_a_running_runs_log_is_nobodys(store: OwnedStore) -> None:
    till, gate = Till(), Gate(1)
    cast = till.cast()
    cast.returns("slow", gate)
    story = Cast(onward(assistant(*PAY.tool_uses, *uses("slow").tool_uses), "done"))
    for spec in cast.tools:
        story.takes(spec)
    async with playing(store, story) as worker:
        await worker.start()
        await gate.reached.wait()
        (asked_for,) = [r for r in (await log_of(store, RUN)).records if r.type == RecordType.INPUT_REQUESTED]
        said = load_json(asked_for.payload)
        binding = said["data"]
        forged = makers.tool_authorization(
            tool_call_id="pay",
            arguments_digest=binding["arguments_digest"],
            tool_version=binding["tool_version"],
            policy_version=binding["policy_version"],
            decision="approved",
            by="mallory",
            at=T0,
        )
        answer = makers.input_answered(item_id=said["item_id"], answer_digest="0" * 64, by="mallory")
        await store.append_run_records(
            [
                _record(RUN, keys.authorized("pay"), RecordType.TOOL_AUTHORIZATION, forged),
                _record(RUN, keys.answered(said["item_id"]), RecordType.INPUT_ANSWERED, answer),
            ]
        )
        gate.opened.set()
        out = await worker.runtime.output(RUN)
        assert out.status is RunStatus.SUSPENDED
        assert till.paid == []
        (item,) = await worker.runtime.pending(SESSION)
        assert item.tool_call_id == "pay"


CHANGES: list[dict[str, object]] = [
    {"arguments_digest": arguments_digest(b'{"to":"mallory","amount":1000}')},
    {"tool_version": "0" * 64},
    {"policy_version": "mine"},
    {"tool_call_id": "another"},
    {"decision": "denied"},
]


@pytest.mark.parametrize("change", CHANGES, ids=[next(iter(each)) for each in CHANGES])
async def test_a_start_with_a_forged_authorization_runs_nothing(store: OwnedStore, change: dict[str, object]) -> None:
    till = Till()
    run_id = await _forged_start(store, till, lambda given: replace(given, **change), answered=True)
    async with playing(store, till.cast()) as worker:
        assert await worker.recover() == (run_id,)
    chain = await chain_of(store, RUN)
    assert chain.results["pay"].content["error"] == "denied"
    assert till.paid == []


async def test_a_start_that_claims_an_answer_without_evidence_runs_nothing(store: OwnedStore) -> None:
    till = Till()
    run_id = await _forged_start(store, till, lambda _: None, answered=True)
    async with playing(store, till.cast()) as worker:
        assert await worker.recover() == (run_id,)
    assert (await chain_of(store, RUN)).results["pay"].content["error"] == "denied"
    assert till.paid == []


async def test_evidence_without_an_answer_leaves_the_call_waiting(store: OwnedStore) -> None:
    till = Till()
    run_id = await _forged_start(store, till, lambda given: given, answered=False)
    async with playing(store, till.cast()) as worker:
        assert await worker.recover() == (run_id,)
        assert (await store.load_run(run_id)).status is RunStatus.SUSPENDED
        assert len(await worker.runtime.pending(SESSION)) == 1
    assert till.paid == []


async def _forged_start(
    store: OwnedStore, till: Till, forge: Callable[[ToolAuthorization], ToolAuthorization | None], *, answered: bool
) -> str:
    """A continuation whose start says something else than what a person said."""
    async with playing(store, till.cast()) as worker:
        item = await asked(worker)
        prepared = await worker.runtime.prepare_continuation(RUN, {item.item_id: True}, by="ada")
        requests: list[RunRequest] = []

        async def accept(request: RunRequest) -> None:
            requests.append(request)

        worker.engine.accept = accept  # type: ignore[method-assign]  # the request is caught, and changed
        await worker.runtime.start_prepared(prepared)
        (request,) = requests
        assert request.opening is not None
        (given,) = request.opening.authorizations
        forged = forge(given)
        opening = Opening(
            answered=request.opening.answered if answered else (),
            authorizations=(forged,) if forged is not None else (),
        )
        await begin(store, replace(request, opening=opening))
    return prepared.run_id


async def test_an_approval_of_another_run_and_a_second_use_are_refused(store: OwnedStore) -> None:
    till = Till()
    async with playing(store, till.cast()) as worker:
        item = await asked(worker)
        await worker.client.run(SESSION, [user("again")], run_id="side")
        (side,) = [each for each in await worker.runtime.pending(SESSION) if each.run_id == "side"]
        with pytest.raises(UnknownItem):
            await worker.runtime.continue_run(RUN, {side.item_id: True}, by="ada")
        first = await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")
        again = await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")
        assert again.run_id == first.run_id
        with pytest.raises(AlreadyAnswered):
            await worker.runtime.continue_run(RUN, {item.item_id: True}, by="mallory")
    assert till.paid == [("bob", 10)]


async def test_an_approval_is_used_once_also_by_a_tool_that_may_run_again(store: OwnedStore) -> None:
    gate = Gate()
    till = Till(gate)
    async with playing(store, till.cast(idempotent=True)) as worker:
        item = await asked(worker)
        handle = await worker.runtime.start_continuation(RUN, {item.item_id: True}, by="ada")
        await gate.reached.wait()
    async with playing(store, till.cast(idempotent=True)) as worker:
        assert await worker.recover() == (handle.run_id,)
    assert (await chain_of(store, RUN)).results["pay"].content["error"] == "outcome_unknown"
    assert till.paid == [("bob", 10)]


# The host's rule


async def test_a_rule_may_want_a_word_about_any_call(store: OwnedStore) -> None:
    till, seen = Till(), []

    def asks(call: CallInQuestion) -> bool:
        seen.append(call)
        return bool(call.arguments["amount"] > 5)

    rule = ConfirmRule(version="large-sums-1", asks=asks)
    async with playing(store, till.cast(confirm=False), confirm=rule) as worker:
        item = await asked(worker)
        assert item.tool_name == "pay"
        await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")
    assert (seen[0].tool_name, seen[0].session_id) == ("pay", SESSION)
    assert till.paid == [("bob", 10)]
    (given,) = (await chain_of(store, RUN)).logs[1].payloads(RecordType.TOOL_AUTHORIZATION)
    assert isinstance(given, ToolAuthorization)
    assert given.policy_version == "large-sums-1"


async def test_a_rule_that_breaks_asks_a_person(store: OwnedStore) -> None:
    till = Till()

    def asks(_: CallInQuestion) -> bool:
        raise ValueError("broken")

    async with playing(store, till.cast(confirm=False), confirm=ConfirmRule(version="1", asks=asks)) as worker:
        await asked(worker)
    assert till.paid == []


async def test_a_rule_that_says_no_lets_the_call_run(store: OwnedStore) -> None:
    till = Till()
    rule = ConfirmRule(version="1", asks=lambda _: False)
    async with playing(store, till.cast(confirm=False), confirm=rule) as worker:
        out = await worker.client.run(SESSION, [user("go")], run_id=RUN)
    assert out.status is RunStatus.COMPLETED
    assert till.paid == [("bob", 10)]


@pytest.mark.parametrize("text", [b"[]", b'{"to": "bob"}', b'{"to": 1, "amount": "x"}'])
async def test_nobody_is_asked_about_a_call_that_is_wrong_in_itself(store: OwnedStore, text: bytes) -> None:
    till = Till()
    wrong = (
        assistant(tool_use("pay", "pay", load_json(text)))
        if text != b"[]"
        else assistant(replace(PAY.tool_uses[0], input=ABSENT, input_text="[]"))
    )
    story = Cast(onward(wrong, "done"))
    for spec in till.cast().tools:
        story.takes(spec)
    async with playing(store, story) as worker:
        out = await worker.client.run(SESSION, [user("go")], run_id=RUN)
    assert out.status is RunStatus.COMPLETED
    assert (await chain_of(store, RUN)).results["pay"].content["error"] == "invalid_call"


def test_a_rule_says_which_rule_it_is() -> None:
    with pytest.raises(InvalidValue):
        ConfirmRule(asks=lambda _: True)
    with pytest.raises(InvalidValue):
        ConfirmRule(answer_within=timedelta())
    with pytest.raises(InvalidValue):
        ConfirmRule(version=" ")
