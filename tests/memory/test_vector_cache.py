"""The vectors that are kept in memory: those of the file and no others, within their bound, and never erased ones."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest

from actum.base.errors import SessionPurged
from actum.memory import search, sqlite_file
from actum.memory.entries import EntrySource, MemoryEntry, MemoryScope, ScopeKey
from actum.memory.search import HashEmbedder, VectorBlock, nearest, nearest_in, unit_vectors
from actum.memory.sqlite_entries import SQLiteEntryStore
from actum.memory.sqlite_file import MemoryFile
from actum.memory.vector_cache import Searched, VectorCache
from actum.testing.samples import T0, at
from actum.testing.script import ManualClock

ADA = ScopeKey(None, MemoryScope.USER, "ada")
S1 = ScopeKey(None, MemoryScope.SESSION, "s1")


def block(count: int, size: int = 4) -> VectorBlock[int]:
    return VectorBlock.of(((number, bytes(size)) for number in range(count)), size)


def named(scope: str, embedder: str = "unit") -> Searched:
    return Searched(scope.encode(), embedder, 4)


class TestWhatIsKept:
    def test_only_the_count_of_changes_that_it_was_made_at(self) -> None:
        cache = VectorCache()
        cache.keep(named("a"), 3, block(2), erasures=0)
        assert cache.get(named("a"), 3) == block(2)
        assert cache.get(named("a"), 4) is None
        assert cache.get(named("a", "another"), 3) is None
        cache.keep(named("a"), 2, block(1), erasures=0)
        assert cache.get(named("a"), 3) == block(2), "an older reader does not take the place of a newer one"
        cache.keep(named("a"), 4, block(5), erasures=0)
        assert (cache.get(named("a"), 3), cache.get(named("a"), 4)) == (None, block(5))

    def test_never_more_than_the_bound_and_the_last_used_stay(self) -> None:
        one = VectorCache()
        one.keep(named("a"), 1, block(100), erasures=0)
        cache = VectorCache(2 * one.held_bytes)
        for name in ("a", "b"):
            cache.keep(named(name), 1, block(100), erasures=0)
        assert cache.get(named("a"), 1) is not None
        cache.keep(named("c"), 1, block(100), erasures=0)
        assert cache.scopes() == {b"a", b"c"}
        assert cache.held_bytes == 2 * one.held_bytes
        cache.keep(named("d"), 1, block(1000), erasures=0)
        assert cache.scopes() == {b"a", b"c"}, "what is larger than all of it drives nothing out"
        for changes in range(2, 9):
            cache.keep(named("c"), changes, block(50), erasures=0)
        assert cache.held_bytes < 2 * one.held_bytes
        cache.erase()
        assert cache.held_bytes == 0

    def test_a_reader_from_before_an_erasure_brings_nothing_back(self) -> None:
        cache = VectorCache()
        before = cache.erasures()
        cache.keep(named("a"), 1, block(1), erasures=before)
        cache.keep(named("a", "another"), 1, block(1), erasures=before)
        cache.keep(named("b"), 1, block(1), erasures=before)
        cache.erase(b"a")
        assert cache.scopes() == {b"b"}
        cache.keep(named("a"), 1, block(1), erasures=before)
        assert cache.scopes() == {b"b"}
        cache.keep(named("a"), 2, block(1), erasures=cache.erasures())
        assert cache.scopes() == {b"a", b"b"}


@pytest.mark.parametrize("numpy", [True, False])
async def test_a_block_ranks_as_its_vectors_do(monkeypatch: pytest.MonkeyPatch, *, numpy: bool) -> None:
    if numpy:
        pytest.importorskip("numpy")
    else:
        monkeypatch.setattr(search, "_numpy", lambda: None)
    monkeypatch.setattr(search, "_AT_ONCE", 64 * 64)
    texts = [f"fact {number % 50} of {number % 7}" for number in range(300)]
    vectors = list(enumerate(await unit_vectors(HashEmbedder(), texts)))
    (asked,) = await unit_vectors(HashEmbedder(), ["fact 8 of 1"])
    whole = VectorBlock.of(vectors, len(asked))
    best = nearest_in(asked, whole, 300)
    assert sorted(best) == list(range(300))
    for limit in (1, 5, 100, 300, 1000):
        assert nearest_in(asked, whole, limit) == nearest(asked, vectors, limit) == best[:limit]
    gone = set(best[:3])
    left = [each for each in vectors if each[0] not in gone]
    assert whole.without(gone) == VectorBlock.of(left, len(asked))
    assert whole.without(set()) is whole
    assert nearest_in(asked, whole.without(gone), 9) == nearest(asked, left, 9)
    assert nearest_in(asked, whole.without(set(range(300))), 9) == []


class Watched(SQLiteEntryStore):
    """The entries, with a look at what is kept."""

    @property
    def kept(self) -> set[bytes]:
        return self._vectors.scopes()


class Entries:
    """Entries in a file, a count of the reads of vectors, and searches that must agree with a store that keeps none."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.reads, self.clock = path, 0, ManualClock(T0)
        made = VectorBlock.of

        def counted(vectors: object, size_bytes: int) -> VectorBlock[int]:
            self.reads += 1
            return made(vectors, size_bytes)  # type: ignore[arg-type]  # what the rows give

        monkeypatch.setattr(VectorBlock, "of", counted)
        self._open = AsyncExitStack()

    async def open(self) -> None:
        self.store = await self.another()

    async def close(self) -> None:
        await self._open.aclose()

    async def another(self) -> Watched:
        """A store of another process, as far as the file can tell."""
        file = await MemoryFile.open(self.path)
        self._open.push_async_callback(file.close)
        return Watched(file, embedder=HashEmbedder(), clock=self.clock)

    async def put(self, key: str, value: str, run: str | None = None, seconds: int | None = None) -> None:
        source = None if run is None else EntrySource(run_id=run)
        expires = None if seconds is None else at(seconds)
        await self.store.store(MemoryEntry.for_user("ada", key=key, value=value, source=source, expires_at=expires))

    async def found(self, query: str = "tea in the morning") -> Sequence[str]:
        """The keys that the store finds: the same, with the same scores, as a store that has just been opened."""
        answer = await self.store.search(MemoryScope.USER, "ada", query)
        reads = self.reads
        assert answer == await (await self.another()).search(MemoryScope.USER, "ada", query)
        self.reads = reads
        return [each.entry.key for each in answer]


