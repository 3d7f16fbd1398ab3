"""Floor 13. Promises as tests, for whoever writes a store, a memory, an engine or a provider. May import floors 0-12.

The contracts need pytest; everything else here does not, so a name's module is imported when the name is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from actum.testing.engine_contract import EngineContract
    from actum.testing.entry_contract import EntryStoreContract
    from actum.testing.faults import Fault, FaultyBackend
    from actum.testing.history import Kept, findings, lost, read_everything
    from actum.testing.memory_contract import MemoryStoreContract
    from actum.testing.provider_contract import ProviderContract
    from actum.testing.script import CountingIds, ManualClock, ScriptedModel, ScriptedPlanner
    from actum.testing.simulate import Disagreement, Pair, replay, walk_together
    from actum.testing.store_contract import FaultContract, StoreContract

_ROOMS: Final = {
    "engine_contract": "EngineContract",
    "entry_contract": "EntryStoreContract",
    "faults": "Fault FaultyBackend",
    "history": "Kept findings lost read_everything",
    "memory_contract": "MemoryStoreContract",
    "provider_contract": "ProviderContract",
    "script": "CountingIds ManualClock ScriptedModel ScriptedPlanner",
    "simulate": "Disagreement Pair replay walk_together",
    "store_contract": "FaultContract StoreContract",
}
_EXPORTS: Final = {name: room for room, names in _ROOMS.items() for name in names.split()}

__all__ = [
    "CountingIds",
    "Disagreement",
    "EngineContract",
    "EntryStoreContract",
    "Fault",
    "FaultContract",
    "FaultyBackend",
    "Kept",
    "ManualClock",
    "MemoryStoreContract",
    "Pair",
    "ProviderContract",
    "ScriptedModel",
    "ScriptedPlanner",
    "StoreContract",
    "findings",
    "lost",
    "read_everything",
    "replay",
    "walk_together",
]


def __getattr__(name: str) -> object:
    """The public name, from the module that defines it."""
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_EXPORTS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
