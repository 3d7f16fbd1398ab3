"""A memory's URL, and the two memories that it opens."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from actum.base.checks import refuse, text
from actum.base.clock import Clock
from actum.memory.contract import EntryStore, MemoryStore
from actum.memory.inmemory_entries import InMemoryEntryStore
from actum.memory.inmemory_events import InMemoryMemoryStore
from actum.memory.search import Embedder
from actum.memory.sqlite_entries import SQLiteEntryStore
from actum.memory.sqlite_events import SQLiteMemoryStore
from actum.memory.sqlite_file import MemoryFile

_SQLITE: Final = "sqlite:///"


@dataclass(frozen=True)
class Memory:
    """Both memories of one place: the event history and the entries."""

    events: MemoryStore
    entries: EntryStore


@asynccontextmanager
async def open_memory(
    url: str, *, embedder: Embedder | None = None, clock: Clock | None = None
) -> AsyncIterator[Memory]:
    """Both memories at `url`, closed on leaving: `memory:`, or `sqlite:///` and a path.

    The file may be that of an Actum store, opened before or after it, or one of its own. With an `embedder` entries are
    found by meaning too. Raises InvalidValue for another URL, NotAStore, SchemaTooNew, StoreUnavailable.
    """
    text("url", url)
    if url == "memory:":
        yield Memory(InMemoryMemoryStore(), InMemoryEntryStore(embedder=embedder, clock=clock))
        return
    if not url.startswith(_SQLITE) or url == _SQLITE:
        raise refuse("url", url, "is memory: or sqlite:///path")
    file = await MemoryFile.open(url.removeprefix(_SQLITE))
    try:
        yield Memory(SQLiteMemoryStore(file), SQLiteEntryStore(file, embedder=embedder, clock=clock))
    finally:
        await file.close()
