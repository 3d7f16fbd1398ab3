"""Lists of sessions and runs: ordered by start and id, filtered exactly, and counted."""

from enum import Enum
from functools import partial
from typing import Any

import pytest

from actum.base.errors import InvalidCursor, InvalidValue
from actum.lifecycle.states import RunStatus, SessionStatus
from actum.records.kinds import PendingKind
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused
from actum.testing.history import all_items, pages


class SessionListPromises:
    """Finding sessions."""

    async def test_sessions_are_ordered_by_creation_then_id(self, store: OwnedStore) -> None:
        for name, seconds in (("c", 5.0), ("b", 1.0), ("a", 5.0), ("B", 1.0), ("ж", 1.0), ("d", -3.0)):
            await store.create_session(name, samples.at(seconds))
        expected = ["d", "B", "b", "ж", "a", "c"]
        for limit in (1, 2, 3, 100):
            seen = [page async for page in pages(partial(store.list_sessions, limit=limit))]
            assert [each.session_id for page in seen for each in page.items] == expected
            assert all(page.cursor for page in seen)

    async def test_every_given_filter_holds(self, store: OwnedStore) -> None:
        for n in range(12):
            metadata = {"user_id": f"u{n % 3}", "kind": "chat" if n % 2 else "mail"}
            await store.create_session(f"s{n:02}", samples.at(n), metadata=metadata, tenant="acme" if n < 6 else None)
        for n in (1, 3, 9):
            await store.end_session(f"s{n:02}", samples.at(60))

        async def found(**given: Any) -> list[int]:  # noqa: ANN401 - any filters
            items = await all_items(lambda *, cursor: store.list_sessions(cursor=cursor, limit=2, **given))
            return [int(each.session_id[1:]) for each in items]

        assert await found() == list(range(12))
        assert await found(status=SessionStatus.ENDED) == [1, 3, 9]
        assert await found(metadata={"user_id": "u1"}) == [1, 4, 7, 10]
        assert await found(metadata={"user_id": "u1", "kind": "chat"}) == [1, 7]
        assert await found(metadata={"user_id": "u"}) == []
        assert await found(metadata={"chat": "kind"}) == []
        assert await found(tenant="acme") == list(range(6))
        assert await found(tenant="acme", status=SessionStatus.ACTIVE, metadata={"kind": "chat"}) == [5]
        assert await found(metadata={}) == list(range(12))

    async def test_a_cursor_serves_its_list_with_its_filters_only(self, store: OwnedStore) -> None:
        for n in range(4):
            await scenes.running(store, f"r{n}", f"s{n}")
        page = await store.list_sessions(limit=2, status=SessionStatus.ACTIVE)
        cursor = page.cursor
        rest = await store.list_sessions(cursor=cursor, status=SessionStatus.ACTIVE)
        assert [each.session_id for each in rest.items] == ["s2", "s3"]
        calls = (
            lambda: store.list_sessions(cursor=cursor),
            lambda: store.list_sessions(cursor=cursor, status=SessionStatus.ENDED),
            lambda: store.list_sessions(cursor=cursor, status=SessionStatus.ACTIVE, metadata={"a": "b"}),
            lambda: store.find_runs(cursor=cursor),
            lambda: store.list_runs("s1", cursor=cursor),
            lambda: store.list_session_run_records("s1", cursor=cursor),
        )
        for call in calls:
            async with refused(store, InvalidCursor):
                await call()

    async def test_a_session_created_later_is_seen_by_a_reader_that_comes_back(self, store: OwnedStore) -> None:
        await store.create_session("s1", samples.at(1))
        page = await store.list_sessions()
        again = await store.list_sessions(cursor=page.cursor)
        assert (again.items, again.more) == ((), False)
        await store.create_session("s2", samples.at(2))
        assert [each.session_id for each in (await store.list_sessions(cursor=again.cursor)).items] == ["s2"]

    async def test_a_list_of_nothing_gives_a_cursor_too(self, store: OwnedStore) -> None:
        empty = await store.list_sessions(status=SessionStatus.ACTIVE)
        runs = await store.find_runs()
        assert (empty.items, empty.more, runs.items, runs.more) == ((), False, (), False)
        run = await scenes.running(store)
        later = await store.list_sessions(status=SessionStatus.ACTIVE, cursor=empty.cursor)
        assert [each.session_id for each in later.items] == ["s1"]
        assert (await store.find_runs(cursor=runs.cursor)).items == (run,)
        for call in (
            lambda: store.list_sessions(cursor=empty.cursor),
            lambda: store.list_sessions(cursor=runs.cursor),
            lambda: store.find_runs(cursor=empty.cursor),
        ):
            async with refused(store, InvalidCursor):
                await call()

    @pytest.mark.parametrize("cursor", ["", "x", "e30=", "W10=", "bnVsbA==", "é", "A" * 5000, "0123456789abcdef-1"])
    async def test_a_cursor_of_no_form_is_refused(self, store: OwnedStore, cursor: str) -> None:
        await scenes.running(store)
        for call in (
            lambda: store.list_sessions(cursor=cursor),
            lambda: store.find_runs(cursor=cursor),
            lambda: store.list_runs("s1", cursor=cursor),
        ):
            async with refused(store, InvalidCursor):
                await call()

    @pytest.mark.parametrize("limit", [0, -1, 1001, True, "10", 1.5, None])
    async def test_a_limit_is_a_number_from_1_to_1000(self, store: OwnedStore, limit: Any) -> None:  # noqa: ANN401 - wrong types are the point
        await scenes.running(store)
        for call in (
            lambda: store.list_sessions(limit=limit),
            lambda: store.find_runs(limit=limit),
            lambda: store.list_runs("s1", limit=limit),
            lambda: store.scopes_behind("reader", limit=limit),
        ):
            async with refused(store, InvalidValue):
                await call()


