"""Forms and bounds of values: each is accepted up to its bound and refused beyond, whole, with nothing written."""

import hashlib
from datetime import UTC, datetime, timedelta, timezone

import pytest

from actum.base.errors import DurableDataError, InvalidValue, TooLarge
from actum.base.value import replace
from actum.lifecycle.states import Suspension
from actum.records.kinds import payload_of
from actum.records.record import NewRecord
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused
from actum.testing.history import all_items

KIB = 1024
MIB = 1024 * KIB

# Of another type, of another form, or beyond the bound. None is absent, and these are not.
NO_IDENTIFIERS = ("", " ", "\t\n", "\u2003", "a\0b", "\ud800", "a" * 513, "ж" * 257, b"r1", 7, True, ["r1"])
IDENTIFIERS = (
    "a",
    "a" * 512,
    "ж" * 256,
    "🔥" * 128,
    " a ",
    "a\nb",
    "/a/../b?c=d&e",
    "\u00e9",
    "e\u0301",
    "'; --",
    "\x01",
)


class IdentifierPromises:
    """Identities are exact and bounded, wherever they stand."""

    @pytest.mark.parametrize("name", NO_IDENTIFIERS)
    async def test_what_is_no_identifier_is_refused_everywhere(self, store: OwnedStore, name: str) -> None:
        run = await scenes.running(store)
        record = samples.note(run, "k")
        start = samples.root("r2")
        calls = (
            lambda: store.create_session(name, samples.T0),
            lambda: store.create_session("s2", samples.T0, tenant=name),
            lambda: store.end_session(name, samples.T0),
            lambda: store.purge_session(name),
            lambda: store.purge_one_shot(name),
            lambda: store.load_session(name),
            lambda: store.load_session_status(name),
            lambda: store.load_run(name),
            lambda: store.load_run_suspension(name),
            lambda: store.load_run_record(name, "k"),
            lambda: store.load_run_record("r1", name),
            lambda: store.list_run_records(name),
            lambda: store.list_session_run_records(name),
            lambda: store.list_scope_records(name),
            lambda: store.read_transcript(name),
            lambda: store.read_messages(name),
            lambda: store.list_runs(name),
            lambda: store.list_runs("s1", agent_id=name),
            lambda: store.find_runs(agent=name),
            lambda: store.find_runs(tenant=name),
            lambda: store.list_sessions(tenant=name),
            lambda: store.scopes_behind(name),
            lambda: store.advance(name, 0, session_id="s1"),
            lambda: store.take_run("r1", name),
            lambda: store.take_run("r1", "owner", name),
            lambda: store.owner_alive(name),
            lambda: store.append_run_record(replace(record, event_key=name)),
            lambda: store.append_run_record(replace(record, turn_id=name)),
            lambda: store.append_run_record(replace(record, agent_id=name)),
            lambda: store.start_root_run(replace(start, run=replace(start.run, run_id=name))),
            lambda: store.record_run_cancellation(replace(samples.cancellation(run), run_id=name)),
        )
        for call in calls:
            async with refused(store, InvalidValue):
                await call()

    @pytest.mark.parametrize("name", IDENTIFIERS)
    async def test_what_is_one_comes_back_as_it_was(self, store: OwnedStore, name: str) -> None:
        await store.create_session(name, samples.T0, tenant=name)
        start = samples.root(name, name, agent=name)
        start = replace(start, started=replace(start.started, event_key=name))
        await store.start_root_run(start)
        await store.append_run_record(replace(samples.note(start, f"{name[:-1]}k"), turn_id=name))
        run = await store.load_run(name)
        assert (run.run_id, run.session_id, run.agent_id, run.tenant) == (name, name, name, name)
        records = (await store.list_run_records(name)).items
        assert [each.turn_id for each in records] == [None, name]
        assert (await store.load_run_record(name, name)).event_key == name
        assert (await store.list_runs(name, agent_id=name)).items == (run,)
        assert (await store.find_runs(tenant=name, agent=name)).items == (run,)
        assert await store.count_runs(by="session_id") == {name: 1}

    async def test_names_that_look_alike_are_not_the_same(self, store: OwnedStore) -> None:
        names = ("\u00e9", "e\u0301", "E", "e", "e ", "\u00df", "ss", "i", "\u0131", "\u00c5", "\u212b")
        for name in names:
            await scenes.running(store, name, name)
        assert len((await store.list_sessions(limit=100)).items) == len(names)
        for name in names:
            assert [run.run_id for run in (await store.list_runs(name)).items] == [name]


