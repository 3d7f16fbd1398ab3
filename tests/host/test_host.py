import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from actum.base.errors import (
    CancellationConflict,
    HeadMoved,
    InvalidCursor,
    InvalidValue,
    RunNotFound,
    SessionConflict,
    SessionEnded,
    SessionNotFound,
)
from actum.host.host import Host
from actum.lifecycle.states import RunStatus, SessionStatus
from actum.memory.entries import MemoryEntry
from actum.messages.parts import tool_use
from actum.records.failures import ToolFailureKind
from actum.records.record import Follows
from actum.runtime.agent import Agent
from actum.storage.opening import open_store
from actum.stream.events import AssistantTurn, RunStreamEnd, ToolEnd, ToolStart
from actum.testing.script import CountingIds, ManualClock, ScriptedModel
from actum.tools.define import tool
from actum.transcript.validate import validate_planner_transcript
from tests.support.agents import Errand, speaker

Opening = Callable[..., Host]


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
        await host.store_memory(MemoryEntry.for_session(session.session_id, key="theme", value="dark"))
        entry = await host.get_memory("theme", session.session_id)
        assert entry is not None
        assert entry.value == "dark"
        ended = await host.end_session(session.session_id)
    assert ended.status is SessionStatus.ENDED
    assert [message.text for message in model.requests[-1].messages][-2:] == ["3 words.", "And the changelog?"]


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


class TestEnd:
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
        with pytest.raises(InvalidValue, match="agents"):
            Host.open("memory:", agents=None)  # type: ignore[arg-type] # a careless caller
