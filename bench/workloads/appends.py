"""Durable appends, one after the other in one run, beside the raw limit: one insert and one commit a row.

The two take turns in small batches, so that whatever the machine does meanwhile, it does to both.
"""

import argparse
import asyncio
import statistics

from actum import now as instant
from actum import open_store
from bench import raw
from bench.actum_parts import SESSION, payload, record, started
from bench.measure import around, median_us, now, place, tell

_BATCH = 20


async def _measured(folder: str | None, count: int) -> dict[str, float]:
    payloads = [payload(i) for i in range(200)]
    with place(folder) as here:
        connection = raw.opened(here / "raw.db")
        bare: list[float] = []
        ours: list[float] = []
        async with open_store(f"sqlite:///{here}/actum.db") as store:
            await store.create_session(SESSION, instant())
            await started(store, "run")
            for start in range(0, count, _BATCH):
                for i in range(start, start + _BATCH):
                    body = payloads[i % len(payloads)]
                    begun = now()
                    connection.execute(raw.INSERT, ("run", i, body))
                    bare.append(now() - begun)
                for i in range(start, start + _BATCH):
                    begun = now()
                    given = record("run", f"step/{i}/message", "transcript_messages_appended", payloads[i % 200])
                    await store.append_run_record(given)
                    ours.append(now() - begun)
        connection.close()
    return {
        "raw_us": median_us(bare),
        "actum_us": median_us(ours),
        "raw_mean_us": round(statistics.fmean(bare) * 1e6, 1),
        "actum_mean_us": round(statistics.fmean(ours) * 1e6, 1),
        "at_100_us": round(around(ours, 100, 50) * 1e6, 1),
        "at_last_us": round(around(ours, count - 50, 50) * 1e6, 1),
        "raw_at_100_us": round(around(bare, 100, 50) * 1e6, 1),
        "raw_at_last_us": round(around(bare, count - 50, 50) * 1e6, 1),
        "appends": count,
    }


def main() -> None:
    """Prints microseconds an append."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=10_000)
    options.add_argument("--folder")
    given = options.parse_args()
    tell(**asyncio.run(_measured(given.folder, given.count)))


if __name__ == "__main__":
    main()
