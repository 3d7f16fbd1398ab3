from pathlib import Path

import pytest

from actum.base.errors import InvalidValue, SessionActive, SessionNotFound, SessionPurged
from actum.host.host import Host
from actum.memory.entries import MemoryEntry, MemoryScope
from actum.memory.opening import open_memory
from actum.memory.toolset import memory_tools
from actum.messages.parts import tool_use
from actum.planning.planner import PlanInput
from actum.runtime.agent import Agent
from actum.storage.opening import open_store
from actum.testing.script import ScriptedModel, ScriptedPlanner


def answering(*texts: str) -> Agent:
    return Agent("helper", planner=ScriptedPlanner(texts))


async def test_an_entry_is_found_from_the_narrowest_scope_outwards(url: str) -> None:
    async with Host.open(url) as host:
        session = await host.create_session(metadata={"user_id": "user-123"})
        name = session.session_id
        await host.store_memory(MemoryEntry.for_shared(key="theme", value="grey"))
        await host.store_memory(MemoryEntry.for_user("user-123", key="theme", value=None))
        found = await host.get_memory("theme", name)
        assert found is not None
        assert (found.scope, found.value) == (MemoryScope.USER, None)
        await host.store_memory(MemoryEntry.for_session(name, key="theme", value="dark"))
        found = await host.get_memory("theme", name)
        assert found is not None
        assert (found.scope, found.value) == (MemoryScope.SESSION, "dark")
        other = await host.create_session()
        found = await host.get_memory("theme", other.session_id)
        assert found is not None
        assert found.value == "grey"
        assert await host.get_memory("colour", name) is None
        with pytest.raises(SessionNotFound):
            await host.get_memory("theme", "nobody")


async def test_a_purge_takes_the_memory_of_the_session_along(url: str) -> None:
    async with Host.open(url, agents=[answering("hello")], event_history=True) as host:
        session = await host.create_session(metadata={"user_id": "u"})
        name = session.session_id
        out = await host.run("helper", "a secret word", session_id=name)
        await host.store_memory(MemoryEntry.for_session(name, key="theme", value="dark"))
        await host.store_memory(MemoryEntry.for_user("u", key="theme", value="light"))
        await host.deliver_memory()
        assert [each.run_id for each in await host.memory.events.search("secret")] == [out.run_id]
        with pytest.raises(SessionActive):
            await host.purge_session(name)
        assert await host.get_memory("theme", name) is not None
        await host.end_session(name)
        await host.purge_session(name)
        await host.purge_session(name)
        assert await host.memory.events.search("secret") == ()
        assert await host.memory.entries.get(MemoryScope.SESSION, name, "theme") is None
        with pytest.raises(SessionPurged):
            await host.store_memory(MemoryEntry.for_session(name, key="theme", value="dark"))
        kept = await host.memory.entries.get(MemoryScope.USER, "u", "theme")
        assert kept is not None
        assert kept.value == "light"


async def test_a_purge_may_keep_what_the_product_remembers(url: str) -> None:
    async with Host.open(url, agents=[answering("hello")], event_history=True) as host:
        session = await host.create_session()
        out = await host.run("helper", "a plain word", session_id=session.session_id)
        await host.deliver_memory()
        await host.end_session(session.session_id)
        with pytest.raises(InvalidValue, match="'erase' or 'keep'"):
            await host.purge_session(session.session_id, memory="both")  # type: ignore[arg-type]  # the mistake is the test
        await host.purge_session(session.session_id, memory="keep")
        assert [each.run_id for each in await host.memory.events.search("plain")] == [out.run_id]


async def test_a_refused_purge_forgets_nothing(url: str) -> None:
    async with Host.open(url) as host:
        session = await host.create_session()
        name = session.session_id
        await host.store_memory(MemoryEntry.for_session(name, key="k", value=0))
        with pytest.raises(SessionActive):
            await host.purge_session(name)
        with pytest.raises(SessionNotFound):
            await host.purge_session("nobody")
        found = await host.get_memory("k", name)
        assert found is not None
        assert found.value == 0


async def test_planners_see_the_entries_of_their_run(url: str) -> None:
    seen: list[object] = []

    async def look(plan_input: PlanInput) -> str:
        assert plan_input.memory is not None
        entry = await plan_input.memory.get("theme")
        seen.append(None if entry is None else entry.value)
        return "seen"

    agent = Agent("helper", planner=ScriptedPlanner([look, look]))
    async with Host.open(url, agents=[agent]) as host:
        session = await host.create_session(metadata={"user_id": "u"})
        await host.run(agent, "before", session_id=session.session_id)
        await host.store_memory(MemoryEntry.for_user("u", key="theme", value="dark"))
        await host.run(agent, "after", session_id=session.session_id)
    assert seen == [None, "dark"]


async def test_a_model_remembers_with_tools_and_its_run_is_the_source(url: str) -> None:
    hosts: list[Host] = []
    tools = memory_tools(lambda context: hosts[0].memory_view(context))  # noqa: PLW0108 - the host comes later
    model = ScriptedModel([tool_use("c1", "remember", {"key": "name", "value": "Ada"}), "Noted."])
    async with Host.open(url, agents=[Agent("helper", model=model, tools=tools)]) as host:
        hosts.append(host)
        session = await host.create_session(metadata={"user_id": "u"})
        out = await host.run("helper", "I am Ada.", session_id=session.session_id)
        entry = await host.memory.entries.get(MemoryScope.USER, "u", "name")
    assert out.text == "Noted."
    assert entry is not None
    assert entry.source is not None
    assert (entry.value, entry.source.run_id) == ("Ada", out.run_id)


async def test_the_event_history_is_brought_up_when_a_host_opens_and_closes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/chat.db"
    async with Host.open(url, agents=[answering("first answer")]) as host:
        session = await host.create_session()
        await host.run("helper", "one", session_id=session.session_id)
        with pytest.raises(InvalidValue, match="switched on"):
            await host.deliver_memory()
    async with Host.open(url, agents=[answering("second answer")], event_history=True) as host:
        assert len(await host.memory.events.search("first")) == 1
        await host.run("helper", "two", session_id=session.session_id)
    async with open_memory(url) as memory:
        assert len(await memory.events.search("answer")) == 2


async def test_a_host_over_a_store_has_the_memory_that_it_is_given(url: str) -> None:
    async with open_store(url) as store, open_memory("memory:") as memory:
        async with Host.open(store) as bare:
            with pytest.raises(InvalidValue, match="given to Host"):
                await bare.store_memory(MemoryEntry.for_user("u", key="k", value=1))
        async with Host.open(store, memory=memory) as host:
            await host.store_memory(MemoryEntry.for_user("u", key="k", value=1))
        assert await memory.entries.get(MemoryScope.USER, "u", "k") is not None
