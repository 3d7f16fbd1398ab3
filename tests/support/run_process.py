"""A process that plays a story over a SQLite file, until it is killed where the test wants it.

It talks by lines: `died` when it stands at the chosen call to its store (and answers nothing any more), `tool` when it
stands inside a tool, and in the end the runs that it took and the status of each.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from actum.storage.local import LocalStore
from actum.storage.sqlite.backend import SQLiteBackend
from actum.testing.samples import T0
from tests.support.frail import MortalBackend, until_dead
from tests.support.programs import line_of, program
from tests.support.scenario import RUN, SESSION, Cast, Worker, uses

_CODE = "from tests.support.run_process import main; main()"


def process(folder: Path, verb: str, *, dies_at: int = 0, after: bool = False) -> "subprocess.Popen[str]":
    """Starts a process that plays the story in this folder: `start` its run, or `recover` what is there.

    `hang` is `start` with a tool that never comes back.
    """
    return program(_CODE, folder, verb, str(dies_at), "after" if after else "before")


def killed(running: "subprocess.Popen[str]") -> None:
    """Ends the process in the middle of what it does."""
    os.kill(running.pid, signal.SIGKILL)
    running.communicate(timeout=60)


def ran(folder: Path) -> list[str]:
    """The tools that ran, in whichever process."""
    file = folder / "ran.txt"
    return file.read_text(encoding="utf-8").split() if file.exists() else []


def taken(running: "subprocess.Popen[str]") -> list[str]:
    """The runs that a recovering process says it took."""
    names: list[str] = json.loads(line_of(running))
    return names


def story(folder: Path, *, hangs: bool = False) -> Cast:
    """Two tools side by side, one that may run again, and the answer."""

    def work(name: str) -> str:
        with (folder / "ran.txt").open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")
        return f"{name} was done"

    async def a() -> str:
        return work("a")

    async def b() -> str:
        said = work("b")
        if hangs:
            _say("tool")
            await asyncio.get_running_loop().create_future()
        return said

    async def c() -> str:
        return work("c")

    cast = Cast(uses("a", "b"), uses("c"), "done")
    return cast.does("a", a).does("b", b).does("c", c, idempotent=True)


def main() -> None:
    """Plays as the arguments say."""
    folder, verb, dies_at, when = sys.argv[1:]
    asyncio.run(_play(Path(folder), verb, int(dies_at), after=when == "after"))


async def _play(folder: Path, verb: str, dies_at: int, *, after: bool) -> None:
    backend = await SQLiteBackend.open(folder / "actum.db")
    await LocalStore(backend).create_session(SESSION, T0)
    mortal = MortalBackend(backend, dies_at=dies_at, after=after)
    worker = Worker(LocalStore(mortal), story(folder, hangs=verb == "hang"))
    if await until_dead(mortal, _verb(worker, verb)):
        _say("died")
        await asyncio.get_running_loop().create_future()
    await worker.runtime.close()
    await backend.close()


async def _verb(worker: Worker, verb: str) -> None:
    if verb == "recover":
        _say(json.dumps(await worker.recover()))
    elif verb == "race":
        _say("ready")
        await asyncio.to_thread(sys.stdin.readline)
        _say(json.dumps(await worker.runtime.recover()))
        await worker.runtime.output(RUN)
    else:
        await worker.play()
        _say("ended")


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - this is how the process talks to its test
