"""One memory under measurement, in the Python in which it is installed; `memory_peers.py` starts one for each.

    python bench/memory_peer.py actum --entries 10000 --users 100

Prints one JSON line. An entry is put under a user and a key, read back by key, listed (the first hundred of a user),
and searched where the peer can. Times are medians in milliseconds over 200 operations. `puts_per_second` is for 64 puts
that wait together where the interface is asynchronous, else one after another. `journal` is SQLite's as the peer sets
it; every peer syncs each commit. Vectors come from one function for all, for it is not embedders that are compared.
"""

import argparse
import asyncio
import hashlib
import importlib
import importlib.metadata
import json
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OPERATIONS = 200
TOGETHER = 64
NUMBERS = 384


@dataclass
class Peer:
    """What a peer does with an entry of a user; `search` is None where it finds nothing by what entries say."""

    put: Callable[[str, str, str], Awaitable[object]]
    get: Callable[[str, str], Awaitable[str]]
    page: Callable[[str], Awaitable[int]]
    search: Callable[[str, str], Awaitable[Sequence[str]]] | None
    database: str


def vector_of(text: str) -> list[float]:
    """A vector without a model: each word pushes one direction."""
    vector = [0.0] * NUMBERS
    for word in text.split():
        vector[int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest()) % NUMBERS] += 1.0
    return vector


class Vectors:
    """The function as an embedder of Actum and of mem0."""

    name = "words"

    def embed(self, text: Any, _action: str | None = None) -> Any:  # noqa: ANN401 - two interfaces in one
        """Actum gives many texts and awaits; mem0 gives one."""
        if isinstance(text, str):
            return vector_of(text)

        async def each() -> list[list[float]]:
            return [vector_of(one) for one in text]

        return each()

    def embed_batch(self, texts: Sequence[str], _action: str | None = None) -> list[list[float]]:
        """Many texts at once, for mem0."""
        return [vector_of(text) for text in texts]


@asynccontextmanager
async def actum(folder: Path, *, vectors: bool = False) -> AsyncIterator[Peer]:
    """This project."""
    entries_module: Any = importlib.import_module("actum.memory.entries")
    opening: Any = importlib.import_module("actum.memory.opening")
    entry_of, users = entries_module.MemoryEntry.for_user, entries_module.MemoryScope.USER
    async with opening.open_memory(f"sqlite:///{folder}/peer.db", embedder=Vectors() if vectors else None) as memory:
        entries = memory.entries

        async def put(user: str, key: str, value: str) -> object:
            return await entries.store(entry_of(user, key=key, value=value))

        async def get(user: str, key: str) -> str:
            return str((await entries.get(users, user, key)).value)

        async def page(user: str) -> int:
            return len((await entries.list(users, user)).items)

        async def search(user: str, query: str) -> list[str]:
            return [each.entry.value for each in await entries.search(users, user, query, limit=10)]

        yield Peer(put, get, page, search, "peer.db")


@asynccontextmanager
async def langgraph(folder: Path, *, vectors: bool = False) -> AsyncIterator[Peer]:
    """Langgraph's store, as it comes or with its index."""
    module: Any = importlib.import_module("langgraph.store.sqlite.aio")
    index = {"dims": NUMBERS, "embed": lambda texts: [vector_of(text) for text in texts], "fields": ["value"]}
    opened = module.AsyncSqliteStore.from_conn_string(f"{folder}/peer.db", index=index if vectors else None)
    async with opened as store:
        await store.setup()

        async def put(user: str, key: str, value: str) -> object:
            await store.aput(("users", user), key, {"value": value})
            return None

        async def get(user: str, key: str) -> str:
            return str((await store.aget(("users", user), key)).value["value"])

        async def page(user: str) -> int:
            return len(await store.asearch(("users", user), limit=100))

        async def search(user: str, query: str) -> list[str]:
            return [each.value["value"] for each in await store.asearch(("users", user), query=query, limit=10)]

        yield Peer(put, get, page, search if vectors else None, "peer.db")


@asynccontextmanager
async def agno(folder: Path) -> AsyncIterator[Peer]:
    """Agno's user memories, by its synchronous interface."""
    databases: Any = importlib.import_module("agno.db.sqlite")
    schemas: Any = importlib.import_module("agno.db.schemas")
    database = databases.SqliteDb(db_file=f"{folder}/peer.db")

    async def put(user: str, key: str, value: str) -> object:
        return database.upsert_user_memory(schemas.UserMemory(memory=value, memory_id=f"{user}/{key}", user_id=user))

    async def get(user: str, key: str) -> str:
        return str(database.get_user_memory(f"{user}/{key}", user_id=user).memory)

    async def page(user: str) -> int:
        return len(database.get_user_memories(user_id=user, limit=100, page=1))

    yield Peer(put, get, page, None, "peer.db")