class RunListPromises:
    """Finding runs, in a session and everywhere."""

    async def test_runs_are_ordered_by_start_then_id(self, store: OwnedStore) -> None:
        await scenes.session(store)
        for name, seconds in (("c", 5.0), ("b", 1.0), ("a", 5.0), ("B", 1.0), ("ж", 1.0), ("d", -3.0)):
            await store.start_root_run(samples.root(name, seconds=seconds))
        await store.start_one_shot_run(samples.one_shot("o", seconds=2))
        expected = ["d", "B", "b", "ж", "a", "c"]
        for limit in (1, 2, 3, 100):
            listed = await all_items(partial(store.list_runs, "s1", limit=limit))
            assert [each.run_id for each in listed] == expected
            found = await all_items(partial(store.find_runs, limit=limit))
            assert [each.run_id for each in found] == ["d", "B", "b", "ж", "o", "a", "c"]

    async def test_runs_of_a_session_are_filtered(self, store: OwnedStore) -> None:
        await _every_kind(store)

        async def listed(**given: Any) -> list[str]:  # noqa: ANN401 - any filters
            items = await all_items(lambda *, cursor: store.list_runs("s1", cursor=cursor, limit=2, **given))
            return [each.run_id for each in items]

        assert await listed() == ["running", "suspended", "completed", "failed", "canceled", "child"]
        assert await listed(statuses=[RunStatus.RUNNING]) == ["running", "child"]
        assert await listed(statuses=[RunStatus.FAILED, RunStatus.CANCELED]) == ["failed", "canceled"]
        assert await listed(statuses=[]) == []
        assert await listed(agent_id="specialist") == ["child"]
        assert await listed(labels={"status": "failed"}) == ["failed"]
        assert await listed(labels={"kind": "root"}, statuses=[RunStatus.COMPLETED]) == ["completed"]
        assert await listed(labels={"kind": "root", "status": "x"}) == []

    async def test_runs_everywhere_are_filtered(self, store: OwnedStore) -> None:
        await _every_kind(store)
        await scenes.one_shot(store, "single", tenant="acme")

        async def found(**given: Any) -> list[str]:  # noqa: ANN401 - any filters
            items = await all_items(lambda *, cursor: store.find_runs(cursor=cursor, limit=2, **given))
            return [each.run_id for each in items]

        assert sorted(await found(status=RunStatus.RUNNING)) == ["child", "running", "single"]
        assert await found(agent="specialist") == ["child"]
        assert await found(labels={"status": "canceled"}) == ["canceled"]
        assert await found(tenant="acme") == ["single"]
        assert await found(since=samples.at(3)) == ["failed", "canceled", "child"]
        assert await found(since=samples.at(3.001)) == ["canceled", "child"]
        assert await found(since=samples.at(3), status=RunStatus.CANCELED) == ["canceled"]

    async def test_runs_that_await_input_are_found_until_somebody_goes_on(self, store: OwnedStore) -> None:
        await scenes.running(store, "r0")
        one = await scenes.suspended(store, "r1", kinds=("confirmation", "questions"))
        two = await scenes.suspended(store, "r2", kinds=("questions", "questions"))

        async def awaiting(kind: str) -> list[str]:
            return [each.run_id for each in (await store.find_runs(awaiting=kind)).items]

        assert await awaiting("confirmation") == ["r1"]
        assert await awaiting("questions") == ["r1", "r2"]
        assert await awaiting("clarification") == []
        await store.start_root_run(samples.continuation("r3", one))
        assert await awaiting("confirmation") == []
        assert await awaiting("questions") == ["r2"]
        await store.end_session("s1", samples.at(60))
        await store.start_root_run(samples.continuation("r4", two))
        assert await awaiting("questions") == ["r2"]

    @pytest.mark.parametrize("kind", [*PendingKind])
    async def test_every_kind_of_input_can_be_awaited(self, store: OwnedStore, kind: PendingKind) -> None:
        await scenes.suspended(store, "r1", kinds=(kind.value,))
        assert [each.run_id for each in (await store.find_runs(awaiting=kind)).items] == ["r1"]

    async def test_a_filter_may_be_any_kind_of_text(self, store: OwnedStore) -> None:
        class Kind(str, Enum):  # noqa: UP042 - the older kind, whose `str()` is its name
            RUNNING = "running"
            ACTIVE = "active"
            STARTED = "run_started"

        await scenes.running(store)
        given: Any = Kind
        assert [run.run_id for run in (await store.find_runs(status=given.RUNNING)).items] == ["r1"]
        assert [run.run_id for run in (await store.list_runs("s1", statuses=[given.RUNNING])).items] == ["r1"]
        assert [session.session_id for session in (await store.list_sessions(status=given.ACTIVE)).items] == ["s1"]
        page = await store.list_run_records("r1", types=[given.STARTED])
        assert [each.event_key for each in page.items] == ["start"]

    async def test_a_filter_that_nothing_can_match_is_refused(self, store: OwnedStore) -> None:
        await scenes.running(store)
        wrong: Any = "asleep"
        for call in (
            lambda: store.find_runs(status=wrong),
            lambda: store.find_runs(awaiting=wrong),
            lambda: store.list_runs("s1", statuses=[wrong]),
            lambda: store.list_sessions(status=wrong),
            lambda: store.count_runs(by=wrong),
        ):
            async with refused(store, InvalidValue):
                await call()

    async def test_a_cursor_serves_its_list_with_its_filters_only(self, store: OwnedStore) -> None:
        for n in range(4):
            await scenes.running(store, f"r{n}")
        cursor = (await store.list_runs("s1", limit=2)).cursor
        found = (await store.find_runs(limit=2)).cursor
        await scenes.session(store, "s2")
        calls = (
            lambda: store.list_runs("s2", cursor=cursor),
            lambda: store.list_runs("s1", cursor=cursor, statuses=[RunStatus.RUNNING]),
            lambda: store.list_runs("s1", cursor=cursor, statuses=[]),
            lambda: store.list_runs("s1", cursor=cursor, agent_id=samples.AGENT),
            lambda: store.list_runs("s1", cursor=found),
            lambda: store.find_runs(cursor=cursor),
            lambda: store.find_runs(cursor=found, status=RunStatus.RUNNING),
            lambda: store.list_sessions(cursor=found),
        )
        for call in calls:
            async with refused(store, InvalidCursor):
                await call()

    async def test_runs_are_counted_by_their_fields(self, store: OwnedStore) -> None:
        await _every_kind(store)
        await scenes.one_shot(store, "single", tenant="acme")
        assert await store.count_runs() == {
            "running": 3,
            "suspended": 1,
            "completed": 1,
            "failed": 1,
            "canceled": 1,
        }
        assert await store.count_runs(by="agent_id") == {samples.AGENT: 6, "specialist": 1}
        assert await store.count_runs(by="session_id") == {"s1": 6, None: 1}
        assert await store.count_runs(by="tenant") == {"acme": 1, None: 6}

    async def test_nothing_is_counted_as_nothing(self, store: OwnedStore) -> None:
        assert await store.count_runs() == {}
        assert (await store.find_runs()).items == ()
        assert (await store.list_sessions()).items == ()


async def _every_kind(store: OwnedStore) -> None:
    await scenes.session(store)
    for n, status in enumerate(("running", "suspended", "completed", "failed", "canceled")):
        labels = {"status": status, "kind": "root"}
        run = (await store.start_root_run(samples.root(status, labels=labels, seconds=n))).run
        if status == "suspended":
            await store.record_run_suspension(samples.suspension(run))
        elif status != "running":
            reason = "engine_canceled" if status == "canceled" else None
            await store.record_run_terminal(samples.ending(run, RunStatus(status), reason=reason, seconds=9))
    await store.start_child_run(samples.child("child", samples.root("running"), seconds=9))