class TextBoundPromises:
    """Labels, metadata and reasons are bounded in bytes; a bound is an error, never a cut."""

    async def test_labels_and_metadata_up_to_their_bounds(self, store: OwnedStore) -> None:
        full = {f"{n:03}" + "k" * 253: "v" * 2048 for n in range(64)}
        session = await store.create_session("s1", samples.T0, metadata=full)
        assert session.metadata == full
        run = (await store.start_root_run(samples.root("r1", labels=full))).run
        assert run.labels == full
        assert (await store.list_sessions(metadata=full)).items == (session,)
        assert (await store.list_runs("s1", labels=full)).items == (run,)

    @pytest.mark.parametrize(
        "given",
        [
            {f"k{n}": "v" for n in range(65)},
            {"k" * 257: "v"},
            {"k": "v" * 2049},
            {"k": "ж" * 1025},
            {"k": "a\0"},
            {"k\0": "v"},
            {"k": "\ud800"},
            {"": "v"},
            {" ": "v"},
            {"k": 1},
            {"k": None},
            {1: "v"},
            {"k": ["v"]},
            [("k", "v")],
            "k",
        ],
    )
    async def test_labels_and_metadata_beyond(self, store: OwnedStore, given: dict[str, str]) -> None:
        await scenes.session(store)
        start = samples.root("r1")
        calls = (
            lambda: store.create_session("s2", samples.T0, metadata=given),
            lambda: store.set_session_metadata("s1", given),
            lambda: store.start_root_run(replace(start, run=replace(start.run, labels=given))),
            lambda: store.list_sessions(metadata=given),
            lambda: store.list_runs("s1", labels=given),
            lambda: store.find_runs(labels=given),
        )
        for call in calls:
            async with refused(store, InvalidValue, TooLarge):
                await call()

    async def test_an_empty_label_is_one(self, store: OwnedStore) -> None:
        run = await scenes.running(store, labels={"k": ""})
        assert run.labels == {"k": ""}
        assert (await store.list_runs("s1", labels={"k": ""})).items == (run,)

    async def test_a_reason_of_4096_bytes_is_kept_whole(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        reason = "ж" * 2048
        changed = await store.record_run_cancellation(samples.cancellation(run, reason))
        assert changed.run.cancellation_reason == reason
        assert (await store.record_run_terminal(samples.canceled(run, reason))).run.cancellation_reason == reason

    @pytest.mark.parametrize("reason", ["a" * 4097, "ж" * 2049, "", " ", "a\0", "\ud800"])
    async def test_any_other_reason_is_refused(self, store: OwnedStore, reason: str) -> None:
        run = await scenes.running(store)
        async with refused(store, InvalidValue, TooLarge):
            await store.record_run_cancellation(replace(samples.cancellation(run), reason=reason))


class PayloadPromises:
    """Payloads are kept byte for byte, or refused."""

    @pytest.mark.parametrize("size", [64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 1200 * KIB, 5 * MIB, 16 * MIB])
    async def test_a_large_payload_comes_back_whole(self, store: OwnedStore, size: int) -> None:
        run = await scenes.running(store)
        payload = b'"' + b"x" * (size - 2) + b'"'
        await store.append_run_record(samples.record(run, "k", payload=payload))
        stored = (await store.load_run_record("r1", "k")).payload
        assert (len(stored), hashlib.sha256(stored).digest()) == (size, hashlib.sha256(payload).digest())

    async def test_text_beyond_ascii_comes_back_whole(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        payload = ('"' + "ж🔥" * 200_000 + '"').encode()
        await store.append_run_record(samples.record(run, "k", payload=payload))
        assert (await store.load_run_record("r1", "k")).payload == payload

    async def test_a_payload_above_16_mib_is_refused_with_its_size(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        for size in (16 * MIB + 1, 20 * MIB):
            async with refused(store, TooLarge) as caught:
                await store.append_run_record(samples.record(run, "k", payload=b'"' + b"x" * (size - 2) + b'"'))
            assert (caught.value.size, caught.value.limit) == (size, 16 * MIB)

    async def test_a_command_holds_1000_records(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        appended = await store.append_run_records([samples.note(run, f"k{n}") for n in range(1000)])
        assert all(each.inserted for each in appended)
        async with refused(store, TooLarge) as caught:
            await store.append_run_records([samples.note(run, f"m{n}") for n in range(1001)])
        assert (caught.value.size, caught.value.limit, caught.value.unit) == (1001, 1000, "records")
        found = await all_items(lambda *, cursor: store.list_run_records("r1", cursor=cursor, limit=1000))
        assert len(found) == 1001

    async def test_a_command_holds_32_mib(self, store: OwnedStore) -> None:
        run = await scenes.running(store)

        def parts(size: int) -> list[NewRecord]:
            payload = b'"' + b"x" * (size - 2) + b'"'
            return [samples.record(run, f"{size}/{n}", payload=payload) for n in range(4)]

        await store.append_run_records(parts(8 * MIB))
        async with refused(store, TooLarge):
            await store.append_run_records(parts(8 * MIB + 1))

    async def test_a_checkpoint_holds_16_mib(self, store: OwnedStore) -> None:
        run, other = await scenes.running(store, "r1"), await scenes.running(store, "r2")
        data = bytes(range(256)) * (64 * KIB)
        await store.record_run_suspension(samples.suspension(run, data=data))
        assert (await store.load_run_suspension("r1")).data == data
        async with refused(store, TooLarge, InvalidValue):
            await store.record_run_suspension(samples.suspension(other, data=data + b"x"))

    @pytest.mark.parametrize(
        "payload",
        [
            b"",
            b" ",
            b"null",
            b"NaN",
            b"Infinity",
            b"-Infinity",
            b"{}x",
            b"{} {}",
            b"{",
            b"'a'",
            b'{"a":1,"a":2}',
            b'{"a":{"b":1,"b":1}}',
            b"{1:2}",
            b'"\xff"',
            b'"\xed\xa0\x80"',
            b'"\\ud800"',
            b"\xef\xbb\xbf{}",
            b"[" * 129 + b"]" * 129,
            b"[" * 100_000,
            b"9" * 4301,
            b"[1,]",
            b"01",
            b"\x00",
        ],
    )
    async def test_what_is_not_one_json_value_is_refused(self, store: OwnedStore, payload: bytes) -> None:
        run = await scenes.running(store)
        async with refused(store, InvalidValue) as caught:
            await store.append_run_record(samples.record(run, "k", payload=payload))
        assert "k" in caught.value.field

    @pytest.mark.parametrize(
        "payload",
        [
            b"0",
            b"false",
            b'""',
            b"[]",
            b"{}",
            b' {"a" : 1 } ',
            b'"\\u0000"',
            b"1.0",
            b"1e2",
            b"1.10",
            b"9" * 4300,
            b"-0.0",
            b'{"":""}',
            b"[null]",
            b"[" * 128 + b"]" * 128,
            b'"\\u00e9\xc3\xa9"',
            b'"\xe2\x80\xa8"',
        ],
    )
    async def test_the_spelling_of_a_payload_is_kept(self, store: OwnedStore, payload: bytes) -> None:
        run = await scenes.running(store)
        await store.append_run_record(samples.record(run, "k", payload=payload))
        assert (await store.load_run_record("r1", "k")).payload == payload

    @pytest.mark.parametrize(
        "payload", [b"{}", b'{"note":7}', b'{"note":"a","colour":"red"}', b'{"note":null}', b"[]", b'{"note":"a"} {}']
    )
    async def test_a_payload_fits_its_type(self, store: OwnedStore, payload: bytes) -> None:
        run = await scenes.running(store)
        async with refused(store, InvalidValue):
            await store.append_run_record(samples.record(run, "k", type="planner_note", payload=payload))

    @pytest.mark.parametrize(
        "type_", ["", "note", "X.note", "x.", "x", "x.a b", "run_paused", "x.\n", "x." + "a" * 200]
    )
    async def test_a_type_is_known_or_the_products_own(self, store: OwnedStore, type_: str) -> None:
        run = await scenes.running(store)
        async with refused(store, InvalidValue):
            await store.append_run_record(samples.record(run, "k", type=type_))

    async def test_a_payload_is_bytes(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        for payload in ("{}", bytearray(b"{}"), {"a": 1}, None):
            async with refused(store, InvalidValue):
                await store.append_run_record(samples.record(run, "k", payload=payload))  # type: ignore[arg-type]  # the wrong type is the point

    async def test_a_checkpoint_is_bytes(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        for data in ("text", None, 7):
            wrong = Suspension(suspension_id="wait-1", data=data)  # type: ignore[arg-type]  # the wrong type is the point
            async with refused(store, InvalidValue):
                await store.record_run_suspension(replace(samples.suspension(run), suspension=wrong))

    async def test_stored_bytes_that_do_not_fit_name_their_record(self, store: OwnedStore) -> None:
        run = await scenes.running(store)
        await store.append_run_records(samples.notes(run, "a", "b"))
        records = (await store.list_run_records("r1")).items
        broken = replace(records[0], payload=b'{"labels":{},"colour":"red"}')
        with pytest.raises(DurableDataError) as caught:
            payload_of(broken)
        assert (caught.value.run_id, caught.value.event_key, caught.value.record_id) == ("r1", "start", broken.id)
        assert [payload_of(each) for each in records[1:]] == [{"text": "a"}, {"text": "b"}]


class TimePromises:
    """Instants are aware, exact to the millisecond, and the same whatever their offset."""

    @pytest.mark.parametrize(
        "moment",
        [
            datetime(2025, 6, 5, 13, tzinfo=UTC),
            datetime(2025, 6, 5, 18, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),
            datetime(2025, 11, 2, 1, 30, tzinfo=timezone(timedelta(hours=-4))),
            datetime(2025, 11, 2, 1, 30, tzinfo=timezone(timedelta(hours=-5))),
            datetime(1, 1, 1, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
        ],
    )
    async def test_an_instant_comes_back_exact_and_aware(self, store: OwnedStore, moment: datetime) -> None:
        run = await scenes.running(store)
        record = replace(samples.note(run, "k"), timestamp=moment)
        await store.append_run_record(record)
        stored = (await store.load_run_record("r1", "k")).timestamp
        assert stored == moment
        assert stored.utcoffset() is not None
        assert (await store.append_run_record(replace(record, timestamp=moment.astimezone(UTC)))).inserted is False
        await store.create_session("s2", moment)
        assert (await store.load_session("s2")).created_at == moment
        assert (await store.end_session("s2", moment)).ended_at == moment

    @pytest.mark.parametrize(
        "moment",
        [
            datetime(2025, 6, 5, 13),  # noqa: DTZ001 - a naive time is the point
            datetime(2025, 6, 5, 13, 0, 0, 123_456, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
            datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-1))),
            "2025-06-05T13:00:00Z",
            1_749_128_400,
            None,
        ],
    )
    async def test_any_other_time_is_refused(self, store: OwnedStore, moment: datetime) -> None:
        run = await scenes.running(store)
        start = samples.root("r2")
        calls = (
            lambda: store.append_run_record(replace(samples.note(run, "k"), timestamp=moment)),
            lambda: store.create_session("s2", moment),
            lambda: store.end_session("s1", moment),
            lambda: store.start_root_run(replace(start, run=replace(start.run, started_at=moment))),
        )
        for call in calls:
            async with refused(store, InvalidValue):
                await call()
