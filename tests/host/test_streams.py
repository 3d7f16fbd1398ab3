import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from actum.base.errors import ActumError, RunConflict, RunNotReady, SessionBusy, StoreUnavailable
from actum.host.host import Host
from actum.lifecycle.states import RunStatus
from actum.messages.message import Message, assistant, tool_results, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.model.request import ModelRequest
from actum.model.response import (
    Chunk,
    RefusalDelta,
    ResponseStarted,
    StopChunk,
    StopReason,
    TextDelta,
    ThinkingDelta,
    Usage,
    UsageChunk,
)
from actum.runtime.agent import Agent
from actum.stream.events import AssistantDelta, AssistantTurn, RunStreamEnd, ToolEnd, ToolStart, WorkflowEvent
from actum.stream.follow import Event
from actum.testing.script import ScriptedModel, ScriptedPlanner
from actum.tools.define import tool

Opening = Callable[..., Host]

CHUNKS: list[Chunk] = [
    ResponseStarted(response_id="resp-1"),
    ThinkingDelta(index=0, text="hm", signature="s", provider="p"),
    TextDelta(index=1, text="It is "),
    TextDelta(index=1, text=""),
    TextDelta(index=1, text="done."),
    UsageChunk(usage=Usage(input=3, output=2)),
    StopChunk(stop=StopReason.END_TURN),
]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def adder() -> Agent:
    model = ScriptedModel([tool_use("c1", "add", {"a": 1, "b": 2}), CHUNKS])
    return Agent("adder", model=model, tools=[add])


def recorded(events: list[Event]) -> list[Event]:
    return [event for event in events if not isinstance(event, AssistantDelta)]


async def test_a_turn_is_streamed_from_its_beginning_to_its_end(open_host: Opening) -> None:
    async with open_host(adder()) as host:
        await host.create_session("s")
        seen = [event async for event in host.stream("adder", "1 + 2?", session_id="s", run_id="r1")]
        again = [event async for event in host.events("r1")]
    assert [event.type for event in recorded(seen)] == [
        "workflow",
        "assistant_turn",
        "tool_start",
        "usage",
        "workflow",
        "tool_update",
        "tool_end",
        "workflow",
        "thinking",
        "assistant_turn",
        "usage",
        "workflow",
        "run_stream_end",
    ]
    assert again == recorded(seen)
    assert [event.content for event in seen if isinstance(event, ToolEnd)] == [3]
    assert {event.turn_id for event in seen} == {seen[0].turn_id}
    assert seen[0].turn_id is not None


async def test_deltas_grow_the_answer_that_its_turn_replaces(open_host: Opening) -> None:
    shown = asyncio.Event()

    class Patient(ScriptedModel):
        async def stream(self, request: ModelRequest):  # type: ignore[no-untyped-def] # noqa: ANN202 - a generator of chunks
            async for chunk in super().stream(request):
                if isinstance(chunk, StopChunk) and request.messages[-1].tool_results:
                    await shown.wait()  # a turn that is stored before anybody looked leaves no deltas to show
                yield chunk

    model = Patient([tool_use("c1", "add", {"a": 1, "b": 2}), CHUNKS])
    async with open_host(Agent("adder", model=model, tools=[add])) as host:
        await host.create_session("s")
        seen = []
        async with aclosing(host.stream("adder", "1 + 2?", session_id="s")) as events:
            async for event in events:
                seen.append(event)
                if isinstance(event, AssistantDelta) and event.text == "done.":
                    shown.set()
    deltas = [event for event in seen if isinstance(event, AssistantDelta)]
    turn = [event for event in seen if isinstance(event, AssistantTurn)][-1]
    assert [(each.part, each.kind, each.offset, each.text) for each in deltas] == [
        (0, "thinking", 0, "hm"),
        (1, "text", 0, "It is "),
        (1, "text", 6, "done."),
    ]
    assert {(each.response_id, each.attempt) for each in deltas} == {("resp-1", deltas[0].attempt)}
    assert turn.message.text == "It is done."
    assert turn.response_id == "resp-1"
    assert seen.index(deltas[-1]) < seen.index(turn)


