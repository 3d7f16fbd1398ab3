"""The event history: appended once, loaded verbatim, searched, annotated and forgotten."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import pytest

from actum.base.errors import InvalidValue, OwnerMismatch, RecordConflict, RunPurged, SessionPurged
from actum.base.value import dump, replace
from actum.memory.contract import MemoryStore
from actum.memory.events import Annotation, EventType, MemoryEvent, Snapshot
from actum.messages.message import Message, Role, assistant, system, tool_results, user
from actum.messages.parts import CacheCheckpointPart, ImagePart, ThinkingPart, ToolResultPart, tool_use
from actum.testing.near import NEAR, NO_IDS, OPERATORS
from actum.testing.samples import at

_TYPES: Final = {
    Role.USER: EventType.USER_MESSAGE,
    Role.ASSISTANT: EventType.ASSISTANT_MESSAGE,
    Role.SYSTEM: EventType.SYSTEM_MESSAGE,
}


def told(event_id: str, message: Message | str, *, seconds: float = 0, seeded: bool = False) -> MemoryEvent:
    """The event of a message that speaks; a text is the user's."""
    spoken = user(message) if isinstance(message, str) else message
    return MemoryEvent(
        event_id=event_id,
        type=_TYPES[spoken.role],
        at=at(seconds),
        turn_id="t1",
        message_id=f"m-{event_id}",
        message=spoken,
        seeded=seeded,
    )


def noted(event_id: str, note: str = "a note") -> MemoryEvent:
    """A planner's note."""
    return MemoryEvent(event_id=event_id, type=EventType.PLANNER_NOTE, at=at(0), note=note)


async def keep(
    memory: MemoryStore,
    *events: MemoryEvent,
    run_id: str = "r1",
    session_id: str | None = "s1",
    tenant: str | None = None,
    history: str | None = None,
) -> int:
    """Appends events of a run of `helper`."""
    return await memory.append_events(session_id, "helper", run_id, events, history_run_id=history, tenant=tenant)


async def loaded(memory: MemoryStore, run_id: str = "r1", *, tenant: str | None = None) -> Snapshot:
    """The run's snapshot with its history."""
    return await memory.load_run("helper", run_id, tenant=tenant)


async def found_ids(memory: MemoryStore, text: str, **filters: object) -> list[str]:
    """The ids of the events that a search finds, the best first."""
    return [each.event.event_id for each in await memory.search(text, **filters)]  # type: ignore[arg-type]  # a test gives what it likes


