"""Real damage, done to the rows of a real file behind the store's back: each is found, and named where it is."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from actum.base.clock import now
from actum.base.errors import StoreUnavailable
from actum.host.verify import Check, Damage, Progress, Report, verify
from actum.lifecycle.states import Run, RunStatus
from actum.messages.message import assistant, tool_results, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.planning.planner import PlanResult
from actum.records import makers
from actum.records.record import Follows
from actum.runtime.agent import Agent
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore
from actum.storage.memory import MemoryBackend
from actum.storage.opening import open_store
from actum.testing import samples
from actum.testing.script import ScriptedPlanner
from actum.tools.define import tool
from tests.support.chains import first_turn
from tests.support.scenario import RUN, SESSION, Cast, begun, onward, playing, uses


@tool
def double(number: int) -> int:
    """Twice the number."""
    return number * 2


Tamper = Callable[..., None]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "chat.db"


@pytest.fixture
async def store(file: Path) -> AsyncIterator[OwnedStore]:
    """Two turns with tools in one session, one suspended run with its continuation, and a one-shot tree."""
    async with open_store(f"sqlite:///{file}") as opened:
        await fill(opened)
        yield opened


async def fill(store: OwnedStore) -> None:
    await store.create_session("talk", now(), metadata={"user_id": "u"})
    runtime = Runtime(store)
    two = PlanResult.calls(tool_use("a", "double", {"number": 1}), tool_use("b", "double", {"number": 2}))
    runtime.register(Agent("sums", planner=ScriptedPlanner([two, "2 and 4", two, "the same"]), tools=[double]))
    client = runtime.client("sums")
    await client.run("talk", [user("double one and two")], run_id="turn-1", follows=Follows(), labels={"k": "v"})
    head = await store.load_run("turn-1")
    await client.run(
        "talk",
        [user("again")],
        run_id="turn-2",
        follows=Follows(run_id="turn-1"),
        history=samples.through(head),
    )
    await runtime.close()
    await waiting(store)
    await trees(store)


async def waiting(store: OwnedStore) -> None:
    """A run suspended in an open group; a continuation answers it, and a third run is canceled."""
    await store.create_session("forms", samples.T0)
    asked = (await store.start_root_run(samples.following("ask", None, "forms", seconds=0))).run
    use = tool_use("pay", "pay", {"sum": 3})
    records = (
        samples.said(asked, "input", "pay three"),
        samples.said(asked, "plan:0:message", assistant(use)),
        samples.record(
            asked,
            "call:scheduled:pay",
            type="tool_call_scheduled",
            payload=makers.tool_call_scheduled(tool_call_id="pay", tool_name="pay", input=use.input, step=0),
        ),
    )
    asked = (await store.record_run_suspension(samples.suspension(asked, records=records))).run
    answer = (await store.start_root_run(samples.continuation("answer", asked))).run
    received = makers.tool_result_received(tool_call_id="pay", call_run_id="ask", content="paid")
    part = ToolResultPart(tool_use_id="pay", content="paid")
    closing = (
        samples.record(answer, "call:result:pay", type="tool_result_received", payload=received, seconds=4),
        samples.said(answer, "results", tool_results(part), assistant("done"), seconds=4),
    )
    await store.record_run_terminal(samples.completed(answer, records=closing))
    side = (await store.start_root_run(samples.root("side", "forms", seconds=5))).run
    side = (await store.record_run_cancellation(samples.cancellation(side, "enough", seconds=6))).run
    await store.record_run_terminal(samples.canceled(side, "enough", seconds=7))
    await store.start_root_run(samples.root("still-running", "forms", seconds=6))
    await store.start_root_run(samples.root("open-ask", "forms", seconds=6))
    open_ask = await store.load_run("open-ask")
    await store.record_run_suspension(samples.suspension(open_ask, suspension_id="wait-2"))


async def trees(store: OwnedStore) -> None:
    """A one-shot run with a child, a child in a session, and a run stopped because its session had ended."""
    root = (await store.start_one_shot_run(samples.one_shot("tree"))).run
    leaf = (await store.start_one_shot_child_run(samples.one_shot_child("leaf", root))).run
    await store.record_run_terminal(samples.completed(leaf))
    await store.record_run_terminal(samples.completed(root, seconds=4))
    await store.create_session("closed", samples.T0)
    parent = (await store.start_root_run(samples.root("parent", "closed"))).run
    child = (await store.start_child_run(samples.child("child", parent))).run
    await store.record_run_terminal(samples.failed(child))
    await store.record_run_terminal(samples.ending(parent, RunStatus.CANCELED, reason="engine_canceled", seconds=9))
    await store.end_session("closed", samples.at(20))
    await store.start_root_run(samples.root("too-late", "closed", seconds=30))


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


def payload_of(file: Path, run_id: str, key: str) -> bytes:
    connection = sqlite3.connect(file)
    try:
        row = connection.execute(
            "SELECT payload FROM records WHERE event_key = ? AND run = (SELECT run FROM runs WHERE run_id = ?)",
            (key, run_id),
        ).fetchone()
    finally:
        connection.close()
    return bytes(row[0])


DELETE = "DELETE FROM records WHERE event_key = ? AND run = (SELECT run FROM runs WHERE run_id = ?)"
PAYLOAD = "UPDATE records SET payload = ? WHERE event_key = ? AND run = (SELECT run FROM runs WHERE run_id = ?)"
NUMBER = "UPDATE records SET type = ? WHERE event_key = ? AND run = (SELECT run FROM runs WHERE run_id = ?)"


def found(report: Report, check: Check, **where: str | None) -> Damage:
    """The one damage of this kind at this place."""
    those = [
        each
        for each in report.damages
        if each.check is check and all(getattr(each, name) == value for name, value in where.items())
    ]
    assert len(those) == 1, report.damages
    return those[0]


async def test_a_sound_store_has_no_damage(store: OwnedStore) -> None:
    told: list[Progress] = []
    report = await verify(store, told.append)
    assert report.damages == ()
    assert report.ok
    assert (report.sessions, report.runs) == (3, 12)
    assert report.records == told[-1].records
    assert told[-1].runs == told[-1].expected_runs == 12


async def test_an_empty_store_is_sound() -> None:
    async with open_store("memory:") as empty:
        assert (await verify(empty)).ok


async def test_a_store_in_memory_is_verified_by_the_same_reads() -> None:
    async with open_store("memory:") as kept:
        await fill(kept)
        report = await verify(kept)
    assert report.damages == ()
    assert report.runs == 12


async def test_calls_that_were_renamed_are_found_behind_a_turn_that_superseded_them() -> None:
    store = await begun(MemoryBackend())
    cast = Cast(onward(uses("1=look"), uses("1=pay"), "never", uses("2=pay"), "paid"))
    async with playing(store, cast.returns("look").returns("pay", confirm=True)) as worker:
        await first_turn(worker)
        follows, history = Follows(run_id=RUN, supersede=True), samples.through(await store.load_run(RUN))
        await worker.client.run(SESSION, [user("no")], run_id="next", follows=follows, history=history)
        (item,) = await worker.runtime.pending(SESSION)
        out = await worker.runtime.continue_run("next", {item.item_id: True}, by="ada")
    assert out.text == "paid"
    assert (await verify(store)).damages == ()


async def test_verifying_writes_nothing(store: OwnedStore, tamper: Tamper) -> None:
    tamper("UPDATE runs SET status = 'failed' WHERE run_id = 'turn-1'")
    first = await verify(store)
    assert await verify(store) == first


async def test_a_store_that_cannot_be_read_is_no_report(file: Path) -> None:
    async with open_store(f"sqlite:///{file}") as closed:
        await closed.close()
        with pytest.raises(StoreUnavailable):
            await verify(closed)


async def test_a_deleted_record_leaves_a_gap(store: OwnedStore, tamper: Tamper) -> None:
    tamper(DELETE, "phase:prompted", "turn-1")
    report = await verify(store)
    gap = found(report, Check.POSITIONS, session_id="talk")
    assert "'transcript:input' of run 'turn-1'" in gap.says
    assert report.found == 1


async def test_a_gap_of_several_records_is_one_damage(store: OwnedStore, tamper: Tamper) -> None:
    tamper(DELETE, "phase:prompted", "turn-1")
    tamper(DELETE, "transcript:input", "turn-1")
    report = await verify(store)
    assert " to " in found(report, Check.POSITIONS, session_id="talk").says


async def test_the_scope_s_last_record_is_missed_by_its_run(store: OwnedStore, tamper: Tamper) -> None:
    tamper(DELETE, "run_completed", "turn-2")
    assert "status is completed" in found(await verify(store), Check.END, run_id="turn-2").says


async def test_a_deleted_result_is_missed_by_the_transcript(store: OwnedStore, tamper: Tamper) -> None:
    tamper(DELETE, "call:result:a", "turn-1")
    report = await verify(store)
    damage = found(report, Check.TOOL_RESULT, session_id="talk", run_id="turn-1", event_key="plan:0:results")
    assert "'a'" in damage.says


async def test_a_deleted_message_of_results_leaves_the_calls_open(store: OwnedStore, tamper: Tamper) -> None:
    tamper(DELETE, "plan:0:results", "turn-1")
    report = await verify(store)
    open_calls = [each for each in report.damages if each.check is Check.TRANSCRIPT and each.run_id == "turn-1"]
    assert {word for each in open_calls for word in ("'a'", "'b'") if word in each.says} == {"'a'", "'b'"}


async def test_swapped_payloads_are_found(store: OwnedStore, tamper: Tamper, file: Path) -> None:
    one, two = (payload_of(file, "turn-1", f"call:result:{name}") for name in "ab")
    tamper(PAYLOAD, two, "call:result:a", "turn-1")
    tamper(PAYLOAD, one, "call:result:b", "turn-1")
    swapped = await verify(store)
    assert swapped.ok, "each still names its own call, so nothing but the order of two records changed"
    tamper(PAYLOAD, two, "call:result:b", "turn-1")
    report = await verify(store)
    assert {each.check for each in report.damages if each.run_id == "turn-1"} == {Check.TOOL_RESULT}


async def test_a_payload_of_another_type_is_found(store: OwnedStore, tamper: Tamper, file: Path) -> None:
    other = payload_of(file, "turn-1", "run_requested")
    tamper(PAYLOAD, other, "phase:prompted", "turn-1")
    damage = found(await verify(store), Check.PAYLOAD, run_id="turn-1", event_key="phase:prompted")
    assert damage.record_id is not None


@pytest.mark.parametrize("damaged", [b"", b"null", b"{", b"\xff\xfe", b'{"messages":[]} ', b'{"mess\x00ges":[]'])
async def test_an_undecodable_payload_is_found(store: OwnedStore, tamper: Tamper, damaged: bytes) -> None:
    tamper(PAYLOAD, damaged + b"}", "plan:0:message", "turn-1")
    report = await verify(store)
    found(report, Check.PAYLOAD, session_id="talk", run_id="turn-1", event_key="plan:0:message")
    assert {each.run_id for each in report.damages} == {"turn-1"}, "the turn behind it is judged by its own records"


async def test_a_changed_result_differs_from_its_part(store: OwnedStore, tamper: Tamper, file: Path) -> None:
    changed = payload_of(file, "turn-2", "call:result:b").replace(b'"content":4', b'"content":5')
    tamper(PAYLOAD, changed, "call:result:b", "turn-2")
    damage = found(await verify(store), Check.TOOL_RESULT, run_id="turn-2", event_key="call:result:b")
    assert "'plan:0:results'" in damage.says


async def test_a_changed_part_differs_from_its_result(store: OwnedStore, tamper: Tamper, file: Path) -> None:
    changed = payload_of(file, "turn-1", "plan:0:results").replace(b'"content":2', b'"content":22')
    tamper(PAYLOAD, changed, "plan:0:results", "turn-1")
    found(await verify(store), Check.TOOL_RESULT, run_id="turn-1", event_key="call:result:a")


async def test_a_changed_input_differs_from_its_tool_use(store: OwnedStore, tamper: Tamper, file: Path) -> None:
    changed = payload_of(file, "turn-1", "plan:0:message").replace(b'"number":1', b'"number":9')
    tamper(PAYLOAD, changed, "plan:0:message", "turn-1")
    found(await verify(store), Check.TOOL_CALL, run_id="turn-1", event_key="call:scheduled:a")


async def test_a_result_in_a_continuation_is_held_against_the_call(store: OwnedStore, tamper: Tamper) -> None:
    changed = makers.tool_result_received(tool_call_id="pay", call_run_id="ask", content="not paid")
    tamper(PAYLOAD, changed, "call:result:pay", "answer")
    found(await verify(store), Check.TOOL_RESULT, session_id="forms", run_id="answer", event_key="call:result:pay")


@pytest.mark.parametrize(
    "run_id, status, check",
    [
        ("turn-1", "failed", Check.END),
        ("turn-1", "running", Check.END),
        ("turn-2", "canceled", Check.END),
        ("still-running", "completed", Check.END),
        ("open-ask", "completed", Check.END),
        ("turn-1", "done", Check.READING),
    ],
)
async def test_a_changed_status_is_found(
    store: OwnedStore, tamper: Tamper, run_id: str, status: str, check: Check
) -> None:
    tamper("UPDATE runs SET status = ? WHERE run_id = ?", status, run_id)
    report = await verify(store)
    assert [each for each in report.damages if each.check is check and each.run_id == run_id]


@pytest.mark.parametrize(
    "change, run_id, check",
    [
        ("ended = ended + 1", "turn-1", Check.END),
        ("end_position = end_position - 1", "turn-2", Check.END),
        ("end_position = end_position + 1", "turn-2", Check.END),
        ("first_position = first_position + 1", "turn-2", Check.START),
        ("updated = updated + 1", "turn-1", Check.END),
        ("started = started - 1", "turn-1", Check.START),
        ('labels = \'{"k": "w"}\'', "turn-1", Check.START),
        ("agent_id = 'other'", "child", Check.LINK),
        ("parent_run_id = NULL", "child", Check.START),
        ("tool_call_id = 'call-9'", "child", Check.LINK),
        ("history_through = 'elsewhere'", "turn-2", Check.HISTORY),
        ("history_run_id = 'turn-2'", "turn-1", Check.START),
        ("history_run_id = 'gone'", "turn-2", Check.HISTORY),
        ("chain_id = 'other'", "answer", Check.CHAIN),
        ("successor_run_id = NULL", "ask", Check.CHAIN),
        ("successor_run_id = 'side'", "open-ask", Check.CHAIN),
        ("predecessor_run_id = NULL", "answer", Check.START),
        ("cancellation_reason = 'another'", "side", Check.CANCELLATION),
        ("cancellation_reason = NULL", "side", Check.CANCELLATION),
        ("cancellation_reason = 'x'", "turn-1", Check.CANCELLATION),
        ("cancellation_reason = 'x'", "still-running", Check.CANCELLATION),
        ("start_outcome = 'proceed'", "too-late", Check.CANCELLATION),
        ("start_outcome = 'stop'", "parent", Check.CANCELLATION),
        ("ended = started", "still-running", Check.END),
    ],
)
async def test_a_changed_fact_of_a_run_is_found(
    store: OwnedStore, tamper: Tamper, change: str, run_id: str, check: Check
) -> None:
    tamper(f"UPDATE runs SET {change} WHERE run_id = ?", run_id)  # noqa: S608 - written in the table above
    report = await verify(store)
    named = {each.run_id for each in report.damages if each.check is check}
    assert named & {run_id, "answer" if run_id == "ask" else run_id}, report.damages


async def test_a_row_without_records_is_unproved(store: OwnedStore, tamper: Tamper) -> None:
    tamper(
        "INSERT INTO runs (scope, run_id, agent_id, status, start_outcome, started, updated, start_key, "
        "first_position) SELECT scope, 'forged', agent_id, 'completed', 'proceed', started, updated, 'k', 1 FROM runs "
        "WHERE run_id = 'turn-1'"
    )
    report = await verify(store)
    found(report, Check.START, session_id="talk", run_id="forged")
    found(report, Check.END, session_id="talk", run_id="forged")


async def test_records_without_their_run_are_missed(store: OwnedStore, tamper: Tamper) -> None:
    tamper("DELETE FROM runs WHERE run_id = 'turn-2'")
    report = await verify(store)
    found(report, Check.POSITIONS, session_id="talk")
    assert "'turn-2'" in found(report, Check.SESSION, session_id="talk").says


async def test_a_missing_checkpoint_is_found(store: OwnedStore, tamper: Tamper) -> None:
    tamper("DELETE FROM checkpoints WHERE suspension_id = 'wait-2'")
    damage = found(await verify(store), Check.CHECKPOINT, session_id="forms", run_id="open-ask")
    assert "missing" in damage.says


async def test_another_checkpoint_is_found(store: OwnedStore, tamper: Tamper) -> None:
    tamper("UPDATE checkpoints SET suspension_id = 'wait-3' WHERE suspension_id = 'wait-2'")
    found(await verify(store), Check.CHECKPOINT, run_id="open-ask")


@pytest.mark.parametrize(
    "change, session_id",
    [
        ("head_run_id = 'turn-1'", "talk"),
        ("head_run_id = NULL", "talk"),
        ("head_run_id = 'side'", "forms"),
        ("status = 'active'", "closed"),
        ("ended = NULL", "closed"),
        ("status = 'ended'", "forms"),
    ],
)
async def test_a_changed_session_is_found(store: OwnedStore, tamper: Tamper, change: str, session_id: str) -> None:
    tamper(f"UPDATE sessions SET {change} WHERE session_id = ?", session_id)  # noqa: S608 - written in the table above
    report = await verify(store)
    assert [each for each in report.damages if each.check is Check.SESSION and each.session_id == session_id]
    assert report.found == 1


async def test_a_moved_child_start_loses_its_link(store: OwnedStore, tamper: Tamper) -> None:
    tamper(DELETE, "link:leaf", "tree")
    report = await verify(store)
    found(report, Check.LINK, session_id=None, run_id="leaf")
    found(report, Check.POSITIONS, session_id=None)


async def test_a_record_behind_the_end_is_found(store: OwnedStore, tamper: Tamper) -> None:
    tamper(
        "INSERT INTO records SELECT scope, 1 + (SELECT max(position) FROM records AS o WHERE o.scope = c.scope), run, "
        "type, timestamp, 'late', turn_id, payload FROM records AS c WHERE event_key = 'phase:prompted' "
        "AND run = (SELECT run FROM runs WHERE run_id = 'turn-2')"
    )
    found(await verify(store), Check.END, run_id="turn-2", event_key="late")


async def test_a_row_that_cannot_be_read_is_named_and_passed_by(store: OwnedStore, tamper: Tamper) -> None:
    tamper(NUMBER, 99, "phase:prompted", "turn-1")
    report = await verify(store)
    damage = found(report, Check.READING, session_id="talk")
    assert "-4 cannot be read" in damage.says
    assert {each.run_id for each in report.damages} == {None}, "the rest of the store is verified as ever"
    assert report.runs == 12


async def test_an_unreadable_session_ends_its_list_by_name(store: OwnedStore, tamper: Tamper) -> None:
    tamper("UPDATE sessions SET status = 'asleep' WHERE session_id = 'talk'")
    report = await verify(store)
    assert any("list of sessions" in each.says for each in report.damages if each.check is Check.READING)


async def test_only_so_many_damages_are_kept(
    store: OwnedStore, tamper: Tamper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actum.host.verify_report.DAMAGES_KEPT", 3)
    tamper("UPDATE runs SET updated = updated + 1, started = started + 1")
    report = await verify(store)
    assert len(report.damages) == 3
    assert report.found > 12
    assert not report.ok


async def test_a_run_that_moves_while_it_is_verified_is_no_damage(store: OwnedStore) -> None:
    moved: list[Run] = []

    class Moving:
        """The store, in which a run ends right after its records were listed."""

        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        async def list_run_records(self, run_id: str, **options: object) -> object:
            page = await store.list_run_records(run_id, **options)  # type: ignore[arg-type]  # options pass through as they came
            if run_id == "still-running" and not moved:
                moved.append((await store.record_run_terminal(samples.completed(await store.load_run(run_id)))).run)
            return page

    report = await verify(Moving())  # type: ignore[arg-type]  # it has the reads of a store
    assert moved
    assert report.damages == ()


async def test_a_list_that_cannot_be_read_at_all_is_given_up(store: OwnedStore) -> None:
    class Broken:
        """The store, in which no record of the session `talk` can be read."""

        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        async def list_session_run_records(self, session_id: str, **options: object) -> object:
            if session_id == "talk":
                raise KeyError(99)
            return await store.list_session_run_records(session_id, **options)  # type: ignore[arg-type]  # options pass through

    report = await verify(Broken())  # type: ignore[arg-type]  # it has the reads of a store
    assert "given up" in found(report, Check.READING, session_id="talk").says
    assert report.sessions == 3
