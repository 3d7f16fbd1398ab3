"""Recall: rankings by words and by vectors, put together.

Rankings are joined by reciprocal rank fusion (Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms
Condorcet and individual rank learning methods", SIGIR 2009): only ranks count, so scores of two kinds need no common
scale.
"""

import functools
import hashlib
import heapq
import importlib
import math
import operator
from array import array
from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from actum.base.checks import refuse
from actum.memory.terms import terms

K = TypeVar("K", bound=Hashable)

# The constant of the published method, and how many ranks of each ranking are looked at.
RANK_CONSTANT: Final = 60
DEPTH: Final = 100
# Beside vectors a ranking by words counts only where it tells something: among documents that hold so much of the
# weight of the question's words. A question in other words than the document's shares one or two with many that it does
# not mean; ranks do not show how weak these are, and a fusion of ranks would lift them above what vectors know better.
_COVERED: Final = 0.5
# BM25's constants, as SQLite's FTS5 has them (Robertson and Zaragoza, 2009).
_SATURATION: Final = 1.2
_LENGTH: Final = 0.75

# How many numbers are multiplied at once. Of more, numpy's library gives shares to threads of its own: for a few dozen
# microseconds of work it then waits milliseconds on a busy machine, and last bits depend on the number of processors.
_AT_ONCE: Final = 2**18


class Embedder(Protocol):
    """Makes vectors of texts, so that near vectors mean like texts. Safe to call from several tasks at once."""

    @property
    def name(self) -> str:
        """What made a vector: only vectors of one name are compared. It changes with the model."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text, in order, all of one length; lengths other than 1 are brought to 1 by the caller."""
        ...


class HashEmbedder:
    """A deterministic embedder without a model, for tests: texts that share words and word parts come out near."""

    def __init__(self, size: int = 64) -> None:
        self._size = size

    @property
    def name(self) -> str:
        """The embedder with the length of its vectors."""
        return f"hash-{self._size}"

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text: each word and each run of three letters pushes one direction."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self._size
        for term in terms(text):
            for piece in (term, *(term[i : i + 3] for i in range(len(term) - 2))):
                digest = hashlib.blake2b(piece.encode(), digest_size=8).digest()
                vector[int.from_bytes(digest[:7]) % self._size] += 1.0 if digest[7] & 1 else -1.0
        return vector


@dataclass(frozen=True, slots=True)
class VectorBlock(Generic[K]):
    """Vectors of one length, their 32-bit floats one behind the other in `data`, and the key of each."""

    keys: Sequence[K]
    data: bytes

    @classmethod
    def of(cls, vectors: Iterable[tuple[K, bytes]], size_bytes: int) -> "VectorBlock[K]":
        """The vectors of this size, in their order; those of another size are left out."""
        fitting = [each for each in vectors if len(each[1]) == size_bytes]
        return cls([key for key, _ in fitting], b"".join([data for _, data in fitting]))

    def without(self, keys: Container[K]) -> "VectorBlock[K]":
        """The vectors of all other keys."""
        places = [place for place, key in enumerate(self.keys) if key not in keys]
        if len(places) == len(self.keys):
            return self
        size = len(self.data) // len(self.keys)
        data = b"".join([self.data[place * size : (place + 1) * size] for place in places])
        return VectorBlock([self.keys[place] for place in places], data)


def fuse(*rankings: Sequence[K], limit: int) -> list[tuple[K, float]]:
    """The best `limit` items of the rankings (each best first) with their scores; ties keep the order of arrival."""
    scores: dict[K, float] = defaultdict(float)
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] += 1 / (RANK_CONSTANT + rank)
    return sorted(scores.items(), key=operator.itemgetter(1), reverse=True)[:limit]


