"""The tools `remember`, `recall`, `forget`: called as a model calls them."""

from collections.abc import AsyncIterator

import pytest

from actum.base.value import Json
from actum.memory.contract import EntryStore
from actum.memory.entries import EntrySource, MemoryEntry, MemoryScope
from actum.memory.opening import open_memory
from actum.memory.toolset import memory_tools
from actum.memory.view import MemoryView
from actum.messages.parts import tool_use
from actum.records.failures import ToolFailureKind
from actum.tools.call import ToolOutcome, call_tool
from actum.tools.registry import ToolRegistry
from actum.tools.spec import ToolContext, ToolSpec

CONTEXT = ToolContext(
    run_id="r1",
    session_id="s1",
    tool_call_id="c1",
    attempt="a1",
    idempotency_key="r1/c1",
    session_metadata={"user_id": "u1"},
)


@pytest.fixture
async def entries() -> AsyncIterator[EntryStore]:
    async with open_memory("memory:") as memory:
        yield memory.entries


def tools(entries: EntryStore) -> ToolRegistry:
    async def view_of(context: ToolContext) -> MemoryView:
        return MemoryView.of(
            entries,
            session_id=context.session_id,
            user_id=context.session_metadata["user_id"],
            tenant="t1",
            source=EntrySource(run_id=context.run_id),
        )

    return ToolRegistry(memory_tools(view_of))


async def call(entries: EntryStore, name: str, **arguments: Json) -> ToolOutcome:
    spec = tools(entries).find(name)
    assert isinstance(spec, ToolSpec)
    return await call_tool(spec, tool_use("c1", name, arguments), CONTEXT)


async def test_a_fact_is_remembered_recalled_and_forgotten(entries: EntryStore) -> None:
    assert (await call(entries, "remember", key="favourite_colour", value="green")).content == {
        "remembered": "favourite_colour"
    }
    recalled = await call(entries, "recall", query="Which colour is it?")
    assert recalled.content == [{"key": "favourite_colour", "value": "green", "scope": "user"}]
    assert (await call(entries, "forget", key="favourite_colour")).content == {"forgotten": True}
    assert (await call(entries, "forget", key="favourite_colour")).content == {"forgotten": False}
    assert (await call(entries, "recall", query="colour")).content == []


async def test_what_a_model_remembers_carries_its_run(entries: EntryStore) -> None:
    await call(entries, "remember", key="k", value=None)
    stored = await entries.get(MemoryScope.USER, "u1", "k", tenant="t1")
    assert stored is not None
    assert stored.source == EntrySource(run_id="r1")
    assert await entries.delete_source("r1", tenant="t1") == 1


async def test_recall_looks_in_all_scopes_of_the_view_and_in_no_other(entries: EntryStore) -> None:
    await entries.store(MemoryEntry.for_session("s1", key="plan", value="walk", tenant="t1"))
    await entries.store(MemoryEntry.for_shared(key="plan", value="office", tenant="t1"))
    await entries.store(MemoryEntry.for_user("u2", key="plan", value="theirs", tenant="t1"))
    await entries.store(MemoryEntry.for_user("u1", key="plan", value="other tenant"))
    recalled = await call(entries, "recall", query="plan")
    assert sorted(each["value"] for each in recalled.content) == ["office", "walk"]


@pytest.mark.parametrize(
    "name, arguments",
    [("remember", {"key": "", "value": 1}), ("remember", {"key": "a\0", "value": 1}), ("forget", {"key": " "})],
)
async def test_what_the_memory_refuses_is_told_to_the_model(
    entries: EntryStore, name: str, arguments: dict[str, Json]
) -> None:
    outcome = await call(entries, name, **arguments)
    assert outcome.failure is not None
    assert outcome.failure.kind is ToolFailureKind.DOMAIN_REJECTION


async def test_a_model_names_no_owner(entries: EntryStore) -> None:
    for spec in tools(entries):
        assert set(spec.input_schema["properties"]) <= {"key", "value", "query"}
    outcome = await call(entries, "remember", key="k", value=1, user_id="u2")
    assert outcome.failure is not None
    assert outcome.failure.kind is ToolFailureKind.INVALID_CALL
