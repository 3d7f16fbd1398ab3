import asyncio
from collections.abc import Callable
from contextlib import aclosing

import pytest

from actum.base.errors import (
    NotFound,
    SessionActive,
    SessionBusy,
    SessionPurged,
)
from actum.host.host import Host
from actum.lifecycle.states import RunStatus
from actum.messages.message import system, user
from actum.messages.parts import tool_use
from actum.planning.history import KeepNewestTurns
from actum.runtime.agent import Agent
from actum.testing.script import ScriptedModel
from actum.tools.define import tool
from tests.support.agents import speaker

Opening = Callable[..., Host]


async def test_what_is_purged_is_gone_for_ever(open_host: Opening) -> None:
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


async def test_a_running_run_is_not_purged(open_host: Opening) -> None:
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


async def test_a_watcher_hears_that_its_session_was_purged(open_host: Opening) -> None:
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


async def test_nothing_of_a_purged_session_stays_in_memory(open_host: Opening) -> None:
    model = ScriptedModel(["one", "two", "three"])
    async with open_host(Agent("a", model=model, history=KeepNewestTurns(1))) as host:
        await host.create_session("s")
        await host.run("a", [system("The secret is mulberry."), user("1")], session_id="s")
        await host.run("a", "2", session_id="s")
        await host.run("a", "3", session_id="s")
        assert "mulberry" in repr(vars(host.runtime._histories))  # noqa: SLF001 - what is kept in memory has no other door
        await host.end_session("s")
        await host.purge_session("s")
        assert "mulberry" not in repr(vars(host.runtime._histories))  # noqa: SLF001 - the same
