"""A host that opens a store with an interrupted run, and does not have that run's agent."""

import asyncio
import logging
from pathlib import Path

import pytest

from actum.base.errors import RunBusy, RunNotReady, RunPurged, SessionBusy, SessionPurged
from actum.host.host import Host
from actum.lifecycle.states import RunStatus
from actum.stream.events import RunStreamEnd, ToolStart
from actum.stream.follow import Event
from tests.support.agents import Errand, speaker


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/chat.db"


async def interrupted(url: str) -> None:
    """Run `r1` of session `s`, in the middle of its tool when its process goes."""
    errand = Errand()
    async with Host.open(url, agents=[errand.agent]) as host:
        await host.create_session("s")
        asking = asyncio.ensure_future(host.run("runner", "go", session_id="s", run_id="r1"))
        await errand.begun.wait()
        asking.cancel()


async def test_opening_says_in_the_log_what_is_interrupted_and_why(url: str, caplog: pytest.LogCaptureFixture) -> None:
    await interrupted(url)
    with caplog.at_level(logging.WARNING, logger="actum"):
        async with Host.open(url, agents=[speaker("one")]) as host:
            assert await host.runtime.recover() == ()
    (line,) = caplog.messages
    assert line == (
        "Run 'r1' stays as it is: its process is gone, and its agent 'runner' is not registered here; register the "
        "agent, or give the run up with the recovery policy 'fail'"
    )


async def test_nothing_is_logged_of_runs_that_live_or_go_on(url: str, caplog: pytest.LogCaptureFixture) -> None:
    errand = Errand()
    with caplog.at_level(logging.WARNING, logger="actum"):
        async with Host.open(url, agents=[errand.agent]) as host:
            await host.create_session("s")
            asking = asyncio.ensure_future(host.run("runner", "go", session_id="s", run_id="r1"))
            await errand.begun.wait()
            async with Host.open(url) as other:
                assert await other.runtime.recover("fail") == ()
            asking.cancel()
        async with Host.open(url, agents=[Errand().agent]) as host:
            await host.cancel_run("r1")
            await host.output("r1")
    assert caplog.messages == []


async def test_who_waits_for_a_run_that_cannot_go_on_here_hears_so(url: str) -> None:
    await interrupted(url)
    async with Host.open(url, agents=[speaker("one")]) as host:
        with pytest.raises(RunNotReady) as refused:
            await host.output("r1")
        assert "its agent 'runner' is not registered here" in str(refused.value)
        seen: list[Event] = []
        with pytest.raises(RunNotReady):
            await _watch(host, seen)
    assert any(isinstance(event, ToolStart) for event in seen)


async def test_who_waits_for_a_run_of_a_living_process_gets_its_end_without_its_agent(url: str) -> None:
    errand = Errand()
    async with Host.open(url, agents=[errand.agent]) as host, Host.open(url) as other:
        await host.create_session("s")
        asking = asyncio.ensure_future(host.run("runner", "go", session_id="s", run_id="r1"))
        await errand.begun.wait()
        waiting = asyncio.ensure_future(other.output("r1"))
        seen: list[Event] = []
        watching = asyncio.ensure_future(_watch(other, seen))
        await asyncio.sleep(0)
        await host.cancel_run("r1")
        await asking
        assert (await waiting).status is RunStatus.CANCELED
        await watching
    assert isinstance(seen[-1], RunStreamEnd)


async def _watch(host: Host, seen: list[Event]) -> None:
    async for event in host.events("r1"):
        seen.append(event)  # noqa: PERF401 - what was seen before an error counts


async def test_a_session_of_a_gone_agent_is_ended_settled_and_erased(url: str) -> None:
    await interrupted(url)
    async with Host.open(url) as host:
        await host.end_session("s")
        with pytest.raises(SessionBusy) as refused:
            await host.purge_session("s")
        assert refused.value.__notes__ == [
            "Run 'r1' is running and its process is gone: `host.runtime.settle('s')` brings it to its end"
        ]
        (out,) = await host.runtime.settle("s")
        assert (out.status, out.cancellation) == (RunStatus.CANCELED, "session_ended")
        await host.purge_session("s")
        with pytest.raises(SessionPurged):
            await host.session("s")


async def test_a_one_shot_run_of_a_gone_agent_is_completed_and_erased(url: str) -> None:
    errand = Errand()
    async with Host.open(url, agents=[errand.agent]) as host:
        asking = asyncio.ensure_future(host.run("runner", "go", run_id="r1"))
        await errand.begun.wait()
        with pytest.raises(RunBusy) as refused:
            await host.purge_one_shot("r1")
        assert refused.value.__notes__ == ["Run 'r1' is running: wait for its end, or cancel it first"]
        asking.cancel()
    async with Host.open(url) as host:
        await host.cancel_run("r1", "user_stop")
        with pytest.raises(RunBusy) as refused:
            await host.purge_one_shot("r1")
        assert "host.runtime.ensure_run_completion('r1')" in refused.value.__notes__[0]
        assert (await host.runtime.ensure_run_completion("r1")).cancellation == "user_stop"
        await host.purge_one_shot("r1")
        with pytest.raises(RunPurged):
            await host.output("r1")


async def test_a_stored_cancellation_is_carried_out_by_the_next_host_that_opens(url: str) -> None:
    await interrupted(url)
    async with Host.open(url) as host:
        await host.cancel_run("r1", "user_stop")
    async with Host.open(url) as host:
        out = await host.output("r1")
    assert (out.status, out.cancellation) == (RunStatus.CANCELED, "user_stop")


async def test_a_run_is_given_up_and_its_conversation_goes_on(url: str) -> None:
    await interrupted(url)
    async with Host.open(url, agents=[speaker("hello")]) as host:
        with pytest.raises(SessionBusy):
            await host.run("speaker", "hi", session_id="s")
        assert await host.runtime.recover("fail") == ("r1",)
        out = await host.output("r1")
        assert out.failure is not None
        assert out.failure.kind == "recovery"
        assert (await host.run("speaker", "hi", session_id="s")).text == "hello"
