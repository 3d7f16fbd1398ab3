"""Writers in processes of their own: what tests of concurrency and of crashes start, watch and kill."""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

from actum.base.errors import ContractError
from actum.lifecycle import commands as c
from actum.storage.contract import OwnedStore
from actum.storage.opening import open_store
from actum.testing import samples

# A server that has everything imported forks a writer in a few milliseconds; a new interpreter takes far longer.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__, "actum.storage.sqlite.backend", "actum.storage.memory"])


@contextmanager
def process(target: Callable[..., None], *arguments: object) -> Iterator[BaseProcess]:
    """A process that runs `target`; on leaving it has ended, by itself or by force."""
    child = _FORKS.Process(target=target, args=arguments, daemon=True)
    child.start()
    try:
        yield child
    finally:
        if child.is_alive():
            child.kill()
        child.join()
        child.close()


def kill(child: BaseProcess) -> None:
    """Ends a process as a power cut would: no handler runs, nothing is flushed."""
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join()


def write_runs(url: str, worker: int, runs: int, records: int) -> None:
    """Runs of session `s1`, one after the other, each with notes and an end. The first makes file and session."""

    async def work() -> None:
        async with open_store(url) as store:
            await store.create_session("s1", samples.T0)
            for n in range(runs):
                start = samples.root(f"w{worker}/r{n}")
                await store.start_root_run(start)
                for m in range(records):
                    await store.append_run_record(samples.note(start, f"{worker}/{n}/{m:03}"))
                await store.record_run_terminal(samples.completed(start))

    asyncio.run(work())


def append_shared(url: str, worker: int, records: int) -> None:
    """Appends to the run `shared`: keys of its own, and one that every writer fights for."""

    async def work() -> None:
        async with open_store(url) as store:
            run = await store.load_run("shared")
            for m in range(records):
                await store.append_run_record(samples.note(run, f"{worker}/{m:03}"))
                fought = (
                    samples.note(run, f"fought/{m:03}", f"writer {worker}"),
                    samples.note(run, f"won/{worker}/{m:03}"),
                )
                try:
                    await store.append_run_records(fought)
                except ContractError as error:
                    assert error.code == "record_conflict", error  # noqa: PT017 - this runs outside of pytest

    asyncio.run(work())


def hold_owner(url: str, told: str) -> None:
    """Holds an owner id, writes it to the file `told`, and lives until it is killed."""

    async def work() -> None:
        async with open_store(url) as store, store.hold_owner() as owner:
            await asyncio.to_thread(Path(told).write_text, owner, encoding="utf-8")
            await asyncio.Event().wait()

    asyncio.run(work())


def write_until_killed(url: str, round_: int, told: str) -> None:
    """Eight writers in session `s<round>` that never stop; each acknowledged record is a line of the file `told`.

    A line is run, key and record id. It is written by one system call, so a killed writer leaves whole lines.
    """
    acknowledgements = os.open(told, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def tell(run_id: str, key: str, answer: c.Appended) -> None:
        os.write(acknowledgements, f"{run_id} {key} {answer.id}\n".encode())

    async def work() -> None:
        async with open_store(url) as store:
            session_id = f"s{round_}"
            await store.create_session(session_id, samples.T0)
            await asyncio.gather(*(_write_on(store, session_id, worker, tell) for worker in range(8)))

    asyncio.run(work())


async def _write_on(
    store: OwnedStore, session_id: str, worker: int, tell: Callable[[str, str, c.Appended], None]
) -> None:
    """Run after run, each with a child, a few notes and an end."""
    n = 0
    while True:
        n += 1
        start = samples.root(f"{session_id}/{worker}/{n}", session_id)
        started = await store.start_root_run(start)
        tell(start.run.run_id, "start", started.started)
        for m in range(4):
            keys = [f"{m}/{each}" for each in range(1 + m)]
            for key, answer in zip(keys, await store.append_run_records(samples.notes(start, *keys)), strict=True):
                tell(start.run.run_id, key, answer)
        below = samples.child(f"{start.run.run_id}/child", start)
        answered = await store.start_child_run(below)
        assert answered.linked is not None
        tell(start.run.run_id, below.parent_linked.event_key, answered.linked)
        tell(below.run.run_id, "start", answered.started)
        ended = await store.record_run_terminal(samples.completed(below, seconds=9))
        tell(below.run.run_id, "end", ended.record)
        stop = samples.suspension(start, seconds=9) if n % 2 else samples.completed(start, seconds=9)
        over = await (
            store.record_run_suspension(stop) if isinstance(stop, c.RunSuspension) else store.record_run_terminal(stop)
        )
        tell(start.run.run_id, stop.record.event_key, over.record)


def acknowledge_one_by_one(url: str, times: int) -> None:
    """Appends records one after the other and says `ACK <n>` on standard output when each is acknowledged."""

    async def work() -> None:
        async with open_store(url) as store:
            await store.create_session("s1", samples.T0)
            start = samples.root("r1")
            await store.start_root_run(start)
            os.write(1, b"ACK begin\n")
            for n in range(times):
                await store.append_run_record(samples.note(start, f"k{n}"))
                os.write(1, f"ACK {n}\n".encode())

    asyncio.run(work())
