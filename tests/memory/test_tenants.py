"""Two tenants under random operations: neither sees or changes what is the other's; and the backends agree."""

import random
from datetime import timedelta
from pathlib import Path

import pytest

from actum.base.errors import ActumError
from actum.base.value import dump, dump_json
from actum.memory.contract import EntryStore
from actum.memory.entries import EntrySource, MemoryEntry, MemoryScope
from actum.memory.opening import open_memory
from actum.testing.script import ManualClock

SCOPES = list(MemoryScope)
IDS = ["a", "A", "a ", "%", "caf\u00e9", "cafe\u0301"]
KEYS = ["k", "K", "k%", "long key"]
WORDS = ["dark", "light", "green", "tea", ""]


def operation(dice: random.Random, clock: ManualClock) -> tuple[str, tuple[object, ...]]:
    """One verb with arguments, of no tenant yet."""
    scope, scope_id, key = dice.choice(SCOPES), dice.choice(IDS), dice.choice(KEYS)
    verb = dice.choice(["store"] * 6 + ["get", "list", "search", "delete", "history", "delete_scope", "delete_source"])
    expires = clock.now() + timedelta(seconds=dice.randint(1, 20)) if dice.random() < 0.3 else None
    match verb:
        case "store":
            source = EntrySource(run_id=dice.choice("rs")) if dice.random() < 0.5 else None
            entry = MemoryEntry(
                scope=scope, scope_id=scope_id, key=key, value=dice.choice(WORDS), source=source, expires_at=expires
            )
            return verb, (entry,)
        case "get" | "delete" | "history":
            return verb, (scope, scope_id, key)
        case "search":
            return verb, (scope, scope_id, dice.choice(WORDS[:-1]))
        case "delete_source":
            return verb, (dice.choice("rs"),)
        case _:
            return verb, (scope, scope_id)


async def answer(entries: EntryStore, verb: str, arguments: tuple[object, ...], tenant: str) -> str:
    """What a verb says to a tenant, as text in which nothing of a score is left."""
    try:
        if verb == "store":
            (entry,) = arguments
            assert isinstance(entry, MemoryEntry)
            fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
            return dump(await entries.store(MemoryEntry(**{**fields, "tenant": tenant}))).decode()
        said = await getattr(entries, verb)(*arguments, tenant=tenant)
    except ActumError as error:
        return repr(error)
    if verb == "list":
        return repr([dump(each) for each in said.items])
    if verb == "search":
        return dump_json(sorted(each.entry.key for each in said)).decode()
    return repr(said)


@pytest.mark.parametrize("seed", range(8))
async def test_a_tenant_cannot_tell_whether_there_is_another(seed: int, tmp_path: Path) -> None:
    dice, clock = random.Random(seed), ManualClock()  # noqa: S311 - a seed that replays is the point
    async with (
        open_memory(f"sqlite:///{tmp_path}/both.db", clock=clock) as both,
        open_memory(f"sqlite:///{tmp_path}/alone.db", clock=clock) as alone,
        open_memory("memory:", clock=clock) as in_memory,
    ):
        for step in range(150):
            clock.advance(1)
            verb, arguments = operation(dice, clock)
            if dice.random() < 0.5:
                await answer(both.entries, verb, arguments, "theirs")
                await answer(in_memory.entries, verb, arguments, "theirs")
                continue
            seen = await answer(both.entries, verb, arguments, "mine")
            assert seen == await answer(alone.entries, verb, arguments, "mine"), (seed, step, verb, arguments)
            assert seen == await answer(in_memory.entries, verb, arguments, "mine"), (seed, step, verb, arguments)
            assert "theirs" not in seen
