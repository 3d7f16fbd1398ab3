"""Long conversations: what planners are shown of them, and summaries that every later run is shown too."""

from typing import Any

import pytest

from actum.lifecycle.states import RunStatus
from actum.messages.message import Message, assistant, user
from actum.model.response import ModelResponse, StopReason, Usage
from actum.planning.history import CompressHistory
from actum.planning.planner import PlanInput
from actum.records.kinds import HistoryCompressed, UsageCounted
from actum.records.record import HistoryRef
from actum.records.types import RecordType
from actum.storage.backend import Backend
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing.script import ScriptedModel
from tests.support.frail import AwayBackend, MortalBackend, until_dead
from tests.support.runlogs import RunLog, proven
from tests.support.scenario import RUN, SESSION, Cast, Worker, begun, playing, uses


def said(text: str) -> ModelResponse:
    return ModelResponse(message=assistant(text), stop=StopReason.END_TURN, usage=Usage(input=50, output=9))


class Telling:
    """A planner that keeps what it was shown, by run."""

    def __init__(self) -> None:
        self.shown: dict[str, list[str]] = {}

    async def __call__(self, plan_input: PlanInput) -> Any:
        messages = await plan_input.prepare_messages()
        again = await plan_input.prepare_messages()
        assert messages == again
        self.shown[plan_input.run.run_id] = [message.text for message in messages]
        return uses(f"c{plan_input.run.run_id}=a") if plan_input.run.step == 0 else "answer"


def history(model: ScriptedModel) -> CompressHistory:
    return CompressHistory(model, keep_turns=1, above_turns=2)


async def _turn(worker: Worker, number: int, before: HistoryRef | None) -> HistoryRef:
    run_id = f"run-{number}"
    out = await worker.client.run(SESSION, [user(f"question {number}")], run_id=run_id, history=before)
    assert out.status is RunStatus.COMPLETED, out.failure
    run = await worker.store.load_run(run_id)
    return HistoryRef(run_id=run_id, through=run.end_record_id or "")


async def _turns(store: OwnedStore, telling: Telling, model: ScriptedModel, count: int) -> list[RunLog]:
    before: HistoryRef | None = None
    async with playing(store, Cast(telling).returns("a"), history=history(model)) as worker:
        for number in range(1, count + 1):
            before = await _turn(worker, number, before)
    return [await proven(store, f"run-{number}") for number in range(1, count + 1)]


def summaries(log: RunLog) -> list[HistoryCompressed]:
    return [each for each in log.payloads(RecordType.HISTORY_COMPRESSED) if isinstance(each, HistoryCompressed)]


def last_words(log: RunLog) -> str:
    return [each.id for each in log.records if each.type == RecordType.TRANSCRIPT_MESSAGES_APPENDED][-1]


async def test_a_summary_is_made_once_recorded_and_shown_in_every_later_run() -> None:
    store, telling = await begun(MemoryBackend()), Telling()
    model = ScriptedModel([said("first summary"), said("second summary")])
    logs = await _turns(store, telling, model, 6)
    assert [len(summaries(log)) for log in logs] == [0, 0, 1, 0, 1, 0]
    assert model.left == 0
    first, second = summaries(logs[2])[0], summaries(logs[4])[0]
    assert (first.summary, first.tokens) == ("first summary", 9)
    # Everything up to the last answer of the turn before: the newest turn is always shown as it is.
    assert (first.through, second.through) == (last_words(logs[1]), last_words(logs[3]))
    lead = "Summary of the conversation until here:\n"
    assert telling.shown["run-4"][:2] == [lead + "first summary", "question 3"]
    assert telling.shown["run-6"][:2] == [lead + "second summary", "question 5"]
    assert "first summary" in model.requests[1].messages[1].text


async def test_the_stored_transcript_stays_as_it_is() -> None:
    store, telling = await begun(MemoryBackend()), Telling()
    logs = await _turns(store, telling, ScriptedModel([said("s")]), 3)
    asked = [message.text for message in logs[2].messages if message.text.startswith("question")]
    assert asked == ["question 1", "question 2", "question 3"]