async def unit_vectors(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """The texts' vectors of length 1, as bytes of 32-bit floats.

    Raises InvalidValue when the embedder gives another number of vectors, or one that is no direction.
    """
    vectors = await embedder.embed(texts)
    if len(vectors) != len(texts):
        raise refuse("embedder", f"{len(vectors)} vectors", f"gives one vector a text, here {len(texts)}")
    return [_unit(vector) for vector in vectors]


def nearest(query: bytes, vectors: Iterable[tuple[K, bytes]], limit: int) -> list[K]:
    """The keys of the `limit` vectors nearest to the query, the nearest first; vectors of another length are left out.

    Uses numpy where it is installed (the extra `vectors`).
    """
    return nearest_in(query, VectorBlock.of(vectors, len(query)), limit)


def nearest_in(query: bytes, block: VectorBlock[K], limit: int) -> list[K]:
    """The same among vectors of the query's length; equally near ones keep their order."""
    return [block.keys[place] for place in _best(query, block, limit)] if block.keys else []


def ranked_by_words(asked: Sequence[str], documents: Mapping[K, Counter[str]]) -> list[tuple[K, float]]:
    """The documents that hold at least one asked word, by BM25, the best first; equal ones in their order."""
    if not documents:
        return []
    mean = sum(words.total() for words in documents.values()) / len(documents)
    weights = {}
    for term in asked:
        having = sum(term in words for words in documents.values())
        weights[term] = max(math.log((len(documents) - having + 0.5) / (having + 0.5)), 1e-6)
    found = []
    for key, words in documents.items():
        length = _SATURATION * (1 - _LENGTH + _LENGTH * words.total() / (mean or 1))
        score = sum(
            weights[term] * words[term] * (_SATURATION + 1) / (words[term] + length) for term in asked if term in words
        )
        if score:
            found.append((key, score))
    return sorted(found, key=operator.itemgetter(1), reverse=True)


def covering(asked: Sequence[str], weights: Mapping[str, float], documents: Mapping[K, Container[str]]) -> list[K]:
    """The documents, in their order, that hold at least half of the weight of the asked words."""
    enough = _COVERED * sum(weights[term] for term in asked)
    return [key for key, words in documents.items() if sum(weights[term] for term in asked if term in words) >= enough]


def word_weight(documents: int, having: int) -> float:
    """How much a word tells that `having` of so many documents hold: its inverse document frequency, above 0.

    A word that none holds counts as one that one holds: else a rare word beside it, an order number, told too little.
    """
    held = max(having, 1)
    return math.log(1 + (max(documents - held, 0) + 0.5) / (held + 0.5))


def _unit(vector: Sequence[float]) -> bytes:
    length = math.hypot(*vector)
    if not vector or not math.isfinite(length):
        raise refuse("embedder", vector, "gives vectors of finite numbers")
    # A text without words has no direction; it is near to nothing.
    return array("f", [each / length for each in vector] if length else vector).tobytes()


def _best(query: bytes, block: VectorBlock[K], limit: int) -> Sequence[int]:
    """The places of the greatest products with the query, the greatest first."""
    numpy = _numpy()
    if numpy is None:
        numbers, size = array("f", query), len(query)
        vectors = (array("f", block.data[start : start + size]) for start in range(0, len(block.data), size))
        scores = [sum(map(operator.mul, numbers, each)) for each in vectors]
        return heapq.nlargest(limit, range(len(scores)), key=scores.__getitem__)
    matrix = numpy.frombuffer(block.data, dtype=numpy.float32).reshape(len(block.keys), -1)
    asked = numpy.frombuffer(query, dtype=numpy.float32)
    step = max(_AT_ONCE // len(asked) // 64 * 64, 64)
    products = numpy.concatenate([matrix[start : start + step] @ asked for start in range(0, len(matrix), step)])
    places = numpy.arange(len(products))
    if limit < len(products):
        # Only what can be among the best is sorted; all that equal the last of these are kept, to fall in their order.
        places = numpy.flatnonzero(products >= numpy.partition(products, -limit)[-limit])
    best: list[int] = places[numpy.argsort(-products[places], kind="stable")][:limit].tolist()
    return best


@functools.cache
def _numpy() -> Any:  # noqa: ANN401 - numpy is no dependency, so its types are not known
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None
