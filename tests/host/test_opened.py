import asyncio
from pathlib import Path

import pytest

from actum.base.errors import InvalidValue, RunNotReady
from actum.host.host import Host
from actum.lifecycle.states import RunStatus
from actum.messages.parts import tool_use
from actum.runtime.agent import Agent
from actum.testing.script import ScriptedModel
from actum.tools.define import tool


async def test_what_was_parked_goes_on_in_the_next_host(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/chat.db"
    begun = asyncio.Event()

    @tool(idempotent=True)
    async def errand() -> str:
        """Do not come back the first time."""
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()
        return "done"

    first = Agent("runner", model=ScriptedModel([tool_use("c1", "errand", {})]), tools=[errand])
    async with Host.open(url, agents=[first]) as host:
        await host.create_session("s")
        running = asyncio.ensure_future(host.run("runner", "go", session_id="s", run_id="r1"))
        await begun.wait()
    with pytest.raises(RunNotReady):
        await running
    second = Agent("runner", model=ScriptedModel(["It is done."]), tools=[errand])
    async with Host.open(url, agents=[second]) as host:
        out = await host.output("r1")
        again = await host.run("runner", "go", session_id="s", run_id="r1")
    assert (out.status, out.text) == (RunStatus.COMPLETED, "It is done.")
    assert again == out


async def test_a_host_opens_again_and_again(tmp_path: Path) -> None:
    host = Host.open(f"sqlite:///{tmp_path}/chat.db", agents=[Agent("a", model=ScriptedModel(["one", "two"]))])
    async with host:
        await host.create_session("s")
        assert (await host.run("a", "1", session_id="s")).text == "one"
    async with host:
        assert (await host.run("a", "2", session_id="s")).text == "two"


async def test_a_host_that_cannot_open_holds_nothing() -> None:
    host = Host.open("mysql:///x")
    for _ in range(2):
        with pytest.raises(InvalidValue):
            async with host:
                pass
        with pytest.raises(RuntimeError, match="not open"):
            _ = host.runtime
