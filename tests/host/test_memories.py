import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from actum.base.clock import now
from actum.base.errors import (
    InvalidValue,
    RunBusy,
    RunPurged,
    SessionActive,
    SessionNotFound,
    SessionPurged,
    StoreUnavailable,
)
from actum.base.limits import PAGE_ITEMS
from actum.host.host import Host
from actum.lifecycle.states import Run, SessionStatus
from actum.memory.entries import MemoryEntry, MemoryScope
from actum.memory.inmemory_events import InMemoryMemoryStore
from actum.memory.opening import Memory, open_memory
from actum.memory.search import HashEmbedder
from actum.memory.toolset import memory_tools
from actum.messages.parts import tool_use
from actum.planning.planner import PlanInput
from actum.records.record import Page, Record
from actum.runtime.agent import Agent
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.storage.opening import open_store
from actum.testing import samples
from actum.testing.script import ScriptedModel, ScriptedPlanner


@pytest.fixture
async def store(url: str) -> AsyncIterator[OwnedStore]:
    async with open_store(url) as store:
        yield store


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


async def test_an_embedder_is_refused_where_it_would_have_no_effect(store: OwnedStore) -> None:
    async with open_memory("memory:") as memory:
        for given in (memory, None):
            with pytest.raises(InvalidValue, match="open_memory"):
                async with Host.open(store, memory=given, embedder=HashEmbedder()):
                    pass


async def test_an_entry_of_a_session_belongs_to_its_tenant(url: str) -> None:
    async with Host.open(url) as host:
        for name, tenant in (("theirs", "t1"), ("nobodys", None)):
            await host.create_session(name, tenant=tenant)
            stored = await host.store_memory(MemoryEntry.for_session(name, key="k", value=name))
            assert stored.tenant == tenant
            found = await host.get_memory("k", name)
            assert found is not None
            assert found.value == name
            with pytest.raises(InvalidValue, match="tenant"):
                await host.store_memory(MemoryEntry.for_session(name, key="k", value=1, tenant="t2"))
            with pytest.raises(SessionNotFound):
                await host.store_memory(MemoryEntry.for_session("nobody", key="k", value=1))
            await host.end_session(name)
            await host.purge_session(name)
            assert await host.memory.entries.get(MemoryScope.SESSION, name, "k", tenant=tenant) is None
            with pytest.raises(SessionPurged):
                await host.store_memory(MemoryEntry.for_session(name, key="k", value=1))


async def test_the_scope_of_a_purged_session_takes_nothing_also_where_its_memory_was_kept(url: str) -> None:
    async with Host.open(url) as host:
        await host.create_session("s1")
        await host.store_memory(MemoryEntry.for_session("s1", key="k", value=1))
        await host.end_session("s1")
        await host.purge_session("s1", memory="keep")
        with pytest.raises(SessionPurged):
            await host.store_memory(MemoryEntry.for_session("s1", key="k", value=2))
        assert await host.memory.entries.get(MemoryScope.SESSION, "s1", "k") is not None
        await host.purge_session("s1")
        assert await host.memory.entries.get(MemoryScope.SESSION, "s1", "k") is None


@pytest.mark.parametrize("user_id", ["", "  ", "u" * 600])
async def test_a_session_whose_metadata_names_no_user_runs_without_one(url: str, user_id: str) -> None:
    async with Host.open(url, agents=[answering("hello")]) as host:
        session = await host.create_session(metadata={"user_id": user_id})
        out = await host.run("helper", "hi", session_id=session.session_id)
        assert out.text == "hello"
        assert await host.get_memory("k", session.session_id) is None


async def test_what_is_kept_is_kept_whole(url: str) -> None:
    async with Host.open(url, agents=[answering("the last answer")], event_history=True) as host:
        session = await host.create_session(tenant="t")
        await host.run("helper", "hi", session_id=session.session_id)
        await host.end_session(session.session_id)
        await host.purge_session(session.session_id, memory="keep")
        found = await host.memory.events.search("last answer", tenant="t")
        assert [each.event.text for each in found] == ["the last answer"]


async def test_a_one_shot_tree_is_erased_with_its_memory(url: str) -> None:
    async with Host.open(url, agents=[answering("a secret answer")], event_history=True) as host:
        out = await host.run("helper", "hi")
        root = (await host.store.start_one_shot_run(samples.one_shot("busy"))).run
        await host.store.append_run_records([samples.said(root, "in", "another secret")])
        await host.deliver_memory()
        assert len(await host.memory.events.search("secret")) == 2
        with pytest.raises(RunBusy):
            await host.purge_one_shot("busy")
        with pytest.raises(InvalidValue, match="'erase' or 'keep'"):
            await host.purge_one_shot(out.run_id, memory="both")  # type: ignore[arg-type]  # the mistake is the test
        assert len(await host.memory.events.search("secret")) == 2
        await host.purge_one_shot(out.run_id)
        await host.purge_one_shot(out.run_id)
        assert [each.run_id for each in await host.memory.events.search("secret")] == ["busy"]
        await host.store.record_run_terminal(samples.completed(root))
        await host.purge_one_shot("busy", memory="keep")
        assert [each.run_id for each in await host.memory.events.search("secret")] == ["busy"]
        await host.purge_one_shot("busy")
        assert await host.memory.events.search("secret") == ()


