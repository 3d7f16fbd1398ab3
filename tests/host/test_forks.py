from collections.abc import Callable

import pytest

from actum.base.errors import (
    HeadMoved,
    InvalidCursor,
    InvalidValue,
    RunConflict,
    RunNotFound,
    SessionBusy,
    SessionConflict,
    StoreUnavailable,
)
from actum.host.host import Host
from actum.host.verify import verify
from actum.lifecycle.states import RunStatus
from actum.messages.message import Message
from actum.messages.parts import tool_use
from actum.records.record import Record
from actum.runtime.agent import Agent
from actum.stream.events import AssistantTurn, RunStreamEnd
from actum.testing.script import ScriptedModel
from actum.tools.define import tool
from actum.transcript.validate import validate_planner_transcript

Opening = Callable[..., Host]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def teacher() -> Agent:
    calls = tool_use("c1", "add", {"a": 1, "b": 2})
    return Agent("teacher", model=ScriptedModel(["hello", calls, "It is 3.", "third", "forked"]), tools=[add])


async def lesson(host: Host) -> str:
    """A session of two turns; the second one uses a tool. Its last run."""
    await host.create_session("s", metadata={"user_id": "u"})
    await host.run("teacher", "hi", session_id="s", run_id="r1")
    await host.run("teacher", "1 + 2?", session_id="s", run_id="r2")
    return "r2"


async def logged(host: Host, run_id: str) -> dict[str, Record]:
    return {record.event_key: record for record in (await host.store.list_run_records(run_id)).items}


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages if message.text]


async def test_the_next_turn_goes_on_from_the_fork(open_host: Opening) -> None:
    agent = teacher()
    async with open_host(agent) as host:
        run_id = await lesson(host)
        await host.run("teacher", "and then?", session_id="s")
        fork = await host.fork(run_id)
        out = await host.run("teacher", "or else?", session_id=fork.session_id)
        said, old = await host.transcript(out.run_id), await host.transcript(run_id)
    assert fork.metadata == {"user_id": "u"}
    assert said[: len(old)] == old
    assert texts(said) == ["hi", "hello", "1 + 2?", "It is 3.", "or else?", "forked"]
    validate_planner_transcript(said)


async def test_a_fork_says_where_it_comes_from_and_tells_no_news(open_host: Opening) -> None:
    async with open_host(teacher()) as host:
        run_id = await lesson(host)
        through = (await logged(host, "r1"))["plan:0:message"].id
        fork = await host.fork(run_id, through, metadata={"why": "test"})
        assert fork.head_run_id is not None
        copy = await host.store.load_run(fork.head_run_id)
        events = [event async for event in host.events(copy.run_id)]
        said = await host.transcript(copy.run_id)
    assert fork.metadata == {"why": "test"}
    assert copy.labels == {"forked_from": run_id, "forked_through": through}
    assert copy.status is RunStatus.COMPLETED
    assert texts(said) == ["hi", "hello"]
    assert isinstance(events[-1], RunStreamEnd)
    assert not [event for event in events if isinstance(event, AssistantTurn)]


async def test_a_fork_never_cuts_between_a_call_and_its_result(open_host: Opening) -> None:
    async with open_host(teacher()) as host:
        run_id = await lesson(host)
        log = await logged(host, run_id)
        message = log["plan:0:message"].id
        started = next(record.id for key, record in log.items() if key.startswith("call:started"))
        for inside in (message, started):
            with pytest.raises(InvalidValue, match="waits for its result"):
                await host.fork(run_id, inside)
        answered = await host.fork(run_id, log["plan:0:results"].id)
        assert len((await host.sessions()).items) == 2
        assert answered.head_run_id is not None
        assert texts(await host.transcript(answered.head_run_id)) == ["hi", "hello", "1 + 2?"]


