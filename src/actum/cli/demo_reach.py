"""What the demo reaches for: other processes of its own, and the records of a run."""

import asyncio
import sys

from actum.base.errors import RunNotFound
from actum.records.record import Record
from actum.storage.contract import OwnedStore


async def process(*arguments: object) -> asyncio.subprocess.Process:
    """A process of the demo's own; what it says on standard error is shown."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "actum.cli.demo_process", *map(str, arguments), stdin=asyncio.subprocess.DEVNULL
    )


async def records_of(store: OwnedStore, run_id: str) -> tuple[Record, ...]:
    """The records of a run."""
    return (await store.list_run_records(run_id, limit=1000)).items


async def so_far(store: OwnedStore, run_id: str) -> tuple[Record, ...]:
    """The records of a run; none before it has begun."""
    try:
        return await records_of(store, run_id)
    except RunNotFound:
        return ()