@pytest.fixture
async def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Entries]:
    made = Entries(tmp_path / "memory.db", monkeypatch)
    await made.open()
    for number in range(9):
        await made.put(f"k{number}", f"tea {number} in the afternoon")
    yield made
    await made.close()


class TestSearches:
    async def test_a_second_search_reads_no_vectors(self, entries: Entries) -> None:
        first = await entries.found()
        assert (len(first), entries.reads) == (9, 1)
        assert await entries.found() == first
        await entries.found("another question")
        await entries.store.get(MemoryScope.USER, "ada", "k1")
        await entries.store.store(MemoryEntry.for_user("bob", key="k", value="tea"))
        await entries.found()
        assert entries.reads == 1

    async def test_a_write_is_seen_at_once(self, entries: Entries) -> None:
        await entries.found()
        await entries.put("new", "tea in the morning")
        assert (await entries.found())[0] == "new"
        assert entries.reads == 2
        await entries.put("new", "nothing of the kind")
        assert (await entries.found())[0] != "new"
        assert entries.reads == 3

    async def test_a_write_of_another_process_is_seen_at_once(self, entries: Entries) -> None:
        other = await entries.another()
        await entries.found()
        await other.store(MemoryEntry.for_user("ada", key="new", value="tea in the morning"))
        assert (await entries.found())[0] == "new"
        await other.delete(MemoryScope.USER, "ada", "new")
        assert "new" not in await entries.found()
        await other.delete_scope(MemoryScope.USER, "ada")
        assert await entries.found() == []

    async def test_what_expires_is_gone_at_that_very_instant(self, entries: Entries) -> None:
        await entries.put("brief", "tea in the morning", seconds=10)
        entries.clock.advance(9.999)
        assert (await entries.found())[0] == "brief"
        entries.clock.advance(0.001)
        assert "brief" not in await entries.found()
        assert entries.reads == 1
        assert await entries.store.delete_expired() == 1
        assert len(await entries.found()) == 9

    async def test_an_older_version_is_found_when_it_gets_its_vector_again(self, entries: Entries) -> None:
        """The count of versions and of vectors, and the number of the last vector, are then what they were before."""
        await entries.put("last", "an early breakfast")
        await entries.put("last", "tea in the morning", run="r1")
        assert (await entries.found())[0] == "last"
        other = await entries.another()
        assert await other.delete_source("r1") == 1
        assert await other.embed_missing() == 1
        assert (await entries.found("breakfasts early"))[0] == "last"
        assert entries.reads == 2

    async def test_a_hand_that_changes_a_vector_is_noticed(self, entries: Entries) -> None:
        await entries.found()
        with closing(sqlite3.connect(entries.path)) as connection:
            connection.execute("UPDATE memory_vectors SET floats = zeroblob(length(floats)) WHERE vector > 3")
            connection.commit()
        await entries.found()
        assert entries.reads == 2

    async def test_a_file_from_before_the_count_gets_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path, first = tmp_path / "older.db", sqlite_file._steps()[:1]  # noqa: SLF001 - the schema as it first was
        with monkeypatch.context() as before:
            before.setattr(sqlite_file, "_steps", lambda: first)
            await (await MemoryFile.open(path)).close()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(
                "INSERT INTO memory_scopes (digest, tenant, kind) VALUES (?, x'00', 'user')", (ADA.digest,)
            )
            connection.commit()
        older = Entries(path, monkeypatch)
        await older.open()
        await older.put("k", "tea")
        assert await older.found() == await older.found() == ["k"]
        await older.put("m", "tea in the morning")
        assert await older.found() == ["m", "k"]
        assert older.reads == 2
        await older.close()

    async def test_vectors_of_another_length_are_kept_apart(self, entries: Entries) -> None:
        await entries.found()
        with closing(sqlite3.connect(entries.path)) as connection:
            connection.execute("UPDATE memory_vectors SET floats = zeroblob(8) WHERE vector = 1")
            connection.commit()
        assert len(await entries.found("breakfast")) == 8


