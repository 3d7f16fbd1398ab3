from collections.abc import Callable

from actum.host.host import Host
from actum.messages.message import system, user
from actum.runtime.agent import Agent, KeepNewestTurns
from actum.testing.script import ScriptedModel

Opening = Callable[..., Host]


async def test_nothing_of_a_purged_session_stays_in_memory(open_host: Opening) -> None:
    model = ScriptedModel(["one", "two", "three"])
    async with open_host(Agent("a", model=model, history=KeepNewestTurns(1))) as host:
        await host.create_session("s")
        await host.run("a", [system("The secret is 42."), user("1")], session_id="s")
        await host.run("a", "2", session_id="s")
        await host.run("a", "3", session_id="s")
        assert "42" in repr(vars(host.runtime._histories))  # noqa: SLF001 - what is kept in memory has no other door
        await host.end_session("s")
        await host.purge_session("s")
        assert "42" not in repr(vars(host.runtime._histories))  # noqa: SLF001 - the same
