"""Memories by their URL."""

from pathlib import Path

import pytest

from actum.base.errors import InvalidValue
from actum.memory.inmemory_entries import InMemoryEntryStore
from actum.memory.opening import open_memory
from actum.memory.sqlite_entries import SQLiteEntryStore


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


async def test_a_url_names_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_memory("memory:") as memory:
        assert isinstance(memory.entries, InMemoryEntryStore)
    for url in (f"sqlite:///{tmp_path}/absolute.db", "sqlite:///relative.db"):
        async with open_memory(url) as memory:
            assert isinstance(memory.entries, SQLiteEntryStore)
    assert {"absolute.db", "relative.db"} <= names_in(tmp_path)


@pytest.mark.parametrize("url", ["", "memory", "sqlite:///", "sqlite://x", "postgresql://x", None, 1])
async def test_another_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidValue):
        async with open_memory(url):
            pass
