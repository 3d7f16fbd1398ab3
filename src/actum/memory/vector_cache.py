"""The vectors of the scopes that were searched last, in memory.

A copy is good only for a reader who sees the scope's count of vector changes at which it was made. So it need not be
told of writes, and those of other processes count as well. What this process erases is taken out at once all the same,
for erased data stays nowhere. Used by several threads.
"""

import threading
from collections import OrderedDict
from typing import Final, NamedTuple

from actum.base.limits import VECTOR_CACHE_BYTES
from actum.memory.search import VectorBlock

# What a block and a key in it take beside the floats, about.
_BLOCK_BYTES: Final = 512
_KEY_BYTES: Final = 48


class Searched(NamedTuple):
    """Whose vectors: the digest of the scope, the embedder's name, and the bytes of one vector."""

    scope: bytes
    embedder: str
    size_bytes: int


class VectorCache:
    """At most `size_bytes` of vectors; those that were not asked for the longest time make room."""

    def __init__(self, size_bytes: int = VECTOR_CACHE_BYTES) -> None:
        self._most = size_bytes
        self._held: OrderedDict[Searched, tuple[int, VectorBlock[int]]] = OrderedDict()
        self._bytes = 0
        self._erasures = 0
        self._lock = threading.Lock()

    @property
    def held_bytes(self) -> int:
        """How much there is."""
        return self._bytes

    def scopes(self) -> set[bytes]:
        """The digests of the scopes of which there is something."""
        with self._lock:
            return {each.scope for each in self._held}

    def erasures(self) -> int:
        """How often something was erased; asked before a reader begins its transaction, for `keep`."""
        with self._lock:
            return self._erasures

    def get(self, searched: Searched, changes: int) -> VectorBlock[int] | None:
        """The vectors as they were at this count of changes; None when there are none of it."""
        with self._lock:
            found = self._held.get(searched)
            if found is None or found[0] != changes:
                return None
            self._held.move_to_end(searched)
            return found[1]

    def keep(self, searched: Searched, changes: int, block: VectorBlock[int], *, erasures: int) -> None:
        """Keeps vectors, unless newer ones are kept or something was erased since: a reader may have seen it still."""
        with self._lock:
            found = self._held.get(searched)
            if erasures != self._erasures or (found is not None and found[0] >= changes):
                return
            self._drop(searched)
            if _size(block) > self._most:
                return
            self._held[searched] = changes, block
            self._bytes += _size(block)
            while self._bytes > self._most:
                self._drop(next(iter(self._held)))

    def erase(self, scope: bytes | None = None) -> None:
        """Drops what there is of a scope, or of all; called after the commit that erased it."""
        with self._lock:
            self._erasures += 1
            for each in [each for each in self._held if scope in (None, each.scope)]:
                self._drop(each)

    def _drop(self, searched: Searched) -> None:
        found = self._held.pop(searched, None)
        if found is not None:
            self._bytes -= _size(found[1])


def _size(block: VectorBlock[int]) -> int:
    return _BLOCK_BYTES + len(block.data) + _KEY_BYTES * len(block.keys)
