"""Behind a damage: one row that cannot be read hides nothing but itself, and the report says what was not reached."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from actum.base.errors import DurableDataError, StoreUnavailable
from actum.host.verify import Check, Damage, Report, verify
from actum.lifecycle.states import Run
from actum.messages.message import assistant, tool_results
from actum.messages.parts import ToolResultPart, tool_use
from actum.records import makers
from actum.records.record import scope_digest
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore
from actum.storage.opening import open_store
from actum.storage.sqlite.rows import TYPE_NUMBERS
from actum.testing import samples

Tamper = Callable[..., None]

NOT_JSON = b"{"
NOBODY_ASKED = tool_results(ToolResultPart(tool_use_id="nobody", content=1))
PAYLOAD = "UPDATE records SET payload = ? WHERE event_key = ? AND run = (SELECT run FROM runs WHERE run_id = ?)"
TYPE = "UPDATE records SET type = 99 WHERE event_key = ? AND run = (SELECT run FROM runs WHERE run_id = ?)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "chat.db"


@pytest.fixture
async def store(file: Path) -> AsyncIterator[OwnedStore]:
    async with open_store(f"sqlite:///{file}") as opened:
        yield opened


@pytest.fixture
def tamper(store: OwnedStore, file: Path) -> Tamper:
    """Change rows of the file without asking the store."""

    def change(statement: str, *values: object) -> None:
        connection = sqlite3.connect(file, isolation_level=None)
        try:
            connection.execute("PRAGMA foreign_keys = OFF")
            assert connection.execute(statement, values).rowcount > 0, "the statement met no row"
        finally:
            connection.close()

    return change


async def say(store: OwnedStore, run: Run, key: str, *, seconds: float = 1) -> None:
    await store.append_run_record(samples.said(run, key, key, seconds=seconds))


async def session(store: OwnedStore, name: str, *, seconds: float, runs: Sequence[str] = ()) -> None:
    """A session, created so many seconds after the first instant; each run says one thing."""
    await store.create_session(name, samples.at(seconds))
    for run_id in runs:
        run = (await store.start_root_run(samples.root(run_id, name, seconds=seconds))).run
        await say(store, run, f"said-{run_id}", seconds=seconds)


async def one_shot(store: OwnedStore, name: str, *, seconds: float) -> Run:
    run = (await store.start_one_shot_run(samples.one_shot(name, seconds=seconds))).run
    await say(store, run, f"said-{name}", seconds=seconds)
    return run


def those(report: Report, check: Check) -> list[Damage]:
    return [each for each in report.damages if each.check is check]


def places(report: Report, check: Check) -> set[tuple[str | None, str | None]]:
    return {(each.run_id, each.event_key) for each in those(report, check)}


# Lists


@pytest.mark.parametrize("column", ["status", "metadata"])
async def test_sessions_behind_an_unreadable_one_are_verified(store: OwnedStore, tamper: Tamper, column: str) -> None:
    for i, name in enumerate(["before", "damaged", "behind", "last"]):
        await session(store, name, seconds=i, runs=[f"run-{name}"])
    for name in ("before", "behind", "last"):
        tamper(PAYLOAD, NOT_JSON, f"said-run-{name}", f"run-{name}")
    tamper(f"UPDATE sessions SET {column} = 'zzz' WHERE session_id = 'damaged'")  # noqa: S608 - written in the table above
    report = await verify(store)
    assert (report.sessions, report.runs) == (3, 3), report.damages
    named = {(f"run-{name}", f"said-run-{name}") for name in ("before", "behind", "last")}
    assert places(report, Check.PAYLOAD) == named
    assert len(those(report, Check.PAYLOAD)) == 3, "nothing is verified twice"
    assert any(each.session_id == "damaged" and "session's row" in each.says for each in those(report, Check.READING))
    assert any(each.run_id == "run-damaged" for each in those(report, Check.READING)), "named, for it was not reached"


async def test_a_session_without_runs_is_reached_by_its_status(store: OwnedStore, tamper: Tamper) -> None:
    await session(store, "damaged", seconds=0)
    await session(store, "behind", seconds=1)
    tamper("UPDATE sessions SET status = 'zzz' WHERE session_id = 'damaged'")
    tamper("UPDATE sessions SET head_run_id = 'nobody' WHERE session_id = 'behind'")
    report = await verify(store)
    assert [each.session_id for each in those(report, Check.SESSION)] == ["behind"]
    assert "the list of sessions cannot be read beyond the beginning" in those(report, Check.READING)[0].says


@pytest.mark.parametrize("column", ["status", "labels"])
async def test_one_shot_runs_behind_an_unreadable_row_are_verified(
    store: OwnedStore, tamper: Tamper, column: str
) -> None:
    names = ["first", "damaged", "behind", "later", "last"]
    for i, name in enumerate(names):
        await one_shot(store, name, seconds=1000 * i)
    names.remove("damaged")
    for name in names:
        tamper(PAYLOAD, NOT_JSON, f"said-{name}", name)
    tamper(f"UPDATE runs SET {column} = 'zzz' WHERE run_id = 'damaged'")  # noqa: S608 - written in the table above
    report = await verify(store)
    reached = {run_id for run_id, _ in places(report, Check.PAYLOAD)}
    if column == "labels":
        # It stands right before the damaged row in the list of their status, which is read two rows at a time.
        names.remove("first")
    assert reached == set(names)
    assert report.runs == len(names), "nothing is verified twice"
    lost = f"{5 - len(names)} of 5 runs stand in no list that can be read"
    assert any(lost in each.says for each in those(report, Check.READING)), report.damages


async def test_a_tree_is_reached_by_its_child_when_its_root_stands_in_no_list(
    store: OwnedStore, tamper: Tamper
) -> None:
    root = await one_shot(store, "root", seconds=0)
    await one_shot(store, "damaged", seconds=5)
    await store.start_one_shot_child_run(samples.one_shot_child("leaf", root, seconds=10))
    await one_shot(store, "last", seconds=15)
    tamper(PAYLOAD, NOT_JSON, "said-root", "root")
    tamper("UPDATE runs SET labels = 'zzz' WHERE run_id = 'damaged'")
    report = await verify(store)
    assert places(report, Check.PAYLOAD) == {("root", "said-root")}
    assert report.runs == 3, "root, leaf and last, each once"


async def test_runs_of_sessions_are_verified_once_when_a_run_cuts_the_list(store: OwnedStore, tamper: Tamper) -> None:
    for i, name in enumerate(["one", "two", "three"]):
        await session(store, name, seconds=i, runs=[f"run-{name}"])
    tamper(PAYLOAD, NOT_JSON, "said-run-three", "run-three")
    tamper("UPDATE runs SET labels = 'zzz' WHERE run_id = 'run-one'")
    report = await verify(store)
    assert (report.sessions, report.runs) == (3, 2)
    assert [each.run_id for each in those(report, Check.PAYLOAD)] == ["run-three"]


async def test_a_deep_run_is_verified_when_no_parents_lead_to_its_root(store: OwnedStore, tamper: Tamper) -> None:
    root = await one_shot(store, "root", seconds=0)
    middle = (await store.start_one_shot_child_run(samples.one_shot_child("middle", root, seconds=1))).run
    leaf = (await store.start_one_shot_child_run(samples.one_shot_child("leaf", middle, seconds=2))).run
    await say(store, leaf, "said-leaf", seconds=3)
    tamper(PAYLOAD, NOT_JSON, "said-leaf", "leaf")
    tamper("DELETE FROM runs WHERE run_id = 'root'")
    assert places(await verify(store), Check.PAYLOAD) == {("leaf", "said-leaf")}


async def test_an_unreadable_record_of_a_run_whose_scope_is_not_read_is_named(
    store: OwnedStore, tamper: Tamper
) -> None:
    root = await one_shot(store, "root", seconds=0)
    leaf = (await store.start_one_shot_child_run(samples.one_shot_child("leaf", root, seconds=1))).run
    for key in ("one", "damaged", "two"):
        await say(store, leaf, key, seconds=3)
    tamper(TYPE, "damaged", "leaf")
    tamper("DELETE FROM runs WHERE run_id = 'root'")
    report = await verify(store)
    digest = scope_digest(session_id=None, root_run_id="root")
    assert [each.run_id for each in those(report, Check.READING) if f"{digest}-6 cannot be read" in each.says] == [
        "leaf"
    ]


async def test_a_run_whose_parent_s_name_is_no_name_is_damaged(store: OwnedStore, tamper: Tamper) -> None:
    root = await one_shot(store, "root", seconds=0)
    await store.start_one_shot_child_run(samples.one_shot_child("leaf", root, seconds=1))
    tamper("UPDATE runs SET parent_run_id = '' WHERE run_id = 'leaf'")
    assert any(each.run_id == "leaf" for each in those(await verify(store), Check.LINK))


async def test_a_child_that_poses_as_a_root_is_damaged(store: OwnedStore, tamper: Tamper) -> None:
    root = await one_shot(store, "root", seconds=0)
    await store.start_one_shot_child_run(samples.one_shot_child("leaf", root, seconds=1))
    tamper("UPDATE runs SET parent_run_id = NULL WHERE run_id = 'leaf'")
    assert any(each.run_id == "leaf" for each in those(await verify(store), Check.START))


# Records


@pytest.mark.parametrize("kind", ["x.note", "usage", "plan_decided", "tool_call_scheduled", "tool_result_received"])
async def test_a_damaged_payload_that_is_no_message_leaves_the_transcript_judged(
    store: OwnedStore, tamper: Tamper, kind: str
) -> None:
    await session(store, "talk", seconds=0, runs=["turn"])
    run = await store.load_run("turn")
    await store.append_run_record(samples.note(run, "damaged"))
    await say(store, run, "answer")
    await store.record_run_terminal(samples.completed(run, seconds=9))
    tamper(PAYLOAD, makers.transcript_messages_appended(messages=(NOBODY_ASKED,)), "answer", "turn")
    number = kind if kind.startswith("x.") else TYPE_NUMBERS[kind]
    tamper("UPDATE records SET payload = ?, type = ? WHERE event_key = 'damaged'", NOT_JSON, number)
    report = await verify(store)
    assert places(report, Check.PAYLOAD) == {("turn", "damaged")}
    assert places(report, Check.TRANSCRIPT) == {("turn", "answer")}


async def called(store: OwnedStore) -> Run:
    """A run in which two calls were answered, one after the other."""
    await store.create_session("talk", samples.T0)
    run = (await store.start_root_run(samples.root("turn", "talk"))).run
    for name in ("one", "two"):
        use = tool_use(name, "look", {})
        scheduled = makers.tool_call_scheduled(tool_call_id=name, tool_name="look", input=use.input, step=0)
        received = makers.tool_result_received(tool_call_id=name, call_run_id="turn", content=name)
        await store.append_run_records(
            [
                samples.said(run, f"ask-{name}", f"look at {name}"),
                samples.said(run, f"use-{name}", assistant(use)),
                samples.record(run, f"call-{name}", type=RecordType.TOOL_CALL_SCHEDULED, payload=scheduled),
                samples.record(run, f"result-{name}", type=RecordType.TOOL_RESULT_RECEIVED, payload=received),
                samples.said(run, f"shown-{name}", tool_results(ToolResultPart(tool_use_id=name, content=name))),
                samples.said(run, f"then-{name}", assistant("seen")),
            ]
        )
    return (await store.record_run_terminal(samples.completed(run, seconds=9))).run


@pytest.mark.parametrize("key", ["call-one", "result-one"])
async def test_behind_a_damaged_call_the_next_one_is_held_against_its_part(
    store: OwnedStore, tamper: Tamper, key: str
) -> None:
    await called(store)
    assert (await verify(store)).damages == ()
    tamper(PAYLOAD, NOT_JSON, key, "turn")
    alone = await verify(store)
    assert [(each.check, each.event_key) for each in alone.damages] == [(Check.PAYLOAD, key)], "nothing else is blamed"
    changed = makers.tool_result_received(tool_call_id="two", call_run_id="turn", content="changed")
    tamper(PAYLOAD, changed, "result-two", "turn")
    assert places(await verify(store), Check.TOOL_RESULT) == {("turn", "result-two")}


async def test_behind_a_damaged_message_no_call_is_blamed(store: OwnedStore, tamper: Tamper) -> None:
    await called(store)
    tamper(PAYLOAD, NOT_JSON, "use-one", "turn")
    assert [(each.check, each.event_key) for each in (await verify(store)).damages] == [(Check.PAYLOAD, "use-one")]


@pytest.mark.parametrize("between", [0, 3, 300])
async def test_a_run_whose_first_record_cannot_be_read_is_verified(
    store: OwnedStore, tamper: Tamper, between: int
) -> None:
    await session(store, "talk", seconds=0, runs=["long"])
    long = await store.load_run("long")
    if between:
        await store.append_run_records([samples.note(long, f"note-{i}") for i in range(between)])
    run = (await store.start_root_run(samples.root("turn", "talk"))).run
    for key in ("one", "two"):
        await say(store, run, key)
    tamper(TYPE, "start", "turn")
    tamper(PAYLOAD, NOT_JSON, "two", "turn")
    tamper("UPDATE runs SET cancellation_reason = 'made up' WHERE run_id = 'turn'")
    report = await verify(store)
    assert {each.check for each in report.damages if each.run_id == "turn"} == {
        Check.READING,
        Check.PAYLOAD,
        Check.CANCELLATION,
    }
    assert places(report, Check.PAYLOAD) == {("turn", "two")}
    assert any("run_started cannot be read" in each.says for each in those(report, Check.READING))


async def test_a_run_that_starts_right_before_an_unreadable_row_is_verified_once(
    store: OwnedStore, tamper: Tamper
) -> None:
    await session(store, "talk", seconds=0, runs=["turn"])
    turn = await store.load_run("turn")
    side = (await store.start_root_run(samples.root("side", "talk"))).run
    await say(store, turn, "damaged")
    await say(store, side, "one")
    tamper(TYPE, "damaged", "turn")
    tamper(PAYLOAD, NOT_JSON, "one", "side")
    report = await verify(store)
    assert [each.run_id for each in those(report, Check.PAYLOAD)] == ["side"]
    assert report.runs == 2
    assert len(report.damages) == 2, report.damages


async def test_an_unreadable_start_accuses_no_neighbour(store: OwnedStore, tamper: Tamper) -> None:
    await session(store, "talk", seconds=0)
    parent = (await store.start_root_run(samples.root("parent", "talk"))).run
    child = (await store.start_child_run(samples.child("child", parent))).run
    await store.record_run_terminal(samples.completed(child))
    asked = (await store.start_root_run(samples.root("asked", "talk"))).run
    asked = (await store.record_run_suspension(samples.suspension(asked))).run
    await store.start_root_run(samples.continuation("answer", asked))
    assert (await verify(store)).damages == ()
    for run_id in ("child", "answer"):
        tamper(TYPE, "start", run_id)
    report = await verify(store)
    assert {each.check for each in report.damages} == {Check.READING}, report.damages
    assert {each.run_id for each in report.damages} == {None, "child", "answer"}


async def test_rows_in_a_row_are_one_damage(store: OwnedStore, tamper: Tamper) -> None:
    await session(store, "talk", seconds=0, runs=["turn"])
    run = await store.load_run("turn")
    await store.append_run_records([samples.note(run, f"note-{i}") for i in range(20)])
    await say(store, run, "behind")
    tamper("UPDATE records SET type = 99 WHERE event_key LIKE 'note-1_'")
    tamper(PAYLOAD, NOT_JSON, "behind", "turn")
    report = await verify(store)
    (damage,) = those(report, Check.READING)
    digest = scope_digest(session_id="talk", root_run_id=None)
    assert f"records {digest}-13 to {digest}-22, or some of them, cannot be read" in damage.says
    assert places(report, Check.PAYLOAD) == {("turn", "behind")}
    assert report.found == 2


async def test_a_record_behind_an_end_that_came_while_the_run_was_read_is_found(
    store: OwnedStore, tamper: Tamper
) -> None:
    """The run still runs when its start is read, and has its end behind it when that is read."""
    await session(store, "talk", seconds=0, runs=["turn"])
    ended: list[Run] = []

    class Ending:
        """The store, in which the run ends once its scope's records begin to be read, and a record comes behind."""

        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        async def list_session_run_records(self, session_id: str, **options: object) -> object:
            page = await store.list_session_run_records(session_id, **{**options, "limit": 1})  # type: ignore[arg-type]  # options pass through
            if not ended and page.items[-1].event_key == "said-turn":
                ended.append((await store.record_run_terminal(samples.completed(await store.load_run("turn")))).run)
                tamper(
                    "INSERT INTO records SELECT scope, position + 1, run, type, timestamp, 'late', turn_id, payload "
                    "FROM records ORDER BY position DESC LIMIT 1"
                )
                return await store.list_session_run_records(session_id, **{**options, "limit": 1})  # type: ignore[arg-type]  # options pass through
            return page

    report = await verify(Ending())  # type: ignore[arg-type]  # it has the reads of a store
    assert ended
    assert places(report, Check.END) == {("turn", "late")}