async def test_what_a_summary_cost_is_counted_once() -> None:
    store, telling = await begun(MemoryBackend()), Telling()
    logs = await _turns(store, telling, ScriptedModel([said("s")]), 3)
    used = [each for each in logs[2].payloads(RecordType.USAGE) if isinstance(each, UsageCounted)]
    assert [(each.model, each.input, each.output) for each in used] == [("scripted", 50, 9)]


async def test_a_transcript_that_is_given_whole_is_summarised_within_its_seed() -> None:
    store, telling = await begun(MemoryBackend()), Telling()
    given: list[Message] = []
    for number in range(3):
        given += [user(f"old question {number}"), assistant(f"old answer {number}")]
    model = ScriptedModel([said("s")])
    async with playing(store, Cast(telling).returns("a"), history=history(model)) as worker:
        await worker.client.run(SESSION, [*given, user("new")], run_id=RUN)
        before = await store.load_run(RUN)
        await _turn(worker, 2, HistoryRef(run_id=RUN, through=before.end_record_id or ""))
    log = await proven(store, RUN)
    seed = next(each for each in log.records if each.type == RecordType.TRANSCRIPT_MESSAGES_SEEDED)
    assert summaries(log)[0].through == seed.id
    assert telling.shown["run-2"][:2] == ["Summary of the conversation until here:\ns", "new"]


async def test_a_summary_of_a_part_of_the_seed_names_the_part() -> None:
    store, telling = await begun(MemoryBackend()), Telling()
    given: list[Message] = []
    for number in range(4):
        given += [user(f"old question {number}"), assistant(f"old answer {number}")]
    policy = CompressHistory(ScriptedModel([said("s")]), keep_turns=2, above_turns=2)
    async with playing(store, Cast(telling).returns("a"), history=policy) as worker:
        await worker.client.run(SESSION, [*given, user("new")], run_id=RUN)
    log = await proven(store, RUN)
    seed = next(each for each in log.records if each.type == RecordType.TRANSCRIPT_MESSAGES_SEEDED)
    assert summaries(log)[0].through == f"{seed.id}.6"
    assert telling.shown[RUN][1:3] == ["old question 3", "old answer 3"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_wherever_a_worker_dies_the_next_one_shows_the_recorded_summary(*, after: bool) -> None:
    call = 0
    while True:
        call += 1
        backend: Backend = MemoryBackend()
        store, telling = await begun(backend), Telling()
        asked = [0]

        def answer(_: object, asked: list[int] = asked) -> ModelResponse:
            asked[0] += 1
            return said(f"summary {asked[0]}")

        model = ScriptedModel([answer] * 4)
        async with playing(store, Cast(telling).returns("a"), history=history(model)) as worker:
            before = await _turn(worker, 2, await _turn(worker, 1, None))
        mortal = MortalBackend(backend, dies_at=call, after=after)
        dying = Worker(LocalStore(mortal), Cast(telling).returns("a", idempotent=True), history=history(model))
        options = {"history": before}
        died = await until_dead(mortal, dying.play("run-3", "question 3", **options))
        await dying.runtime.close()
        async with playing(store, Cast(telling).returns("a", idempotent=True), history=history(model)) as worker:
            await worker.recover()
            await worker.play("run-3", "question 3", **options)
        log = await proven(store, "run-3")
        assert len(summaries(log)) == 1
        assert summaries(log)[0].summary in telling.shown["run-3"][0]
        # A summary that was recorded is never made again.
        assert asked[0] <= 2
        if not died:
            assert call > 10
            return


async def test_a_store_that_is_away_when_the_summary_is_recorded_costs_no_second_one() -> None:
    away = AwayBackend(MemoryBackend())
    store, telling = await begun(away), Telling()

    def answer(_: object) -> ModelResponse:
        away.away = 2
        return said("once")

    model = ScriptedModel([answer])
    logs = await _turns(store, telling, model, 3)
    assert (summaries(logs[2])[0].summary, model.left) == ("once", 0)
