"""Entries, their scopes, and the one rule of what a store writes."""

from datetime import timedelta

import pytest

from actum.base.errors import EntryConflict, InvalidValue
from actum.base.value import dump, load
from actum.memory.entries import (
    EntrySource,
    MemoryEntry,
    MemoryScope,
    ScopeKey,
    StoredEntry,
    decide_store,
    identity_digest,
)
from actum.testing.near import NEAR
from actum.testing.samples import T0, at

ENTRY = MemoryEntry.for_session("s1", key="k", value=1)


def stored(version: int = 3, value: object = 1) -> StoredEntry:
    return StoredEntry(scope=MemoryScope.SESSION, scope_id="s1", key="k", value=value, version=version, stored_at=T0)


def test_makers_name_their_scope() -> None:
    made = [
        MemoryEntry.for_session("x", key="k", value=None),
        MemoryEntry.for_user("x", key="k", value=None),
        MemoryEntry.for_agent("x", key="k", value=None),
        MemoryEntry.for_shared(key="k", value=None),
    ]
    assert [each.scope for each in made] == list(MemoryScope)
    assert made[-1].scope_id == "shared"


def test_makers_refuse_what_is_no_entry() -> None:
    with pytest.raises(InvalidValue):
        MemoryEntry.for_user("", key="k", value=1)
    with pytest.raises(InvalidValue):
        MemoryEntry.for_user("u", key="k", value=(1,))
    with pytest.raises(InvalidValue):
        MemoryEntry.for_user("u", key="k", value=1, tenant="")
    with pytest.raises(InvalidValue):
        MemoryEntry.for_user("u", key="k", value=1, expires_at=at(0).replace(tzinfo=None))


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}, "a\0b"])
def test_an_entry_survives_its_bytes(value: object) -> None:
    entry = MemoryEntry.for_user("u", key="k", value=value, source=EntrySource(run_id="r"), expires_at=at(1))
    assert load(MemoryEntry, dump(entry)) == entry


def test_identities_are_not_joined() -> None:
    names = [("a", "b", None), ("a", None, "b"), ("ab", None, None), ("a\nb", None, None), (None, "a", "b")]
    assert len({identity_digest(*each) for each in names}) == len(names)
    scopes = {ScopeKey(None, MemoryScope.USER, each).digest for each in NEAR}
    assert len(scopes) == len(NEAR)


class TestWhatAStoreWrites:
    def test_a_first_entry(self) -> None:
        new = decide_store(None, ENTRY, None, next_version=1, now=T0)
        assert (new.version, new.stored_at, new.value) == (1, T0, 1)

    def test_the_same_again_is_what_is_there(self) -> None:
        current = stored()
        assert decide_store(current, ENTRY, None, next_version=4, now=at(9)) is current
        for expected in (0, 2, 3):
            assert decide_store(current, ENTRY, expected, next_version=4, now=at(9)) is current

    @pytest.mark.parametrize("expected", [4, 99])
    def test_a_version_that_never_was_is_a_conflict_even_for_the_same(self, expected: int) -> None:
        with pytest.raises(EntryConflict):
            decide_store(stored(), ENTRY, expected, next_version=4, now=at(9))

    @pytest.mark.parametrize("value", [1.0, True, "1", [1]])
    def test_sameness_is_that_of_bytes(self, value: object) -> None:
        assert decide_store(stored(value=value), ENTRY, None, next_version=4, now=at(9)).version == 4

    def test_another_source_or_expiry_is_a_change(self) -> None:
        for other in (
            MemoryEntry.for_session("s1", key="k", value=1, source=EntrySource(run_id="r")),
            MemoryEntry.for_session("s1", key="k", value=1, expires_at=at(99)),
        ):
            assert decide_store(stored(), other, 3, next_version=4, now=at(9)).version == 4

    def test_an_expiry_now_is_no_future(self) -> None:
        entry = MemoryEntry.for_session("s1", key="k", value=1, expires_at=at(9))
        with pytest.raises(InvalidValue):
            decide_store(None, entry, None, next_version=1, now=at(9))
        assert decide_store(None, entry, None, next_version=1, now=at(9) - timedelta(milliseconds=1)).version == 1
