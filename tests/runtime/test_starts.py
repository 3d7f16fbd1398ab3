"""How a run begins: exact repeats, other requests, refusals that leave nothing, and what a start carries."""

import asyncio
from typing import Any

import pytest

from actum.base.errors import (
    ContractError,
    HeadMoved,
    InvalidValue,
    RegistrationClosed,
    RunConflict,
    RunPurged,
    SessionBusy,
    SessionEnded,
    SessionNotFound,
    SessionPurged,
    StoreUnavailable,
    TranscriptError,
)
from actum.base.value import replace
from actum.lifecycle.states import RunStatus
from actum.messages.message import assistant, system, tool_results, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.planning.planner import PlanInput, PlanResumeInput
from actum.records.kinds import RunRequested
from actum.records.record import Follows, HistoryRef
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.begin import begin
from actum.runtime.runtime import Ask
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing.history import read_everything
from actum.testing.samples import at
from tests.support.frail import AwayBackend
from tests.support.runlogs import log_of, proven
from tests.support.scenario import AGENT, RUN, SESSION, Cast, Gate, begun, playing, request, uses

GO = [user("go")]


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


async def test_of_two_hosts_at_the_end_of_a_session_one_stores_the_stop_and_the_other_hears_of_it(
    store: OwnedStore,
) -> None:
    await store.end_session(SESSION, at(1))
    assert (await begin(store, request()))[0].ended is RunStatus.CANCELED
    before = await read_everything(store)
    with pytest.raises(SessionEnded):
        await begin(store, replace(request(), requested_at=at(2)))
    assert await read_everything(store) == before


async def test_an_exact_repeat_is_the_run_that_was_started_first(store: OwnedStore) -> None:
    gate = Gate("late")
    cast = Cast(uses("a"), "done").returns("a", gate)
    async with playing(store, cast) as worker, playing(store, cast) as other:
        handles = [await each.client.start(SESSION, GO, run_id=RUN) for each in (worker, worker, other)]
        gate.opened.set()
        outs = [await handle.wait() for handle in handles]
        again = await other.client.run(SESSION, GO, run_id=RUN)
    assert {handle.run_id for handle in handles} == {RUN}
    assert outs == [again] * 3
    assert cast.ran == {"a": 1}
    assert cast.planned == {0: 1, 1: 1}
    await proven(store, RUN)


@pytest.mark.parametrize("workers", [1, 2])
async def test_identical_starts_at_once_are_one_run(store: OwnedStore, workers: int) -> None:
    cast = Cast(uses("a"), "done").returns("a")
    async with playing(store, cast) as first, playing(store, cast) as second:
        both = [first, second][:workers] * 2
        outs = await asyncio.gather(*(each.client.run(SESSION, GO, run_id=RUN) for each in both))
    assert len({out.text for out in outs}) == 1
    assert cast.ran == {"a": 1}
    assert len((await read_everything(store)).runs) == 1
    await proven(store, RUN)


async def test_an_exact_repeat_still_answers_when_its_session_has_ended(store: OwnedStore) -> None:
    async with playing(store, Cast("done")) as worker:
        out = await worker.client.run(SESSION, GO, run_id=RUN)
        await store.end_session(SESSION, at(5))
        assert await worker.client.run(SESSION, GO, run_id=RUN) == out
        with pytest.raises(SessionEnded):
            await worker.client.run(SESSION, GO, run_id="run-2")


async def test_an_exact_repeat_of_a_run_that_moved_the_head_is_that_run(store: OwnedStore) -> None:
    gate = Gate("done")

    async def thinks(_: PlanInput) -> object:
        return await gate.passed()

    follows = Follows(run_id=None)
    async with playing(store, Cast(thinks)) as worker, playing(store, Cast(thinks)) as other:
        starts = [each.client.start(SESSION, GO, run_id=RUN, follows=follows) for each in (worker, other)]
        handles = await asyncio.gather(*starts)
        gate.opened.set()
        outs = [await handle.wait() for handle in handles]
    assert [out.text for out in outs] == ["done", "done"]
    assert (await store.load_session(SESSION)).head_run_id == RUN