async def test_a_run_of_a_session_is_no_one_shot_tree(url: str) -> None:
    async with Host.open(url, agents=[answering("kept")], event_history=True) as host:
        session = await host.create_session()
        out = await host.run("helper", "hi", session_id=session.session_id)
        await host.deliver_memory()
        with pytest.raises(InvalidValue, match="one-shot"):
            await host.purge_one_shot(out.run_id)
        assert len(await host.memory.events.search("kept")) == 1


async def test_a_history_that_is_switched_on_late_is_brought_up_however_much_there_is(store: OwnedStore) -> None:
    for n in range(PAGE_ITEMS + 1):
        run = (await store.start_one_shot_run(samples.one_shot(f"r{n}"))).run
        await store.record_run_terminal(samples.completed(run, records=(samples.said(run, "in", f"word {n}"),)))
    async with open_memory("memory:") as memory, Host.open(store, memory=memory, event_history=True):
        assert len(await memory.events.search("word", limit=1000)) == 1000
        for n in (0, PAGE_ITEMS):
            assert len(await memory.events.search(f"word {n}")) == 1


class AwayMemory(InMemoryMemoryStore):
    """A memory that cannot be reached for a while."""

    away = True

    async def append_events(self, *args: object, **kwargs: object) -> int:
        if self.away:
            raise StoreUnavailable(reason="it is away")
        return await super().append_events(*args, **kwargs)  # type: ignore[arg-type]  # passed on as they come


async def test_a_memory_that_is_away_is_asked_again_and_stops_nobody(store: OwnedStore) -> None:
    waited = asyncio.Event()
    events = AwayMemory()

    async def wait(_seconds: float) -> None:
        waited.set()
        await asyncio.sleep(0)

    async with open_memory("memory:") as memory:
        both = Memory(events, memory.entries)
        await store.create_session("s1", samples.T0)
        host = Host.open(store, agents=[answering("one", "two")], memory=both, event_history=True, wait=wait)
        async with host:
            await host.run("helper", "hi", session_id="s1")
            await waited.wait()
            with pytest.raises(StoreUnavailable):
                await end_and_keep(host, "s1")
        # Closing did not fail, and nothing is lost.
        async with Host.open(store, agents=[], memory=both, event_history=True, wait=wait) as late:
            waited.clear()
            await waited.wait()
            events.away = False
            await late.purge_session("s1", memory="keep")
            assert len(await events.search("one")) == 1


async def end_and_keep(host: Host, session_id: str) -> None:
    await host.end_session(session_id)
    await host.purge_session(session_id, memory="keep")


class PurgedMeanwhile(LocalStore):
    """A store whose scopes another host purges between two reads of this one, once they are over."""

    async def list_runs(self, session_id: str, **how: Any) -> Page[Run]:
        if await self.load_session_status(session_id) is SessionStatus.ENDED:
            await self.purge_session(session_id)
        return await super().list_runs(session_id, **how)

    async def list_scope_records(self, root_run_id: str, **how: Any) -> Page[Record]:
        await self.purge_one_shot(root_run_id)
        return await super().list_scope_records(root_run_id, **how)


async def test_a_purge_that_another_one_overtakes_is_a_success() -> None:
    async with (
        open_memory("memory:") as memory,
        Host.open(PurgedMeanwhile(MemoryBackend()), agents=[answering("a", "b")], memory=memory) as host,
    ):
        await host.create_session("s")
        await host.store_memory(MemoryEntry.for_session("s", key="k", value="a secret value"))
        await host.run("helper", "1", session_id="s")
        alone = await host.run("helper", "2")
        await host.store.end_session("s", now())
        await host.purge_session("s")
        assert await memory.entries.get(MemoryScope.SESSION, "s", "k") is None
        await host.purge_one_shot(alone.run_id)
        with pytest.raises(RunPurged):
            await host.store.load_run(alone.run_id)


async def test_a_purge_wins_over_deliveries_of_two_hosts(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/chat.db"
    here = Host.open(url, agents=[answering(*["a secret answer"] * 20)], event_history=True)
    there = Host.open(url, event_history=True)
    async with here, there:
        for n in range(10):
            name = f"s{n}"
            await here.create_session(name)
            await here.run("helper", "a secret question", session_id=name)
            await here.store_memory(MemoryEntry.for_session(name, key="k", value="a secret value"))
            await here.end_session(name)
            await asyncio.gather(
                there.deliver_memory(), here.deliver_memory(), here.purge_session(name), there.purge_session(name)
            )
        await asyncio.gather(there.deliver_memory(), here.deliver_memory())
        assert await there.memory.events.search("secret") == ()
        for n in range(10):
            assert await here.memory.entries.get(MemoryScope.SESSION, f"s{n}", "k") is None
    async with open_memory(url) as memory:
        assert await memory.events.search("secret") == ()
