"""A host whose runs wait: pending items, answers after a restart, turns that are given up."""

from datetime import timedelta
from pathlib import Path

import pytest

from actum.base.errors import HeadMoved, SessionBusy, UnknownItem
from actum.host.host import Host
from actum.lifecycle.states import RunStatus
from actum.planning.planner import AwaitInput, PlanResult
from actum.records.kinds import PendingKind
from actum.records.record import Follows
from actum.runtime.consent import ConfirmRule
from actum.runtime.given import PreparedRun
from actum.testing.samples import T0
from actum.testing.script import CountingIds, ManualClock
from tests.support.chains import chain_of
from tests.support.scenario import Cast, onward, uses


def careful() -> Cast:
    """Pays once somebody has agreed, and talks on."""
    cast = Cast(onward(uses("pay"), "paid", "you are welcome"))
    return cast.returns("pay", "ok", confirm=True)


async def test_an_approval_survives_a_restart(tmp_path: Path) -> None:
    url, cast = f"sqlite:///{tmp_path / 'chat.db'}", careful()
    async with Host.open(url, agents=[cast.agent()]) as host:
        session = (await host.create_session()).session_id
        first = await host.run("helper", "pay him", session_id=session)
        assert first.status is RunStatus.SUSPENDED
        with pytest.raises(SessionBusy):
            await host.run("helper", "hello?", session_id=session)
    async with Host.open(url, agents=[cast.agent()]) as host:
        (item,) = await host.pending(session)
        assert (item.kind, item.tool_name, item.run_id) == (PendingKind.CONFIRMATION, "pay", first.run_id)
        assert await host.pending(run_id=first.run_id) == (item,)
        second = await host.continue_run(first.run_id, {item.item_id: True}, by="ada")
        assert second.text == "paid"
        third = await host.run("helper", "thanks", session_id=session)
        assert third.text == "you are welcome"
        assert [message.text for message in await host.transcript(third.run_id) if message.text] == [
            "pay him",
            "paid",
            "thanks",
            "you are welcome",
        ]
        await chain_of(host.store, first.run_id)
    assert cast.ran == {"pay": 1}


async def test_a_prepared_answer_is_kept_by_the_application(tmp_path: Path) -> None:
    url, cast = f"sqlite:///{tmp_path / 'chat.db'}", careful()
    async with Host.open(url, agents=[cast.agent()]) as host:
        session = (await host.create_session()).session_id
        first = await host.run("helper", "pay him", session_id=session)
        (item,) = await host.pending(session)
        kept = (await host.prepare_continuation(first.run_id, {item.item_id: True}, by="ada")).to_bytes()
        assert await host.pending(session) == (item,)
    async with Host.open(url, agents=[cast.agent()]) as host:
        handle = await host.start_prepared(PreparedRun.from_bytes(kept))
        assert (await handle.wait()).text == "paid"


async def test_a_turn_that_waits_is_superseded_on_request(tmp_path: Path) -> None:
    cast = careful()
    async with Host.open("memory:", agents=[cast.agent()]) as host:
        session = (await host.create_session()).session_id
        first = await host.run("helper", "pay him", session_id=session)
        (item,) = await host.pending(session)
        with pytest.raises(SessionBusy):
            await host.run("helper", "no, wait", session_id=session)
        with pytest.raises(HeadMoved):
            await host.run("helper", "no", session_id=session, follows=Follows(run_id="other", supersede=True))
        second = await host.run("helper", "no, wait", session_id=session, run_id="next", supersede=True)
        again = await host.run("helper", "no, wait", session_id=session, run_id="next", supersede=True)
        assert second.run_id == again.run_id == "next"
        assert second.text == "you are welcome"
        with pytest.raises(UnknownItem):
            await host.continue_run(first.run_id, {item.item_id: True}, by="ada")
        third = await host.run("helper", "more", session_id=session, supersede=True)
        assert third.status is RunStatus.COMPLETED
        await chain_of(host.store, "next")
    assert cast.ran == {}


async def test_a_withdrawn_turn_leaves_a_conversation_that_goes_on() -> None:
    async with Host.open("memory:", agents=[careful().agent()]) as host:
        session = (await host.create_session()).session_id
        first = await host.run("helper", "pay him", session_id=session)
        out = await host.withdraw(first.run_id)
        assert (out.status, out.cancellation) == (RunStatus.CANCELED, "withdrawn")
        assert await host.pending(session) == ()
        assert (await host.run("helper", "hello", session_id=session)).status is RunStatus.COMPLETED
        await chain_of(host.store, first.run_id)


async def test_the_hosts_rule_decides_what_is_confirmed() -> None:
    clock = ManualClock(T0)
    rule = ConfirmRule(version="pay-1", asks=lambda call: call.tool_name == "pay", answer_within=timedelta(hours=1))
    cast = Cast(onward(uses("look", "pay"), "done")).returns("look", 1).returns("pay", 2)
    async with Host.open("memory:", agents=[cast.agent()], confirm=rule, clock=clock, ids=CountingIds()) as host:
        session = (await host.create_session()).session_id
        first = await host.run("helper", "go", session_id=session)
        assert cast.ran == {"look": 1}
        (item,) = await host.pending(session)
        assert item.expires_at == T0 + timedelta(hours=1)
        await host.continue_run(first.run_id, {item.item_id: True}, by="ada")
    assert cast.ran == {"look": 1, "pay": 1}


async def test_a_watcher_of_the_session_sees_the_question_and_that_it_was_answered() -> None:
    cast = Cast(onward(PlanResult.awaiting(AwaitInput.clarification("which one?")), "that one"))
    async with Host.open("memory:", agents=[cast.agent()]) as host:
        session = (await host.create_session()).session_id
        first = await host.run("helper", "go", session_id=session)
        (item,) = await host.pending(session)
        second = await host.continue_run(first.run_id, {item.item_id: "the red one"})
        seen = [event.__struct_config__.tag async for event in host.events(first.run_id)]
        seen += [event.__struct_config__.tag async for event in host.events(second.run_id)]
    assert seen == [
        "workflow",
        "input_requested",
        "workflow",
        "run_stream_end",
        "input_answered",
        "workflow",
        "assistant_turn",
        "workflow",
        "run_stream_end",
    ]
