"""Entries: stored, found, versioned, erased and forgotten, each in its own scope and for its own tenant."""

import asyncio
import itertools
from datetime import timedelta

import pytest

from actum.base.errors import EntryConflict, InvalidCursor, InvalidValue, SessionPurged, TooLarge
from actum.base.limits import MIB, PAYLOAD_BYTES
from actum.base.value import Json, dump_json
from actum.memory.contract import EntryStore
from actum.memory.entries import EntrySource, MemoryEntry, MemoryScope, StoredEntry
from actum.testing.near import FALSY, NEAR, NO_IDS, OPERATORS
from actum.testing.script import ManualClock

SESSION, USER = MemoryScope.SESSION, MemoryScope.USER


def entry(key: str = "theme", value: Json = "dark", scope_id: str = "s1", **more: object) -> MemoryEntry:
    """A session's entry."""
    return MemoryEntry(**{"scope": SESSION, "scope_id": scope_id, "key": key, "value": value, **more})


async def keys_of(
    entries: EntryStore, scope_id: str = "s1", *, limit: int = 1000, tenant: str | None = None
) -> list[str]:
    """Every key of a session's scope, page by page."""
    keys: list[str] = []
    cursor, more = None, True
    while more:
        page = await entries.list(SESSION, scope_id, cursor=cursor, limit=limit, tenant=tenant)
        keys += [each.key for each in page.items]
        cursor, more = page.cursor, page.more
    return keys


async def found_keys(entries: EntryStore, query: str, scope_id: str = "s1") -> set[str]:
    """The keys that a search of a session's scope finds."""
    return {each.entry.key for each in await entries.search(SESSION, scope_id, query)}


