import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from actum.base.errors import (
    HeadMoved,
    InvalidValue,
    RunConflict,
    SessionBusy,
    TranscriptError,
)
from actum.host.host import Host
from actum.lifecycle.states import RunStatus
from actum.messages.message import Role, assistant, system, user
from actum.messages.parts import ToolResultPart
from actum.records.record import Follows
from actum.transcript.validate import validate_planner_transcript
from tests.support.agents import Errand, speaker

Opening = Callable[..., Host]


async def test_a_conversation_is_carried_on_by_reference(open_host: Opening) -> None:
    async with open_host(speaker("one", "two")) as host:
        await host.create_session("s")
        first = await host.run("speaker", "1", session_id="s")
        second = await host.run("speaker", [user("2")], session_id="s", labels={"tab": "left"})
        run = await host.store.load_run(second.run_id)
        own = await host.store.list_run_records(second.run_id, types=["transcript_messages_seeded"])
        said = await host.transcript(second.run_id)
        runs = await host.runs("s")
    assert run.history is not None
    assert run.history.run_id == first.run_id
    assert run.labels == {"tab": "left"}
    assert own.items == ()
    assert [message.text for message in said] == ["1", "one", "2", "two"]
    assert [each.run_id for each in runs.items] == [first.run_id, second.run_id]


async def test_each_turn_has_an_id_made_or_given(open_host: Opening) -> None:
    async with open_host(speaker("one", "two")) as host:
        await host.create_session("s")
        made = await host.run("speaker", "1", session_id="s")
        given = await host.run("speaker", "2", session_id="s", turn_id="turn-2")
        turns = [
            {record.turn_id for record in (await host.store.list_run_records(out.run_id)).items}
            for out in (made, given)
        ]
    assert turns[1] == {"turn-2"}
    assert len(turns[0]) == 1
    assert None not in turns[0]


async def test_a_run_without_a_session_stands_alone(open_host: Opening) -> None:
    async with open_host(speaker("one")) as host:
        out = await host.run("speaker", "1")
        run = await host.store.load_run(out.run_id)
    assert out.text == "one"
    assert run.session_id is None


async def test_a_canceled_turn_is_history_of_the_next(open_host: Opening) -> None:
    errand = Errand()
    async with open_host(errand.agent, speaker("go on")) as host:
        await host.create_session("s")
        running = asyncio.ensure_future(host.run("runner", "go", session_id="s", run_id="r1"))
        await errand.begun.wait()
        await host.cancel_run("r1")
        canceled = await running
        out = await host.run("speaker", "what now?", session_id="s")
        said = await host.transcript(out.run_id)
    assert canceled.status is RunStatus.CANCELED
    validate_planner_transcript(said)
    assert [message.text for message in said if message.text] == ["go", "what now?", "go on"]


async def test_of_two_tabs_one_is_answered(open_host: Opening) -> None:
    async with open_host(speaker("one", "two", "three")) as host:
        await host.create_session("s")
        first = await host.run("speaker", "1", session_id="s")
        seen = Follows(run_id=first.run_id)
        await host.run("speaker", "left", session_id="s", follows=seen)
        with pytest.raises(HeadMoved) as refused:
            await host.run("speaker", "right", session_id="s", follows=seen)
        session = await host.session("s")
    assert refused.value.given == first.run_id
    assert refused.value.head_run_id == session.head_run_id


async def test_two_tabs_at_once_never_share_a_head(open_host: Opening) -> None:
    async with open_host(speaker("one", "two")) as host:
        await host.create_session("s")
        outs = await asyncio.gather(
            host.run("speaker", "left", session_id="s"),
            host.run("speaker", "right", session_id="s"),
            return_exceptions=True,
        )
        runs = (await host.runs("s")).items
    refused = [each for each in outs if isinstance(each, BaseException)]
    assert len(runs) == 1
    assert [type(each) for each in refused] in ([HeadMoved], [SessionBusy])


async def test_a_turn_waits_for_nobody(open_host: Opening) -> None:
    errand = Errand()
    async with open_host(errand.agent, speaker()) as host:
        await host.create_session("s")
        running = asyncio.ensure_future(host.run("runner", "go", session_id="s", run_id="r1"))
        await errand.begun.wait()
        with pytest.raises(SessionBusy) as refused:
            await host.run("speaker", "me too", session_id="s")
        errand.back.set()
        assert (await running).text == "It is done."
    assert (refused.value.run_id, refused.value.status) == ("r1", "running")


class TestExactRetry:
    async def test_gets_the_first_output_also_when_the_head_has_moved_on(self, open_host: Opening) -> None:
        async with open_host(speaker("one", "two")) as host:
            await host.create_session("s")
            first = await host.run("speaker", "1", session_id="s", run_id="r1")
            await host.run("speaker", "2", session_id="s", run_id="r2")
            again = await host.run("speaker", "1", session_id="s", run_id="r1")
            runs = (await host.runs("s")).items
        assert again == first
        assert len(runs) == 2

    async def test_gets_it_from_another_host_and_after_the_session_ended(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/chat.db"
        async with Host.open(url, agents=[speaker("one")]) as host:
            await host.create_session("s")
            first = await host.run("speaker", "1", session_id="s", run_id="r1")
            await host.end_session("s")
        async with Host.open(url, agents=[speaker()]) as host:
            assert await host.run("speaker", "1", session_id="s", run_id="r1") == first

    async def test_while_it_runs_it_waits_for_the_same_run(self, open_host: Opening) -> None:
        errand = Errand()
        async with open_host(errand.agent) as host:
            await host.create_session("s")
            both = [asyncio.ensure_future(host.run("runner", "go", session_id="s", run_id="r1")) for _ in range(2)]
            await errand.begun.wait()
            errand.back.set()
            first, second = await asyncio.gather(*both)
        assert first == second

    async def test_with_another_text_is_another_request(self, open_host: Opening) -> None:
        async with open_host(speaker("one")) as host:
            await host.create_session("s")
            await host.run("speaker", "1", session_id="s", run_id="r1")
            with pytest.raises(RunConflict):
                await host.run("speaker", "2", session_id="s", run_id="r1")
            with pytest.raises(RunConflict):
                await host.run("speaker", "1", session_id="s", run_id="r1", turn_id="mine")


async def test_messages_may_bring_what_was_said_elsewhere(open_host: Opening) -> None:
    before = [system("Be kind."), user("hi"), assistant("hello")]
    async with open_host(speaker("one")) as host:
        await host.create_session("s")
        out = await host.run("speaker", [*before, user("next")], session_id="s")
        said = await host.transcript(out.run_id)
    assert [message.role for message in said] == [
        Role.SYSTEM,
        Role.USER,
        Role.ASSISTANT,
        Role.USER,
        Role.ASSISTANT,
    ]


class TestBadMessages:
    @pytest.mark.parametrize("messages", ["", [], None, 7, ["text"], [assistant("me")], [system("only")], {"a": 1}])
    async def test_messages(self, open_host: Opening, messages: object) -> None:
        async with open_host(speaker()) as host:
            await host.create_session("s")
            with pytest.raises(InvalidValue):
                await host.run("speaker", messages, session_id="s")  # type: ignore[arg-type] # what a careless caller gives
            assert (await host.runs("s")).items == ()

    async def test_messages_that_break_the_law(self, open_host: Opening) -> None:
        async with open_host(speaker()) as host:
            await host.create_session("s")
            with pytest.raises(TranscriptError):
                await host.run("speaker", [user(ToolResultPart(tool_use_id="x"))], session_id="s")
