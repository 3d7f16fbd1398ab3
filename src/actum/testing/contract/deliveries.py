"""Delivery to projections: which scopes a consumer has not handled, and how far it has come."""

import pytest

from actum.base.errors import InvalidValue, NotFound
from actum.lifecycle import commands as c
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused


class DeliveryPromises:
    """At least once: a scope stays behind until its consumer says how far it has come."""

    async def test_a_scope_is_behind_until_it_is_handled(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        assert await store.scopes_behind("mail") == (c.ScopeBehind(session_id="s1", position=0, last=1),)
        await store.append_run_records(samples.notes(run, "a", "b"))
        assert await store.scopes_behind("mail") == (c.ScopeBehind(session_id="s1", position=0, last=3),)
        await store.advance("mail", 2, session_id="s1")
        assert await store.scopes_behind("mail") == (c.ScopeBehind(session_id="s1", position=2, last=3),)
        await store.advance("mail", 3, session_id="s1")
        assert await store.scopes_behind("mail") == ()
        await store.append_run_record(samples.note(run, "c"))
        assert await store.scopes_behind("mail") == (c.ScopeBehind(session_id="s1", position=3, last=4),)

    async def test_consumers_do_not_know_each_other(self, store: OwnedStore) -> None:
        await scenes.running(store)
        await store.advance("mail", 1, session_id="s1")
        assert await store.scopes_behind("mail") == ()
        assert len(await store.scopes_behind("search")) == 1

    async def test_one_shot_trees_are_scopes_too(self, store: OwnedStore) -> None:
        root = await scenes.one_shot(store, "o1")
        await store.start_one_shot_child_run(samples.one_shot_child("o2", root))
        assert await store.scopes_behind("mail") == (c.ScopeBehind(root_run_id="o1", position=0, last=3),)
        await store.advance("mail", 3, root_run_id="o1")
        assert await store.scopes_behind("mail") == ()

    async def test_an_empty_session_is_not_behind(self, store: OwnedStore) -> None:
        await scenes.session(store)
        assert await store.scopes_behind("mail") == ()

    async def test_a_smaller_position_changes_nothing(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        await store.append_run_records(samples.notes(run, "a", "b"))
        await store.advance("mail", 2, session_id="s1")
        for position in (0, 1, 2):
            await store.advance("mail", position, session_id="s1")
            assert (await store.scopes_behind("mail"))[0].position == 2

    async def test_scopes_come_in_order_up_to_a_limit(self, store: OwnedStore) -> None:
        for n in range(7):
            await scenes.running(store, f"r{n}", f"s{n}")
        assert [each.session_id for each in await store.scopes_behind("mail")] == [f"s{n}" for n in range(7)]
        assert [each.session_id for each in await store.scopes_behind("mail", limit=3)] == ["s0", "s1", "s2"]
        await store.advance("mail", 1, session_id="s1")
        assert [each.session_id for each in await store.scopes_behind("mail", limit=3)] == ["s0", "s2", "s3"]

    async def test_a_purged_scope_is_behind_no_more(self, store: OwnedStore) -> None:
        await scenes.ended(store)
        await scenes.end(store, await scenes.one_shot(store, "o1"))
        await scenes.running(store, "r2", "s2")
        for session_id in ("s1", "s2"):
            await store.advance("mail", 1, session_id=session_id)
        await scenes.over(store)
        await store.purge_session("s1")
        await store.purge_one_shot("o1")
        assert await store.scopes_behind("mail") == ()
        assert await store.scopes_behind("search") == (c.ScopeBehind(session_id="s2", position=0, last=1),)

    async def test_a_scope_that_is_not_there_is_not_handled(self, store: OwnedStore) -> None:
        await scenes.running(store)
        async with refused(store, NotFound):
            await store.advance("mail", 1, session_id="nowhere")
        async with refused(store, NotFound, InvalidValue):
            await store.advance("mail", 0, root_run_id="nobody")
        below = samples.one_shot_child("o2", await scenes.one_shot(store, "o1"))
        await store.start_one_shot_child_run(below)
        for run_id in ("r1", "o2"):
            for position in (0, 1):
                async with refused(store, NotFound, InvalidValue):
                    await store.advance("mail", position, root_run_id=run_id)
        assert (await store.scopes_behind("mail"))[0].position == 0

    async def test_exactly_one_scope_is_named(self, store: OwnedStore) -> None:
        await scenes.running(store)
        async with refused(store, InvalidValue):
            await store.advance("mail", 1)
        async with refused(store, InvalidValue):
            await store.advance("mail", 1, session_id="s1", root_run_id="o1")

    @pytest.mark.parametrize("position", [-1, 1.0, True, "1", None])
    async def test_a_position_is_a_whole_number(self, store: OwnedStore, position: int) -> None:
        await scenes.running(store)
        async with refused(store, InvalidValue):
            await store.advance("mail", position, session_id="s1")
        assert (await store.scopes_behind("mail"))[0].position == 0
