"""A store bound to a tenant: rows of another tenant, or of none, are unknown to reads and taken on create."""

import pytest

from actum.base.errors import (
    AccessDenied,
    Conflict,
    ContractError,
    InvalidValue,
    RunConflict,
    RunNotFound,
    SessionConflict,
    SessionNotFound,
    SessionPurged,
)
from actum.base.value import replace
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes, variations
from actum.testing.contract.scenes import execute, refused, unchanged
from actum.testing.history import all_items, read_everything


class TenantPromises:
    """Nobody reaches what is not theirs."""

    async def test_what_a_bound_store_creates_is_its_tenants(self, store: OwnedStore) -> None:
        acme = store.bound("acme")
        session = await acme.create_session("s1", samples.T0)
        assert session.tenant == "acme"
        run = (await acme.start_root_run(samples.root("r1"))).run
        child = (await acme.start_child_run(samples.child("c1", run))).run
        single = (await acme.start_one_shot_run(samples.one_shot("o1"))).run
        below = (await acme.start_one_shot_child_run(samples.one_shot_child("o2", single))).run
        assert {each.tenant for each in (run, child, single, below)} == {"acme"}
        assert (await store.load_run("o1")).tenant == "acme"
        await scenes.sound(acme)

    async def test_a_run_inherits_the_tenant_of_its_session(self, store: OwnedStore) -> None:
        await scenes.session(store, tenant="acme")
        assert (await store.start_root_run(samples.root("r1"))).run.tenant == "acme"
        given = samples.root("r2")
        async with refused(store, InvalidValue):
            await store.start_root_run(replace(given, run=replace(given.run, tenant="acme")))

    async def test_another_tenant_given_is_invalid(self, store: OwnedStore) -> None:
        acme = store.bound("acme")
        async with refused(store, InvalidValue):
            await acme.create_session("s1", samples.T0, tenant="other")
        async with refused(store, InvalidValue):
            await acme.start_one_shot_run(samples.one_shot("o1", tenant="other"))
        await acme.create_session("s1", samples.T0, tenant="acme")
        assert (await acme.start_one_shot_run(samples.one_shot("o1", tenant="acme"))).run.tenant == "acme"

    @pytest.mark.parametrize("owner", ["other", None])
    async def test_what_is_not_theirs_is_unknown_to_every_read(self, store: OwnedStore, owner: str | None) -> None:
        await scenes.session(store, tenant=owner)
        run = (await store.start_root_run(samples.root("r1"))).run
        await scenes.end(store, run)
        await scenes.one_shot(store, "o1", tenant=owner)
        acme = store.bound("acme")
        of_run = (
            lambda: acme.load_run("r1"),
            lambda: acme.load_run_suspension("r1"),
            lambda: acme.load_run_record("r1", "start"),
            lambda: acme.list_run_records("r1"),
            lambda: acme.list_scope_records("o1"),
            lambda: acme.read_transcript("r1"),
            lambda: acme.read_messages("r1"),
            lambda: acme.take_run("o1", "owner"),
            lambda: acme.purge_one_shot("o1"),
            lambda: acme.append_run_record(samples.note(run, "k")),
            lambda: acme.record_run_terminal(samples.completed(run)),
        )
        of_session = (
            lambda: acme.load_session("s1"),
            lambda: acme.load_session_status("s1"),
            lambda: acme.list_session_run_records("s1"),
            lambda: acme.list_runs("s1"),
            lambda: acme.end_session("s1", samples.T0),
            lambda: acme.set_session_metadata("s1", {}),
            lambda: acme.purge_session("s1"),
            lambda: acme.start_root_run(samples.root("r2")),
        )
        for calls, error in ((of_run, RunNotFound), (of_session, SessionNotFound)):
            for call in calls:
                async with refused(store, error):
                    await call()

    @pytest.mark.parametrize("owner", ["other", None])
    async def test_what_is_not_theirs_is_in_no_list(self, store: OwnedStore, owner: str | None) -> None:
        await scenes.session(store, "s1", tenant=owner)
        await store.start_root_run(samples.root("r1"))
        await scenes.one_shot(store, "o1", tenant=owner)
        acme = store.bound("acme")
        await acme.create_session("s2", samples.T0)
        await acme.start_root_run(samples.root("r2", "s2"))
        kept = await read_everything(acme)
        assert [each.session_id for each in kept.sessions] == ["s2"]
        assert [each.run_id for each in kept.runs] == ["r2"]
        assert await acme.count_runs(by="tenant") == {"acme": 1}
        assert await acme.count_runs() == {"running": 1}
        assert [each.session_id for each in await acme.scopes_behind("reader")] == ["s2"]
        async with refused(store, SessionNotFound):
            await acme.advance("reader", 1, session_id="s1")

    @pytest.mark.parametrize("owner", ["other", None])
    async def test_an_id_that_is_not_theirs_is_taken(self, store: OwnedStore, owner: str | None) -> None:
        await scenes.session(store, "s1", tenant=owner)
        await scenes.one_shot(store, "o1", tenant=owner)
        acme = store.bound("acme")
        async with refused(store, SessionConflict):
            await acme.create_session("s1", samples.T0)
        async with refused(store, RunConflict):
            await acme.start_one_shot_run(samples.one_shot("o1"))
        await acme.create_session("s2", samples.T0)
        async with refused(store, RunConflict):
            await acme.start_root_run(samples.root("o1", "s2"))

    async def test_a_tombstone_that_is_not_theirs_is_taken_and_never_named(self, store: OwnedStore) -> None:
        for tenant, name in (("other", "1"), (None, "2")):
            await scenes.session(store, f"s{name}", tenant=tenant)
            await store.end_session(f"s{name}", samples.at(60))
            await store.purge_session(f"s{name}")
            await scenes.end(store, await scenes.one_shot(store, f"o{name}", tenant=tenant))
            await store.purge_one_shot(f"o{name}")
            acme = store.bound("acme")
            async with refused(store, SessionNotFound):
                await acme.load_session_status(f"s{name}")
            async with refused(store, RunNotFound):
                await acme.load_run(f"o{name}")
            async with refused(store, Conflict):
                await acme.create_session(f"s{name}", samples.T0)
            async with refused(store, RunConflict):
                await acme.start_one_shot_run(samples.one_shot(f"o{name}"))

    async def test_their_own_tombstone_says_purged(self, store: OwnedStore) -> None:
        acme = store.bound("acme")
        await acme.create_session("s1", samples.T0)
        await acme.end_session("s1", samples.at(60))
        await acme.purge_session("s1")
        await acme.purge_session("s1")
        async with refused(store, SessionPurged):
            await acme.load_session_status("s1")
        async with refused(store, SessionPurged):
            await acme.create_session("s1", samples.T0)

    async def test_references_to_what_is_not_theirs_are_unknown(self, store: OwnedStore) -> None:
        acme = store.bound("acme")
        theirs = await scenes.one_shot(store, "o1", tenant="other")
        async with refused(store, RunNotFound):
            await acme.start_one_shot_child_run(samples.one_shot_child("o2", theirs))
        await acme.create_session("s1", samples.T0)
        start = samples.child("c1", replace(theirs, session_id="s1"))
        async with refused(store, RunNotFound):
            await acme.start_child_run(start)

    @pytest.mark.parametrize("operation", variations.PROVED)
    async def test_a_stranger_repeats_nothing(self, store: OwnedStore, operation: str) -> None:
        acme, stranger = store.bound("acme"), store.bound("stranger")
        command = await variations.PROVED[operation](acme)
        first = await execute(acme, command)
        async with refused(store, ContractError):
            await execute(stranger, command)
        async with unchanged(store):
            assert scenes.same_answer(first, await execute(acme, command))

    async def test_a_bound_store_is_bound_to_nobody_else(self, store: OwnedStore) -> None:
        acme = store.bound("acme")
        await acme.bound("acme").create_session("s1", samples.T0)
        with pytest.raises(AccessDenied):
            acme.bound("other")

    @pytest.mark.parametrize("tenant", ["", " ", "\0", "a" * 513, "\ud800"])
    def test_a_tenant_is_an_identifier(self, store: OwnedStore, tenant: str) -> None:
        with pytest.raises(InvalidValue):
            store.bound(tenant)

    async def test_names_of_tenants_are_exact(self, store: OwnedStore) -> None:
        await store.bound("acme").create_session("s1", samples.T0)
        for other in ("Acme", "acme ", "acm", "acme2", "%"):
            async with refused(store, SessionNotFound):
                await store.bound(other).load_session("s1")
            assert (await store.bound(other).list_sessions()).items == ()

    async def test_an_unbound_host_filters_by_tenant(self, store: OwnedStore) -> None:
        for name, tenant in (("1", "acme"), ("2", "other"), ("3", None)):
            await scenes.session(store, f"s{name}", tenant=tenant)
            await store.start_root_run(samples.root(f"r{name}", f"s{name}"))
        sessions = await all_items(lambda *, cursor: store.list_sessions(tenant="acme", cursor=cursor))
        runs = await all_items(lambda *, cursor: store.find_runs(tenant="acme", cursor=cursor))
        assert [each.session_id for each in sessions] == ["s1"]
        assert [each.run_id for each in runs] == ["r1"]
        async with refused(store, InvalidValue):
            await store.bound("acme").list_sessions(tenant="other")
