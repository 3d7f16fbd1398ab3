"""The transcript of a run: its history chain walked in the store, both ways, in pages of every size."""

import pytest

from actum.base.errors import RunNotFound
from actum.lifecycle.states import Run, RunStatus
from actum.messages.message import assistant, tool_results, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.records import makers
from actum.records.kinds import messages_in
from actum.records.types import TRANSCRIPT_TYPES, RecordType
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused
from actum.testing.history import all_items, pages

SIZES = (1, 2, 3, 5, 8, 100)


async def _conversation(store: OwnedStore) -> tuple[Run, list[str]]:
    """Four turns that follow each other, a continuation among them, with side runs and other records in between."""
    keys: list[str] = []

    async def speak(run: Run, *names: str) -> None:
        for name in names:
            await store.append_run_record(samples.note(run, f"note:{name}"))
            await store.append_run_record(samples.said(run, name, name))
            keys.append(name)

    first = await scenes.head(store, "t1")
    side = await scenes.running(store, "side")
    await store.append_run_record(samples.said(side, "aside", "never shown"))
    await speak(first, "a1", "a2", "a3")
    first = await scenes.end(store, first)
    second = (await store.start_root_run(samples.following("t2", first))).run
    await speak(second, "b1")
    second = await scenes.end(store, second, RunStatus.SUSPENDED)
    third = (await store.start_root_run(samples.continuation("t3", second))).run
    third = await scenes.end(store, third, RunStatus.FAILED)
    fourth = (await store.start_root_run(samples.following("t4", third))).run
    await speak(fourth, "d1", "d2")
    return fourth, keys