@asynccontextmanager
async def mem0(folder: Path) -> AsyncIterator[Peer]:
    """Mem0 with nothing but this machine: vectors in qdrant's local mode, history in SQLite, no model asked.

    It has no keys of its own, so the ids that it gives are kept here.
    """
    os.environ.update({"MEM0_DIR": f"{folder}/home", "MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "not used"})
    module: Any = importlib.import_module("mem0")
    places = {"path": f"{folder}/vectors", "on_disk": True, "embedding_model_dims": NUMBERS}
    memory = module.Memory.from_config(
        {"vector_store": {"provider": "qdrant", "config": places}, "history_db_path": f"{folder}/peer.db"}
    )
    memory.embedding_model = Vectors()
    ids: dict[str, str] = {}

    async def put(user: str, key: str, value: str) -> object:
        done = memory.add([{"role": "user", "content": value}], user_id=user, infer=False)
        ids[f"{user}/{key}"] = done["results"][0]["id"]
        return done

    async def get(user: str, key: str) -> str:
        return str(memory.get(ids[f"{user}/{key}"])["memory"])

    async def page(user: str) -> int:
        return len(memory.get_all(filters={"user_id": user}, top_k=100)["results"])

    async def search(user: str, query: str) -> list[str]:
        return [each["memory"] for each in memory.search(query, filters={"user_id": user}, top_k=10)["results"]]

    yield Peer(put, get, page, search, "peer.db")
    memory.vector_store.client.close()


@dataclass(frozen=True)
class Row:
    """A peer in one configuration: what is measured, in which package's environment, and what it does for a put."""

    opened: Callable[[Path], AbstractAsyncContextManager[Peer]]
    package: str
    does: str
    most: int | None = None


ROWS = {
    "actum": Row(actum, "actum", "word index, versions, compare-and-set; erased bytes are overwritten"),
    "actum+vectors": Row(
        lambda folder: actum(folder, vectors=True), "actum", "as actum, and a vector: words and vectors fused"
    ),
    "langgraph": Row(langgraph, "langgraph-checkpoint-sqlite", "no index, no versions"),
    "langgraph+vectors": Row(
        lambda folder: langgraph(folder, vectors=True), "langgraph-checkpoint-sqlite", "a vector (sqlite-vec), no words"
    ),
    "agno": Row(agno, "agno", "no index; recall asks a model", most=2000),
    "mem0": Row(mem0, "mem0ai", "a vector (qdrant, local), a history row; infer=False", most=500),
}


async def timed(operation: Callable[[int], Awaitable[object]]) -> float:
    """The median duration of an operation in milliseconds."""
    await operation(0)
    taken = []
    for n in range(1, OPERATIONS + 1):
        begun = time.perf_counter()
        await operation(n)
        taken.append((time.perf_counter() - begun) * 1000)
    return round(statistics.median(taken), 3)


def said(number: int) -> str:
    """What an entry says."""
    return f"what is known about {number}"


async def measured(name: str, asked: int, users: int) -> dict[str, object]:
    """One row. A peer that would take minutes gets fewer entries, which is the easier task."""
    row = ROWS[name]
    total = min(asked, row.most or asked)
    whose = f"user-{107 % users}"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        async with row.opened(folder) as peer:

            async def put(number: int) -> None:
                await peer.put(f"user-{number % users}", f"fact-{number}", said(number))

            begun = time.perf_counter()
            for start in range(0, total, TOGETHER):
                await asyncio.gather(*(put(n) for n in range(start, min(start + TOGETHER, total))))
            took = time.perf_counter() - begun
            assert await peer.get(whose, "fact-107") == said(107)
            assert await peer.page(whose) == min(100, total // users)
            result: dict[str, object] = {
                "bench": "memory_peers",
                "row": name,
                "version": importlib.metadata.version(row.package),
                "does": row.does,
                "entries": total,
                "users": users,
                "puts_per_second": round(total / took),
                "put_ms": await timed(lambda n: put(total + n)),
                "get_ms": await timed(lambda n: peer.get(f"user-{n % users}", f"fact-{n}")),
                "page_of_100_ms": await timed(lambda n: peer.page(f"user-{n % users}")),
                "search_ms": None,
            }
            if (search := peer.search) is not None:
                assert said(107) in await search(whose, said(107))
                result["search_ms"] = await timed(lambda n: search(f"user-{n % users}", said(n)))
        result["bytes_per_entry"] = round(size_of(folder) / (total + OPERATIONS))
        result["journal"] = journal_of(folder / peer.database)
    return result


def size_of(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def journal_of(path: Path) -> str:
    """SQLite's journal mode of this file."""
    connection = sqlite3.connect(path)
    try:
        return str(connection.execute("PRAGMA journal_mode").fetchone()[0])
    finally:
        connection.close()


def main() -> None:
    """Measures the row that was asked for."""
    parser = argparse.ArgumentParser(description="One memory under measurement.")
    parser.add_argument("row", choices=sorted(ROWS))
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--users", type=int, default=100)
    asked = parser.parse_args()
    print(json.dumps(asyncio.run(measured(asked.row, asked.entries, asked.users))))


if __name__ == "__main__":
    main()
