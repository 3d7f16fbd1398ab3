"""The promise of a memory store (the event history) as tests.

An implementation's test file is a fixture and a class line:

    class TestMyHistory(MemoryStoreContract):
        @pytest.fixture
        async def memory(self) -> AsyncIterator[MemoryStore]:
            async with open_my_history() as memory:
                yield memory

The fixture `memory` gives an empty store. Needs pytest and pytest-asyncio in its auto mode.
"""

from actum.testing.contract.events import EventPromises


class MemoryStoreContract(EventPromises):
    """All that an event history promises: appended once, loaded verbatim, searched, annotated, forgotten."""
