"""The engine's promise as tests: the loop behaves the same on every engine.

An implementation's test file is a fixture and a class line:

    class TestMyEngine(EngineContract):
        @pytest.fixture
        def make_engine(self) -> Callable[[], Engine]:
            return MyEngine

The fixture `make_engine` gives a function that makes a new engine each time, as another process would have it. The
runs play over a store in memory; override the fixture `store` for an engine that needs another. Both need pytest and
pytest-asyncio in its auto mode.
"""

from actum.testing.contract.engines import EnginePromises
from actum.testing.contract.families import FamilyPromises


class EngineContract(EnginePromises, FamilyPromises):
    """All that an engine promises: start, wait, repeat, conflict, cancel, park, recover; and of children the same."""
