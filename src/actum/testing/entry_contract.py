"""The promise of an entry store as tests.

An implementation's test file is two fixtures and a class line:

    class TestMyEntries(EntryStoreContract):
        @pytest.fixture
        async def entries(self, clock: ManualClock) -> AsyncIterator[EntryStore]:
            async with open_my_entries(clock=clock) as entries:
                yield entries

The fixture `entries` gives an empty store that tells time by `clock`. Needs pytest and pytest-asyncio in its auto mode.
"""

from actum.testing.contract.entries import EntryPromises


class EntryStoreContract(EntryPromises):
    """All that an entry store promises: entries found exactly, versioned, expired, erased, and never shared."""