@pytest.mark.parametrize("position", [-1, 10**18])
async def test_an_end_at_no_position_is_named_at_its_run(store: OwnedStore, tamper: Tamper, position: int) -> None:
    await session(store, "talk", seconds=0, runs=["turn"])
    await store.record_run_terminal(samples.completed(await store.load_run("turn")))
    tamper("UPDATE runs SET end_position = ? WHERE run_id = 'turn'", position)
    assert any(each.run_id == "turn" for each in those(await verify(store), Check.END))


async def test_a_run_that_was_moved_to_another_scope_is_damaged(store: OwnedStore, tamper: Tamper) -> None:
    await session(store, "one", seconds=0, runs=["turn"])
    await session(store, "two", seconds=1, runs=["other"])
    await store.record_run_terminal(samples.completed(await store.load_run("turn")))
    tamper("UPDATE runs SET scope = (SELECT scope FROM scopes WHERE session_id = 'two') WHERE run_id = 'turn'")
    report = await verify(store)
    assert any(each.run_id == "turn" for each in those(report, Check.START))


async def test_a_record_at_no_position_is_damaged(store: OwnedStore, tamper: Tamper) -> None:
    await session(store, "talk", seconds=0, runs=["turn"])
    tamper("UPDATE records SET position = 1000000000000000000 WHERE event_key = 'said-turn'")
    assert ("turn", "said-turn") in places(await verify(store), Check.POSITIONS)