class TestErasedScopes:
    @pytest.mark.parametrize("verb", ["delete", "delete_scope", "delete_source", "delete_expired"])
    async def test_an_erasure_takes_the_scope_out(self, entries: Entries, verb: str) -> None:
        await entries.put("brief", "tea in the morning", run="r1", seconds=10)
        await entries.found()
        assert entries.store.kept == {ADA.digest}
        entries.clock.advance(11)
        match verb:
            case "delete":
                await entries.store.delete(MemoryScope.USER, "ada", "brief")
            case "delete_scope":
                assert await entries.store.delete_scope(MemoryScope.USER, "ada") == 9
            case "delete_source":
                assert await entries.store.delete_source("r1") == 1
            case _:
                assert await entries.store.delete_expired() == 1
        assert entries.store.kept == set()

    async def test_a_forgotten_session_is_out_and_the_others_stay(self, entries: Entries) -> None:
        await entries.store.store(MemoryEntry.for_session("s1", key="k", value="tea"))
        await entries.found()
        assert len(await entries.store.search(MemoryScope.SESSION, "s1", "tea")) == 1
        assert entries.store.kept == {ADA.digest, S1.digest}
        await entries.store.forget("s1")
        assert entries.store.kept == {ADA.digest}
        with pytest.raises(SessionPurged):
            await entries.store.store(MemoryEntry.for_session("s1", key="k", value="tea"))
        assert await entries.store.search(MemoryScope.SESSION, "s1", "tea") == ()
        assert entries.store.kept <= {ADA.digest, S1.digest}

    async def test_an_erasure_of_nothing_takes_nothing_out(self, entries: Entries) -> None:
        await entries.found()
        assert (await entries.store.delete_expired(), await entries.store.delete_source("r9")) == (0, 0)
        assert entries.store.kept == {ADA.digest}

    async def test_an_erasure_is_told_of_also_when_its_caller_has_left(self, tmp_path: Path) -> None:
        file = await MemoryFile.open(tmp_path / "other.db")
        begun, left = threading.Event(), threading.Event()
        answers: list[int] = []

        def slow(_: sqlite3.Connection) -> int:
            begun.set()
            left.wait()
            return 7

        erasing = asyncio.ensure_future(file.write(slow, erases=True, after=answers.append))
        await asyncio.to_thread(begun.wait)
        erasing.cancel()
        await asyncio.gather(erasing, return_exceptions=True)
        left.set()
        await file.close()
        assert answers == [7]

    async def test_an_erasure_that_was_refused_is_not_told_of(self, tmp_path: Path) -> None:
        file = await MemoryFile.open(tmp_path / "other.db")
        answers: list[int] = []

        def refused(_: sqlite3.Connection) -> int:
            raise SessionPurged(session_id="s1")

        with pytest.raises(SessionPurged):
            await file.write(refused, erases=True, after=answers.append)
        await file.close()
        assert answers == []
