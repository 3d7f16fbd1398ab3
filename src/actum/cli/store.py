"""`--store URL` as an open store. No command but the demo makes one: a wrong path is an error, not a new empty file."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from actum.base.checks import refuse
from actum.base.errors import NotAStore
from actum.cli.options import DEFAULT_STORE
from actum.memory.opening import Memory, open_memory
from actum.storage.contract import OwnedStore
from actum.storage.opening import open_store

_SQLITE: Final = "sqlite:///"


@asynccontextmanager
async def opened(url: str | None) -> AsyncIterator[OwnedStore]:
    """The store that is there. Raises NotAStore when its file is not, InvalidValue for a store in memory.

    And what `open_store` raises.
    """
    url = DEFAULT_STORE if url is None else url
    _present(url)
    async with open_store(url) as store:
        yield store


@asynccontextmanager
async def memory_beside(url: str | None) -> AsyncIterator[Memory]:
    """The product's memory in the same place as the store, which is where a host that opens a URL keeps it."""
    async with open_memory(DEFAULT_STORE if url is None else url) as memory:
        yield memory


def _present(url: str) -> None:
    """Refuses a file that is not there, before it would be made, and a store that nobody else can have filled."""
    if url == "memory:":
        raise refuse("--store", url, "is sqlite:///path; what is in memory belongs to the process that made it")
    if not url.startswith(_SQLITE) or url == _SQLITE:
        return
    # Named as the store names it that is opened: after the file itself.
    file = Path(os.path.realpath(url.removeprefix(_SQLITE)))
    if not file.exists():
        reason = "there is no such file; name a store with --store, such as sqlite:///chat.db"
        raise NotAStore(location=str(file), reason=reason)
    if file.is_file() and not file.stat().st_size:
        raise NotAStore(location=str(file), reason="the file is empty")