OTHERS: list[dict[str, Any]] = [
    {"messages": [user("other")]},
    {"messages": [user("before"), assistant("yes"), user("go")]},
    {"turn_id": "turn-2"},
    {"labels": {"a": "b"}},
    {"follows": Follows(run_id=None)},
    {"history": HistoryRef(run_id="run-0", through="x")},
]


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: next(iter(other)))
@pytest.mark.parametrize("ended", ["running", "ended"])
async def test_another_request_under_the_same_id_is_a_conflict(
    store: OwnedStore, other: dict[str, Any], ended: str
) -> None:
    gate = Gate("late")
    if ended == "ended":
        gate.opened.set()
    cast = Cast(uses("a"), "done").returns("a", gate)
    async with playing(store, cast) as worker, playing(store, cast) as elsewhere:
        handle = await worker.client.start(SESSION, GO, run_id=RUN)
        if ended == "ended":
            await handle.wait()
        before = await read_everything(store) if ended == "ended" else None
        for each in (worker, elsewhere):
            with pytest.raises(RunConflict):
                await each.client.start(SESSION, **{"messages": GO, **other}, run_id=RUN)
        assert before is None or await read_everything(store) == before


async def test_two_requests_for_one_id_at_once_give_one_run_and_one_conflict(store: OwnedStore) -> None:
    async with playing(store, Cast("done")) as worker, playing(store, Cast("done")) as other:
        answers = await asyncio.gather(
            worker.client.run(SESSION, GO, run_id=RUN),
            other.client.run(SESSION, [user("else")], run_id=RUN),
            return_exceptions=True,
        )
    assert sorted(type(answer).__name__ for answer in answers) == ["RunConflict", "RunOutput"]
    await proven(store, RUN)


async def test_the_same_engine_is_asked_twice_for_different_things(store: OwnedStore) -> None:
    async with playing(store, Cast("done")) as worker:
        asked = asyncio.gather(
            worker.engine.accept(request()), worker.engine.accept(request(text="else")), return_exceptions=True
        )
        first, second = await asked
    assert first is None
    assert isinstance(second, RunConflict)


async def test_the_digest_covers_what_the_caller_gave_in_any_order_of_labels() -> None:
    ask = Ask(agent_id=AGENT, session_id=SESSION, messages=(user("go"),), labels={"a": "1", "b": "2"})
    same = Ask(agent_id=AGENT, session_id=SESSION, messages=(user("go"),), labels={"b": "2", "a": "1"})
    host = Ask(
        agent_id=AGENT,
        session_id=SESSION,
        messages=(user("go"),),
        labels={"a": "1", "b": "2"},
        turn_id="turn-9",
        follows=Follows(run_id="run-8"),
        filled=("turn_id", "follows"),
    )
    assert ask.digest() == same.digest() == host.digest()


async def test_a_head_that_moved_refuses_and_a_new_try_works(store: OwnedStore) -> None:
    async with playing(store, Cast("done")) as worker:
        await worker.client.run(SESSION, GO, run_id=RUN, follows=Follows(run_id=None))
        before = await read_everything(store)
        for _ in range(2):
            with pytest.raises(HeadMoved):
                await worker.client.run(SESSION, GO, run_id="run-2", follows=Follows(run_id=None))
        assert await read_everything(store) == before
        out = await worker.client.run(SESSION, GO, run_id="run-2", follows=Follows(run_id=RUN))
    assert out.text == "done"
    assert (await store.load_session(SESSION)).head_run_id == "run-2"


async def test_a_busy_head_refuses(store: OwnedStore) -> None:
    gate = Gate()
    async with playing(store, Cast(uses("a")).returns("a", gate)) as worker:
        await worker.start(follows=Follows(run_id=None))
        await gate.reached.wait()
        with pytest.raises(SessionBusy):
            await worker.start("run-2", follows=Follows(run_id=RUN))


