import re

from hypothesis import given
from hypothesis import strategies as st

from actum.model.aliases import Aliases, AliasRule

RULE = AliasRule(
    name=re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII), id=re.compile(r"[A-Za-z0-9_-]{1,40}", re.ASCII)
)
texts = st.text(st.characters(codec="utf-8"), max_size=80)


def test_fine_names_stay_and_dots_become_underscores() -> None:
    aliases = Aliases(["fs.read", "write", "a-b"], ["call_1"], RULE)
    assert [aliases.name(each) for each in ("fs.read", "write", "a-b")] == ["fs_read", "write", "a-b"]
    assert aliases.original("fs_read") == "fs.read"
    assert aliases.original("nobody") == "nobody"
    assert aliases.id("call_1") == "call_1"


def test_names_that_would_meet_are_told_apart_whatever_their_order() -> None:
    names = ["fs.read", "fs_read", "fs read"]
    one, other = Aliases(names, [], RULE), Aliases(reversed(names), [], RULE)
    assert one.name("fs_read") == "fs_read"
    assert len({one.name(each) for each in names}) == 3
    assert [one.name(each) for each in names] == [other.name(each) for each in names]
    assert [one.original(one.name(each)) for each in names] == names


@given(st.sets(texts, max_size=8), st.sets(texts, max_size=8))
def test_aliases_fit_and_lead_back(names: set[str], ids: set[str]) -> None:
    aliases = Aliases(names, ids, RULE)
    assert aliases.told_apart
    assert {aliases.original(aliases.name(each)) for each in names} == names
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", aliases.name(each)) for each in names)
    assert len({aliases.id(each) for each in ids}) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,40}", aliases.id(each)) for each in ids)
    assert all(aliases.id(each) == Aliases([], [each], RULE).id(each) for each in ids)
