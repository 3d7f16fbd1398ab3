"""The projection over a real store: at least once, exact retry, and nothing is held up by what is gone or broken."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from actum.base.errors import RunPurged, SessionPurged, StoreUnavailable
from actum.lifecycle.states import Run
from actum.memory.contract import MemoryStore
from actum.memory.delivery import CONSUMER, deliver_events
from actum.memory.events import Annotation, EventType
from actum.memory.opening import open_memory
from actum.messages.message import assistant, system, tool_results, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.records import makers
from actum.records.record import NewRecord, Page, Record
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore
from actum.storage.opening import open_store
from actum.testing import samples
from actum.testing.contract import scenes
from actum.transcript.replay import Replay


@pytest.fixture
async def store() -> AsyncIterator[OwnedStore]:
    async with open_store("memory:") as store:
        yield store


@pytest.fixture(params=["memory", "sqlite"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MemoryStore]:
    url = "memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/memory.db"
    async with open_memory(url) as opened:
        yield opened.events


def seeded(run: samples.AnyRun, *texts: str) -> NewRecord:
    payload = makers.transcript_messages_seeded(messages=(system("be brief"), *(user(each) for each in texts)))
    return samples.record(run, "seed", type=RecordType.TRANSCRIPT_MESSAGES_SEEDED, payload=payload)


async def conversation(
    store: OwnedStore, session_id: str = "s1", *, turns: int = 3, tenant: str | None = None
) -> list[Run]:
    """Turns that follow one another, each with a tool call; the first is seeded."""
    await store.create_session(session_id, samples.T0, tenant=tenant)
    runs: list[Run] = []
    for n in range(turns):
        before = runs[-1] if runs else None
        started = await store.start_root_run(samples.following(f"{session_id}-r{n}", before, session_id))
        call = tool_use(f"c{n}", "clock", {})
        records = [
            samples.said(started, "in", f"what is {n}?"),
            samples.said(started, "call", assistant("I look.", call)),
            samples.said(started, "out", tool_results(ToolResultPart(tool_use_id=call.id, content=n))),
            samples.said(started, "answer", assistant(f"it is {n}")),
        ]
        if n == 0:
            records.insert(0, seeded(started, "earlier"))
        await store.append_run_records(records)
        runs.append((await store.record_run_terminal(samples.completed(started))).run)
    return runs


async def transcript(store: OwnedStore, run: Run) -> tuple[object, ...]:
    page = await store.read_transcript(run.run_id, limit=1000)
    return Replay(chain=True).read(page.items).messages


async def remembered(memory: MemoryStore, runs: Sequence[Run]) -> list[object]:
    return [await memory.load_run(each.agent_id, each.run_id, tenant=each.tenant) for each in runs]


async def test_a_run_is_remembered_as_the_provider_saw_it(store: OwnedStore, memory: MemoryStore) -> None:
    runs = await conversation(store)
    done = await deliver_events(store, memory)
    assert (done.scopes, done.failed) == (1, ())
    for run in runs:
        snapshot = await memory.load_run(run.agent_id, run.run_id)
        assert snapshot.messages(history=True) == await transcript(store, run)
        assert len(snapshot.messages()) == 4
    assert [each.event.text for each in await memory.search("what is 2", session_id="s1")] == ["what is 2?"]
    assert await memory.search("earlier") == ()


async def test_what_was_delivered_is_not_delivered_again(store: OwnedStore, memory: MemoryStore) -> None:
    runs = await conversation(store, turns=1)
    first = await deliver_events(store, memory)
    assert first.events == 7
    assert (await deliver_events(store, memory)).scopes == 0
    started = await store.start_root_run(samples.following("more", runs[-1]))
    await store.append_run_record(samples.said(started, "in", "and now?"))
    assert (await deliver_events(store, memory)).events == 1


async def test_a_repeated_delivery_gives_the_same_memory(store: OwnedStore, memory: MemoryStore) -> None:
    runs = await conversation(store)
    await deliver_events(store, memory)
    before = await remembered(memory, runs)
    again = await deliver_events(store, memory, consumer="memory-2")
    assert (again.scopes, again.events) == (1, 0)
    assert await remembered(memory, runs) == before


class Died(BaseException):
    """The process was killed here."""


class DyingLog:
    """A store whose reader is killed at the n-th call, before or after it took effect; pages hold two records."""

    def __init__(self, store: OwnedStore, dies_at: int) -> None:
        self._store = store
        self.left = dies_at

    def __getattr__(self, name: str) -> object:
        verb = getattr(self._store, name)

        async def called(*args: object, **kwargs: object) -> object:
            self._count()
            if "limit" in kwargs:
                kwargs["limit"] = 2
            answer = await verb(*args, **kwargs)
            self._count()
            return answer

        return called

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Died


class DyingMemory:
    """A memory whose writer is killed along with the log's reader."""

    def __init__(self, memory: MemoryStore, log: DyingLog) -> None:
        self._memory = memory
        self._log = log

    async def append_events(self, *args: object, **kwargs: object) -> int:
        self._log._count()  # noqa: SLF001 - one count of steps over both
        added = await self._memory.append_events(*args, **kwargs)  # type: ignore[arg-type]  # passed on as they come
        self._log._count()  # noqa: SLF001 - the same
        return added


