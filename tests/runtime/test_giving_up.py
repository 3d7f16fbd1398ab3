"""What waits is given up: withdrawn, superseded by another turn, or canceled with its run or session."""

from typing import Any

import pytest

from actum.base.errors import ContinuationRefused, InvalidValue, SessionBusy, UnknownItem
from actum.lifecycle.states import RunStatus
from actum.messages.message import user
from actum.records.kinds import ToolCallScheduled
from actum.records.record import Follows, HistoryRef
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore
from actum.storage.memory import MemoryBackend
from actum.testing.samples import at
from tests.support.chains import chain_of, first_turn
from tests.support.runlogs import log_of
from tests.support.scenario import RUN, SESSION, Cast, Gate, begun, onward, playing, uses


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


async def test_a_withdrawal_closes_the_calls_and_ends_canceled(store: OwnedStore) -> None:
    cast = Cast(onward(uses("quick", "careful"), "never")).returns("quick", 1).returns("careful", confirm=True)
    async with playing(store, cast) as worker:
        await first_turn(worker)
        (item,) = await worker.runtime.pending(SESSION)
        out = await worker.runtime.withdraw(RUN, "changed my mind")
        assert (out.status, out.cancellation) == (RunStatus.CANCELED, "changed my mind")
        assert (await worker.runtime.withdraw(RUN, "changed my mind")).run_id == out.run_id
        assert await worker.runtime.pending(SESSION) == ()
        with pytest.raises(UnknownItem):
            await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")
        with pytest.raises(ContinuationRefused):
            await worker.runtime.withdraw(RUN, "again")
        for word in ("session_ended", "engine_canceled", " "):
            with pytest.raises(InvalidValue):
                await worker.runtime.withdraw(RUN, word)
    chain = await chain_of(store, RUN)
    assert chain.statuses == [RunStatus.SUSPENDED, RunStatus.CANCELED]
    assert chain.results["quick"].content == 1
    assert chain.results["careful"].content["error"] == "canceled"
    assert cast.ran == {"quick": 1}


async def test_a_new_turn_supersedes_the_suspended_one(store: OwnedStore) -> None:
    cast = Cast(onward(uses("quick", "careful"), "never", "let us talk of something else"))
    cast.returns("quick", 1).returns("careful", confirm=True)
    async with playing(store, cast) as worker:
        await first_turn(worker)
        (item,) = await worker.runtime.pending(SESSION)
        head = await store.load_run(RUN)
        assert head.end_record_id is not None
        history = HistoryRef(run_id=RUN, through=head.end_record_id)
        with pytest.raises(SessionBusy):
            await worker.client.run(SESSION, [user("x")], follows=Follows(run_id=RUN), history=history)
        follows = Follows(run_id=RUN, supersede=True)
        ways: dict[str, Any] = {"run_id": "next", "follows": follows, "history": history}
        out = await worker.client.run(SESSION, [user("something else")], **ways)
        assert (await worker.client.run(SESSION, [user("something else")], **ways)).run_id == out.run_id
        assert out.text == "let us talk of something else"
        assert await worker.runtime.pending(SESSION) == ()
        with pytest.raises(UnknownItem):
            await worker.runtime.continue_run(RUN, {item.item_id: True}, by="ada")
    log = await log_of(store, "next")
    assert log.results["careful"].content["error"] == "canceled"
    assert log.results["quick"].content == 1
    assert log.types[RecordType.TURN_SUPERSEDED] == 1
    assert (log.run.chain_id, (await store.load_run(RUN)).successor_run_id) == ("next", "next")
    assert cast.ran == {"quick": 1}
    await chain_of(store, RUN)
    await chain_of(store, "next")


async def test_a_superseding_turn_may_use_the_id_of_a_call_that_it_closed(store: OwnedStore) -> None:
    cast = Cast(onward(uses("1=quick", "2=careful"), "never", uses("1=quick", "2=quick"), "done"))
    cast.returns("quick", 1).returns("careful", confirm=True)
    async with playing(store, cast) as worker:
        await first_turn(worker)
        history = HistoryRef(run_id=RUN, through=(await store.load_run(RUN)).end_record_id or "")
        follows = Follows(run_id=RUN, supersede=True)
        out = await worker.client.run(SESSION, [user("again")], run_id="next", follows=follows, history=history)
    assert (out.status, out.text) == (RunStatus.COMPLETED, "done")
    scheduled = (await log_of(store, "next")).payloads(RecordType.TOOL_CALL_SCHEDULED)
    names = [(each.tool_call_id, each.model_tool_call_id) for each in scheduled if isinstance(each, ToolCallScheduled)]
    assert names == [("1", None), ("2#2", "2")]
    await chain_of(store, "next")


async def test_a_canceled_run_does_not_suspend(store: OwnedStore) -> None:
    gate = Gate(1)
    cast = Cast(uses("slow", "careful"), "never").returns("slow", gate).returns("careful", confirm=True)
    async with playing(store, cast) as worker:
        await worker.start()
        await gate.reached.wait()
        await worker.runtime.cancel_run(RUN, "user_stop")
        out = await worker.runtime.output(RUN)
    assert (out.status, out.cancellation) == (RunStatus.CANCELED, "user_stop")
    chain = await chain_of(store, RUN)
    assert chain.results["careful"].content["error"] == "canceled"
    assert chain.types(RecordType.RUN_SUSPENDED) == [0]


async def test_a_session_that_ends_before_the_suspension_cancels_the_run(store: OwnedStore) -> None:
    async def ends() -> str:
        await store.end_session(SESSION, at(5))
        return "ended"

    cast = Cast(uses("end", "careful"), "never").does("end", ends).returns("careful", confirm=True)
    async with playing(store, cast) as worker:
        out = await worker.client.run(SESSION, [user("go")], run_id=RUN)
    assert (out.status, out.cancellation) == (RunStatus.CANCELED, "session_ended")
    await chain_of(store, RUN)


async def test_a_continuation_that_is_canceled_closes_what_it_inherited(store: OwnedStore) -> None:
    gate = Gate()
    cast = Cast(onward(uses("quick", "careful"), "never")).returns("quick", 1).returns("careful", gate, confirm=True)
    async with playing(store, cast) as worker:
        await first_turn(worker)
        (item,) = await worker.runtime.pending(SESSION)
        handle = await worker.runtime.start_continuation(RUN, {item.item_id: True}, by="ada")
        await gate.reached.wait()
        await handle.cancel("user_stop")
        out = await handle.wait()
    assert out.cancellation == "user_stop"
    chain = await chain_of(store, RUN)
    assert chain.results["quick"].content == 1
    assert chain.results["careful"].content["error"] == "canceled"
