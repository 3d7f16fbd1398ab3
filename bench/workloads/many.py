"""Many runs at once in one process, each appending one message after the other.

Beside it stand two raw limits for the same rows: one commit a row, and a bare writer of groups (a savepoint and an
insert a row, one thread, and callers that wait for it as ours do).
"""

import argparse
import asyncio
from pathlib import Path

from actum import now as instant
from actum import open_store
from bench import raw
from bench.actum_parts import SESSION, payload, record, started
from bench.measure import now, place, tell


async def _ours(path: str, runs: int, each: int, payloads: list[bytes]) -> tuple[float, int]:
    errors = 0
    async with open_store(path) as store:
        await store.create_session(SESSION, instant())
        names = [f"run-{i}" for i in range(runs)]
        for name in names:
            await started(store, name)

        async def writing(name: str) -> None:
            nonlocal errors
            for i in range(each):
                try:
                    await store.append_run_record(
                        record(name, f"step/{i}/message", "transcript_messages_appended", payloads[i % len(payloads)])
                    )
                except Exception:  # noqa: BLE001 - whatever reaches a caller is counted, and fails the bar
                    errors += 1

        begun = now()
        await asyncio.gather(*map(writing, names))
        took = now() - begun
        found = 0
        for name in names:
            found += len((await store.list_run_records(name, limit=1000)).items) - 1
        assert found == runs * each - errors, found
    return took, errors


async def _grouped(path: Path, runs: int, each: int, payloads: list[bytes]) -> float:
    connection = raw.opened(path)
    writer = raw.GroupWriter(connection)

    async def writing(name: str) -> None:
        for i in range(each):
            await writer.insert((name, i, payloads[i % len(payloads)]))

    begun = now()
    await asyncio.gather(*(writing(f"run-{k}") for k in range(runs)))
    took = now() - begun
    writer.close()
    connection.close()
    return took


def main() -> None:
    """Prints rows a second."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=64)
    options.add_argument("--each", type=int, default=100)
    options.add_argument("--folder")
    given = options.parse_args()
    payloads = [payload(i) for i in range(100)]
    rows = [(f"run-{k}", i, payloads[i % 100]) for i in range(given.each) for k in range(given.runs)]
    with place(given.folder) as here:
        single = raw.opened(here / "single.db")
        begun = now()
        for row in rows:
            single.execute(raw.INSERT, row)
        alone = now() - begun
        single.close()
        took, errors = asyncio.run(_ours(f"sqlite:///{here}/actum.db", given.runs, given.each, payloads))
        together = asyncio.run(_grouped(here / "grouped.db", given.runs, given.each, payloads))
    tell(
        raw_rows_s=round(len(rows) / alone),
        group_rows_s=round(len(rows) / together),
        actum_rows_s=round(len(rows) / took),
        errors=errors,
        rows=len(rows),
    )


if __name__ == "__main__":
    main()