async def test_unknown_ended_and_purged_sessions_are_refused_before_the_engine_is_asked(store: OwnedStore) -> None:
    async with playing(store, Cast("done")) as worker:
        await worker.play()
        asked: list[object] = []
        worker.engine.accept = asked.append  # type: ignore[method-assign, assignment] # nobody may come here
        with pytest.raises(SessionNotFound):
            await worker.client.start("nowhere", GO)
        await store.end_session(SESSION, at(5))
        with pytest.raises(SessionEnded):
            await worker.client.start(SESSION, GO)
        await store.purge_session(SESSION)
        with pytest.raises(SessionPurged):
            await worker.client.start(SESSION, GO)
        assert asked == []


async def test_the_id_of_a_purged_run_starts_nothing_new(store: OwnedStore) -> None:
    async with playing(store, Cast("done")) as worker:
        await worker.client.run_one_shot(GO, run_id="alone")
        await store.purge_one_shot("alone")
        with pytest.raises(RunPurged):
            await worker.client.run_one_shot(GO, run_id="alone")


REFUSED: list[tuple[list[Any], type[Exception]]] = [
    ([], InvalidValue),
    (["go"], InvalidValue),
    ([assistant("I begin")], InvalidValue),
    ([user("go"), assistant("yes")], InvalidValue),
    ([user("hm"), system("late"), user("go")], TranscriptError),
    ([user("report"), assistant(tool_use("t1", "db.q", {}))], TranscriptError),
    ([user("report"), assistant(tool_use("t1", "db.q", {})), user("are you there?")], TranscriptError),
    (
        [user("report"), assistant(tool_use("t1", "q", {})), tool_results(ToolResultPart(tool_use_id="t1", content=1))],
        InvalidValue,
    ),
]


@pytest.mark.parametrize("messages, error", REFUSED)
async def test_a_transcript_that_is_not_lawful_starts_nothing(
    store: OwnedStore, messages: list[Any], error: type[Exception]
) -> None:
    async with playing(store, Cast("done")) as worker:
        for run_id in (None, RUN):
            with pytest.raises(error):
                await worker.client.start(SESSION, messages, run_id=run_id)
    assert (await read_everything(store)).runs == ()


BAD: list[dict[str, Any]] = [
    {"run_id": ""},
    {"run_id": " "},
    {"run_id": "x" * 513},
    {"turn_id": "a\0b"},
    {"labels": {"a": 1}},
    {"labels": {"a": "b\0"}},
    {"labels": {str(n): "" for n in range(65)}},
    {"follows": "run-0"},
    {"history": "run-0"},
    {"messages": "go"},
]


@pytest.mark.parametrize("bad", BAD, ids=str)
async def test_bad_arguments_start_nothing(store: OwnedStore, bad: dict[str, Any]) -> None:
    async with playing(store, Cast("done")) as worker:
        with pytest.raises(ContractError):
            await worker.client.start(SESSION, **{"messages": GO, **bad})
    assert (await read_everything(store)).runs == ()


@pytest.mark.parametrize("session_id", [None, "", 7])
async def test_a_session_is_named_and_never_left_out_by_accident(store: OwnedStore, session_id: Any) -> None:
    async with playing(store, Cast("done")) as worker:
        with pytest.raises(InvalidValue):
            await worker.client.start(session_id, GO)
    assert (await read_everything(store)).runs == ()


async def test_agents_are_registered_once_and_before_the_first_run(store: OwnedStore) -> None:
    async with playing(store, Cast("done")) as worker:
        with pytest.raises(InvalidValue):
            worker.runtime.register(Cast("twice").agent())
        with pytest.raises(InvalidValue):
            worker.runtime.client("nobody")
        await worker.play()
        with pytest.raises(RegistrationClosed):
            worker.runtime.register(Agent("late", planner=Cast("late")))


async def test_recovery_closes_registration_too(store: OwnedStore) -> None:
    async with playing(store, Cast("done")) as worker:
        await worker.runtime.recover()
        with pytest.raises(RegistrationClosed):
            worker.runtime.register(Agent("late", planner=Cast("late")))


