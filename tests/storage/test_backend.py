"""What every backend gives back for what it was given. Each test runs on both, so they cannot come to differ."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from operator import methodcaller
from pathlib import Path

import pytest

from actum.base import value
from actum.base.errors import StoreUnavailable
from actum.lifecycle.change import Change, Keys, RunRow, Scope, SessionRow, Tombstone, tombstone_digest
from actum.lifecycle.commands import ScopeBehind
from actum.lifecycle.states import RunStatus, SessionStatus, Suspension
from actum.records.record import HistoryRef
from actum.storage.backend import UNENDED, Backend, RecordQuery, RunQuery, SessionQuery, Slice, Transaction, View
from actum.storage.memory import MemoryBackend
from actum.storage.sqlite.backend import SQLiteBackend
from tests.support.rows import NOON, appended, at, chained, new_record, run_row, session_row, started


@pytest.fixture(params=["memory", "sqlite"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    opened: Backend = MemoryBackend() if request.param == "memory" else await SQLiteBackend.open(tmp_path / "a.db")
    yield opened
    await opened.close()


async def apply(backend: Backend, *changes: Change) -> None:
    def work(tx: Transaction) -> None:
        for change in changes:
            tx.apply(change)

    await backend.write(work, 0)


async def names(backend: Backend, query: RunQuery) -> list[str]:
    return [row.run.run_id for row in await backend.read(lambda view: view.runs(query))]


async def records(backend: Backend, query: RecordQuery) -> Slice:
    return await backend.read(lambda view: view.records(query))


FULL_RUN = RunRow(
    value.replace(
        run_row("r1", labels={"team": "ж🔥", "a": ""}, tenant="t").run,
        parent_run_id="p",
        tool_call_id="call",
        predecessor_run_id="before",
        successor_run_id="after",
        chain_id="first",
        history=HistoryRef(run_id="h", through="0-1"),
        status=RunStatus.SUSPENDED,
        started_at=datetime(1, 1, 1, tzinfo=UTC),
        ended_at=datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC),
        end_record_id=Scope("s1").record_id(7),
        updated_at=at(0.001),
        cancellation_reason="enough",
        owner="owner-1",
    ),
    None,
    "start",
    "link",
    "cancel",
    "end",
    ("questions", "confirmation"),
)


class TestRows:
    async def test_rows_come_back_as_they_were_given(self, backend: Backend) -> None:
        session = session_row(tenant="t", metadata={"user": "Ω", "a": "b"}, head="r1")
        await apply(backend, started(session, FULL_RUN))
        seen = await backend.read(lambda view: view.see(Keys(scope_of="r1")))
        assert seen.sessions == {"s1": session}
        assert seen.runs == {"r1": FULL_RUN}
        assert (seen.scope, seen.position) == (Scope("s1"), 0)

    async def test_a_row_given_again_takes_the_place_of_the_first(self, backend: Backend) -> None:
        await apply(backend, started(session_row(metadata={"a": "1"}), FULL_RUN))
        ended = session_row(status=SessionStatus.ENDED, metadata={"b": "2"})
        done = run_row(status=RunStatus.COMPLETED, end_position=3, labels={"team": "x"})
        await apply(backend, started(ended, done))
        seen = await backend.read(lambda view: view.see(Keys(scope_of="r1")))
        assert (seen.sessions, seen.runs) == ({"s1": ended}, {"r1": done})
        for query, found in (
            (RunQuery(labels={"team": "ж🔥"}, limit=9), []),
            (RunQuery(labels={"team": "x"}, limit=9), ["r1"]),
            (RunQuery(awaiting="questions", limit=9), []),
        ):
            assert await names(backend, query) == found

    async def test_absent_rows_are_absent(self, backend: Backend) -> None:
        keys = Keys(
            scope=Scope("s9"), runs=("r9",), records=(("r9", "k"),), suspension_of="r9", running=True, consumer="c"
        )
        seen = await backend.read(lambda view: view.see(keys))
        assert (seen.scope, seen.position, seen.sessions, seen.runs) == (Scope("s9"), 0, {}, {})
        assert (seen.records, seen.suspension, seen.running_run_id, seen.advanced) == ({}, None, None, 0)
        unknown = await backend.read(lambda view: view.see(Keys(scope_of="r9")))
        assert unknown.scope is None

    async def test_references_are_followed(self, backend: Backend) -> None:
        runs = run_row("head"), run_row("parent"), run_row("child", parent="parent"), run_row("other")
        await apply(backend, started(session_row(head="head"), *runs))
        seen = await backend.read(lambda view: view.see(Keys(scope_of="other", parents_of=("child",))))
        assert set(seen.runs) == {"other", "head", "child", "parent"}

    async def test_runs_of_another_scope_are_read_too(self, backend: Backend) -> None:
        one_shot = run_row("o1", session_id=None, root="o1")
        await apply(backend, started(session_row()), Change(None, scope=one_shot.scope, runs=(one_shot,)))
        seen = await backend.read(lambda view: view.see(Keys(scope=Scope("s1"), runs=("o1",))))
        assert seen.runs["o1"] == one_shot
        assert seen.scope == Scope("s1")

    async def test_a_checkpoint_and_a_running_run_are_found(self, backend: Backend) -> None:
        suspension = Suspension(suspension_id="p1", data=b"\0\xff" * 9)
        later, early = run_row("r2", started_at=at(1)), run_row("r3")
        await apply(
            backend,
            started(session_row(), run_row(status=RunStatus.SUSPENDED), later, early),
            Change(None, scope=Scope("s1"), suspension=("r1", suspension)),
        )
        seen = await backend.read(lambda view: view.see(Keys(scope_of="r1", suspension_of="r1", running=True)))
        assert seen.suspension == suspension
        assert seen.running_run_id == "r3"

    async def test_what_a_command_writes_it_also_sees(self, backend: Backend) -> None:
        def work(tx: Transaction) -> tuple[int, str | None]:
            tx.apply(started(session_row(), run_row()))
            tx.apply(appended([new_record(key="a"), new_record(key="b")]))
            seen = tx.see(Keys(scope_of="r1", records=(("r1", "b"),)))
            return seen.position, seen.records["r1", "b"].id

        assert await backend.write(work, 0) == (2, Scope("s1").record_id(2))


def of_runs(kind: Callable[[list[str]], Iterable[str]], runs: list[str], limit: int, view: View) -> Slice:
    return view.records(RecordQuery(scope=Scope("s1"), runs=kind(runs), limit=limit))


class TestRecords:
    @pytest.fixture
    async def filled(self, backend: Backend) -> Backend:
        """Twelve records: r1 and r2 by turns, every third a message, times falling."""
        await apply(backend, started(session_row(), run_row("r1"), run_row("r2", agent_id="other")))
        given = [
            new_record(
                f"r{i % 2 + 1}",
                f"k{i}",
                agent_id="helper" if i % 2 == 0 else "other",
                type="transcript_messages_appended" if i % 3 == 0 else ("x.own" if i % 3 == 1 else "usage"),
                payload=b'"%d"' % i,
                turn_id=f"t{i}" if i % 2 else None,
                timestamp=at(-i),
            )
            for i in range(12)
        ]
        await apply(backend, appended(given[:5]))
        await apply(backend, appended(given[5:], after=5))
        return backend

    async def test_records_come_back_whole_in_commit_order(self, filled: Backend) -> None:
        found = await records(filled, RecordQuery(scope=Scope("s1"), limit=100))
        assert [each.event_key for each in found.records] == [f"k{i}" for i in range(12)]
        assert [each.id for each in found.records] == [Scope("s1").record_id(i) for i in range(1, 13)]
        third = found.records[3]
        assert (third.run_id, third.agent_id, third.session_id, third.turn_id) == ("r2", "other", "s1", "t3")
        assert (third.type, third.payload, third.timestamp) == ("transcript_messages_appended", b'"3"', at(-3))
        assert (found.more, found.last) == (False, 12)

    @pytest.mark.parametrize(
        "query, positions, more",
        [
            (RecordQuery(scope=Scope("s1"), limit=3), [1, 2, 3], True),
            (RecordQuery(scope=Scope("s1"), after=9, limit=3), [10, 11, 12], False),
            (RecordQuery(scope=Scope("s1"), after=2, before=5, limit=9), [3, 4], False),
            (RecordQuery(scope=Scope("s1"), limit=3, backwards=True), [12, 11, 10], True),
            (RecordQuery(scope=Scope("s1"), before=4, limit=9, backwards=True), [3, 2, 1], False),
            (RecordQuery(scope=Scope("s1"), runs=("r2",), after=4, limit=2), [6, 8], True),
            (RecordQuery(scope=Scope("s1"), runs=("r1",), types=("x.own", "usage"), limit=9), [3, 5, 9, 11], False),
            (
                RecordQuery(scope=Scope("s1"), runs=("r1",), types=("transcript_messages_appended",), limit=9),
                [1, 7],
                False,
            ),
            (RecordQuery(scope=Scope("s1"), types=("x.own",), limit=2, backwards=True), [11, 8], True),
            (RecordQuery(scope=Scope("s1"), types=(), limit=2), [], False),
            (RecordQuery(scope=Scope("s1"), runs=("nobody",), limit=2), [], False),
            (RecordQuery(scope=Scope("s1"), limit=9, max_bytes=9), [1, 2, 3], True),
            (RecordQuery(scope=Scope("s1"), limit=9, max_bytes=1), [1], True),
        ],
    )
    async def test_a_slice(self, filled: Backend, query: RecordQuery, positions: list[int], *, more: bool) -> None:
        found = await records(filled, query)
        assert [int(each.id.rpartition("-")[2]) for each in found.records] == positions
        assert (found.more, found.last) == (more, 12)

    async def test_a_scope_that_is_not_there_is_empty(self, filled: Backend) -> None:
        assert await records(filled, RecordQuery(scope=Scope("s2"), limit=9)) == Slice((), more=False, last=0)
        foreign = RecordQuery(scope=Scope(root_run_id="r1"), runs=("r1",), limit=9)
        assert await records(filled, foreign) == Slice((), more=False, last=0)

    async def test_a_chain_of_histories(self, backend: Backend) -> None:
        first = run_row("r1", status=RunStatus.COMPLETED, end_position=4)
        middle = run_row("r2", end_position=9, history=HistoryRef(run_id="r1", through="x"))
        last = run_row("r3", history=HistoryRef(run_id="r2", through="y"))
        await apply(backend, started(session_row(), first, middle, last))
        chain = await backend.read(lambda view: tuple(view.chain("r3")))
        assert chain == (("r3", UNENDED), ("r2", 9), ("r1", 4))
        assert await backend.read(lambda view: tuple(view.chain("r9"))) == ()

    async def test_records_of_several_runs_come_run_after_run(self, filled: Backend) -> None:
        for backwards, wanted in ((False, ["r2", "r1"]), (True, ["r1", "r2"])):
            query = RecordQuery(scope=Scope("s1"), runs=iter(wanted), limit=100, backwards=backwards)
            found = (await records(filled, query)).records
            assert list(dict.fromkeys(each.run_id for each in found)) == wanted

    @pytest.mark.parametrize("limit", [1, 7, 49, 50, 51, 99, 100, 150])
    async def test_records_of_many_runs(self, backend: Backend, limit: int) -> None:
        runs = chained(50, each=2)
        for i, row in enumerate(runs):
            given = [new_record(row.run.run_id, key=key) for key in ("a", "b")]
            await apply(backend, started(session_row(), row), appended(given, after=2 * i))
        names = [row.run.run_id for row in runs]
        # A backend may read them together in the order in which they were made; any other is kept as well.
        for wanted in (names, names[::-1], names[20:] + names[:20], [*names[:3], "nobody", *names[3:]]):
            for kind in (list, iter):
                found = await backend.read(partial(of_runs, kind, wanted, limit))
                told = [(each.run_id, each.event_key) for each in found.records]
                there = [name for name in wanted if name != "nobody"]
                assert told == [(name, key) for name in there for key in ("a", "b")][:limit]
                assert found.more is (limit < 100)

    async def test_records_of_many_runs_end_with_their_bytes(self, backend: Backend) -> None:
        runs = chained(50)
        for i, row in enumerate(runs):
            given = [new_record(row.run.run_id, payload=b'"1234567"')]
            await apply(backend, started(session_row(), row), appended(given, after=i))
        names = tuple(row.run.run_id for row in runs)
        found = await records(backend, RecordQuery(scope=Scope("s1"), runs=names, limit=99, max_bytes=300))
        assert (len(found.records), found.more) == (33, True)

    async def test_records_of_runs_that_went_on_side_by_side(self, backend: Backend) -> None:
        """One run began while the other went on: neither stands behind the other's end."""
        one, two = run_row("r1", end_position=3), run_row("r2", end_position=4)
        await apply(backend, started(session_row(), one), appended([new_record("r1", "a")]))
        await apply(backend, started(session_row(), two))
        await apply(backend, appended([new_record("r2", "b"), new_record("r1", "c"), new_record("r2", "d")], after=1))
        for wanted, keys in ((["r1", "r2"], "acbd"), (["r2", "r1"], "bdac")):
            found = await backend.read(partial(of_runs, list, wanted, 9))
            assert "".join(each.event_key for each in found.records) == keys
            found = await backend.read(partial(of_runs, list, wanted, 3))
            assert ("".join(each.event_key for each in found.records), found.more) == (keys[:3], True)

    async def test_payloads_are_those_of_the_records(self, filled: Backend) -> None:
        for runs in (None, ["r1"], ["r2", "r1"], ["nobody"], ["r1", "r2"]):
            for limit, after, max_bytes in ((1, 0, 99), (4, 3, 99), (9, 0, 7), (99, 99, 99), (99, 0, 99)):
                query = RecordQuery(scope=Scope("s1"), runs=runs, limit=limit, after=after, max_bytes=max_bytes)
                whole = await records(filled, query)
                found = await filled.read(methodcaller("payloads", query))
                assert [*zip(found.types, found.payloads, strict=True)] == [(r.type, r.payload) for r in whole.records]
                assert (found.more, found.last) == (whole.more, whole.last)
                ids = [] if found.through is None else [Scope("s1").record_id(found.through)]
                assert ids == [r.id for r in whole.records[-1:]]
        elsewhere = RecordQuery(scope=Scope("s2"), runs=["r1"], limit=9)
        assert not (await filled.read(methodcaller("payloads", elsewhere))).payloads

    async def test_no_run_is_asked_for_before_its_turn(self, filled: Backend) -> None:
        def wanted() -> Iterator[str]:
            yield "r1"
            raise AssertionError

        assert len((await records(filled, RecordQuery(scope=Scope("s1"), runs=wanted(), limit=1))).records) == 1


