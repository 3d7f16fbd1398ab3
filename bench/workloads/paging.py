"""Paging through the records of one run, in pages of 1,000; nothing is kept.

Beside it stands the raw limit: fetching the same columns of the same rows. Memory is the growth of the process between
the first tenth of the records and the last.
"""

import argparse
import asyncio
import sqlite3
from pathlib import Path

from actum import now as instant
from actum import open_store
from bench.actum_parts import SESSION, payload, record, started
from bench.measure import computed, median_ms, place, rss_mb, tell

_STATEMENT = "SELECT position, type, turn_id, timestamp, event_key, payload FROM records ORDER BY scope, position"


def _plain(path: Path) -> float:
    connection = sqlite3.connect(path)
    begun = computed()
    rows = connection.execute(_STATEMENT)
    while rows.fetchmany(1000):
        pass
    took = computed() - begun
    connection.close()
    return took


async def _measured(folder: str | None, count: int, repeats: int) -> dict[str, float]:
    bodies = [payload(i) for i in range(200)]
    plain, ours, grown = [], [], 0.0
    with place(folder) as here:
        path = here / "actum.db"
        async with open_store(f"sqlite:///{path}") as store:
            await store.create_session(SESSION, instant())
            await started(store, "run")
            for start in range(0, count, 500):
                await store.append_run_records(
                    [
                        record("run", f"step/{i}/message", "transcript_messages_appended", bodies[i % 200])
                        for i in range(start, start + 500)
                    ]
                )
            for _ in range(repeats):
                plain.append(_plain(path))
                begun, cursor, seen, early = computed(), None, 0, 0.0
                while True:
                    page = await store.list_run_records("run", cursor=cursor, limit=1000)
                    seen += len(page.items)
                    early = early or (rss_mb() if seen >= count // 10 else 0.0)
                    more, cursor = page.more, page.cursor
                    # As the plain side does: what was read makes room for what comes.
                    del page
                    if not more:
                        break
                ours.append(computed() - begun)
                assert seen == count + 1, seen
                grown = max(grown, rss_mb() - early)
    return {"plain_ms": median_ms(plain), "actum_ms": median_ms(ours), "grown_mb": round(grown, 1), "records": count}


def main() -> None:
    """Prints milliseconds for all records, and how far the memory grew."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--records", type=int, default=100_000)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--folder")
    given = options.parse_args()
    tell(**asyncio.run(_measured(given.folder, given.records, given.repeats)))


if __name__ == "__main__":
    main()
