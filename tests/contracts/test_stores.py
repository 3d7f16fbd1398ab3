"""The store's promise, over every store. A new one is a fixture and a class line."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actum.storage.backend import Backend
from actum.storage.contract import OwnedStore
from actum.storage.memory import MemoryBackend
from actum.storage.opening import open_store
from actum.storage.sqlite.backend import SQLiteBackend
from actum.testing import FaultContract, StoreContract


class TestMemory(StoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[OwnedStore]:
        async with open_store("memory:") as store:
            yield store


class TestSQLite(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[OwnedStore]:
        async with open_store(f"sqlite:///{tmp_path}/actum.db") as store:
            yield store


class TestMemoryFaults(FaultContract):
    @pytest.fixture
    async def backend(self) -> AsyncIterator[Backend]:
        backend = MemoryBackend()
        yield backend
        await backend.close()


class TestSQLiteFaults(FaultContract):
    @pytest.fixture
    async def backend(self, tmp_path: Path) -> AsyncIterator[Backend]:
        backend = await SQLiteBackend.open(tmp_path / "actum.db")
        yield backend
        await backend.close()
