"""The promises of the memories, over every backend. A new one is a fixture and a class line."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actum.memory.contract import EntryStore, MemoryStore
from actum.memory.opening import open_memory
from actum.memory.search import HashEmbedder
from actum.testing.entry_contract import EntryStoreContract
from actum.testing.memory_contract import MemoryStoreContract
from actum.testing.script import ManualClock


class TestInMemoryEntries(EntryStoreContract):
    @pytest.fixture
    async def entries(self, clock: ManualClock) -> AsyncIterator[EntryStore]:
        async with open_memory("memory:", clock=clock) as memory:
            yield memory.entries


class TestInMemoryEntriesWithVectors(EntryStoreContract):
    @pytest.fixture
    async def entries(self, clock: ManualClock) -> AsyncIterator[EntryStore]:
        async with open_memory("memory:", clock=clock, embedder=HashEmbedder()) as memory:
            yield memory.entries


class TestSQLiteEntries(EntryStoreContract):
    @pytest.fixture
    async def entries(self, clock: ManualClock, tmp_path: Path) -> AsyncIterator[EntryStore]:
        async with open_memory(f"sqlite:///{tmp_path}/memory.db", clock=clock) as memory:
            yield memory.entries


class TestSQLiteEntriesWithVectors(EntryStoreContract):
    @pytest.fixture
    async def entries(self, clock: ManualClock, tmp_path: Path) -> AsyncIterator[EntryStore]:
        url = f"sqlite:///{tmp_path}/memory.db"
        async with open_memory(url, clock=clock, embedder=HashEmbedder()) as memory:
            yield memory.entries


class TestInMemoryEvents(MemoryStoreContract):
    @pytest.fixture
    async def memory(self) -> AsyncIterator[MemoryStore]:
        async with open_memory("memory:") as memory:
            yield memory.events


class TestSQLiteEvents(MemoryStoreContract):
    @pytest.fixture
    async def memory(self, tmp_path: Path) -> AsyncIterator[MemoryStore]:
        async with open_memory(f"sqlite:///{tmp_path}/memory.db") as memory:
            yield memory.events