class TestAllOrNothing:
    @pytest.mark.parametrize(
        "error", [ValueError("no"), StopIteration(), KeyboardInterrupt(), asyncio.CancelledError()]
    )
    async def test_work_that_raises_leaves_nothing(self, backend: Backend, error: BaseException) -> None:
        first = started(session_row(metadata={"a": "1"}), run_row(labels={"l": "1"}))
        await apply(backend, first, appended([new_record()]))

        def work(tx: Transaction) -> None:
            tx.apply(started(session_row(status=SessionStatus.ENDED), run_row(started_at=at(5)), run_row("r2")))
            tx.apply(appended([new_record(key="k2")], after=1))
            tx.apply(Change(None, scope=Scope("s1"), advance=("c", 2)))
            tx.apply(Change(None, purge=Scope("s1")))
            tx.apply(started(session_row("s2")))
            raise error

        with pytest.raises((type(error), RuntimeError)):
            await backend.write(work, 0)
        seen = await backend.read(lambda view: view.see(Keys(scope_of="r1", runs=("r2",), consumer="c")))
        assert (seen.sessions, seen.runs) == ({"s1": first.session}, {"r1": first.runs[0]})
        assert (seen.position, seen.advanced) == (1, 0)
        kept = await records(backend, RecordQuery(scope=Scope("s1"), runs=("r1",), limit=9))
        assert [each.event_key for each in kept.records] == ["k1"]
        listed = await backend.read(lambda view: view.sessions(SessionQuery(metadata={"a": "1"}, limit=9)))
        assert listed == (first.session,)
        assert await names(backend, RunQuery(labels={"l": "1"}, limit=9)) == ["r1"]
        # And the next command goes on from there.
        await apply(backend, appended([new_record(key="k2")], after=1))
        assert (await records(backend, RecordQuery(scope=Scope("s1"), limit=9))).last == 2

    async def test_a_closed_backend_says_so(self, backend: Backend) -> None:
        await apply(backend, started(session_row()))
        await backend.close()
        await backend.close()
        with pytest.raises(StoreUnavailable, match="closed"):
            await apply(backend, started(session_row("s2")))
        with pytest.raises(StoreUnavailable, match="closed"):
            await backend.read(lambda view: tuple(view.chain("r1")))

    async def test_rows_are_not_shared_with_callers(self, backend: Backend) -> None:
        session, run = session_row(metadata={"a": "1"}), run_row(labels={"l": "1"})
        await apply(backend, started(session, run))
        session.session.metadata["a"] = "2"
        run.run.labels["l"] = "2"
        for _ in range(2):
            seen = await backend.read(lambda view: view.see(Keys(scope_of="r1")))
            found, row = seen.sessions["s1"], seen.runs["r1"]
            assert isinstance(found, SessionRow)
            assert isinstance(row, RunRow)
            assert (found.session.metadata, row.run.labels) == ({"a": "1"}, {"l": "1"})
            found.session.metadata.clear()
            row.run.labels.clear()