class TranscriptPromises:
    """Transcript records of a run and of what it goes on from."""

    @pytest.mark.parametrize("limit", SIZES)
    async def test_the_chain_is_read_from_its_beginning(self, store: OwnedStore, limit: int) -> None:
        run, keys = await _conversation(store)
        found = await all_items(lambda *, cursor: store.read_transcript(run.run_id, cursor=cursor, limit=limit))
        assert [each.event_key for each in found] == keys
        assert {each.type for each in found} <= TRANSCRIPT_TYPES
        assert [each.run_id for each in found] == ["t1"] * 3 + ["t2"] + ["t4"] * 2

    @pytest.mark.parametrize("limit", SIZES)
    async def test_backwards_gives_the_newest_first(self, store: OwnedStore, limit: int) -> None:
        run, keys = await _conversation(store)
        seen = [
            page
            async for page in pages(
                lambda *, cursor: store.read_transcript(run.run_id, cursor=cursor, limit=limit, backwards=True)
            )
        ]
        assert [each.event_key for page in seen for each in page.items] == list(reversed(keys))
        assert all(len(page.items) <= limit for page in seen)

    @pytest.mark.parametrize("limit", SIZES)
    async def test_messages_are_those_of_the_records(self, store: OwnedStore, limit: int) -> None:
        run, keys = await _conversation(store)
        texts: list[str] = []
        cursor, more = None, True
        while more:
            records = await store.read_transcript(run.run_id, cursor=cursor, limit=limit)
            page = await store.read_messages(run.run_id, cursor=cursor, limit=limit)
            assert page.items == tuple(messages_in(records.items))
            assert (page.cursor, page.more) == (records.cursor, records.more)
            texts += [message.text for message in page.items]
            cursor, more = page.cursor, page.more
        assert texts == keys
        assert (await store.read_messages(run.run_id, cursor=cursor, limit=limit)).items == ()

    async def test_each_run_of_a_chain_has_its_own_transcript(self, store: OwnedStore) -> None:
        _, keys = await _conversation(store)
        for run_id, length in (("t1", 3), ("t2", 4), ("t3", 4), ("t4", 6)):
            page = await store.read_transcript(run_id)
            assert [each.event_key for each in page.items] == keys[:length]
        assert [each.event_key for each in (await store.read_transcript("side")).items] == ["aside"]

    async def test_a_cursor_goes_on_inside_the_chain(self, store: OwnedStore) -> None:
        run, keys = await _conversation(store)
        whole = (await store.read_transcript(run.run_id)).items
        for n, record in enumerate(whole):
            onwards = await store.read_transcript(run.run_id, cursor=record.id)
            assert [each.event_key for each in onwards.items] == keys[n + 1 :]
            back = await store.read_transcript(run.run_id, cursor=record.id, backwards=True)
            assert [each.event_key for each in back.items] == list(reversed(keys[:n]))

    async def test_a_reader_that_comes_back_sees_only_what_is_new(self, store: OwnedStore) -> None:
        run, keys = await _conversation(store)
        page = await store.read_transcript(run.run_id)
        assert len(page.items) == len(keys)
        await store.append_run_record(samples.note(run, "n9"))
        again = await store.read_transcript(run.run_id, cursor=page.cursor)
        assert again.items == ()
        await store.append_run_record(samples.said(run, "d3", "more"))
        new = await store.read_transcript(run.run_id, cursor=again.cursor)
        assert [each.event_key for each in new.items] == ["d3"]

    async def test_a_stopped_run_has_the_transcript_of_its_history(self, store: OwnedStore) -> None:
        run, keys = await _conversation(store)
        run = await scenes.end(store, run)
        await store.end_session("s1", samples.at(99))
        stopped = (await store.start_root_run(samples.following("t5", run))).run
        page = await store.read_transcript(stopped.run_id)
        assert [each.event_key for each in page.items] == keys

    async def test_seeded_messages_are_transcript_too(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        seeded = samples.record(
            run,
            "seed",
            type=RecordType.TRANSCRIPT_MESSAGES_SEEDED,
            payload=makers.transcript_messages_seeded(messages=(user("before"),)),
        )
        first = await store.append_run_record(seeded)
        await store.append_run_record(samples.said(run, "a", "now"))
        assert (await store.append_run_record(seeded)).id == first.id
        assert [each.event_key for each in (await store.read_transcript("r1")).items] == ["seed", "a"]

    async def test_a_childs_transcript_is_not_its_parents(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p")
        child = await store.start_child_run(samples.child("c1", parent))
        await store.append_run_record(samples.said(child, "c", "inside"))
        await store.append_run_record(samples.said(parent, "p", "outside"))
        assert [each.event_key for each in (await store.read_transcript("p")).items] == ["p"]
        assert [each.event_key for each in (await store.read_transcript("c1")).items] == ["c"]

    async def test_a_long_chain_is_read_whole(self, store: OwnedStore) -> None:
        head = None
        await scenes.session(store)
        for n in range(60):
            start = samples.following(f"t{n:02}", head)
            run = (await store.start_root_run(scenes.with_records(start, samples.said(start, f"k{n:02}", "hi")))).run
            head = await scenes.end(store, run)
        for backwards in (False, True):
            found = await all_items(
                lambda *, cursor, backwards=backwards: store.read_transcript(
                    "t59", cursor=cursor, limit=7, backwards=backwards
                )
            )
            keys = [f"k{n:02}" for n in range(60)]
            assert [each.event_key for each in found] == (keys[::-1] if backwards else keys)

    async def test_messages_come_back_byte_for_byte(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        spoken = (
            user("go ✓ \0 \u2028"),
            assistant("", tool_use("call-1", "a.x", {"n": 1.5, "deep": [[{}]]})),
            tool_results(ToolResultPart(tool_use_id="call-1", content={"ok": None}, is_error=True)),
        )
        given = samples.said(run, "k", *spoken)
        await store.append_run_record(given)
        assert (await store.read_transcript("r1")).items[0].payload == given.payload
        assert (await store.read_messages("r1")).items == spoken

    async def test_a_run_that_is_not_there_has_no_transcript(self, store: OwnedStore) -> None:
        await scenes.running(store)
        for backwards in (False, True):
            async with refused(store, RunNotFound):
                await store.read_transcript("nobody", backwards=backwards)
        async with refused(store, RunNotFound):
            await store.read_messages("nobody")