class EntryPromises:
    """All that an entry store promises."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    # Values

    @pytest.mark.parametrize("value", FALSY, ids=repr)
    async def test_a_falsy_value_is_found(self, entries: EntryStore, value: Json) -> None:
        await entries.store(entry(value=value))
        found = await entries.get(SESSION, "s1", "theme")
        assert found is not None
        assert dump_json(found.value) == dump_json(value)
        assert await entries.get(SESSION, "s1", "thema") is None

    @pytest.mark.parametrize("value", ["a\0b", "\U0001f600 ж", 10**4000, -(10**40), 1.5, [[1], {"a": [None]}], {"": 0}])
    async def test_a_value_comes_back_as_it_was(self, entries: EntryStore, value: Json) -> None:
        stored = await entries.store(entry(value=value))
        assert await entries.get(SESSION, "s1", "theme") == stored
        assert stored.value == value

    @pytest.mark.parametrize(
        "value", [float("nan"), float("inf"), (1, 2), b"x", {1: "a"}, {"a": {1, 2}}, "\ud800", ...]
    )
    async def test_what_is_no_json_is_refused(self, entries: EntryStore, value: Json) -> None:
        with pytest.raises(InvalidValue):
            await entries.store(entry(value=value))
        assert await keys_of(entries) == []

    async def test_a_value_beyond_its_bound_is_refused(self, entries: EntryStore) -> None:
        with pytest.raises(TooLarge):
            await entries.store(entry(value="x" * PAYLOAD_BYTES))
        assert await keys_of(entries) == []

    async def test_a_list_given_or_got_is_the_callers_own(self, entries: EntryStore) -> None:
        value: list[Json] = [1]
        stored = await entries.store(entry(value=value))
        value.append(2)
        found = await entries.get(SESSION, "s1", "theme")
        assert found is not None
        found.value.append(3)
        stored.value.append(4)
        again = await entries.get(SESSION, "s1", "theme")
        assert again is not None
        assert again.value == [1]

    # Exact identities

    async def test_near_scope_ids_are_scopes_of_their_own(self, entries: EntryStore) -> None:
        for n, scope_id in enumerate(NEAR):
            await entries.store(entry(value=n, scope_id=scope_id))
        await entries.delete_scope(SESSION, NEAR[0])
        assert await entries.get(SESSION, NEAR[0], "theme") is None
        for n, scope_id in enumerate(NEAR[1:], start=1):
            found = await entries.get(SESSION, scope_id, "theme")
            assert found is not None
            assert (found.value, found.scope_id) == (n, scope_id)

    async def test_near_keys_are_keys_of_their_own(self, entries: EntryStore) -> None:
        for n, key in enumerate(NEAR):
            await entries.store(entry(key, n))
        assert await keys_of(entries, limit=4) == sorted(NEAR)
        assert await entries.delete(SESSION, "s1", NEAR[0])
        assert await keys_of(entries) == sorted(NEAR[1:])

    async def test_near_tenants_are_tenants_of_their_own(self, entries: EntryStore) -> None:
        tenants = [None, *NEAR]
        for n, tenant in enumerate(tenants):
            await entries.store(entry(value=n, tenant=tenant))
        await entries.delete_scope(SESSION, "s1")
        assert await entries.get(SESSION, "s1", "theme") is None
        for n, tenant in enumerate(tenants[1:], start=1):
            found = await entries.get(SESSION, "s1", "theme", tenant=tenant)
            assert found is not None
            assert (found.value, found.tenant) == (n, tenant)

    async def test_ids_are_not_joined(self, entries: EntryStore) -> None:
        await entries.store(entry("c", 1, "a:b"))
        await entries.store(entry("b:c", 2, "a"))
        await entries.store(MemoryEntry.for_user("a", key="c", value=3))
        assert await keys_of(entries, "a:b") == ["c"]
        assert await keys_of(entries, "a") == ["b:c"]

    @pytest.mark.parametrize("wrong", NO_IDS, ids=repr)
    async def test_what_is_no_id_is_refused_and_never_means_everything(self, entries: EntryStore, wrong: str) -> None:
        await entries.store(entry())
        for refused in (
            lambda: entries.store(entry(scope_id=wrong)),
            lambda: entries.store(entry(wrong)),
            lambda: entries.get(SESSION, wrong, "theme"),
            lambda: entries.get(SESSION, "s1", wrong),
            lambda: entries.list(SESSION, wrong),
            lambda: entries.search(SESSION, wrong, "dark"),
            lambda: entries.history(SESSION, wrong, "theme"),
            lambda: entries.delete(SESSION, wrong, "theme"),
            lambda: entries.delete(SESSION, "s1", wrong),
            lambda: entries.delete_scope(SESSION, wrong),
            lambda: entries.delete_source(wrong),
            lambda: entries.forget(wrong),
        ):
            with pytest.raises(InvalidValue):
                await refused()
        if wrong is not None:
            with pytest.raises(InvalidValue):
                await entries.delete_scope(SESSION, "s1", tenant=wrong)
        assert await keys_of(entries) == ["theme"]

    @pytest.mark.parametrize("scope", ["", "everything", "SESSION", "sess", "*", None, 1])
    async def test_what_is_no_scope_is_refused(self, entries: EntryStore, scope: MemoryScope) -> None:
        await entries.store(entry())
        with pytest.raises(InvalidValue):
            await entries.delete_scope(scope, "s1")
        with pytest.raises(InvalidValue):
            await entries.get(scope, "s1", "theme")
        with pytest.raises(InvalidValue):
            await entries.store(entry(scope=scope))
        assert await keys_of(entries) == ["theme"]

    # Versions

    async def test_a_change_is_a_new_version_and_the_old_one_is_history(self, entries: EntryStore) -> None:
        first = await entries.store(entry(value=1, source=EntrySource(run_id="r1", record_id="x-1")))
        second = await entries.store(entry(value=2))
        assert second.version > first.version > 0
        assert await entries.get(SESSION, "s1", "theme") == second
        assert await entries.history(SESSION, "s1", "theme") == (first, second)
        assert first.source == EntrySource(run_id="r1", record_id="x-1")

    async def test_an_exact_repeat_adds_nothing(self, entries: EntryStore, clock: ManualClock) -> None:
        first = await entries.store(entry())
        clock.advance(5)
        assert await entries.store(entry()) == first
        assert await entries.store(first) == first
        assert await entries.history(SESSION, "s1", "theme") == (first,)

    @pytest.mark.parametrize("before, after", list(itertools.permutations([0, 0.0, False, None, ""], 2)))
    async def test_values_that_python_calls_equal_are_another(
        self, entries: EntryStore, before: Json, after: Json
    ) -> None:
        first = await entries.store(entry(value=before))
        second = await entries.store(entry(value=after))
        assert second.version > first.version
        assert type(second.value) is type(after)

    async def test_compare_and_set(self, entries: EntryStore) -> None:
        first = await entries.store(entry(value=1), expected=0)
        with pytest.raises(EntryConflict) as caught:
            await entries.store(entry(value=2), expected=0)
        assert (caught.value.stored, caught.value.given) == (first.version, None)
        second = await entries.store(entry(value=2), expected=first.version)
        assert await entries.store(entry(value=2), expected=first.version) == second
        with pytest.raises(EntryConflict):
            await entries.store(entry(value=3), expected=first.version)
        with pytest.raises(EntryConflict):
            await entries.store(entry("other"), expected=first.version)
        assert await entries.history(SESSION, "s1", "theme") == (first, second)
        assert await keys_of(entries) == ["theme"]

    @pytest.mark.parametrize("expected", [-1, True, 1.0, "1"])
    async def test_an_expected_version_is_a_whole_number(self, entries: EntryStore, expected: int) -> None:
        with pytest.raises(InvalidValue):
            await entries.store(entry(), expected=expected)

    async def test_of_many_compare_and_sets_one_wins(self, entries: EntryStore) -> None:
        first = await entries.store(entry(value="first"))
        tries = (entries.store(entry(value=n), expected=first.version) for n in range(20))
        done = await asyncio.gather(*tries, return_exceptions=True)
        won = [each for each in done if isinstance(each, StoredEntry)]
        assert [type(each) for each in done].count(EntryConflict) == 19
        assert await entries.get(SESSION, "s1", "theme") == won[0]

    @pytest.mark.parametrize("erase", ["key", "scope"])
    async def test_a_version_is_never_used_twice(self, entries: EntryStore, erase: str) -> None:
        first = await entries.store(entry(value=1))
        if erase == "key":
            await entries.delete(SESSION, "s1", "theme")
        else:
            await entries.delete_scope(SESSION, "s1")
        second = await entries.store(entry(value=2), expected=0)
        assert second.version > first.version
        assert await entries.history(SESSION, "s1", "theme") == (second,)

    # Expiry

    async def test_an_entry_is_gone_at_the_instant_it_expires(self, entries: EntryStore, clock: ManualClock) -> None:
        ends = clock.now() + timedelta(seconds=60)
        stored = await entries.store(entry(expires_at=ends))
        clock.advance(59.999)
        assert await entries.get(SESSION, "s1", "theme") == stored
        assert await found_keys(entries, "dark") == {"theme"}
        clock.advance(0.001)
        assert clock.now() == ends
        assert await entries.get(SESSION, "s1", "theme") is None
        assert await entries.history(SESSION, "s1", "theme") == ()
        assert await keys_of(entries) == []
        assert await found_keys(entries, "dark") == set()
        assert not await entries.delete(SESSION, "s1", "theme")

    async def test_an_expired_entry_leaves_nothing_older_behind(self, entries: EntryStore, clock: ManualClock) -> None:
        await entries.store(entry(value="old"))
        await entries.store(entry(value="new", expires_at=clock.now() + timedelta(seconds=1)))
        clock.advance(1)
        assert await entries.get(SESSION, "s1", "theme") is None
        assert await found_keys(entries, "old") == set()
        fresh = await entries.store(entry(value="fresh"), expected=0)
        assert await entries.history(SESSION, "s1", "theme") == (fresh,)

    async def test_an_expired_version_is_no_history(self, entries: EntryStore, clock: ManualClock) -> None:
        await entries.store(entry(value="short", expires_at=clock.now() + timedelta(seconds=1)))
        kept = await entries.store(entry(value="long"))
        clock.advance(1)
        assert await entries.history(SESSION, "s1", "theme") == (kept,)

    async def test_an_expiry_that_has_passed_is_refused(self, entries: EntryStore, clock: ManualClock) -> None:
        with pytest.raises(InvalidValue):
            await entries.store(entry(expires_at=clock.now()))
        assert await keys_of(entries) == []

    async def test_what_has_expired_can_be_erased(self, entries: EntryStore, clock: ManualClock) -> None:
        soon = clock.now() + timedelta(seconds=1)
        await entries.store(entry("a", 0))
        await entries.store(entry("a", 1, expires_at=soon))
        await entries.store(entry("b", 1, tenant="t", expires_at=soon))
        await entries.store(entry("c", 1, expires_at=soon))
        kept = await entries.store(entry("c", 2))
        assert await entries.delete_expired() == 0
        clock.advance(1)
        assert await entries.delete_expired() == 4
        assert await entries.delete_expired() == 0
        assert await entries.history(SESSION, "s1", "c") == (kept,)
        assert await keys_of(entries) == ["c"]

    # Lists

    @pytest.mark.parametrize("limit", [1, 7, 100, 1000])
    async def test_pages_hold_every_entry_once_in_order(self, entries: EntryStore, limit: int) -> None:
        keys = [f"k{n}" for n in range(20)] + ["ж", "\U0001f600", "\uffee", "Z", "z"]
        for key in keys:
            await entries.store(entry(key))
        assert await keys_of(entries, limit=limit) == sorted(keys)

    async def test_pages_are_stable_while_entries_come_and_go(self, entries: EntryStore) -> None:
        for n in range(10):
            await entries.store(entry(f"k{n}"))
        page = await entries.list(SESSION, "s1", limit=4)
        await entries.delete(SESSION, "s1", "k3")
        await entries.store(entry("k0a"))
        await entries.store(entry("k5", "changed"))
        await entries.store(entry("k9a"))
        rest = await entries.list(SESSION, "s1", cursor=page.cursor)
        assert [each.key for each in (*page.items, *rest.items)] == [*(f"k{n}" for n in range(10)), "k9a"]
        more = await entries.list(SESSION, "s1", cursor=rest.cursor)
        assert (more.items, more.more, more.cursor) == ((), False, rest.cursor)

    async def test_a_page_ends_early_at_its_bytes(self, entries: EntryStore) -> None:
        for n in range(5):
            await entries.store(entry(f"k{n}", "x" * (3 * MIB)))
        page = await entries.list(SESSION, "s1")
        assert page.more
        assert len(page.items) == 3
        assert await keys_of(entries) == [f"k{n}" for n in range(5)]

    async def test_a_cursor_is_of_its_scope(self, entries: EntryStore) -> None:
        await entries.store(entry())
        cursor = (await entries.list(SESSION, "s1")).cursor
        for scope, scope_id, tenant in ((USER, "s1", None), (SESSION, "s2", None), (SESSION, "s1", "t")):
            with pytest.raises(InvalidCursor):
                await entries.list(scope, scope_id, cursor=cursor, tenant=tenant)
        for wrong in ("", "x", cursor[:-2], "ж", 1, "A" * 9000):
            with pytest.raises(InvalidCursor):
                await entries.list(SESSION, "s1", cursor=wrong)  # type: ignore[arg-type]  # the wrong type is the point

    @pytest.mark.parametrize("limit", [0, -1, 1001, True, 1.0, "1", None])
    async def test_a_limit_is_from_1_to_1000(self, entries: EntryStore, limit: int) -> None:
        with pytest.raises(InvalidValue):
            await entries.list(SESSION, "s1", limit=limit)
        with pytest.raises(InvalidValue):
            await entries.search(SESSION, "s1", "dark", limit=limit)

    # Deleting

    async def test_deleting_one_scope_leaves_the_others(self, entries: EntryStore) -> None:
        await entries.store(entry(value="dark"))
        await entries.store(entry(value="light", scope_id="s2"))
        await entries.store(MemoryEntry.for_user("s1", key="theme", value="user's"))
        for n in range(250):
            await entries.store(entry(f"k{n}", n))
        assert await entries.delete_scope(SESSION, "s1") == 251
        assert await entries.get(SESSION, "s1", "theme") is None
        assert await keys_of(entries) == []
        assert await entries.delete_scope(SESSION, "s1") == 0
        for scope, scope_id, value in ((SESSION, "s2", "light"), (USER, "s1", "user's")):
            found = await entries.get(scope, scope_id, "theme")
            assert found is not None
            assert found.value == value

    async def test_deleting_a_key_erases_its_history(self, entries: EntryStore) -> None:
        await entries.store(entry(value=1))
        await entries.store(entry(value=2))
        assert await entries.delete(SESSION, "s1", "theme")
        assert not await entries.delete(SESSION, "s1", "theme")
        assert await entries.history(SESSION, "s1", "theme") == ()

    async def test_deleting_a_source_gives_back_what_was_there_before(self, entries: EntryStore) -> None:
        by_hand = await entries.store(entry(value="green"))
        await entries.store(entry(value="purple", source=EntrySource(run_id="r1", record_id="a")))
        await entries.store(entry("other", 1, "s2", source=EntrySource(run_id="r1", record_id="b")))
        await entries.store(entry("third", 1, tenant="t", source=EntrySource(run_id="r1")))
        await entries.store(entry("fourth", 1, source=EntrySource(run_id="r10")))
        assert await entries.delete_source("r1", record_id="b") == 1
        assert await entries.get(SESSION, "s2", "other") is None
        assert await entries.delete_source("r1") == 1
        assert await entries.get(SESSION, "s1", "theme") == by_hand
        assert (await entries.search(SESSION, "s1", "green"))[0].entry == by_hand
        assert await keys_of(entries) == ["fourth", "theme"]
        assert await keys_of(entries, tenant="t") == ["third"]
        assert await entries.delete_source("r1") == 0

    async def test_a_forgotten_session_refuses_entries_for_ever(self, entries: EntryStore) -> None:
        await entries.store(entry())
        await entries.store(entry(scope_id="s2"))
        await entries.store(entry(tenant="t"))
        await entries.forget("s1")
        await entries.forget("s1")
        await entries.forget("never-seen")
        for scope_id in ("s1", "never-seen"):
            with pytest.raises(SessionPurged):
                await entries.store(entry(scope_id=scope_id))
            with pytest.raises(SessionPurged):
                await entries.store(entry(scope_id=scope_id), expected=0)
            assert await entries.get(SESSION, scope_id, "theme") is None
            assert await entries.search(SESSION, scope_id, "dark") == ()
        assert await entries.get(SESSION, "s2", "theme") is not None
        assert await entries.get(SESSION, "s1", "theme", tenant="t") is not None
        await entries.store(MemoryEntry.for_user("s1", key="theme", value="a user of that name"))

    @pytest.mark.parametrize("erase", ["forget", "delete_scope"])
    async def test_a_write_that_races_with_an_erasure_is_before_or_after_it(
        self, entries: EntryStore, erase: str
    ) -> None:
        async def store(n: int) -> StoredEntry | None:
            try:
                return await entries.store(entry(f"k{n}"))
            except SessionPurged:
                return None

        tasks = [asyncio.ensure_future(store(n)) for n in range(30)]
        if erase == "forget":
            await entries.forget("s1")
        else:
            await entries.delete_scope(SESSION, "s1")
        done = await asyncio.gather(*tasks)
        left = await keys_of(entries)
        if erase == "forget":
            assert left == []
        else:
            assert set(left) <= {each.key for each in done if each is not None}
            for key in left:
                assert await entries.get(SESSION, "s1", key) is not None
            assert await found_keys(entries, "dark") <= set(left)

    # Search

    async def test_an_entry_is_found_by_its_words(self, entries: EntryStore) -> None:
        await entries.store(entry("favourite_colour", "green"))
        await entries.store(entry("pet", {"kind": "cat", "names": ["Élodie", "Żuczek"], "age": 7}))
        await entries.store(entry("city", "東京都に住んでいます"))
        assert await found_keys(entries, "colour") >= {"favourite_colour"}
        for query in ("GREEN", "green things", "Colours"):
            assert (await entries.search(SESSION, "s1", query))[0].entry.key == "favourite_colour"
        for query in ("elodie", "ZUCZEK", "cats", "names", "7"):
            assert (await entries.search(SESSION, "s1", query))[0].entry.key == "pet"
        assert (await entries.search(SESSION, "s1", "東京"))[0].entry.key == "city"

    async def test_a_search_finds_present_versions_alone(self, entries: EntryStore) -> None:
        await entries.store(entry("a", "aubergine"))
        await entries.store(entry("a", "broccoli"))
        await entries.store(entry("b", "cabbage"))
        await entries.delete(SESSION, "s1", "b")
        searches = [await entries.search(SESSION, "s1", query) for query in ("aubergine", "broccoli", "cabbage")]
        assert {each.entry.value for found in searches for each in found} == {"broccoli"}

    async def test_a_search_stays_in_its_scope(self, entries: EntryStore) -> None:
        for scope_id, tenant in itertools.product(("s1", "s2", "S1"), (None, "t1", "t2")):
            await entries.store(entry("theme", f"dark of {scope_id} {tenant}", scope_id, tenant=tenant))
        await entries.store(MemoryEntry.for_user("s1", key="theme", value="dark of a user"))
        found = await entries.search(SESSION, "s1", "dark", tenant="t1", limit=1000)
        assert [each.entry.value for each in found] == ["dark of s1 t1"]

    @pytest.mark.parametrize("query", OPERATORS, ids=repr)
    async def test_nothing_in_a_query_is_an_operator(self, entries: EntryStore, query: str) -> None:
        await entries.store(entry("dark", "mode"))
        await entries.store(entry("dark", "mode", "s2"))
        found = await entries.search(SESSION, "s1", query)
        assert {(each.entry.scope_id, each.entry.key) for each in found} <= {("s1", "dark")}
        assert await keys_of(entries) == ["dark"]

    async def test_a_search_gives_no_more_than_its_limit_best_first(self, entries: EntryStore) -> None:
        for n in range(30):
            await entries.store(entry(f"k{n}", "tea " * (n == 17) + "tea in the garden with friends on a long day"))
        found = await entries.search(SESSION, "s1", "tea", limit=5)
        assert len(found) == 5
        scores = [each.score for each in found]
        assert scores == sorted(scores, reverse=True)
