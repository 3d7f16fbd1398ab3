"""The entries of Actum beside the stores of other projects, in one run, where they do the same.

    python bench/memory_peers.py [--entries 10000]

Prints one JSON line for each that is installed: Actum, langgraph (AsyncSqliteStore) and agno (SqliteDb, user memories;
it needs sqlalchemy, aiosqlite and greenlet), each in a SQLite file with its own defaults. One entry is put under a user
and a key, read back by key, and listed, the first hundred of a user. Times are medians in milliseconds over 200
operations. `puts_per_second` is for 64 puts that wait together where a peer is async, else one after another.
`journal` is SQLite's journal as the peer sets it.
"""

import argparse
import asyncio
import importlib.util
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actum.memory.entries import MemoryEntry, MemoryScope
from actum.memory.opening import open_memory

OPERATIONS = 200
TOGETHER = 64
USERS = 100


@dataclass
class Peer:
    """What a peer does: put and get an entry of a user, list a user's first hundred."""

    put: Callable[[str, str, str], Awaitable[object]]
    get: Callable[[str, str], Awaitable[str]]
    page: Callable[[str], Awaitable[int]]


@asynccontextmanager
async def actum(path: Path) -> AsyncIterator[Peer]:
    """This project."""
    async with open_memory(f"sqlite:///{path}") as memory:
        entries = memory.entries

        async def put(user: str, key: str, value: str) -> object:
            return await entries.store(MemoryEntry.for_user(user, key=key, value=value))

        async def get(user: str, key: str) -> str:
            found = await entries.get(MemoryScope.USER, user, key)
            assert found is not None
            return str(found.value)

        async def page(user: str) -> int:
            return len((await entries.list(MemoryScope.USER, user)).items)

        yield Peer(put, get, page)


@asynccontextmanager
async def langgraph(path: Path) -> AsyncIterator[Peer]:
    """Langgraph's store, without an index, which is its default."""
    module: Any = importlib.import_module("langgraph.store.sqlite.aio")
    async with module.AsyncSqliteStore.from_conn_string(str(path)) as store:
        await store.setup()

        async def put(user: str, key: str, value: str) -> object:
            await store.aput(("users", user), key, {"value": value})
            return None

        async def get(user: str, key: str) -> str:
            return str((await store.aget(("users", user), key)).value["value"])

        async def page(user: str) -> int:
            return len(await store.asearch(("users", user), limit=100))

        yield Peer(put, get, page)


@asynccontextmanager
async def agno(path: Path) -> AsyncIterator[Peer]:
    """Agno's user memories. Its interface is synchronous."""
    databases: Any = importlib.import_module("agno.db.sqlite")
    schemas: Any = importlib.import_module("agno.db.schemas")
    database = databases.SqliteDb(db_file=str(path))

    async def put(user: str, key: str, value: str) -> object:
        return database.upsert_user_memory(schemas.UserMemory(memory=value, memory_id=f"{user}/{key}", user_id=user))

    async def get(user: str, key: str) -> str:
        return str(database.get_user_memory(f"{user}/{key}", user_id=user).memory)

    async def page(user: str) -> int:
        return len(database.get_user_memories(user_id=user, limit=100, page=1))

    yield Peer(put, get, page)


PEERS = {"actum": actum, "langgraph": langgraph, "agno": agno}
NEEDS = {"actum": "actum", "langgraph": "langgraph.store.sqlite", "agno": "agno"}


async def timed(operation: Callable[[int], Awaitable[object]]) -> float:
    """The median duration of an operation in milliseconds."""
    await operation(0)
    taken = []
    for n in range(1, OPERATIONS + 1):
        begun = time.perf_counter()
        await operation(n)
        taken.append((time.perf_counter() - begun) * 1000)
    return round(statistics.median(taken), 3)


async def measured(name: str, total: int) -> dict[str, object]:
    """One peer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "peer.db"
        async with PEERS[name](path) as peer:

            async def put(number: int) -> None:
                await peer.put(f"user-{number % USERS}", f"fact-{number}", f"what is known about {number}")

            begun = time.perf_counter()
            for start in range(0, total, TOGETHER):
                await asyncio.gather(*(put(n) for n in range(start, min(start + TOGETHER, total))))
            took = time.perf_counter() - begun
            assert await peer.get("user-7", "fact-107") == "what is known about 107"
            assert await peer.page("user-7") == min(100, total // USERS)
            result: dict[str, object] = {
                "bench": "memory_peers",
                "peer": name,
                "entries": total,
                "puts_per_second": round(total / took),
                "put_ms": await timed(lambda n: put(total + n)),
                "get_ms": await timed(lambda n: peer.get(f"user-{n % USERS}", f"fact-{n}")),
                "page_of_100_ms": await timed(lambda n: peer.page(f"user-{n % USERS}")),
            }
        result["bytes_per_entry"] = round(sum(each.stat().st_size for each in path.parent.iterdir()) / total)
        result["journal"] = _journal(path)
    return result


def _journal(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        return str(connection.execute("PRAGMA journal_mode").fetchone()[0])
    finally:
        connection.close()


def installed(name: str) -> bool:
    """Whether the peer's packages are here."""
    try:
        return importlib.util.find_spec(NEEDS[name]) is not None
    except ModuleNotFoundError:
        return False


async def main() -> None:
    """Measures each peer that is installed."""
    parser = argparse.ArgumentParser(description="Actum's entries beside other stores.")
    parser.add_argument("--entries", type=int, default=10_000)
    asked = parser.parse_args()
    for name in PEERS:
        if installed(name):
            print(json.dumps(await measured(name, asked.entries)), flush=True)
        else:
            print(json.dumps({"bench": "memory_peers", "peer": name, "missing": NEEDS[name]}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
