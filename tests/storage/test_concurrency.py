"""Many writers at once, in tasks, threads and processes: nothing is lost or twice, everybody sees one order."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from actum.base.errors import RecordConflict, StoreUnavailable
from actum.lifecycle.commands import Appended
from actum.lifecycle.states import RunStatus
from actum.storage.contract import OwnedStore
from actum.storage.opening import open_store
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.history import Kept, findings, lost, outcome, read_everything
from tests.support.store_writers import append_shared, hold_owner, kill, process, write_runs
from tests.support.waiting import wait_until


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/actum.db"


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, url: str) -> AsyncIterator[OwnedStore]:
    async with open_store("memory:" if request.param == "memory" else url) as store:
        yield store


def in_threads(*works: Callable[[], Coroutine[None, None, None]]) -> list[BaseException]:
    """Each work in a thread and an event loop of its own, all from the same moment; what they raised."""
    failures: list[BaseException] = []
    gate = threading.Barrier(len(works))

    def run(work: Callable[[], Coroutine[None, None, None]]) -> None:
        try:
            gate.wait()
            asyncio.run(work())
        except BaseException as error:  # noqa: BLE001 - a thread's failure is the test's failure
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def keys_of(kept: Kept, run_id: str) -> list[str]:
    return [each.event_key for each in kept.of(kept.run(run_id))]


async def test_twenty_workers_each_drive_their_own_run(store: OwnedStore) -> None:
    await scenes.session(store)

    async def work(worker: int) -> None:
        start = samples.root(f"r{worker}")
        await store.start_root_run(start)
        for n in range(25):
            assert (await store.append_run_record(samples.note(start, f"{n:02}"))).inserted
        await store.record_run_terminal(samples.completed(start))

    async def follow() -> list[str]:
        """A reader that pages the session meanwhile, until it has seen every end."""
        seen: list[str] = []
        ends, cursor = 0, None
        while ends < 20:
            page = await store.list_session_run_records("s1", cursor=cursor, limit=13)
            for record in page.items:
                run = await store.load_run(record.run_id)
                assert record.type != "run_completed" or run.status is RunStatus.COMPLETED
                seen.append(record.id)
            ends += sum(record.type == "run_completed" for record in page.items)
            cursor = page.cursor
            await asyncio.sleep(0)
        return seen

    seen, *_ = await asyncio.gather(follow(), *(work(worker) for worker in range(20)))
    kept = await read_everything(store)
    assert findings(kept) == []
    assert seen == [each.id for each in kept.records["session s1"]]
    for worker in range(20):
        assert keys_of(kept, f"r{worker}") == ["start", *(f"{n:02}" for n in range(25)), "end"]


async def test_two_workers_that_drive_one_run_do_not_mix(store: OwnedStore) -> None:
    await scenes.session(store)
    start = samples.root("r1")

    async def drive(name: str) -> int:
        await store.start_root_run(start)
        won = 0
        for n in range(25):
            batch = (samples.note(start, f"step-{n:02}", name), samples.note(start, f"{name}-{n:02}", name))
            answer = await outcome(store.append_run_records(batch))
            assert not isinstance(answer, Exception) or isinstance(answer, RecordConflict)
            won += not isinstance(answer, Exception)
        return won

    wins = await asyncio.gather(drive("a"), drive("b"))
    assert sum(wins) == 25
    kept = await read_everything(store)
    assert findings(kept) == []
    records = kept.of(kept.run("r1"))
    assert len(records) == 51
    # Each step was won by one of them with both of its records; the other left nothing.
    for step, own in zip(records[1::2], records[2::2], strict=True):
        assert step.payload == own.payload
        assert own.event_key[2:] == step.event_key.removeprefix("step-")


def test_eight_fresh_stores_on_one_new_file(url: str) -> None:
    def opening(n: int) -> Callable[[], Coroutine[None, None, None]]:
        async def work() -> None:
            async with open_store(url) as store:
                await store.create_session("s1", samples.T0)
                start = samples.root(f"r{n}")
                await store.start_root_run(start)
                for m in range(10):
                    await store.append_run_record(samples.note(start, f"k{m}"))

        return work

    assert in_threads(*(opening(n) for n in range(8))) == []
    kept = asyncio.run(_read(url))
    assert findings(kept) == []
    assert len(kept.records["session s1"]) == 8 * 11


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_one_store_serves_many_threads(url: str, kind: str) -> None:
    async def main() -> Kept:
        async with open_store("memory:" if kind == "memory" else url) as store:
            run = await scenes.running(store)

            def writing(n: int) -> Callable[[], Coroutine[None, None, None]]:
                async def work() -> None:
                    for m in range(25):
                        await store.append_run_record(samples.note(run, f"{n}/{m:02}"))

                return work

            failures = await asyncio.to_thread(in_threads, *(writing(n) for n in range(6)))
            assert failures == []
            return await read_everything(store)

    kept = asyncio.run(main())
    assert findings(kept) == []
    keys = keys_of(kept, "r1")
    for n in range(6):
        assert [key for key in keys if key.startswith(f"{n}/")] == [f"{n}/{m:02}" for m in range(25)]


async def test_closing_waits_for_what_was_accepted(url: str) -> None:
    acknowledged: dict[tuple[str, str], str] = {}
    async with open_store(url) as store:
        run = await scenes.running(store)

        async def write(n: int) -> None:
            answer = await outcome(store.append_run_record(samples.note(run, f"k{n:02}")))
            assert isinstance(answer, Appended | StoreUnavailable)
            if isinstance(answer, Appended):
                acknowledged["r1", f"k{n:02}"] = answer.id

        writers = [asyncio.ensure_future(write(n)) for n in range(50)]
        await asyncio.sleep(0)
    await asyncio.gather(*writers)
    async with open_store(url) as store:
        kept = await read_everything(store)
    assert findings(kept) == []
    assert lost(kept, acknowledged) == []
    assert len(acknowledged) == len(kept.of(kept.run("r1"))) - 1


@pytest.mark.slow
def test_four_processes_and_a_reader_on_one_new_file(url: str) -> None:
    with ExitStack() as stack:
        children = [stack.enter_context(process(write_runs, url, worker, 5, 25)) for worker in range(4)]
        seen = asyncio.run(_follow(url, children))
        for child in children:
            child.join()
            assert child.exitcode == 0
    kept = asyncio.run(_read(url))
    assert findings(kept) == []
    assert seen == [each.id for each in kept.records["session s1"]]
    assert len(seen) == 4 * 5 * 27
    for worker in range(4):
        for n in range(5):
            keys = [f"{worker}/{n}/{m:03}" for m in range(25)]
            assert keys_of(kept, f"w{worker}/r{n}") == ["start", *keys, "end"]


@pytest.mark.slow
def test_four_processes_on_one_run(url: str) -> None:
    asyncio.run(_prepare(url))
    with ExitStack() as stack:
        children = [stack.enter_context(process(append_shared, url, worker, 25)) for worker in range(4)]
        for child in children:
            child.join()
            assert child.exitcode == 0
    kept = asyncio.run(_read(url))
    assert findings(kept) == []
    keys = keys_of(kept, "shared")
    for worker in range(4):
        assert [key for key in keys if key.startswith(f"{worker}/")] == [f"{worker}/{m:03}" for m in range(25)]
    assert sorted(key for key in keys if key.startswith("fought/")) == [f"fought/{m:03}" for m in range(25)]
    winners = [key for key in keys if key.startswith("won/")]
    assert sorted(key.rpartition("/")[2] for key in winners) == [f"{m:03}" for m in range(25)]


@pytest.mark.slow
@pytest.mark.crash
def test_an_owner_dies_with_its_process(url: str, tmp_path: Path) -> None:
    told = tmp_path / "owner"

    async def alive(owner: str) -> bool:
        async with open_store(url) as store:
            return await store.owner_alive(owner)

    with process(hold_owner, url, str(told)) as child:
        owner = wait_until(lambda: told.read_text(encoding="utf-8") if told.exists() else None)
        assert asyncio.run(alive(owner))
        kill(child)
        assert not asyncio.run(alive(owner))


async def _prepare(url: str) -> None:
    async with open_store(url) as store:
        await scenes.running(store, "shared")


async def _read(url: str) -> Kept:
    async with open_store(url) as store:
        return await read_everything(store)


async def _follow(url: str, writers: list[BaseProcess]) -> list[str]:
    """Pages the session, coming back again and again until the writers are done, and then to its end."""
    seen: list[str] = []
    cursor: str | None = None
    async with open_store(url) as store:
        await scenes.session(store)
        writing, more = True, True
        while writing or more:
            # Asked before the page is read: what is written before a writer's end is on a later page.
            writing = any(each.is_alive() for each in writers)
            page = await store.list_session_run_records("s1", cursor=cursor, limit=17)
            seen += [each.id for each in page.items]
            cursor, more = page.cursor, page.more
    return seen
