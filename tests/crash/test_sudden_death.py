"""A writer is killed at a random moment under load: what it was told is stored is stored, once, and in order.

ACTUM_KILLS sets how many writers die, ACTUM_SEED when. Each dies in a session of its own, on a file that has seen the
deaths before it.
"""

import asyncio
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from actum.base.value import dump_json
from actum.storage.contract import OwnedStore
from actum.storage.opening import open_store
from actum.testing import samples
from actum.testing.history import Kept, findings, lost, read_everything
from tests.support.store_writers import kill, process, write_until_killed
from tests.support.waiting import wait_until

KILLS = int(os.environ.get("ACTUM_KILLS") or 300)
PER_FILE = 25
SEED = int(os.environ.get("ACTUM_SEED") or 20250101)

pytestmark = [pytest.mark.crash, pytest.mark.slow]


@pytest.mark.parametrize("file", range(-(-KILLS // PER_FILE)))
def test_nothing_acknowledged_is_lost(tmp_path: Path, file: int) -> None:
    chance = random.Random(SEED + file)  # noqa: S311 - moments are to be repeated, not to be secret
    url = f"sqlite:///{tmp_path}/actum.db"
    acknowledged: dict[tuple[str, str], str] = {}
    for round_ in range(min(PER_FILE, KILLS - file * PER_FILE)):
        told = tmp_path / f"told-{round_}"
        with process(write_until_killed, url, round_, str(told)) as child:
            # From the first bytes of a new file to well into the load, in steps finer than a commit.
            wait_until(reached(told, chance.choice([0, 1, 400, 2_000, 9_000, 30_000])), every_s=0.0005)
            wait_a_little(chance)
            kill(child)
        acknowledged |= read_lines(told)
        kept = asyncio.run(look(url))
        assert findings(kept) == []
        assert lost(kept, acknowledged) == []
        assert damaged(kept) == []
    assert acknowledged
    asyncio.run(go_on(url))


def damaged(kept: Kept) -> list[str]:
    """Notes whose bytes are not those that were written: each says its own key."""
    notes = [each for records in kept.records.values() for each in records if each.type == samples.NOTE]
    return [each.event_key for each in notes if each.payload != dump_json({"text": each.event_key})]


def reached(told: Path, size: int) -> Callable[[], bool]:
    return lambda: told.exists() and told.stat().st_size >= size


def wait_a_little(chance: random.Random) -> None:
    """Up to some milliseconds of other work, for a moment that no commit can be in step with."""
    for _ in range(chance.randrange(20_000)):
        chance.random()


def read_lines(told: Path) -> dict[tuple[str, str], str]:
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    return {(run_id, key): record_id for run_id, key, record_id in map(str.split, lines)}


async def look(url: str) -> Kept:
    async with open_store(url) as store:
        return await read_everything(store)


async def go_on(url: str) -> None:
    """The file takes new work: every run that was cut off is ended, by exact commands, and the sessions are purged."""
    async with open_store(url) as store:
        await _end_every_run(store)
        assert findings(await read_everything(store)) == []
        for session in (await store.list_sessions(limit=1000)).items:
            await store.end_session(session.session_id, samples.at(60))
            await store.purge_session(session.session_id)
        kept = await read_everything(store)
        assert (kept.sessions, kept.runs) == ((), ())


async def _end_every_run(store: OwnedStore) -> None:
    running = [run for run in (await read_everything(store)).runs if run.status == "running"]
    await asyncio.gather(*(store.record_run_terminal(samples.completed(run, seconds=60)) for run in running))
