"""Sessions: created once, ended once, described as a whole."""

import asyncio

import pytest

from actum.base.errors import (
    SessionConflict,
    SessionEnded,
    SessionNotFound,
    SessionPurged,
)
from actum.lifecycle.states import RunStatus, SessionStatus
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused, unchanged


class SessionPromises:
    """What the host does with sessions."""

    async def test_a_session_is_active_from_its_creation(self, store: OwnedStore) -> None:
        created = await store.create_session("s1", samples.T0, metadata={"user_id": "u1"}, tenant="acme")
        assert (created.session_id, created.tenant, created.status) == ("s1", "acme", SessionStatus.ACTIVE)
        assert (created.created_at, created.ended_at) == (samples.T0, None)
        assert (created.metadata, created.head_run_id) == ({"user_id": "u1"}, None)
        assert await store.load_session("s1") == created
        assert await store.load_session_status("s1") is SessionStatus.ACTIVE

    async def test_creating_again_ignores_the_time_and_gives_the_session_as_it_is_now(self, store: OwnedStore) -> None:
        await store.create_session("s1", samples.T0, metadata={"a": "1"})
        await store.start_root_run(samples.following("h1", None))
        now = await store.set_session_metadata("s1", {"b": "2"})
        async with unchanged(store):
            again = await store.create_session("s1", samples.at(99), metadata={"a": "1"})
        assert again == now
        assert (again.created_at, again.metadata, again.head_run_id) == (samples.T0, {"b": "2"}, "h1")

    async def test_creating_again_compares_tenant_and_metadata(self, store: OwnedStore) -> None:
        await store.create_session("s1", samples.T0, metadata={"a": "1"}, tenant="acme")
        await store.set_session_metadata("s1", {"b": "2"})
        for metadata, tenant, field in (
            ({"a": "2"}, "acme", "metadata"),
            ({"b": "2"}, "acme", "metadata"),
            ({}, "acme", "metadata"),
            ({"a": "1"}, "other", "tenant"),
            ({"a": "1"}, None, "tenant"),
        ):
            async with refused(store, SessionConflict) as caught:
                await store.create_session("s1", samples.T0, metadata=metadata, tenant=tenant)
            assert (caught.value.session_id, caught.value.field) == ("s1", field)

    async def test_the_order_of_metadata_means_nothing(self, store: OwnedStore) -> None:
        await store.create_session("s1", samples.T0, metadata={"a": "1", "b": "2"})
        async with unchanged(store):
            await store.create_session("s1", samples.T0, metadata={"b": "2", "a": "1"})

    async def test_many_creations_at_once_make_one_session(self, store: OwnedStore) -> None:
        created = await asyncio.gather(*(store.create_session("s1", samples.at(n)) for n in range(10)))
        assert len({each.created_at for each in created}) == 1
        assert len((await store.list_sessions()).items) == 1

    async def test_an_ended_session_is_not_created_again(self, store: OwnedStore) -> None:
        await scenes.over(store)
        async with refused(store, SessionEnded) as caught:
            await scenes.session(store)
        assert caught.value.session_id == "s1"

    async def test_a_purged_session_is_never_created_again(self, store: OwnedStore) -> None:
        await scenes.over(store)
        await store.purge_session("s1")
        for tenant in (None, "acme"):
            async with refused(store, SessionPurged) as caught:
                await scenes.session(store, tenant=tenant)
            assert caught.value.session_id == "s1"

    async def test_the_first_end_is_kept(self, store: OwnedStore) -> None:
        await scenes.session(store)
        ended = await store.end_session("s1", samples.at(60))
        assert (ended.status, ended.ended_at) == (SessionStatus.ENDED, samples.at(60))
        assert await store.load_session_status("s1") is SessionStatus.ENDED
        async with unchanged(store):
            assert await store.end_session("s1", samples.at(61)) == ended
            assert await store.end_session("s1", samples.at(1)) == ended

    async def test_ending_a_session_leaves_its_runs_as_they_are(self, store: OwnedStore) -> None:
        busy, waiting = await scenes.running(store, "r1"), await scenes.suspended(store, "r2")
        await store.end_session("s1", samples.at(60))
        assert await store.load_run("r1") == busy
        assert await store.load_run("r2") == waiting
        await store.record_run_suspension(samples.suspension(busy, records=samples.notes(busy, "last")))
        assert (await store.load_run("r1")).status is RunStatus.SUSPENDED
        await scenes.sound(store)

    async def test_metadata_is_replaced_as_a_whole(self, store: OwnedStore) -> None:
        await store.create_session("s1", samples.T0, metadata={"a": "1", "b": "2"})
        changed = await store.set_session_metadata("s1", {"c": "3"})
        assert changed.metadata == {"c": "3"}
        assert await store.load_session("s1") == changed
        assert (await store.list_sessions(metadata={"a": "1"})).items == ()
        assert (await store.list_sessions(metadata={"c": "3"})).items == (changed,)
        assert (await store.set_session_metadata("s1", {})).metadata == {}

    async def test_a_session_that_is_not_there_is_not_found(self, store: OwnedStore) -> None:
        calls = (
            lambda: store.load_session("nowhere"),
            lambda: store.load_session_status("nowhere"),
            lambda: store.end_session("nowhere", samples.T0),
            lambda: store.set_session_metadata("nowhere", {}),
            lambda: store.purge_session("nowhere"),
            lambda: store.list_session_run_records("nowhere"),
            lambda: store.list_runs("nowhere"),
        )
        for call in calls:
            async with refused(store, SessionNotFound) as caught:
                await call()
            assert caught.value.session_id == "nowhere"

    @pytest.mark.parametrize("name", ["S1", " s1", "s1 ", "s1\n", "\uff53\uff11", "s1/", "%73%31"])
    async def test_an_identifier_is_exact(self, store: OwnedStore, name: str) -> None:
        await scenes.running(store, "s1", "s1")
        with pytest.raises(SessionNotFound):
            await store.load_session(name)
        await scenes.running(store, name, name)
        assert (await store.load_session(name)).session_id == name
        assert (await store.load_run(name)).run_id == name
        assert len((await store.list_sessions()).items) == 2
        await scenes.sound(store)