@pytest.mark.slow
async def test_killed_anywhere_and_repeated_it_gives_the_same_memory(store: OwnedStore, tmp_path: Path) -> None:
    runs = await conversation(store, turns=2)
    async with open_memory("memory:") as whole:
        await deliver_events(store, whole.events, consumer="whole")
        expected = await remembered(whole.events, runs)
    step, finished = 0, False
    while not finished:
        step += 1
        async with open_memory(f"sqlite:///{tmp_path}/{step}.db") as opened:
            log = DyingLog(store, step)
            dying = DyingMemory(opened.events, log)
            try:
                await deliver_events(log, dying, consumer=f"c{step}")  # type: ignore[arg-type]  # stand-ins that die
                finished = True
            except Died:
                pass
            await deliver_events(store, opened.events, consumer=f"c{step}")
            assert await remembered(opened.events, runs) == expected
    assert step > 40


async def test_tenants_keep_their_own(store: OwnedStore, memory: MemoryStore) -> None:
    (mine,) = await conversation(store, "s1", turns=1, tenant="a")
    (theirs,) = await conversation(store, "s2", turns=1, tenant="b")
    await deliver_events(store, memory)
    assert await memory.search("what") == ()
    assert {each.run_id for each in await memory.search("what", tenant="a")} == {mine.run_id}
    assert (await memory.load_run(theirs.agent_id, theirs.run_id, tenant="a")).events == ()


async def test_one_shot_trees_are_remembered_and_forgotten(store: OwnedStore, memory: MemoryStore) -> None:
    root = await scenes.one_shot(store, "o1", tenant="a")
    child = await store.start_one_shot_child_run(samples.one_shot_child("o2", root))
    await store.append_run_record(samples.said(child, "in", "a small task"))
    await deliver_events(store, memory)
    assert [each.run_id for each in await memory.search("task", tenant="a")] == ["o2"]
    await memory.forget_one_shot("o1", tenant="a")
    assert await memory.search("task", tenant="a") == ()
    await store.append_run_record(samples.said(child, "late", "another task"))
    assert (await deliver_events(store, memory)).failed == ()
    assert await store.scopes_behind(CONSUMER) == ()
    with pytest.raises(RunPurged):
        await memory.append_events(None, "assistant", "o2", [], root_run_id="o1", tenant="a")


async def test_a_forgotten_session_is_passed_over_for_good(store: OwnedStore, memory: MemoryStore) -> None:
    await conversation(store, "s1", turns=1)
    (other,) = await conversation(store, "s2", turns=1)
    await memory.forget("s1")
    done = await deliver_events(store, memory)
    assert done.failed == ()
    assert await store.scopes_behind(CONSUMER) == ()
    assert {each.run_id for each in await memory.search("what")} == {other.run_id}
    with pytest.raises(SessionPurged):
        await memory.append_events("s1", "assistant", "s1-r0", [])


class PurgedWhileRead:
    """A store in which the session is purged just before its records are read."""

    def __init__(self, store: OwnedStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def list_session_run_records(self, session_id: str, **options: object) -> Page[Record]:
        await self._store.end_session(session_id, samples.at(99))
        await self._store.purge_session(session_id)
        return await self._store.list_session_run_records(session_id, **options)  # type: ignore[arg-type]  # passed on as they come


async def test_a_purge_in_between_is_no_error(store: OwnedStore, memory: MemoryStore) -> None:
    await conversation(store, "s1", turns=1)
    done = await deliver_events(PurgedWhileRead(store), memory)  # type: ignore[arg-type]  # a stand-in
    assert (done.scopes, done.failed) == (0, ())
    assert await store.scopes_behind(CONSUMER) == ()


class BrokenMemory:
    """A memory that cannot write one session."""

    def __init__(self, memory: MemoryStore, session_id: str) -> None:
        self._memory = memory
        self._session_id = session_id

    async def append_events(self, session_id: str | None, *args: object, **kwargs: object) -> int:
        if session_id == self._session_id:
            raise StoreUnavailable(reason="a full disk")
        return await self._memory.append_events(session_id, *args, **kwargs)  # type: ignore[arg-type]  # passed on as they come


async def test_a_scope_that_fails_is_told_and_holds_up_nobody(store: OwnedStore, memory: MemoryStore) -> None:
    await conversation(store, "s1", turns=1)
    await conversation(store, "s2", turns=1)
    done = await deliver_events(store, BrokenMemory(memory, "s1"))  # type: ignore[arg-type]  # a stand-in
    assert done.scopes == 1
    assert [(each.scope.session_id, type(each.error)) for each in done.failed] == [("s1", StoreUnavailable)]
    assert [each.session_id for each in await store.scopes_behind(CONSUMER)] == ["s1"]
    assert (await deliver_events(store, memory)).scopes == 1


async def test_annotations_may_come_before_the_projection(store: OwnedStore, memory: MemoryStore) -> None:
    (run,) = await conversation(store, "s1", turns=1)
    liked = Annotation(rating=1)
    await memory.annotate("s1", run.agent_id, run.run_id, liked, event_id="like", at=samples.at(100))
    await deliver_events(store, memory)
    snapshot = await memory.load_run(run.agent_id, run.run_id)
    assert snapshot.annotations == (liked,)
    assert snapshot.messages(history=True) == await transcript(store, run)


async def test_a_run_with_very_many_events_is_delivered_in_parts(store: OwnedStore, memory: MemoryStore) -> None:
    run = await scenes.running(store)
    calls = [tool_use(f"c{n}", "clock", {}) for n in range(600)]
    await store.append_run_record(samples.said(run, "in", "go", assistant(*calls)))
    results = tool_results(*(ToolResultPart(tool_use_id=each.id, content=1) for each in calls))
    await store.append_run_record(samples.said(run, "out", results))
    assert (await deliver_events(store, memory)).events == 1201
    kinds = [each.type for each in (await memory.load_run(run.agent_id, run.run_id)).events]
    assert kinds.count(EventType.TOOL_RESULT) == 600
