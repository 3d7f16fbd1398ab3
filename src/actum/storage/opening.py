"""A store's URL, and the store that it opens. Backends are imported when they are asked for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from actum.base.checks import refuse, text
from actum.storage.backend import Backend
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore

_SQLITE = "sqlite:///"


@asynccontextmanager
async def open_store(url: str) -> AsyncIterator[OwnedStore]:
    """The store at `url`, closed on leaving: `memory:`, or `sqlite:///` and a path.

    `sqlite:///chat.db` is relative to the working directory, `sqlite:////var/chat.db` absolute; the file is made when
    it is not there. Raises InvalidValue for another URL, NotAStore, SchemaTooNew, StoreUnavailable, and
    DurableDataError for a damaged file.
    """
    store = LocalStore(await _backend(url))
    try:
        yield store
    finally:
        await store.close()


async def _backend(url: str) -> Backend:
    text("url", url)
    if url == "memory:":
        from actum.storage.memory import MemoryBackend

        return MemoryBackend()
    if "\0" in url:
        raise refuse("url", url, "holds no NUL character")
    if url.startswith(_SQLITE) and url != _SQLITE:
        from actum.storage.sqlite.backend import SQLiteBackend

        return await SQLiteBackend.open(Path(url.removeprefix(_SQLITE)))
    raise refuse("url", url, "is memory: or sqlite:///path")
