"""The threads that own a memory's connections."""

import threading
from pathlib import Path
from unittest.mock import Mock

import pytest

from actum.base.errors import StoreUnavailable
from actum.memory.entries import MemoryScope
from actum.memory.opening import open_memory


async def test_a_thread_that_does_not_start_leaves_a_memory_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_memory(f"sqlite:///{tmp_path}/memory.db") as memory:
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
            with pytest.raises(StoreUnavailable, match="can't start new thread"):
                await memory.entries.get(MemoryScope.SESSION, "s1", "k")
        assert await memory.entries.get(MemoryScope.SESSION, "s1", "k") is None
