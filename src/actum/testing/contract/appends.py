"""Ordinary records: all or none, once, in the order of acceptance, while their run runs."""

import asyncio
from datetime import timedelta, timezone

import pytest

from actum.base.errors import (
    CancellationRequested,
    InvalidValue,
    OwnerMismatch,
    RecordConflict,
    RecordNotFound,
    RunNotFound,
    RunNotRunning,
    RunPurged,
)
from actum.base.value import dump_json, replace
from actum.lifecycle import commands as c
from actum.lifecycle.states import RunStatus, SessionStatus
from actum.records.record import NewRecord, Record
from actum.records.types import LIFECYCLE_TYPES
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused, unchanged

ENDS = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED, RunStatus.SUSPENDED)


class AppendPromises:
    """Records of one run, all or none."""

    async def test_a_record_is_kept_as_it_was_given(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        given = replace(samples.note(run, "k", "täxt ✓ \0"), turn_id="turn-1")
        appended = await store.append_run_record(given)
        assert appended.inserted
        assert (appended.session_status, appended.cancellation_reason) == (SessionStatus.ACTIVE, None)
        kept = await store.load_run_record("r1", "k")
        assert kept.id == appended.id
        assert NewRecord(**{name: getattr(kept, name) for name in given.__struct_fields__}) == given

    async def test_a_batch_is_kept_in_its_order(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        appended = await store.append_run_records(samples.notes(run, "z", "a", "m"))
        assert [each.inserted for each in appended] == [True, True, True]
        page = await store.list_run_records("r1")
        assert [each.event_key for each in page.items] == ["start", "z", "a", "m"]
        assert [each.id for each in page.items[1:]] == [each.id for each in appended]

    async def test_an_ordinary_record_leaves_the_run_as_it_was(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        await store.append_run_record(samples.note(run, "k", seconds=500))
        assert await store.load_run("r1") == run

    async def test_a_refused_record_refuses_its_batch(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        await store.append_run_record(samples.note(run, "k"))
        good = samples.note(run, "good")
        for bad, error in (
            (samples.note(run, "k", "changed"), RecordConflict),
            (samples.record(run, "b", payload=b"{"), InvalidValue),
            (replace(samples.note(run, "b"), agent_id="somebody"), OwnerMismatch),
        ):
            for batch in ((good, bad), (bad, good)):
                async with refused(store, error):
                    await store.append_run_records(batch)

    async def test_a_batch_is_of_one_run(self, store: OwnedStore) -> None:
        one, two = await scenes.running(store, "r1"), await scenes.running(store, "r2")
        async with refused(store, InvalidValue):
            await store.append_run_records((samples.note(one, "a"), samples.note(two, "a")))

    async def test_a_batch_holds_something(self, store: OwnedStore) -> None:
        async with refused(store, InvalidValue):
            await store.append_run_records(())

    async def test_one_key_stands_once_in_a_command(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        twice = samples.note(run, "k")
        async with refused(store, InvalidValue):
            await store.append_run_records((twice, twice))

    async def test_the_same_key_in_two_runs_is_two_records(self, store: OwnedStore) -> None:
        one, two = await scenes.running(store, "r1"), await scenes.running(store, "r2")
        first = await store.append_run_record(samples.note(one, "k"))
        second = await store.append_run_record(samples.note(two, "k"))
        assert first.inserted
        assert second.inserted
        assert first.id != second.id

    async def test_a_run_that_is_not_there_takes_no_record(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        async with refused(store, RunNotFound) as caught:
            await store.append_run_record(samples.note(replace(run, run_id="nobody"), "k"))
        assert caught.value.run_id == "nobody"

    async def test_a_purged_run_takes_no_record(self, store: OwnedStore) -> None:
        gone, single = await scenes.ended(store), await scenes.end(store, await scenes.one_shot(store))
        await store.end_session("s1", samples.at(60))
        await store.purge_session("s1")
        await store.purge_one_shot("o1")
        async with refused(store, RunNotFound):
            await store.append_run_record(samples.note(gone, "k"))
        async with refused(store, RunPurged):
            await store.append_run_record(samples.note(single, "k"))

    async def test_agent_and_session_are_the_runs(self, store: OwnedStore) -> None:
        run, single = await scenes.running(store), await scenes.one_shot(store)
        wrong = {
            "agent_id": (replace(samples.note(run, "k"), agent_id="somebody"), samples.AGENT, "somebody"),
            "session_id": (replace(samples.note(run, "k"), session_id="s2"), "s1", "s2"),
        }
        for field, (record, stored, given) in wrong.items():
            async with refused(store, OwnerMismatch) as caught:
                await store.append_run_record(record)
            error = caught.value
            assert (error.run_id, error.field, error.stored, error.given) == ("r1", field, stored, given)
        for record in (
            replace(samples.note(run, "k"), session_id=None),
            replace(samples.note(single, "k"), session_id="s1"),
        ):
            async with refused(store, OwnerMismatch):
                await store.append_run_record(record)

    @pytest.mark.parametrize("type_", sorted(LIFECYCLE_TYPES))
    async def test_lifecycle_records_are_not_ordinary(self, store: OwnedStore, type_: str) -> None:
        run = await scenes.running(store)
        proofs = {
            each.type: each
            for each in (
                samples.root("r1").started,
                samples.ending(run).record,
                samples.suspension(run).record,
                samples.cancellation(run).record,
                samples.linked_record(run, samples.child("c1", run).run),
            )
        }
        async with refused(store, InvalidValue):
            await store.append_run_record(replace(proofs[type_], event_key="smuggled"))

    async def test_only_a_running_run_takes_something_new(self, store: OwnedStore) -> None:
        for status in ENDS:
            run = await scenes.running(store, f"r-{status}")
            record = samples.note(run, "k")
            first = await store.append_run_record(record)
            await scenes.end(store, run, status)
            async with unchanged(store):
                again = await store.append_run_record(record)
            assert (again.id, again.inserted) == (first.id, False)
            async with refused(store, RunNotRunning) as caught:
                await store.append_run_record(samples.note(run, "new"))
            assert (caught.value.run_id, caught.value.status) == (run.run_id, status)
            async with refused(store, RunNotRunning):
                await store.append_run_records((record, samples.note(run, "new")))
            async with refused(store, RecordConflict):
                await store.append_run_record(samples.note(run, "k", "changed"))

    async def test_a_running_run_goes_on_in_an_ended_session(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        await store.end_session("s1", samples.at(60))
        appended = await store.append_run_record(samples.note(run, "k"))
        assert (appended.inserted, appended.session_status) == (True, SessionStatus.ENDED)
        ended = await store.record_run_terminal(samples.completed(run))
        assert ended.record.session_status is SessionStatus.ENDED

    async def test_every_write_tells_of_a_recorded_cancellation(self, store: OwnedStore) -> None:
        run = await scenes.canceling(store, reason="enough")
        appended = await store.append_run_record(samples.note(run, "k"))
        assert (appended.inserted, appended.cancellation_reason) == (True, "enough")
        ended = await store.record_run_terminal(samples.canceled(run, "enough"))
        assert ended.record.cancellation_reason == "enough"

    async def test_after_a_cancellation_no_new_tool_is_started(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        begun = samples.tool_started(run, "tool-1")
        first = await store.append_run_record(begun)
        await store.record_run_cancellation(samples.cancellation(run, "enough"))
        for batch in ((samples.tool_started(run, "tool-2"),), (samples.note(run, "n"), samples.tool_started(run, "t"))):
            async with refused(store, CancellationRequested) as caught:
                await store.append_run_records(batch)
            assert caught.value.reason == "enough"
        async with unchanged(store):
            assert (await store.append_run_record(begun)).id == first.id


class RecordRepeatPromises:
    """A record stored under a key is the first answer; with other bytes or fields it is a conflict."""

    async def test_an_exact_repeat_gives_the_first_id(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        record = samples.said(run, "turn-1/user", "hi")
        first = await store.append_run_record(record)
        async with unchanged(store):
            again = await store.append_run_record(record)
        assert (again.id, again.inserted) == (first.id, False)

    async def test_a_batch_may_mix_stored_and_new(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        first = await store.append_run_records(samples.notes(run, "a", "b"))
        mixed = await store.append_run_records(samples.notes(run, "c", "b", "d", "a"))
        assert [each.inserted for each in mixed] == [True, False, True, False]
        assert (mixed[1].id, mixed[3].id) == (first[1].id, first[0].id)
        assert await scenes.kept_keys(store, run) == ["start", "a", "b", "c", "d"]

    async def test_every_changed_field_conflicts(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        record = replace(samples.said(run, "k", "hi"), turn_id="turn-1")
        await store.append_run_record(record)
        changed = {
            "turn_id": replace(record, turn_id="turn-2"),
            "type": replace(record, type="x.other"),
            "payload": samples.said(run, "k", "hello"),
            "timestamp": replace(record, timestamp=samples.at(2)),
        }
        for field, other in changed.items():
            async with refused(store, RecordConflict) as caught:
                await store.append_run_record(other)
            assert (caught.value.run_id, caught.value.event_key) == ("r1", "k")
            assert caught.value.field, field
        async with refused(store, RecordConflict):
            await store.append_run_record(replace(record, turn_id=None))

    async def test_equality_is_of_bytes(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        await store.append_run_record(samples.record(run, "k", payload=b'{"a":1,"b":2}'))
        for payload in (b'{"b":2,"a":1}', b'{"a":1, "b":2}', b'{"a":1.0,"b":2}', b'{"a":1,"b":2}\n'):
            async with refused(store, RecordConflict):
                await store.append_run_record(samples.record(run, "k", payload=payload))

    async def test_the_same_instant_at_another_offset_is_the_same(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        record = samples.note(run, "k")
        first = await store.append_run_record(record)
        elsewhere = record.timestamp.astimezone(timezone(timedelta(hours=5, minutes=30)))
        async with unchanged(store):
            again = await store.append_run_record(replace(record, timestamp=elsewhere))
        assert (again.id, again.inserted) == (first.id, False)

    async def test_a_lost_answer_repeats_no_turn(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        await store.append_run_record(samples.said(run, "turn-1/user", "hi"))
        await store.append_run_record(samples.said(run, "turn-1/user", "hi"))
        await store.append_run_record(samples.said(run, "turn-2/user", "hi"))
        page = await store.read_transcript("r1")
        assert [each.event_key for each in page.items] == ["turn-1/user", "turn-2/user"]

    async def test_a_caller_that_stopped_waiting_asks_again(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        for n in range(20):
            record = samples.note(run, f"k{n:02}")
            call = asyncio.ensure_future(store.append_run_record(record))
            for _ in range(n % 4):
                await asyncio.sleep(0)  # noqa: TID251 - lets the call begin, and waits for nothing
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            stored = await store.append_run_record(record)
            assert (await store.load_run_record("r1", f"k{n:02}")).id == stored.id
        assert await scenes.kept_keys(store, run) == ["start", *(f"k{n:02}" for n in range(20))]
        await scenes.sound(store)

    async def test_a_lifecycle_key_holds_no_ordinary_record(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        async with refused(store, RecordConflict):
            await store.append_run_record(samples.note(run, "start"))

    async def test_a_batch_overlaps_the_records_of_a_start(self, store: OwnedStore) -> None:
        await scenes.session(store)
        start = samples.root("r1")
        first = await store.start_root_run(scenes.with_records(start, *samples.notes(start, "a", "b")))
        mixed = await store.append_run_records(samples.notes(start, "b", "c"))
        assert [each.inserted for each in mixed] == [False, True]
        assert mixed[0].id == first.records[1].id

    async def test_two_writers_of_one_key_agree_on_the_first(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        texts = [f"writer-{n}" for n in range(10)]
        calls = [store.append_run_records((samples.note(run, "own", text), samples.note(run, text))) for text in texts]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(isinstance(each, RecordConflict) for each in answers) == 9
        winner = next(text for text, each in zip(texts, answers, strict=True) if not isinstance(each, BaseException))
        assert (await store.load_run_record("r1", "own")).payload == dump_json({"text": winner})
        assert await scenes.kept_keys(store, run) == ["start", "own", winner]


class OrderPromises:
    """Records are ordered by acceptance, never by time."""

    @pytest.mark.parametrize("step", [0.0, -0.04, 0.04])
    @pytest.mark.parametrize("limit", [1, 5, 100])
    async def test_time_orders_nothing(self, store: OwnedStore, step: float, limit: int) -> None:
        run = await scenes.running(store)
        keys = [f"k{n:02}" for n in (7, 0, 11, 3, 9, 1, 10, 2, 8, 4, 6, 5)]
        for n, key in enumerate(keys):
            await store.append_run_record(samples.note(run, key, seconds=n * step))
        shown: list[Record] = []
        cursor, more = None, True
        while more:
            page = await store.list_run_records("r1", cursor=cursor, limit=limit)
            shown += page.items
            cursor, more = page.cursor, page.more
        assert [each.event_key for each in shown] == ["start", *keys]
        assert [each.timestamp for each in shown[1:]] == [samples.at(n * step) for n in range(12)]

    async def test_scopes_are_numbered_apart(self, store: OwnedStore) -> None:
        one, two = await scenes.running(store, "r1", "s1"), await scenes.running(store, "r2", "s2")
        for key in ("a", "b"):
            first = await store.append_run_record(samples.note(one, key))
            second = await store.append_run_record(samples.note(two, key))
            assert first.id.rpartition("-")[2] == second.id.rpartition("-")[2]
            assert first.id != second.id
        await scenes.sound(store)

    async def test_runs_of_a_session_share_one_order(self, store: OwnedStore) -> None:
        one, two = await scenes.running(store, "r1"), await scenes.running(store, "r2")
        for n in range(6):
            await store.append_run_record(samples.note((one, two)[n % 2], f"k{n}"))
        page = await store.list_session_run_records("s1")
        assert [each.event_key for each in page.items] == ["start", "start", *(f"k{n}" for n in range(6))]
        assert [int(each.id.rpartition("-")[2]) for each in page.items] == list(range(1, 9))

    async def test_a_key_that_is_not_there_is_not_found(self, store: OwnedStore) -> None:
        await scenes.running(store)
        with pytest.raises(RecordNotFound) as caught:
            await store.load_run_record("r1", "nothing")
        assert (caught.value.run_id, caught.value.event_key) == ("r1", "nothing")
        with pytest.raises(RunNotFound):
            await store.load_run_record("nobody", "nothing")

    async def test_many_writers_of_one_run_lose_nothing(self, store: OwnedStore) -> None:
        run = await scenes.running(store)

        async def write(worker: int) -> list[c.Appended]:
            return [await store.append_run_record(samples.note(run, f"{worker}/{n:02}")) for n in range(25)]

        written = await asyncio.gather(*(write(worker) for worker in range(20)))
        keys = await scenes.kept_keys(store, run)
        assert len(keys) == 501
        for worker, answers in enumerate(written):
            own = [key for key in keys if key.startswith(f"{worker}/")]
            assert own == [f"{worker}/{n:02}" for n in range(25)]
            assert all(each.inserted for each in answers)
        await scenes.sound(store)
