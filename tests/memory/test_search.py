"""Rankings and how they are put together."""

from collections import Counter
from collections.abc import Sequence

import pytest

from actum.base.errors import InvalidValue
from actum.memory import search
from actum.memory.entries import MemoryEntry, MemoryScope
from actum.memory.opening import open_memory
from actum.memory.search import HashEmbedder, covering, fuse, nearest, ranked_by_words, unit_vectors, word_weight


def test_fusion_is_the_published_formula() -> None:
    fused = fuse(["a", "b"], ["b", "c"], limit=3)
    assert [key for key, _ in fused] == ["b", "a", "c"]
    assert [score for _, score in fused] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62])


def test_fusion_of_nothing_and_of_one() -> None:
    assert fuse(limit=5) == []
    assert [key for key, _ in fuse(["x", "y", "z"], limit=2)] == ["x", "y"]


@pytest.mark.parametrize("numpy", [True, False])
async def test_the_nearest_come_first(monkeypatch: pytest.MonkeyPatch, *, numpy: bool) -> None:
    if not numpy:
        monkeypatch.setattr(search, "_numpy", lambda: None)
    texts = ["a cat on a mat", "two cats on mats", "quarterly revenue", ""]
    vectors = await unit_vectors(HashEmbedder(), texts)
    (query,) = await unit_vectors(HashEmbedder(), ["cats on the mat"])
    assert set(nearest(query, enumerate(vectors), 2)) == {0, 1}
    assert nearest(query, enumerate(vectors), 10)[-1] in {2, 3}
    assert nearest(query, [(0, b"\0\0\0\0"), (1, vectors[0])], 5) == [1]
    assert nearest(query, [], 5) == []


async def test_an_embedder_is_deterministic_and_named_by_its_size() -> None:
    assert await HashEmbedder().embed(["a b"]) == await HashEmbedder().embed(["a b"])
    assert HashEmbedder(8).name != HashEmbedder(16).name


def test_rare_words_weigh_more() -> None:
    documents = {name: Counter(name.split()) for name in ("tea cup", "tea pot", "tea leaf", "rare leaf")}
    ranked = [key for key, _ in ranked_by_words(["tea", "rare"], documents)]
    assert ranked[0] == "rare leaf"
    assert ranked_by_words(["absent"], documents) == []
    assert ranked_by_words(["tea"], {}) == []


def test_beside_vectors_words_count_where_they_hold_half_of_what_is_asked() -> None:
    weights = {"rare": word_weight(100, 1), "common": word_weight(100, 60), "absent": word_weight(100, 0)}
    assert weights["absent"] == weights["rare"] > weights["common"] > 0
    documents = {"both": {"rare", "common"}, "rare": {"rare"}, "common": {"common"}, "none": set[str]()}
    assert covering(["rare", "common"], weights, documents) == ["both", "rare"]
    assert covering(["rare", "absent"], weights, documents) == ["both", "rare"]
    assert covering(["common", "absent"], weights, documents) == []


class WrongEmbedder:
    """An embedder that gives what it was told to give."""

    name = "wrong"

    def __init__(self, vectors: Sequence[Sequence[float]]) -> None:
        self._vectors = vectors

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return self._vectors


@pytest.mark.parametrize("vectors", [[], [[1.0], [2.0]], [[]], [[float("nan")]], [[float("inf"), 1.0]]])
async def test_vectors_that_are_none_are_refused_and_nothing_is_stored(vectors: list[list[float]]) -> None:
    async with open_memory("memory:", embedder=WrongEmbedder(vectors)) as memory:
        with pytest.raises(InvalidValue):
            await memory.entries.store(MemoryEntry.for_shared(key="k", value="v"))
        assert (await memory.entries.list(MemoryScope.SHARED, "shared")).items == ()


class FailingEmbedder:
    """An embedder whose service is down."""

    name = "failing"

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        raise ConnectionError(f"{len(texts)} texts")


async def test_an_embedder_that_fails_fails_the_write_which_leaves_nothing() -> None:
    async with open_memory("memory:", embedder=FailingEmbedder()) as memory:
        with pytest.raises(ConnectionError):
            await memory.entries.store(MemoryEntry.for_shared(key="k", value="v"))
        assert await memory.entries.get(MemoryScope.SHARED, "shared", "k") is None


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_an_embedder_that_comes_comes_later_finds_older_entries(
    kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    url = f"sqlite:///{tmp_path_factory.mktemp('memory')}/memory.db"
    if kind == "memory":
        async with open_memory("memory:") as memory:
            assert await memory.entries.embed_missing() == 0
        return
    async with open_memory(url) as memory:
        await memory.entries.store(MemoryEntry.for_shared(key="colour", value="greenish"))
        assert await memory.entries.search(MemoryScope.SHARED, "shared", "green") == ()
    async with open_memory(url, embedder=HashEmbedder()) as memory:
        assert await memory.entries.search(MemoryScope.SHARED, "shared", "green") == ()
        assert await memory.entries.embed_missing() == 1
        assert await memory.entries.embed_missing() == 0
        assert len(await memory.entries.search(MemoryScope.SHARED, "shared", "green")) == 1
    async with open_memory(url, embedder=HashEmbedder(16)) as memory:
        assert await memory.entries.embed_missing() == 1