# Pages


def damage_page(file: Path, text: bytes) -> None:
    """Overwrites the page of a table (13 is the mark of its leaves) in which this text stands."""
    pages = file.read_bytes()
    size = int.from_bytes(pages[16:18], "big")
    (begins,) = (at for at in range(0, len(pages), size) if pages[at] == 13 and text in pages[at : at + size])
    with file.open("r+b") as raw:
        raw.seek(begins)
        raw.write(b"\xff" * size)


async def test_a_corrupt_page_is_a_damage_and_the_rest_is_verified(
    store: OwnedStore, file: Path, tamper: Tamper
) -> None:
    await session(store, "full", seconds=0, runs=["turn"])
    run = await store.load_run("turn")
    full = [samples.record(run, f"note-{i}", payload=b'"%s"' % (b"y" * 500)) for i in range(200)]
    await store.append_run_records(full)
    await session(store, "behind", seconds=1, runs=["other"])
    tamper(PAYLOAD, NOT_JSON, "said-other", "other")
    await store.close()
    damage_page(file, b"note-100")
    async with open_store(f"sqlite:///{file}") as damaged:
        report = await verify(damaged)
    assert any("malformed" in each.says for each in those(report, Check.READING))
    assert places(report, Check.PAYLOAD) == {("other", "said-other")}