async def test_every_record_of_a_run_stands_in_its_turn(store: OwnedStore) -> None:
    cast = Cast(uses("a"), "done").returns("a")
    async with playing(store, cast) as worker:
        await worker.play(turn_id="turn-1", labels={"from": "web"})
    log = await proven(store, RUN)
    assert {record.turn_id for record in log.records} == {"turn-1"}
    assert log.run.labels == {"from": "web"}
    assert {seen.run.turn_id for seen in cast.inputs} == {"turn-1"}
    assert {tuple(seen.run.labels.items()) for seen in cast.inputs} == {(("from", "web"),)}
    assert cast.contexts[0].labels == {"from": "web"}


async def test_a_start_stores_all_that_recovery_needs(store: OwnedStore) -> None:
    async with playing(store, Cast("done")) as worker:
        await worker.play()
    log = await log_of(store, RUN)
    requested = log.payloads(RecordType.RUN_REQUESTED)[0]
    assert isinstance(requested, RunRequested)
    assert requested.agent_version == Cast("done").agent().version
    assert requested.options == {"engine": "local"}


async def test_one_shot_runs_have_no_session_and_die_with_nobody(store: OwnedStore) -> None:
    gate = Gate()
    cast = Cast(uses("a"), "done").returns("a", gate)
    async with playing(store, cast) as worker:
        handle = await worker.client.start_one_shot(GO, run_id="alone", labels={"k": "v"})
        await gate.reached.wait()
    gate.opened.set()
    async with playing(store, cast) as second:
        assert await second.runtime.recover() == ("alone",)
        out = await second.client.run_one_shot(GO, run_id="alone", labels={"k": "v"})
    log = await proven(store, handle.run_id)
    assert out.status is RunStatus.COMPLETED
    assert log.run.session_id is None
    assert (await store.load_session(SESSION)).head_run_id is None


async def test_a_given_transcript_stands_in_the_run_once(store: OwnedStore) -> None:
    cast = Cast(uses("t1=a"), "It is 7.").returns("a", 7)
    async with playing(store, cast) as worker:
        await worker.play()
        first = await proven(store, RUN)
        cast_2 = Cast("done")
        async with playing(store, cast_2) as other:
            await other.client.run(SESSION, [*first.messages, user("next")], run_id="run-2")
    second = await proven(store, "run-2")
    assert len(first.messages) == 4
    assert second.messages == (*first.messages, user("next"), assistant("done"))
    assert second.types[RecordType.TRANSCRIPT_MESSAGES_SEEDED] == 1
    seen = await cast_2.inputs[0].prepare_messages()
    assert seen[:5] == second.messages[:5]


async def test_a_history_is_named_and_not_copied(store: OwnedStore) -> None:
    cast = Cast(uses("t1=a"), "It is 7.").returns("a", 7)
    async with playing(store, cast) as worker:
        await worker.play(follows=Follows(run_id=None))
        first = await proven(store, RUN)
        through = HistoryRef(run_id=RUN, through=first.run.end_record_id or "")
        await worker.client.run(SESSION, [user("next")], run_id="run-2", history=through, follows=Follows(run_id=RUN))
    second = await proven(store, "run-2")
    assert second.messages[:5] == (*first.messages, user("next"))
    assert second.types[RecordType.TRANSCRIPT_MESSAGES_SEEDED] == 0
    assert not isinstance(cast.inputs[2], PlanResumeInput)


async def test_a_start_whose_answers_are_lost_is_stored_once() -> None:
    away = AwayBackend(MemoryBackend())
    store = await begun(away)
    away.away, away.lost, away.reads_too = 3, True, False
    async with playing(store, Cast("done")) as worker:
        out = await worker.client.run(SESSION, GO, run_id=RUN)
    assert out.text == "done"
    assert away.refused == 3
    await proven(store, RUN)


async def test_a_start_that_the_store_never_takes_leaves_no_run() -> None:
    backend = MemoryBackend()
    away = AwayBackend(backend)
    store = await begun(away)
    async with playing(LocalStore(away), Cast("done")) as worker:
        away.away, away.reads_too = 1000, False
        with pytest.raises(StoreUnavailable):
            await worker.client.start(SESSION, GO, run_id=RUN)
        away.away = 0
        assert (await read_everything(store)).runs == ()
        out = await worker.client.run(SESSION, GO, run_id=RUN)
    assert out.text == "done"
