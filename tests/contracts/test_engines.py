"""The engine's promise, over every engine. A new one is a fixture and a class line."""

import asyncio
from collections.abc import Callable

import pytest

from actum.engines.contract import Engine
from actum.engines.local import LocalEngine
from actum.testing.engine_contract import EngineContract


async def _soon(_seconds: float) -> None:
    """Waits as short as can be: what an engine waits for is in this process."""
    await asyncio.sleep(0)


class TestLocal(EngineContract):
    @pytest.fixture
    def make_engine(self) -> Callable[[], Engine]:
        return lambda: LocalEngine(wait=_soon)