READS = [
    "count_runs",
    "list_sessions",
    "find_runs",
    "list_session_run_records",
    "list_scope_records",
    "list_run_records",
    "load_run",
    "load_session",
    "load_run_suspension",
]


class Failing:
    """The store, of which one read raises."""

    def __init__(self, store: OwnedStore, name: str, error: Exception) -> None:
        self._store = store
        self._name = name
        self._error = error

    def __getattr__(self, name: str) -> object:
        if name != self._name:
            return getattr(self._store, name)

        async def fail(*_: object, **__: object) -> object:
            raise self._error

        return fail


async def every_kind(store: OwnedStore) -> None:
    await session(store, "talk", seconds=0, runs=["turn"])
    asked = (await store.start_root_run(samples.root("asked", "talk"))).run
    await store.record_run_suspension(samples.suspension(asked))
    await one_shot(store, "alone", seconds=1)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("error", [DurableDataError(path="page", rule="is whole"), KeyError(99)])
async def test_whatever_cannot_be_read_is_in_the_report(store: OwnedStore, read: str, error: Exception) -> None:
    await every_kind(store)
    report = await verify(Failing(store, read, error))  # type: ignore[arg-type]  # it has the reads of a store
    assert any(type(error).__name__ in each.says for each in those(report, Check.READING)), report.damages
    assert report.runs <= 3, "nothing is verified twice"


@pytest.mark.parametrize("read", READS)
async def test_a_store_that_fails_while_it_is_read_is_no_report(store: OwnedStore, read: str) -> None:
    await every_kind(store)
    with pytest.raises(StoreUnavailable):
        await verify(Failing(store, read, StoreUnavailable(reason="gone")))  # type: ignore[arg-type]  # as above
