"""How fast the memory is at 10,000 and 100,000 entries: writes, reads, searches, growth of the file.

    python bench/memory_latency.py [--entries 10000] [--vectors]

Prints one JSON line for each size. Times are milliseconds; medians over 200 operations, after one that is not counted.
Entries are spread over scopes of 1,000; one more scope holds a tenth of them all, and is the one that is searched. Half
of the searches ask for words that few entries hold, half for words that many do.
"""

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from actum.memory.contract import EntryStore
from actum.memory.entries import MemoryEntry, MemoryScope
from actum.memory.opening import open_memory
from actum.memory.search import HashEmbedder

WORDS = [f"{a}{b}{c}" for a in "bdfglmnprstv" for b in "aeiou" for c in ("na", "ro", "ti", "lek", "sun", "mar")]
OPERATIONS = 200
TOGETHER = 64


def sentence(dice: random.Random) -> str:
    """Twelve words, common ones more often."""
    return " ".join(WORDS[min(int(dice.expovariate(1 / 60)), len(WORDS) - 1)] for _ in range(12))


def entry(dice: random.Random, number: int, total: int) -> MemoryEntry:
    """The entry of this number; every tenth is in the large scope."""
    scope_id = "large" if number % 10 == 0 else f"user-{number * 1000 // total % max(total // 1000, 1)}"
    return MemoryEntry.for_user(scope_id, key=f"fact-{number}", value=sentence(dice))


async def timed(operation: Callable[[int], Awaitable[object]]) -> float:
    """The median duration of an operation in milliseconds."""
    await operation(0)
    taken = []
    for n in range(OPERATIONS):
        begun = time.perf_counter()
        await operation(n)
        taken.append((time.perf_counter() - begun) * 1000)
    return round(statistics.median(taken), 3)


async def filled(entries: EntryStore, dice: random.Random, total: int) -> float:
    """Stores all entries, some at a time; gives the seconds that took."""
    begun = time.perf_counter()
    for start in range(0, total, TOGETHER):
        numbers = range(start, min(start + TOGETHER, total))
        await asyncio.gather(*(entries.store(entry(dice, number, total)) for number in numbers))
    return time.perf_counter() - begun


async def measured(total: int, *, vectors: bool) -> dict[str, object]:
    """One size."""
    dice = random.Random(total)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        async with open_memory(f"sqlite:///{path}", embedder=HashEmbedder(384) if vectors else None) as memory:
            entries = memory.entries
            took = await filled(entries, dice, total)
            rare, common = WORDS[-40:], WORDS[:40]

            async def search(number: int) -> object:
                words = rare if number % 2 else common
                return await entries.search(MemoryScope.USER, "large", f"{words[number % 40]} {WORDS[number % 99]}")

            found = await entries.search(MemoryScope.USER, "large", WORDS[0])
            assert found, "the most common word is found"
            result: dict[str, object] = {
                "bench": "memory_latency",
                "entries": total,
                "searched": total // 10,
                "vectors": vectors,
                "stores_per_second": round(total / took),
                "store_ms": await timed(lambda n: entries.store(entry(dice, total + n, total))),
                "get_ms": await timed(lambda n: entries.get(MemoryScope.USER, "large", f"fact-{n * 10}")),
                "page_of_100_ms": await timed(lambda _: entries.list(MemoryScope.USER, "large")),
                "search_ms": await timed(search),
            }
        result["bytes_per_entry"] = round(sum(each.stat().st_size for each in path.parent.iterdir()) / total)
    return result


async def main() -> None:
    """Measures each size."""
    parser = argparse.ArgumentParser(description="The memory's speed at several sizes.")
    parser.add_argument("--entries", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--vectors", action="store_true", help="with vectors of 384 numbers")
    asked = parser.parse_args()
    for total in asked.entries:
        print(json.dumps(await measured(total, vectors=asked.vectors)), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
