"""A backend that fails on cue: before, during and after the commit.

A write that fails before or during its commit has written nothing. One whose answer is lost has written everything,
and its caller cannot tell the two apart: that is what an exact retry is for.
"""

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from actum.base.errors import StoreUnavailable
from actum.storage.backend import Backend, Transaction, View

T = TypeVar("T")


class Fault(StrEnum):
    """When a write fails."""

    BEFORE = "before the transaction begins"
    DURING = "in the transaction, after its changes were applied"
    AFTER = "after the commit: the answer is lost"


class FaultyBackend:
    """A backend around a backend. `fail` sets what the next writes meet; without a cue it only forwards."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.owners = backend.owners
        self._cues: deque[Fault | None] = deque()

    def fail(self, *cues: Fault | None) -> None:
        """What the next writes meet, in order; None lets one pass."""
        self._cues.extend(cues)

    def forget(self) -> None:
        """Takes back every cue that no write has met."""
        self._cues.clear()

    async def write(self, work: Callable[[Transaction], T], size: int) -> T:
        """The write, unless a cue says otherwise. Raises StoreUnavailable on cue."""
        match self._cues.popleft() if self._cues else None:
            case Fault.BEFORE:
                raise _on_cue(Fault.BEFORE)
            case Fault.DURING:

                def cut(transaction: Transaction) -> T:
                    work(transaction)
                    raise _on_cue(Fault.DURING)

                return await self._backend.write(cut, size)
            case Fault.AFTER:
                await self._backend.write(work, size)
                raise _on_cue(Fault.AFTER)
            case None:
                return await self._backend.write(work, size)

    async def read(self, work: Callable[[View], T]) -> T:
        """The read, always."""
        return await self._backend.read(work)

    async def close(self) -> None:
        """Closes the backend inside."""
        await self._backend.close()


def _on_cue(fault: Fault) -> StoreUnavailable:
    return StoreUnavailable(reason=f"a fault on cue, {fault}")