async def test_a_fork_outlives_what_it_came_from(open_host: Opening) -> None:
    async with open_host(teacher()) as host:
        run_id = await lesson(host)
        fork = await host.fork(run_id)
        await host.end_session("s")
        await host.purge_session("s")
        out = await host.run("teacher", "still there?", session_id=fork.session_id)
        assert texts(await host.transcript(out.run_id))[:4] == ["hi", "hello", "1 + 2?", "It is 3."]


async def test_the_same_fork_again_is_the_same_session(open_host: Opening) -> None:
    async with open_host(teacher()) as host:
        run_id = await lesson(host)
        fork = await host.fork(run_id, session_id="f")
        assert await host.fork(run_id, session_id="f") == fork
        assert len((await host.runs("f")).items) == 1
        with pytest.raises(RunConflict):
            await host.fork("r1", session_id="f")
        with pytest.raises(SessionConflict):
            await host.fork(run_id, session_id="f", metadata={"another": "one"})
        await host.run("teacher", "go on", session_id="f")
        moved = await host.fork(run_id, session_id="f")
        assert moved.head_run_id != fork.head_run_id


async def test_a_fork_that_broke_off_is_brought_to_its_end(open_host: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_host(teacher()) as host:
        run_id = await lesson(host)

        async def unavailable(_: object) -> None:
            raise StoreUnavailable(reason="full")

        with monkeypatch.context() as broken:
            broken.setattr(host.store, "record_run_terminal", unavailable)
            with pytest.raises(StoreUnavailable):
                await host.fork(run_id, session_id="f")
        with pytest.raises(SessionBusy):
            await host.run("teacher", "too early", session_id="f")
        fork = await host.fork(run_id, session_id="f")
        assert fork.head_run_id is not None
        assert texts(await host.transcript(fork.head_run_id)) == ["hi", "hello", "1 + 2?", "It is 3."]


async def test_a_store_with_forks_is_sound(open_host: Opening) -> None:
    async with open_host(teacher()) as host:
        run_id = await lesson(host)
        await host.run("teacher", "and then?", session_id=(await host.fork(run_id)).session_id)
        report = await verify(host.store)
    assert report.ok, report


async def test_a_fork_into_a_conversation_is_refused(open_host: Opening) -> None:
    async with open_host(teacher()) as host:
        run_id = await lesson(host)
        await host.create_session("t", metadata={"user_id": "u"})
        await host.run("teacher", "hi", session_id="t")
        with pytest.raises(HeadMoved):
            await host.fork(run_id, session_id="t")


async def test_a_one_shot_run_is_forked_into_a_session(open_host: Opening) -> None:
    async with open_host(teacher()) as host:
        out = await host.run("teacher", "hi")
        fork = await host.fork(out.run_id)
        assert fork.metadata == {}
        assert fork.head_run_id is not None
        assert texts(await host.transcript(fork.head_run_id)) == ["hi", "hello"]


async def test_a_cut_must_be_a_record_of_the_transcript(open_host: Opening) -> None:
    async with open_host(teacher()) as host:
        run_id = await lesson(host)
        await host.create_session("t")
        other = await host.run("teacher", "hi", session_id="t")
        foreign = (await logged(host, other.run_id))["transcript:input"].id
        first = (await logged(host, "r1"))["run_started"].id
        later = (await logged(host, run_id))["transcript:input"].id
        sessions = (await host.sessions()).items
        for odd in ("", "x", "a\0b"):
            with pytest.raises((InvalidValue, InvalidCursor)):
                await host.fork(run_id, odd)
        with pytest.raises((InvalidValue, InvalidCursor)):
            await host.fork(run_id, foreign)
        with pytest.raises(InvalidValue, match="message to go on from"):
            await host.fork("r1", first)
        with pytest.raises(InvalidValue, match="record of this run"):
            await host.fork("r1", later)
        with pytest.raises(RunNotFound):
            await host.fork("nobody")
        assert (await host.sessions()).items == sessions
