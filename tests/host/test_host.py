import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from actum.base.errors import (
    CancellationConflict,
    HeadMoved,
    InvalidCursor,
    InvalidValue,
    NotFound,
    RunConflict,
    RunNotFound,
    SessionActive,
    SessionBusy,
    SessionConflict,
    SessionEnded,
    SessionNotFound,
    SessionPurged,
    TranscriptError,
)
from actum.host.host import Host
from actum.lifecycle.states import RunStatus, SessionStatus
from actum.messages.message import Role, assistant, system, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.records.failures import ToolFailureKind
from actum.records.record import Follows
from actum.runtime.agent import Agent
from actum.storage.opening import open_store
from actum.stream.events import AssistantTurn, RunStreamEnd, ToolEnd, ToolStart
from actum.testing.script import CountingIds, ManualClock, ScriptedModel
from actum.tools.define import tool
from actum.transcript.validate import validate_planner_transcript

Opening = Callable[..., Host]


class Errand:
    """A tool that does not come back until it is told to."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.back = asyncio.Event()
        self.canceled = False

    async def wait(self) -> str:
        """Go and come back."""
        self.begun.set()
        try:
            await self.back.wait()
        except asyncio.CancelledError:
            self.canceled = True
            raise
        return "done"

    @property
    def agent(self) -> Agent:
        model = ScriptedModel([tool_use("c1", "errand", {}), "It is done."])
        return Agent("runner", model=model, tools=[tool(name="errand")(self.wait)])


def speaker(*answers: str) -> Agent:
    return Agent("speaker", model=ScriptedModel(answers))


async def test_what_a_user_tries_first(url: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("three short words", encoding="utf-8")

    @tool
    def word_count(path: str) -> int:
        """Count the words of a text file."""
        return len(Path(path).read_text(encoding="utf-8").split())

    model = ScriptedModel([tool_use("c1", "word_count", {"path": str(readme)}), "3 words.", "There is no changelog."])
    helper = Agent("helper", model=model, instructions="Be brief.", tools=[word_count])
    async with Host.open(url, agents=[helper]) as host:
        session = await host.create_session(metadata={"user_id": "user-123"})
        result = await host.run("helper", "How long is README.md?", session_id=session.session_id)
        assert result.text == "3 words."
        seen = [event async for event in host.stream("helper", "And the changelog?", session_id=session.session_id)]
        assert [event.message.text for event in seen if isinstance(event, AssistantTurn)] == ["There is no changelog."]
        assert isinstance(seen[-1], RunStreamEnd)
        ended = await host.end_session(session.session_id)
    assert ended.status is SessionStatus.ENDED
    assert [message.text for message in model.requests[-1].messages][-2:] == ["3 words.", "And the changelog?"]


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


class TestRunSync:
    async def prepared(self, url: str) -> None:
        async with open_store(url) as store:
            await store.create_session("s", ManualClock().now())

    def test_a_host_that_is_not_open_opens_runs_and_closes(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/chat.db"
        asyncio.run(self.prepared(url))
        host = Host.open(url, agents=[speaker("one", "two")])
        assert host.run_sync("speaker", "1", session_id="s").text == "one"
        assert host.run_sync("speaker", "2", session_id="s", run_id="r2").text == "two"
        assert host.run_sync("speaker", "2", session_id="s", run_id="r2").text == "two"
        with pytest.raises(RuntimeError, match="not open"):
            _ = host.store

    async def test_an_open_host_is_called_from_another_thread(self, open_host: Opening) -> None:
        async with open_host(speaker("one")) as host:
            await host.create_session("s")
            out = await asyncio.to_thread(host.run_sync, "speaker", "1", session_id="s")
            assert (await host.session("s")).head_run_id == out.run_id
        assert out.text == "one"

    async def test_the_hosts_own_loop_is_never_stopped(self, open_host: Opening) -> None:
        async with open_host(speaker()) as host:
            with pytest.raises(RuntimeError, match="would stop the event loop"):
                host.run_sync("speaker", "1")
        with pytest.raises(RuntimeError, match="would stop the event loop"):
            host.run_sync("speaker", "1")


class TestCancel:
    async def test_in_the_middle_of_a_tool(self, open_host: Opening) -> None:
        errand = Errand()
        async with open_host(errand.agent) as host:
            await host.create_session("s")
            events = host.stream("runner", "go", session_id="s", run_id="r1")
            seen = []
            async for event in events:
                seen.append(event)
                if isinstance(event, ToolStart):
                    await errand.begun.wait()
                    await host.cancel_run("r1", "changed_my_mind")
                    await host.cancel_run("r1", "changed_my_mind")
                    with pytest.raises(CancellationConflict):
                        await host.cancel_run("r1", "another reason")
            out = await host.output("r1")
            said = await host.transcript("r1")
        assert errand.canceled
        assert (out.status, out.cancellation) == (RunStatus.CANCELED, "changed_my_mind")
        failures = [event.failure for event in seen if isinstance(event, ToolEnd)]
        assert [each.kind for each in failures if each is not None] == [ToolFailureKind.CANCELED]
        assert isinstance(seen[-1], RunStreamEnd)
        assert seen[-1].status == "canceled"
        validate_planner_transcript(said)

    async def test_of_an_unknown_run_is_refused(self, open_host: Opening) -> None:
        async with open_host() as host:
            with pytest.raises(RunNotFound):
                await host.cancel_run("nobody")


class TestEndAndPurge:
    async def test_a_session_that_ends_ends_what_runs_in_it(self, open_host: Opening) -> None:
        errand = Errand()
        async with open_host(errand.agent) as host:
            await host.create_session("s")
            running = asyncio.ensure_future(host.run("runner", "go", session_id="s", run_id="r1"))
            await errand.begun.wait()
            await host.end_session("s")
            out = await running
            with pytest.raises(SessionEnded):
                await host.run("runner", "more", session_id="s")
            with pytest.raises(SessionEnded):
                await host.create_session("s")
        assert (out.status, out.cancellation) == (RunStatus.CANCELED, "session_ended")
        assert errand.canceled

    async def test_what_is_purged_is_gone_for_ever(self, open_host: Opening) -> None:
        async with open_host(speaker("one")) as host:
            await host.create_session("s")
            out = await host.run("speaker", "1", session_id="s")
            with pytest.raises(SessionActive):
                await host.purge_session("s")
            await host.end_session("s")
            await host.purge_session("s")
            await host.purge_session("s")
            for gone in (host.session("s"), host.runs("s"), host.create_session("s"), host.end_session("s")):
                with pytest.raises(SessionPurged):
                    await gone
            with pytest.raises(SessionPurged):
                await host.run("speaker", "1", session_id="s", run_id="r9")
            with pytest.raises(SessionPurged):
                await anext(host.events(session_id="s"))
            for lost in (host.transcript(out.run_id), host.output(out.run_id)):
                with pytest.raises(NotFound):
                    await lost
            assert (await host.sessions()).items == ()

    async def test_a_running_run_is_not_purged(self, open_host: Opening) -> None:
        gate = asyncio.Event()

        async def stubborn() -> str:
            """Do not stop when asked."""
            begun.set()
            try:
                await gate.wait()
            except asyncio.CancelledError:
                await gate.wait()
            return "late"

        begun = asyncio.Event()
        model = ScriptedModel([tool_use("c1", "stubborn", {})])
        async with open_host(Agent("runner", model=model, tools=[tool(stubborn)])) as host:
            await host.create_session("s")
            running = asyncio.ensure_future(host.run("runner", "go", session_id="s"))
            await begun.wait()
            await host.end_session("s")
            with pytest.raises(SessionBusy):
                await host.purge_session("s")
            gate.set()
            assert (await running).status is RunStatus.CANCELED
            await host.purge_session("s")

    async def test_a_watcher_hears_that_its_session_was_purged(self, open_host: Opening) -> None:
        async with open_host(speaker("one")) as host:
            await host.create_session("s")
            await host.run("speaker", "1", session_id="s")
            async with aclosing(host.events(session_id="s")) as events:
                await anext(events)
                await host.end_session("s")
                await host.purge_session("s")
                with pytest.raises(SessionPurged):
                    async for _ in events:
                        pass


class TestSessions:
    async def test_are_made_found_and_listed(self, url: str) -> None:
        async with Host.open(url, clock=ManualClock(), ids=CountingIds()) as host:
            one = await host.create_session(metadata={"user_id": "u"}, tenant="t")
            two = await host.create_session()
            assert (one.session_id, two.session_id) == ("session-1", "session-2")
            assert await host.session("session-1") == one
            assert (await host.sessions(metadata={"user_id": "u"})).items == (one,)
            assert (await host.sessions(limit=1)).more
            assert await host.create_session("session-1", metadata={"user_id": "u"}, tenant="t") == one
            with pytest.raises(SessionConflict):
                await host.create_session("session-1", metadata={"user_id": "v"}, tenant="t")

    async def test_a_store_that_was_given_stays_open(self) -> None:
        async with open_store("memory:") as store:
            async with Host.open(store, agents=[speaker("one")]) as host:
                assert host.store is store
                await host.create_session("s")
                await host.run("speaker", "1", session_id="s")
            assert (await store.load_session("s")).head_run_id is not None

    async def test_an_open_host_is_not_opened_twice(self, open_host: Opening) -> None:
        async with open_host() as host:
            with pytest.raises(RuntimeError, match="open already"):
                await host.__aenter__()


class TestBadInput:
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

    @pytest.mark.parametrize("odd", ["", "  ", "a\0b", "\ud800", "x" * 513, 7, b"s"])
    async def test_ids(self, open_host: Opening, odd: str) -> None:
        async with open_host(speaker()) as host:
            await host.create_session("s")
            calls: list[Callable[[], Awaitable[object]]] = [
                lambda: host.create_session(odd),
                lambda: host.session(odd),
                lambda: host.runs(odd),
                lambda: host.end_session(odd),
                lambda: host.purge_session(odd),
                lambda: host.run("speaker", "hi", session_id=odd),
                lambda: host.run("speaker", "hi", session_id="s", run_id=odd),
                lambda: host.run("speaker", "hi", session_id="s", turn_id=odd),
                lambda: host.run("speaker", "hi", session_id="s", follows=Follows(run_id=odd)),
                lambda: host.cancel_run(odd),
                lambda: host.fork(odd),
                lambda: host.transcript(odd),
                lambda: host.output(odd),
                lambda: anext(host.events(odd)),
                lambda: anext(host.events(session_id=odd)),
                lambda: anext(host.stream("speaker", "hi", session_id="s", run_id=odd)),
            ]
            for call in calls:
                with pytest.raises(InvalidValue):
                    await call()
            assert (await host.runs("s")).items == ()

    @pytest.mark.parametrize("odd", ["nobody", "", 7, None, speaker()])
    async def test_agents(self, open_host: Opening, odd: str) -> None:
        async with open_host(speaker()) as host:
            with pytest.raises(InvalidValue, match="speaker"):
                await host.run(odd, "hi")

    async def test_an_agent_is_named_by_itself(self) -> None:
        agent = speaker("one")
        async with Host.open("memory:", agents=[agent]) as host:
            assert (await host.run(agent, "hi")).text == "one"

    async def test_labels_follows_and_unknown_sessions(self, open_host: Opening) -> None:
        async with open_host(speaker()) as host:
            await host.create_session("s")
            with pytest.raises(InvalidValue):
                await host.run("speaker", "hi", session_id="s", labels=["a"])  # type: ignore[arg-type] # a careless caller
            with pytest.raises(InvalidValue):
                await host.run("speaker", "hi", session_id="s", labels={"a": 1})  # type: ignore[dict-item] # the same
            with pytest.raises(InvalidValue):
                await host.run("speaker", "hi", session_id="s", follows="r1")  # type: ignore[arg-type] # the same
            with pytest.raises(InvalidValue):
                await host.run("speaker", "hi", follows=Follows(run_id="r1"))
            with pytest.raises(HeadMoved):
                await host.run("speaker", "hi", session_id="s", follows=Follows(run_id="r1"))
            with pytest.raises(SessionNotFound):
                await host.run("speaker", "hi", session_id="nowhere")
            assert (await host.runs("s")).items == ()

    @pytest.mark.parametrize(
        "odd",
        ["", "x", "0", "1.0", "0123456789abcdef-1", "0123456789abcdef-1.0", "0123456789abcdef-01.0", 7, "x" * 9999],
    )
    async def test_event_ids(self, open_host: Opening, odd: str) -> None:
        async with open_host(speaker("one")) as host:
            await host.create_session("s")
            out = await host.run("speaker", "1", session_id="s")
            for events in (host.events(out.run_id, after=odd), host.events(session_id="s", after=odd)):
                with pytest.raises(InvalidCursor):
                    await anext(events)

    async def test_event_ids_of_another_session_and_of_the_future(self, open_host: Opening) -> None:
        async with open_host(speaker("one", "two")) as host:
            await host.create_session("s")
            await host.create_session("t")
            out = await host.run("speaker", "1", session_id="s")
            other = await host.run("speaker", "2", session_id="t")
            last = [event.id async for event in host.events(out.run_id)][-1]
            assert last is not None
            scope, place = last.split("-")
            ahead = f"{scope}-{int(place.split('.')[0]) + 1}.0"
            for events in (host.events(other.run_id, after=last), host.events(out.run_id, after=ahead)):
                with pytest.raises(InvalidCursor):
                    await anext(events)

    async def test_events_are_of_one_run_or_one_session(self, open_host: Opening) -> None:
        async with open_host() as host:
            for events in (host.events(), host.events("r", session_id="s")):
                with pytest.raises(InvalidValue):
                    await anext(events)
            with pytest.raises(RunNotFound):
                await anext(host.events("r"))
            with pytest.raises(SessionNotFound):
                await anext(host.events(session_id="s"))

    def test_hosts(self) -> None:
        with pytest.raises(InvalidValue):
            Host.open(7)  # type: ignore[arg-type] # a careless caller
        with pytest.raises(InvalidValue):
            Host.open("memory:", agents=[speaker(), speaker()])
        with pytest.raises(InvalidValue):
            Host.open("memory:", agents=["speaker"])  # type: ignore[list-item] # a careless caller


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
