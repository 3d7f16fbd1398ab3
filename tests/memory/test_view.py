"""Memory as one run sees it: from the narrowest scope outwards."""

from collections.abc import AsyncIterator

import pytest

from actum.base.errors import InvalidValue
from actum.base.value import Json
from actum.memory.contract import EntryStore
from actum.memory.entries import EntrySource, MemoryEntry, MemoryScope
from actum.memory.opening import open_memory
from actum.memory.view import MemoryView


@pytest.fixture
async def entries() -> AsyncIterator[EntryStore]:
    async with open_memory("memory:") as memory:
        yield memory.entries


def view(entries: EntryStore) -> MemoryView:
    return MemoryView.of(
        entries, session_id="s1", user_id="u1", agent_id="a1", tenant="t1", source=EntrySource(run_id="r1")
    )


@pytest.mark.parametrize("value", [None, False, 0, "", []])
async def test_the_narrowest_scope_wins_also_with_a_falsy_value(entries: EntryStore, value: Json) -> None:
    await entries.store(MemoryEntry.for_shared(key="theme", value="shared", tenant="t1"))
    assert await view(entries).get("theme") is not None
    for wider in (
        MemoryEntry.for_agent("a1", key="theme", value="agent", tenant="t1"),
        MemoryEntry.for_user("u1", key="theme", value="user", tenant="t1"),
        MemoryEntry.for_session("s1", key="theme", value=value, tenant="t1"),
    ):
        await entries.store(wider)
        found = await view(entries).get("theme")
        assert found is not None
        assert (found.scope, found.value) == (wider.scope, wider.value)


async def test_nobody_elses_entries_are_seen(entries: EntryStore) -> None:
    await entries.store(MemoryEntry.for_session("s1", key="theme", value="no tenant"))
    await entries.store(MemoryEntry.for_user("u1", key="theme", value="another tenant", tenant="t2"))
    await entries.store(MemoryEntry.for_user("u2", key="theme", value="another user", tenant="t1"))
    assert await view(entries).get("theme") is None
    assert await view(entries).search("theme") == ()


async def test_a_search_puts_the_scopes_together(entries: EntryStore) -> None:
    await entries.store(MemoryEntry.for_session("s1", key="drink", value="tea", tenant="t1"))
    await entries.store(MemoryEntry.for_user("u1", key="drink", value="green tea", tenant="t1"))
    await entries.store(MemoryEntry.for_user("u1", key="cup", value="blue, for tea", tenant="t1"))
    found = await view(entries).search("tea")
    assert {(each.entry.scope, each.entry.key) for each in found} == {
        (MemoryScope.SESSION, "drink"),
        (MemoryScope.USER, "drink"),
        (MemoryScope.USER, "cup"),
    }
    assert len(await view(entries).search("tea", limit=1)) == 1


async def test_writes_carry_their_source_and_go_where_they_are_told(entries: EntryStore) -> None:
    stored = await view(entries).store("theme", "dark")
    assert (stored.scope, stored.tenant, stored.source) == (MemoryScope.SESSION, "t1", EntrySource(run_id="r1"))
    await view(entries).store("theme", "light", scope=MemoryScope.USER)
    assert await view(entries).delete("theme")
    found = await view(entries).get("theme")
    assert found is not None
    assert found.value == "light"
    assert not await view(entries).delete("theme")


async def test_a_scope_that_the_run_has_not_is_refused(entries: EntryStore) -> None:
    narrow = MemoryView.of(entries, session_id="s1", shared_id=None)
    with pytest.raises(InvalidValue):
        await narrow.store("theme", "dark", scope=MemoryScope.USER)
    with pytest.raises(InvalidValue):
        await MemoryView(entries, ()).store("theme", "dark")
    assert await MemoryView(entries, ()).get("theme") is None


@pytest.mark.parametrize("name", ["session_id", "user_id", "agent_id", "shared_id", "tenant"])
async def test_an_empty_id_is_a_mistake_and_never_anybody(entries: EntryStore, name: str) -> None:
    with pytest.raises(InvalidValue):
        MemoryView.of(entries, **{name: ""})  # type: ignore[arg-type]  # one of the five names