class EventPromises:
    """All that a memory store promises."""

    # Keeping

    async def test_messages_come_back_verbatim(self, memory: MemoryStore) -> None:
        call = tool_use("c1", "fs.read", {"path": "a"})
        thinking = ThinkingPart(text="", signature="sig", provider="p")
        answer = assistant(thinking, "Let me look.", call, CacheCheckpointPart(), meta={"k": None})
        result = tool_results(ToolResultPart(tool_use_id="c1", content={"n": [1, None]}, is_error=True))
        picture = user("look", ImagePart(bytes=b"\x00\xff", format="png"), "a\0b")
        events = [
            told("e1", picture),
            MemoryEvent(event_id="e2", type=EventType.THINKING, at=at(1), message_id="a", message=answer, part=0),
            MemoryEvent(event_id="e3", type=EventType.ASSISTANT_MESSAGE, at=at(1), message_id="a", message=answer),
            MemoryEvent(event_id="e4", type=EventType.TOOL_CALL, at=at(1), message_id="a", message=answer, part=2),
            MemoryEvent(event_id="e5", type=EventType.TOOL_RESULT, at=at(2), message_id="b", message=result, part=0),
            noted("e6"),
        ]
        assert await keep(memory, *events) == 6
        snapshot = await loaded(memory)
        assert snapshot.events == tuple(events)
        assert [dump(each) for each in snapshot.messages()] == [dump(each) for each in (picture, answer, result)]
        assert snapshot.session_id == "s1"

    async def test_events_stay_in_their_order(self, memory: MemoryStore) -> None:
        await keep(memory, told("z", "1", seconds=9), told("b", "2", seconds=5))
        await keep(memory, told("a", "3", seconds=1))
        assert [each.event_id for each in (await loaded(memory)).events] == ["z", "b", "a"]

    async def test_an_exact_retry_adds_nothing(self, memory: MemoryStore) -> None:
        events = [told("e1", "hi"), noted("e2")]
        assert await keep(memory, *events) == 2
        before = await loaded(memory)
        assert await keep(memory, *events) == 0
        assert await keep(memory, events[1], told("e3", "more"), events[0]) == 1
        after = await loaded(memory)
        assert after.events == (*before.events, told("e3", "more"))

    @pytest.mark.parametrize(
        "other",
        [
            told("e1", "ho"),
            told("e1", "hi", seconds=1),
            told("e1", "hi", seeded=True),
            noted("e1"),
            told("e1", assistant("hi")),
        ],
    )
    async def test_another_event_under_the_same_id_is_a_conflict(self, memory: MemoryStore, other: MemoryEvent) -> None:
        await keep(memory, told("e1", "hi"))
        before = await loaded(memory)
        with pytest.raises(RecordConflict) as caught:
            await keep(memory, told("e2", "new"), other)
        assert caught.value.event_key == "e1"
        assert await loaded(memory) == before
        assert await found_ids(memory, "new") == []

    async def test_a_message_id_names_one_message(self, memory: MemoryStore) -> None:
        await keep(memory, told("e1", "hi"))
        with pytest.raises(RecordConflict):
            await keep(memory, replace(told("e2", "ho"), message_id="m-e1"))
        assert len((await loaded(memory)).events) == 1

    async def test_an_id_comes_once_in_a_call(self, memory: MemoryStore) -> None:
        with pytest.raises(InvalidValue):
            await keep(memory, told("e1", "hi"), told("e1", "hi"))
        assert (await loaded(memory)).events == ()

    @pytest.mark.parametrize("wrong", [None, 7, "e1", {}, [None], ["e1"]])
    async def test_only_events_are_kept(self, memory: MemoryStore, wrong: Any) -> None:  # noqa: ANN401 - wrong values are the point
        with pytest.raises(InvalidValue, match="events"):
            await memory.append_events("s1", "helper", "r1", wrong)
        assert (await loaded(memory)).events == ()

    async def test_a_run_belongs_to_one_session_and_agent(self, memory: MemoryStore) -> None:
        await keep(memory, told("e1", "hi"))
        for session_id, agent_id in (("s2", "helper"), (None, "helper"), ("s1", "other")):
            with pytest.raises(OwnerMismatch):
                await memory.append_events(session_id, agent_id, "r1", [told("e2", "ho")])
        assert len((await loaded(memory)).events) == 1

    async def test_an_unknown_run_is_empty(self, memory: MemoryStore) -> None:
        await keep(memory, told("e1", "hi"))
        unknown = await loaded(memory, "r2")
        assert (unknown.events, unknown.messages(), unknown.messages(history=True)) == ((), (), ())
        assert (await memory.load_run("other", "r1")).events == ()
        assert (await loaded(memory, tenant="t")).events == ()

    @pytest.mark.parametrize("wrong", NO_IDS, ids=repr)
    async def test_what_is_no_id_is_refused(self, memory: MemoryStore, wrong: str) -> None:
        await keep(memory, told("e1", "hi"))
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: memory.append_events("s1", wrong, "r1", []),
            lambda: memory.append_events("s1", "helper", wrong, []),
            lambda: memory.append_events("s1", "helper", "r1", [replace(told("e2", "x"), event_id=wrong)]),
            lambda: memory.forget(wrong),
            lambda: memory.forget_one_shot(wrong),
        ]
        for refused in calls:
            with pytest.raises(InvalidValue):
                await refused()
        if wrong is not None:
            for filters in ({"session_id": wrong}, {"run_id": wrong}, {"agent_id": wrong}, {"tenant": wrong}):
                with pytest.raises(InvalidValue):
                    await found_ids(memory, "hi", **filters)
        assert len((await loaded(memory)).events) == 1

    # History

    async def test_a_snapshot_goes_back_through_its_history(self, memory: MemoryStore) -> None:
        await keep(memory, told("s", system("be brief"), seeded=True), told("q", "1"), told("a", assistant("one")))
        await keep(memory, told("q", "2"), told("a", assistant("two")), run_id="r2", history="r1")
        await keep(memory, told("q", "3"), run_id="r3", history="r2")
        snapshot = await loaded(memory, "r3")
        assert snapshot.messages() == (user("3"),)
        texts = [each.text for each in snapshot.messages(history=True)]
        assert texts == ["be brief", "1", "one", "2", "two", "3"]
        first = await loaded(memory)
        assert [each.text for each in first.messages()] == ["1", "one"]
        assert [each.text for each in first.messages(history=True)] == ["be brief", "1", "one"]

    async def test_a_stopped_run_shows_its_history(self, memory: MemoryStore) -> None:
        await keep(memory, told("q", "1"))
        await keep(memory, run_id="r2", history="r1")
        assert (await loaded(memory, "r2")).messages(history=True) == (user("1"),)

    async def test_history_that_was_not_loaded_is_not_made_up(self, memory: MemoryStore) -> None:
        await keep(memory, told("q", "1"))
        snapshot = await memory.load_run("helper", "r1", history=False)
        assert snapshot.messages() == (user("1"),)
        with pytest.raises(InvalidValue):
            snapshot.messages(history=True)

    async def test_a_run_has_one_history(self, memory: MemoryStore) -> None:
        await keep(memory, told("q", "1"), run_id="r2", history="r1")
        assert await keep(memory, told("q", "1"), run_id="r2", history="r1") == 0
        assert await keep(memory, told("q", "1"), run_id="r2") == 0
        with pytest.raises(RecordConflict):
            await keep(memory, told("q", "1"), run_id="r2", history="r0")

    async def test_a_ring_of_histories_ends(self, memory: MemoryStore) -> None:
        await keep(memory, told("q", "1"), run_id="r1", history="r2")
        await keep(memory, told("q", "2"), run_id="r2", history="r1")
        assert [each.text for each in (await loaded(memory)).messages(history=True)][-1] == "1"

    # Annotations

    async def test_annotations_are_kept_and_are_no_messages(self, memory: MemoryStore) -> None:
        await keep(memory, told("e1", "hi"), told("e2", assistant("hello")))
        thumbs = Annotation(rating=0, by="user-1")
        comment = Annotation(comment="too short", message_id="m-e2")
        tag = Annotation(tag="billing", turn_id="t1")
        for n, each in enumerate((thumbs, comment, tag)):
            assert await memory.annotate("s1", "helper", "r1", each, event_id=f"n{n}", at=at(99)) == 1
            assert await memory.annotate("s1", "helper", "r1", each, event_id=f"n{n}", at=at(99)) == 0
        with pytest.raises(RecordConflict):
            await memory.annotate("s1", "helper", "r1", tag, event_id="n0", at=at(99))
        snapshot = await loaded(memory)
        assert snapshot.annotations == (thumbs, comment, tag)
        assert snapshot.messages(history=True) == (user("hi"), assistant("hello"))
        assert await found_ids(memory, "short") == []

    # Search

    async def test_a_search_finds_what_was_said(self, memory: MemoryStore) -> None:
        answer = assistant(ThinkingPart(text="hidden", signature="s"), "The invoice is overdue")
        await keep(memory, told("e1", "Where is my invoice?"), told("e2", answer), noted("e3", "invoice note"))
        assert set(await found_ids(memory, "INVOICE")) == {"e1", "e2"}
        assert await found_ids(memory, "overdue invoices") == ["e2"]
        assert await found_ids(memory, "invoice rocket") == []
        assert await found_ids(memory, "hidden") == []
        (hit,) = await memory.search("overdue")
        assert (hit.session_id, hit.agent_id, hit.run_id, hit.event.message) == ("s1", "helper", "r1", answer)

    async def test_seeds_and_tools_are_not_found(self, memory: MemoryStore) -> None:
        call = assistant(tool_use("c1", "zebra", {"q": "zebra"}))
        await keep(
            memory,
            told("e1", "a zebra of before", seeded=True),
            MemoryEvent(event_id="e2", type=EventType.TOOL_CALL, at=at(0), message_id="m", message=call, part=0),
            told("e3", system("zebra rules")),
        )
        assert await found_ids(memory, "zebra") == []

    async def test_filters_hold_exactly(self, memory: MemoryStore) -> None:
        for n, name in enumerate(NEAR):
            await keep(memory, told("e", f"hello {n}", seconds=n), run_id=name, session_id=name)
        for n, name in enumerate(NEAR):
            for filters in ({"session_id": name}, {"run_id": name}):
                found = await memory.search("hello", limit=1000, **filters)  # type: ignore[arg-type]  # the filters of this test are ids
                assert [each.event.text for each in found] == [f"hello {n}"]
        assert await found_ids(memory, "hello", agent_id="help") == []
        assert len(await found_ids(memory, "hello", agent_id="helper", limit=1000)) == len(NEAR)

    async def test_a_time_filter_takes_its_beginning_and_not_its_end(self, memory: MemoryStore) -> None:
        await keep(memory, *(told(f"e{n}", f"hello {n}", seconds=n) for n in range(4)))
        assert set(await found_ids(memory, "hello", since=at(1), until=at(3))) == {"e1", "e2"}
        assert await found_ids(memory, "hello", since=at(3), until=at(3)) == []

    @pytest.mark.parametrize("query", OPERATORS, ids=repr)
    async def test_nothing_in_a_query_is_an_operator(self, memory: MemoryStore, query: str) -> None:
        await keep(memory, told("e1", "dark mode"), tenant="other")
        assert await found_ids(memory, query) == []

    @pytest.mark.parametrize("limit", [0, 1001, True, None])
    async def test_a_limit_is_from_1_to_1000(self, memory: MemoryStore, limit: int) -> None:
        with pytest.raises(InvalidValue):
            await found_ids(memory, "hi", limit=limit)

    async def test_a_search_gives_the_best_within_its_limit(self, memory: MemoryStore) -> None:
        await keep(memory, *(told(f"e{n}", f"tea with {'sugar and ' * n}milk") for n in range(5)))
        found = await found_ids(memory, "tea milk", limit=2)
        assert found == ["e0", "e1"]

    # Forgetting

    async def test_a_forgotten_session_is_gone_and_refuses_late_writes(self, memory: MemoryStore) -> None:
        await keep(memory, told("e1", "hello"))
        await keep(memory, told("e1", "hello"), run_id="r2")
        await keep(memory, told("e1", "hello"), run_id="r3", session_id="s2")
        await memory.forget("s1")
        await memory.forget("s1")
        await memory.forget("never-seen")
        assert (await loaded(memory)).events == ()
        found = await memory.search("hello")
        assert [each.run_id for each in found] == ["r3"]
        for session_id, run_id in (("s1", "r1"), ("s1", "r9"), ("never-seen", "r8")):
            with pytest.raises(SessionPurged):
                await keep(memory, told("e1", "hello"), run_id=run_id, session_id=session_id)
            with pytest.raises(SessionPurged):
                await memory.annotate(session_id, "helper", run_id, Annotation(rating=1), event_id="n", at=at(0))
        assert len(await memory.search("hello")) == 1

    async def test_forgetting_is_exact(self, memory: MemoryStore) -> None:
        for name in NEAR:
            await keep(memory, told("e", "hello"), run_id=name, session_id=name)
        await memory.forget(NEAR[0])
        left = {each.session_id for each in await memory.search("hello", limit=1000)}
        assert left == set(NEAR[1:])

    async def test_a_forgotten_one_shot_tree_is_gone(self, memory: MemoryStore) -> None:
        await keep(memory, told("e1", "hello"), run_id="o1", session_id=None)
        await memory.append_events(None, "helper", "o2", [told("e1", "hello")], root_run_id="o1")
        await keep(memory, told("e1", "hello"), run_id="o3", session_id=None)
        await keep(memory, told("e1", "hello"), run_id="x", session_id="o1")
        await memory.forget_one_shot("o1")
        assert {each.run_id for each in await memory.search("hello")} == {"o3", "x"}
        for run_id, root in (("o1", None), ("o2", "o1"), ("o9", "o1")):
            with pytest.raises(RunPurged):
                await memory.append_events(None, "helper", run_id, [told("e1", "hello")], root_run_id=root)
        assert await keep(memory, told("e2", "hello"), run_id="x", session_id="o1") == 1

    async def test_a_write_that_races_with_forgetting_leaves_nothing(self, memory: MemoryStore) -> None:
        async def late(n: int) -> None:
            with suppress(SessionPurged):
                await keep(memory, told("e", "hello"), run_id=f"r{n}")

        tasks = [asyncio.ensure_future(late(n)) for n in range(30)]
        await memory.forget("s1")
        await asyncio.gather(*tasks)
        assert await memory.search("hello") == ()
        assert [(await loaded(memory, f"r{n}")).events for n in range(30)] == [()] * 30

    # Tenants

    async def test_tenants_do_not_meet(self, memory: MemoryStore) -> None:
        for tenant in (None, "a", "b"):
            await keep(memory, told("e", f"hello {tenant}"), tenant=tenant)
        assert [each.event.text for each in await memory.search("hello", tenant="a")] == ["hello a"]
        await memory.forget("s1", tenant="a")
        assert (await loaded(memory, tenant="a")).events == ()
        assert (await loaded(memory, tenant="b")).messages() == (user("hello b"),)
        assert (await loaded(memory)).messages() == (user("hello None"),)
        await keep(memory, told("e2", "again"), tenant="b")