async def test_an_answer_is_seen_while_it_grows(open_host: Opening) -> None:
    going_on = asyncio.Event()

    class Slow(ScriptedModel):
        async def stream(self, request: ModelRequest):  # type: ignore[no-untyped-def] # noqa: ANN202 - a generator of chunks
            async for chunk in super().stream(request):
                if isinstance(chunk, TextDelta) and chunk.text == "done.":
                    await going_on.wait()
                yield chunk

    async with open_host(Agent("slow", model=Slow([CHUNKS]))) as host:
        await host.create_session("s")
        async with aclosing(host.stream("slow", "go", session_id="s")) as events:
            seen = []
            async for event in events:
                seen.append(event)
                if isinstance(event, AssistantDelta) and event.text == "It is ":
                    going_on.set()  # only a watcher that saw the first half lets the second come
    assert isinstance(seen[-1], RunStreamEnd)


async def test_nothing_is_streamed_that_nobody_watches(open_host: Opening) -> None:
    streamed = []

    class Told(ScriptedModel):
        async def complete(self, request: ModelRequest):  # type: ignore[no-untyped-def] # noqa: ANN202 - a response
            streamed.append(False)
            return await super().complete(request)

    async with open_host(Agent("told", model=Told(["one", "two"]))) as host:
        await host.create_session("s")
        await host.run("told", "1", session_id="s")
        await anext(host.stream("told", "2", session_id="s"))
    assert streamed == [False]


async def test_what_a_model_declines_with_is_no_delta(open_host: Opening) -> None:
    chunks: list[Chunk] = [RefusalDelta(text="No."), StopChunk(stop=StopReason.REFUSAL)]
    async with open_host(Agent("no", model=ScriptedModel([chunks]))) as host:
        seen = [event async for event in host.stream("no", "go")]
    assert [event.type for event in seen] == ["workflow", "usage", "workflow", "run_stream_end"]


async def test_reconnecting_at_every_event_misses_and_repeats_nothing(open_host: Opening) -> None:
    async with open_host(adder()) as host:
        await host.create_session("s")
        out = await host.run("adder", "1 + 2?", session_id="s")
        await host.end_session("s")
        whole = [event async for event in host.events(out.run_id)]
        for number, event in enumerate(whole):
            for source in (
                host.events(out.run_id, after=event.id),
                host.events(session_id="s", after=event.id),
            ):
                assert [each async for each in source] == whole[number + 1 :]


async def test_leaving_a_stream_leaves_the_run_alone(open_host: Opening) -> None:
    async with open_host(adder()) as host:
        await host.create_session("s")
        async with aclosing(host.stream("adder", "1 + 2?", session_id="s", run_id="r1")) as events:
            first = await anext(events)
        out = await host.output("r1")
        rest = [event async for event in host.events("r1", after=first.id)]
    assert (out.status, out.text) == (RunStatus.COMPLETED, "It is done.")
    assert isinstance(rest[-1], RunStreamEnd)


async def test_cancelling_a_watcher_leaves_the_run_alone(open_host: Opening) -> None:
    gate = asyncio.Event()
    begun = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await gate.wait()
        return "ok"

    agent = Agent("waiter", model=ScriptedModel([tool_use("c", "wait", {}), "fine"]), tools=[wait])
    async with open_host(agent) as host:

        async def watch() -> None:
            async for _ in host.stream("waiter", "go", run_id="r1"):
                pass

        watching = asyncio.ensure_future(watch())
        await begun.wait()
        watching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watching
        gate.set()
        assert (await host.output("r1")).text == "fine"


async def test_an_exact_retry_of_a_stream_tells_it_again(open_host: Opening) -> None:
    async with open_host(adder()) as host:
        await host.create_session("s")
        first = [event async for event in host.stream("adder", "1 + 2?", session_id="s", run_id="r1")]
        again = [event async for event in host.stream("adder", "1 + 2?", session_id="s", run_id="r1")]
        with pytest.raises(RunConflict):
            await anext(host.stream("adder", "2 + 2?", session_id="s", run_id="r1"))
    assert again == recorded(first)