class TestLists:
    @pytest.fixture
    async def listed(self, backend: Backend) -> Backend:
        """Runs r00 to r11 of two sessions, three at each instant, written in another order."""
        sessions = session_row("s1", tenant="t"), session_row("s2", created_at=at(1), metadata={"a": "1", "b": "2"})
        await apply(backend, *(started(each) for each in reversed(sessions)))
        for i in (7, 0, 11, 3, 5, 1, 9, 2, 10, 4, 8, 6):
            statuses = list(RunStatus)
            row = run_row(
                f"r{i:02}",
                session_id=f"s{i % 2 + 1}",
                tenant="t" if i % 2 == 0 else None,
                agent_id=f"agent{i % 3}",
                status=statuses[i % 5],
                started_at=at(i // 3),
                labels={"even": str(i % 2 == 0), "half": str(i // 6)},
                awaiting=("questions",) if i % 5 == 1 else (),
            )
            await apply(backend, Change(None, scope=row.scope, runs=(row,)))
        return backend

    @pytest.mark.parametrize(
        "query, found",
        [
            (RunQuery(limit=4), [0, 1, 2, 3]),
            (RunQuery(limit=3, after=(at(1), "r04")), [5, 6, 7]),
            (RunQuery(limit=99, since=at(3)), [9, 10, 11]),
            (RunQuery(limit=2, since=at(2), after=(at(0), "r01")), [6, 7]),
            (RunQuery(limit=99, session_id="s2"), [1, 3, 5, 7, 9, 11]),
            (RunQuery(limit=99, session_id="s2", statuses=("running", "failed")), [3, 5]),
            (RunQuery(limit=99, session_id="nowhere"), []),
            (RunQuery(limit=99, statuses=("suspended",)), [1, 6, 11]),
            (RunQuery(limit=4, statuses=("suspended", "canceled", "suspended")), [1, 4, 6, 9]),
            (RunQuery(limit=4, statuses=()), []),
            (RunQuery(limit=99, agent_id="agent1", statuses=("suspended", "canceled")), [1, 4]),
            (RunQuery(limit=99, tenant="t", after=(at(1), "r04")), [6, 8, 10]),
            (RunQuery(limit=99, labels={"even": "True"}), [0, 2, 4, 6, 8, 10]),
            (RunQuery(limit=99, labels={"even": "True", "half": "1"}, after=(at(2), "r06")), [8, 10]),
            (RunQuery(limit=99, labels={"even": "true"}), []),
            (RunQuery(limit=99, awaiting="questions", since=at(1)), [6, 11]),
            (RunQuery(limit=99, awaiting="questions", session_id="s2", labels={"half": "1"}), [11]),
        ],
    )
    async def test_runs(self, listed: Backend, query: RunQuery, found: list[int]) -> None:
        assert await names(listed, query) == [f"r{i:02}" for i in found]

    @pytest.mark.parametrize(
        "query, found",
        [
            (SessionQuery(limit=9), ["s1", "s2"]),
            (SessionQuery(limit=1), ["s1"]),
            (SessionQuery(limit=9, after=(NOON, "s1")), ["s2"]),
            (SessionQuery(limit=9, tenant="t"), ["s1"]),
            (SessionQuery(limit=9, status="active", after=(NOON, "s0")), ["s1", "s2"]),
            (SessionQuery(limit=9, status="ended"), []),
            (SessionQuery(limit=9, metadata={"a": "1"}), ["s2"]),
            (SessionQuery(limit=9, metadata={"a": "1", "b": "2"}), ["s2"]),
            (SessionQuery(limit=9, metadata={"a": "1", "b": "3"}), []),
            (SessionQuery(limit=9, metadata={"a": "1"}, tenant="t"), []),
        ],
    )
    async def test_sessions(self, listed: Backend, query: SessionQuery, found: list[str]) -> None:
        rows = await listed.read(lambda view: view.sessions(query))
        assert [row.session.session_id for row in rows] == found

    async def test_counts(self, listed: Backend) -> None:
        one_shot = run_row("o1", session_id=None, root="o1")
        await apply(listed, Change(None, scope=one_shot.scope, runs=(one_shot,)))
        counts = await listed.read(lambda view: [dict(view.count_runs(by, None)) for by in ("session_id", "tenant")])
        assert counts == [{"s1": 6, "s2": 6, None: 1}, {"t": 6, None: 7}]
        by_status = await listed.read(lambda view: dict(view.count_runs("status", "t")))
        assert by_status == {"running": 2, "suspended": 1, "completed": 1, "failed": 1, "canceled": 1}
        assert all(type(key) is str for key in by_status)

    async def test_projections_learn_what_is_new(self, listed: Backend) -> None:
        await apply(listed, appended([new_record("r00"), new_record("r00", "k2")]))
        one_shot = run_row("o1", session_id=None, root="o1", tenant="t")
        scope = one_shot.scope
        await apply(listed, Change(None, scope=scope, runs=(one_shot,)))
        await apply(listed, appended([new_record("o1", session_id=None)], scope=scope))

        async def behind(limit: int, tenant: str | None = None) -> tuple[ScopeBehind, ...]:
            return await listed.read(lambda view: view.behind("c", limit, tenant))

        first = ScopeBehind(session_id="s1", position=0, last=2)
        second = ScopeBehind(root_run_id="o1", position=0, last=1)
        assert await behind(9) == await behind(9, "t") == (first, second)
        assert await behind(1) == (first,)
        assert await behind(9, "nobody") == ()
        await apply(listed, Change(None, scope=Scope("s1"), advance=("c", 1)))
        assert await behind(9) == (value.replace(first, position=1), second)
        await apply(listed, Change(None, scope=Scope("s1"), advance=("c", 2)))
        assert await behind(9) == (second,)
        for consumer, position in (("c", 2), ("d", 0)):
            seen = await listed.read(methodcaller("see", Keys(scope=Scope("s1"), consumer=consumer)))
            assert seen.advanced == position


class TestPurge:
    async def test_a_session_goes_and_leaves_its_tombstone(self, backend: Backend) -> None:
        other = session_row("s2", metadata={"a": "1"})
        kept = run_row("k1", session_id="s2", labels={"l": "1"})
        await apply(backend, started(other, kept), appended([new_record("k1", session_id="s2")], scope=Scope("s2")))
        await apply(backend, started(session_row(tenant="t", metadata={"a": "1"}), FULL_RUN), appended([new_record()]))
        await apply(backend, Change(None, purge=Scope("s1")))
        seen = await backend.read(
            lambda view: view.see(Keys(scope=Scope("s1"), runs=("r1", "k1"), records=(("r1", "k1"),)))
        )
        assert seen.sessions == {"s1": Tombstone(tombstone_digest("tenant", "t"))}
        assert (seen.runs, seen.records, seen.position) == ({"k1": kept}, {}, 0)
        assert await names(backend, RunQuery(limit=9)) == ["k1"]
        listed = await backend.read(lambda view: view.sessions(SessionQuery(metadata={"a": "1"}, limit=9)))
        assert listed == (other,)
        assert (await records(backend, RecordQuery(scope=Scope("s2"), limit=9))).last == 1

    async def test_each_run_of_a_one_shot_tree_leaves_a_tombstone(self, backend: Backend) -> None:
        root = run_row("o1", session_id=None, root="o1", tenant="t")
        child = run_row("o2", session_id=None, root="o1", parent="o1")
        await apply(backend, Change(None, scope=root.scope, runs=(root, child)))
        await apply(backend, Change(None, purge=root.scope))
        seen = await backend.read(lambda view: view.see(Keys(scope_of="o1", runs=("o1", "o2", "o3"))))
        assert seen.scope is None
        assert seen.runs == {"o1": Tombstone(tombstone_digest("tenant", "t")), "o2": Tombstone(None)}
