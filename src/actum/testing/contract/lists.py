"""Lists of records: pages, cursors, filters. A reader sees every record once, in one order that never changes."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from actum.base.errors import InvalidCursor, InvalidValue, NotFound, TooLarge
from actum.lifecycle.states import RunStatus
from actum.records.record import Page, Record
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused
from actum.testing.history import Reads, all_items, pages

MIB = 1024 * 1024
RecordList = Callable[..., Awaitable[Page[Record]]]

each_record_list = pytest.mark.parametrize("name", ["run", "session", "scope", "transcript", "backwards"])


async def _list(store: OwnedStore, name: str) -> RecordList:
    """A list of five transcript records and some others, by its name."""
    single = name == "scope"
    run = await (scenes.one_shot(store, "r1") if single else scenes.running(store, "r1"))
    if name != "scope":
        await scenes.running(store, "r2")
    await store.append_run_records([samples.said(run, f"k{n}", f"text {n}") for n in range(5)])

    async def read(**given: Any) -> Page[Record]:  # noqa: ANN401 - the arguments of a list, right and wrong ones
        match name:
            case "run":
                return await store.list_run_records("r1", **given)
            case "session":
                return await store.list_session_run_records("s1", **given)
            case "scope":
                return await store.list_scope_records("r1", **given)
            case "transcript":
                return await store.read_transcript("r1", **given)
            case _:
                return await store.read_transcript("r1", backwards=True, **given)

    return read


def _keys(items: tuple[Record, ...]) -> list[str]:
    return [each.event_key for each in items]


class PagePromises:
    """Every list of records, in pages of every size."""

    @each_record_list
    @pytest.mark.parametrize("limit", [1, 2, 3, 4, 7, 8, 100, 1000])
    async def test_page_size_never_changes_the_answer(self, store: OwnedStore, name: str, limit: int) -> None:
        read = await _list(store, name)
        whole = (await read(limit=1000)).items
        seen = [page async for page in pages(lambda *, cursor: read(cursor=cursor, limit=limit))]
        assert tuple(item for page in seen for item in page.items) == whole
        assert all(len(page.items) <= limit for page in seen)
        assert all(page.cursor for page in seen)
        assert [page.more for page in seen] == [True] * (len(seen) - 1) + [False]

    @each_record_list
    @pytest.mark.parametrize("limit", [0, -1, 1001, 10**20, True, 1.0, "10", None])
    async def test_a_limit_is_a_number_from_1_to_1000(self, store: OwnedStore, name: str, limit: object) -> None:
        read = await _list(store, name)
        async with refused(store, InvalidValue):
            await read(limit=limit)

    @each_record_list
    async def test_every_record_is_a_cursor(self, store: OwnedStore, name: str) -> None:
        read = await _list(store, name)
        whole = (await read(limit=1000)).items
        for n, record in enumerate(whole):
            assert (await read(cursor=record.id)).items == whole[n + 1 :]

    @each_record_list
    @pytest.mark.parametrize(
        "cursor",
        [
            "",
            " ",
            "x",
            "0",
            "-1",
            "0123456789abcdef",
            "0123456789abcdef-",
            "0123456789abcdef--1",
            "é",
            "\0",
            "a" * 9999,
        ],
    )
    async def test_a_cursor_of_no_form_is_refused(self, store: OwnedStore, name: str, cursor: str) -> None:
        read = await _list(store, name)
        async with refused(store, InvalidCursor):
            await read(cursor=cursor)

    @each_record_list
    async def test_a_cursor_spelled_otherwise_is_refused(self, store: OwnedStore, name: str) -> None:
        read = await _list(store, name)
        record_id = (await read()).items[0].id
        digest, _, position = record_id.partition("-")
        for cursor in (
            f"{digest}-0{position}",
            f"{digest}-+{position}",
            f"{digest}- {position}",
            f"{digest}-{position} ",
            f"{digest}-{position}\n",
            f"{digest.upper()}-{position}A",
            f"{digest}-٣",
        ):
            async with refused(store, InvalidCursor):
                await read(cursor=cursor)

    @each_record_list
    async def test_a_cursor_of_another_scope_is_refused(self, store: OwnedStore, name: str) -> None:
        read = await _list(store, name)
        other = await scenes.running(store, "x", "elsewhere")
        foreign = (await store.list_run_records(other.run_id)).cursor
        async with refused(store, InvalidCursor):
            await read(cursor=foreign)
        sessions = (await store.list_sessions()).cursor
        async with refused(store, InvalidCursor):
            await read(cursor=sessions)

    async def test_a_record_cursor_serves_every_record_list_of_its_scope(self, store: OwnedStore) -> None:
        one, two = await scenes.running(store, "r1"), await scenes.running(store, "r2")
        for n in range(6):
            await store.append_run_record(samples.said((one, two)[n % 2], f"k{n}", "text"))
        cursor = (await store.load_run_record("r1", "k2")).id
        assert _keys((await store.list_session_run_records("s1", cursor=cursor)).items) == ["k3", "k4", "k5"]
        assert _keys((await store.list_run_records("r1", cursor=cursor)).items) == ["k4"]
        assert _keys((await store.list_run_records("r2", cursor=cursor)).items) == ["k3", "k5"]
        assert _keys((await store.read_transcript("r2", cursor=cursor)).items) == ["k3", "k5"]
        assert _keys((await store.list_run_records("r2", cursor=cursor, types=["run_started"])).items) == []

    async def test_a_list_of_nothing_gives_a_cursor_too(self, store: OwnedStore) -> None:
        await scenes.session(store)
        empty = await store.list_session_run_records("s1")
        assert (empty.items, empty.more) == ((), False)
        await scenes.running(store)
        assert _keys((await store.list_session_run_records("s1", cursor=empty.cursor)).items) == ["start"]

    async def test_a_reader_that_comes_back_sees_each_record_once(self, store: OwnedStore) -> None:
        one, two = await scenes.running(store, "r1"), await scenes.running(store, "r2")
        seen: list[str] = []
        cursor: str | None = None
        for n in range(12):
            if n % 4 != 3:
                await store.append_run_record(samples.note((one, two)[n % 2], f"k{n:02}"))
            page = await store.list_session_run_records("s1", cursor=cursor, limit=2)
            seen += [each.id for each in page.items]
            cursor = page.cursor
        async for page in pages(_after(store, cursor)):
            seen += [each.id for each in page.items]
        whole = await all_items(lambda *, cursor: store.list_session_run_records("s1", cursor=cursor))
        assert seen == [each.id for each in whole]

    async def test_a_reader_beside_writers_sees_no_gap_that_fills_later(self, store: OwnedStore) -> None:
        runs = [await scenes.running(store, f"r{n}") for n in range(6)]
        done = asyncio.Event()
        seen: list[str] = []

        async def write(n: int) -> None:
            for m in range(20):
                await store.append_run_record(samples.note(runs[n], f"{n}/{m}"))

        async def follow() -> None:
            cursor: str | None = None
            last = False
            while not last:
                last = done.is_set()
                page = await store.list_session_run_records("s1", cursor=cursor, limit=7)
                seen.extend(each.id for each in page.items)
                cursor, last = page.cursor, last and not page.more
                await asyncio.sleep(0)  # noqa: TID251 - lets the writers run, and waits for nothing

        reader = asyncio.ensure_future(follow())
        await asyncio.gather(*(write(n) for n in range(6)))
        done.set()
        await reader
        assert [int(each.rpartition("-")[2]) for each in seen] == list(range(1, 6 + 120 + 1))


class TypeFilterPromises:
    """Lists of some record types only."""

    async def test_only_these_types_are_listed(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        for n in range(6):
            record = samples.note(run, f"k{n}") if n % 2 else samples.said(run, f"k{n}", "hi")
            await store.append_run_record(record)
        for types, keys in (
            (["x.note"], ["k1", "k3", "k5"]),
            (["run_started", "x.note"], ["start", "k1", "k3", "k5"]),
            (["x.note", "x.note"], ["k1", "k3", "k5"]),
            (["x.never"], []),
            ([], []),
        ):
            for limit in (1, 2, 100):
                found = await all_items(_typed(store, types, limit))
                assert _keys(found) == keys

    async def test_the_cursor_is_what_was_seen_not_what_matched(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        await store.append_run_records(samples.notes(run, "a", "b"))
        await store.append_run_records([samples.said(run, f"k{n}", "hi") for n in range(5)])
        page = await store.list_run_records("r1", types=["x.note"])
        assert (_keys(page.items), page.more) == (["a", "b"], False)
        last = (await store.load_run_record("r1", "k4")).id
        assert page.cursor == last
        await store.append_run_record(samples.note(run, "c"))
        assert _keys((await store.list_run_records("r1", cursor=page.cursor, types=["x.note"])).items) == ["c"]

    @pytest.mark.parametrize("types", ["x.note", ["nonsense"], [""], ["X.note"], [None], [7], ["x."], 7, {}])
    async def test_a_type_that_no_record_has_is_refused(self, store: OwnedStore, types: Any) -> None:  # noqa: ANN401 - wrong types are the point
        await scenes.running(store)
        async with refused(store, InvalidValue):
            await store.list_run_records("r1", types=types)
        async with refused(store, InvalidValue):
            await store.list_session_run_records("s1", types=types)

    async def test_more_types_than_anybody_has_are_refused(self, store: OwnedStore) -> None:
        await scenes.running(store)
        types = [f"x.{n}" for n in range(257)]
        assert not (await store.list_run_records("r1", types=types[:256] * 2)).items
        for read in (store.list_run_records, store.list_scope_records):
            async with refused(store, TooLarge):
                await read("r1", types=types)

    async def test_a_status_may_be_given_often(self, store: OwnedStore) -> None:
        await scenes.running(store)
        page = await store.list_runs("s1", statuses=[RunStatus.RUNNING, RunStatus.FAILED] * 50_000, limit=1)
        assert [run.run_id for run in page.items] == ["r1"]
        again = await store.list_runs("s1", statuses=[RunStatus.FAILED, RunStatus.RUNNING], cursor=page.cursor)
        assert again.items == ()

    @pytest.mark.parametrize("statuses", ["running", ["asleep"], [None], [[]], 7, {}])
    async def test_a_status_that_no_run_has_is_refused(self, store: OwnedStore, statuses: Any) -> None:  # noqa: ANN401 - wrong statuses are the point
        await scenes.running(store)
        async with refused(store, InvalidValue):
            await store.list_runs("s1", statuses=statuses)

    @pytest.mark.parametrize("by", [None, "", "labels", 7, []])
    async def test_what_runs_cannot_be_counted_by_is_refused(self, store: OwnedStore, by: Any) -> None:  # noqa: ANN401 - wrong fields are the point
        async with refused(store, InvalidValue):
            await store.count_runs(by=by)

    @pytest.mark.parametrize("wrong", [None, 7, "start", [None], samples.note])
    async def test_what_is_no_operation_is_refused(self, store: OwnedStore, wrong: Any) -> None:  # noqa: ANN401 - wrong values are the point
        for operation in (store.execute, store.start_root_run, store.record_run_terminal, store.append_run_records):
            async with refused(store, InvalidValue):
                await operation(wrong)


class LargePagePromises:
    """A page also ends early at 8 MiB, and no record is too large for a page of its own."""

    async def test_a_page_ends_early(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        for n in range(5):
            await store.append_run_record(samples.note(run, f"k{n}", f"{n}" * (3 * MIB)))
        seen = [page async for page in pages(lambda *, cursor: store.list_run_records("r1", cursor=cursor))]
        assert [key for page in seen for key in _keys(page.items)] == ["start", "k0", "k1", "k2", "k3", "k4"]
        assert len(seen) > 1
        for page in seen:
            sizes = [len(each.payload) for each in page.items]
            assert sum(sizes[:-1]) < 8 * MIB

    async def test_a_page_of_sessions_or_runs_ends_early_too(self, store: OwnedStore) -> None:
        texts = {f"{n:02}": "v" * 2048 for n in range(64)}
        for n in range(80):
            await store.create_session(f"s{n:02}", samples.at(n), metadata=texts)
            await store.start_root_run(samples.root(f"r{n:02}", f"s{n:02}", labels=texts, seconds=n))
        sessions = [page async for page in pages(partial(store.list_sessions, limit=1000))]
        runs = [page async for page in pages(partial(store.find_runs, limit=1000))]
        assert [each.session_id for page in sessions for each in page.items] == [f"s{n:02}" for n in range(80)]
        assert [each.run_id for page in runs for each in page.items] == [f"r{n:02}" for n in range(80)]
        for sizes in ([len(page.items) for page in sessions], [len(page.items) for page in runs]):
            assert len(sizes) > 1
            assert max(sizes) <= 8 * MIB // (64 * 2048) + 1

    async def test_the_largest_record_has_a_page(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        for key in ("a", "b"):
            await store.append_run_record(samples.said(run, key, key * (15 * MIB)))
        for read in (
            lambda *, cursor: store.list_run_records("r1", cursor=cursor, types=["transcript_messages_appended"]),
            lambda *, cursor: store.read_transcript("r1", cursor=cursor),
        ):
            seen = [page async for page in pages(read)]
            assert [_keys(page.items) for page in seen if page.items] == [["a"], ["b"]]
        spoken = [page async for page in pages(lambda *, cursor: store.read_messages("r1", cursor=cursor))]
        assert [[message.text[:1] for message in page.items] for page in spoken if page.items] == [["a"], ["b"]]


class ScopeListPromises:
    """Which list names which scope."""

    async def test_a_scope_list_names_the_root_of_a_one_shot_tree(self, store: OwnedStore) -> None:
        root = await scenes.one_shot(store, "o1")
        await store.start_one_shot_child_run(samples.one_shot_child("o2", root))
        await scenes.running(store, "r1")
        for run_id in ("o2", "r1", "nobody"):
            async with refused(store, InvalidValue, NotFound):
                await store.list_scope_records(run_id)

    async def test_a_childs_records_are_listed_by_its_own_id(self, store: OwnedStore) -> None:
        root = await scenes.one_shot(store, "o1")
        child = await store.start_one_shot_child_run(samples.one_shot_child("o2", root))
        await store.append_run_record(samples.note(child, "k"))
        assert _keys((await store.list_run_records("o2")).items) == ["start", "k"]
        assert _keys((await store.list_run_records("o1")).items) == ["start", "link:o2"]


def _after(store: OwnedStore, first: str | None) -> Reads[Record]:
    def read(*, cursor: str | None) -> Awaitable[Page[Record]]:
        return store.list_session_run_records("s1", cursor=cursor or first, limit=2)

    return read


def _typed(store: OwnedStore, types: list[str], limit: int) -> Reads[Record]:
    return lambda *, cursor: store.list_run_records("r1", cursor=cursor, limit=limit, types=types)