async def test_a_tail_tells_all_runs_of_a_session_until_it_has_ended(open_host: Opening) -> None:
    planner = ScriptedPlanner(["one", "two"])
    async with open_host(Agent("p", planner=planner)) as host:
        await host.create_session("s")
        first = await host.run("p", "1", session_id="s")

        async def tail() -> list[Event]:
            return [event async for event in host.events(session_id="s")]

        tailing = asyncio.ensure_future(tail())
        await asyncio.sleep(0)
        second = await host.run("p", "2", session_id="s")
        await host.end_session("s")
        seen = await tailing
    ends = [event.run_id for event in seen if isinstance(event, RunStreamEnd)]
    assert ends == [first.run_id, second.run_id]
    assert [event.message.text for event in seen if isinstance(event, AssistantTurn)] == ["one", "two"]


async def test_a_run_of_another_host_is_watched_too(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/chat.db"
    gate, begun = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await gate.wait()
        return "ok"

    agent = Agent("waiter", model=ScriptedModel([tool_use("c", "wait", {}), "fine"]), tools=[wait])
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            gate.set()
        await asyncio.sleep(0)

    async with Host.open(url, agents=[agent]) as here, Host.open(url, wait=pause) as there:
        await here.create_session("s")
        running = asyncio.ensure_future(here.run("waiter", "go", session_id="s", run_id="r1"))
        await begun.wait()
        seen = [event async for event in there.events("r1")]
        await running
    assert isinstance(seen[-1], RunStreamEnd)
    assert waits[:3] == sorted(waits[:3])


async def test_history_that_a_caller_brings_is_not_told_as_news(open_host: Opening) -> None:
    r1 = [
        user("What is 1 + 2?"),
        assistant(tool_use("t1", "add", {"a": 1, "b": 2})),
        tool_results(ToolResultPart(tool_use_id="t1", content=3)),
        assistant("It is 3."),
    ]
    async with open_host(Agent("p", planner=ScriptedPlanner(["done"]))) as host:
        await host.create_session("s")
        seen = [event async for event in host.stream("p", [*r1, user("next")], session_id="s", run_id="r2")]
        said = await host.transcript("r2")
    assert [event.message.text for event in seen if isinstance(event, AssistantTurn)] == ["done"]
    assert not [event for event in seen if isinstance(event, ToolStart | ToolEnd)]
    assert said == (*r1, user("next"), assistant("done"))


async def test_a_failed_run_says_why(open_host: Opening) -> None:
    async with open_host(Agent("p", planner=ScriptedPlanner([ValueError("no idea")]))) as host:
        seen = [event async for event in host.stream("p", "go")]
    told = [event for event in seen if isinstance(event, WorkflowEvent)][-1]
    assert told.status == "failed"
    assert told.failure is not None
    assert "no idea" in told.failure.message


async def test_a_refused_start_is_raised_and_watches_nothing(open_host: Opening) -> None:
    gate = asyncio.Event()

    async def slowly(_: object) -> Message:
        await gate.wait()
        return assistant("late")

    async with open_host(Agent("p", planner=ScriptedPlanner([slowly]))) as host:
        await host.create_session("s")
        events = host.stream("p", "1", session_id="s")
        await anext(events)
        with pytest.raises(SessionBusy):
            await anext(host.stream("p", "2", session_id="s"))
        gate.set()
        assert isinstance([event async for event in events][-1], RunStreamEnd)


async def test_a_host_that_closes_tells_its_watchers(open_host: Opening) -> None:
    begun = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait for ever."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    agent = Agent("waiter", model=ScriptedModel([tool_use("c", "wait", {})]), tools=[wait])
    async with open_host(agent) as host:
        await host.create_session("s")

        async def watch(events: object) -> list[Event]:
            return [event async for event in events]  # type: ignore[attr-defined] # any stream of this host

        watching = [
            asyncio.ensure_future(watch(host.stream("waiter", "go", session_id="s"))),
            asyncio.ensure_future(watch(host.events(session_id="s"))),
        ]
        await begun.wait()
    ended = await asyncio.gather(*watching, return_exceptions=True)
    assert all(isinstance(each, ActumError) for each in ended), ended
    assert all(isinstance(each, StoreUnavailable | RunNotReady) for each in ended)
