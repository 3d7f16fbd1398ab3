"""Transcripts out of a store: the same by any pages, and what a planner is shown of a long one."""

from typing import Any

import pytest

from actum.base.errors import RunNotFound
from actum.messages.message import Message, assistant, system, user
from actum.planning.history import HistoryPolicy, KeepNewestTurns, Past
from actum.records.record import Follows, HistoryRef, Page, Record
from actum.runtime.transcripts import Histories, build_messages_from_run_log
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing import samples
from actum.transcript.validate import validate_planner_transcript
from tests.support.scenario import SESSION, Cast, Worker, begun, playing, uses

TURNS = 6


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


async def shown(policy: HistoryPolicy, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    return (await policy.view(messages, Past())).messages


async def read_by(histories: Histories, history: HistoryRef | None, turns: int | None) -> tuple[Message, ...]:
    """What a planner's view is made of; each reading knows that it is lawful."""
    lead, kept = await histories.read(history, turns)
    assert kept.lawful == len(kept.messages)
    return *lead, *kept.messages


async def _conversation(store: OwnedStore, *first: Message, histories: Histories | None = None) -> HistoryRef:
    """Turns with a tool use each, every run going on from the one before; its last run as a history."""
    history: HistoryRef | None = None
    for n in range(TURNS):
        run_id = f"run-{n}"
        worker = Worker(store, Cast(uses("t1=a"), f"answer {n}").returns("a", n))
        given = [user(f"question {n}")] if history is not None else [*first, user(f"question {n}")]
        follows = Follows(run_id=history.run_id if history is not None else None)
        await worker.client.run(SESSION, given, run_id=run_id, history=history, follows=follows)
        await worker.runtime.close()
        if histories is not None:
            histories.goes_on(run_id, history)
        run = await store.load_run(run_id)
        history = HistoryRef(run_id=run_id, through=run.end_record_id or "")
    assert history is not None
    return history


@pytest.mark.parametrize("page_size", [1, 2, 3, 100, 1000])
async def test_the_size_of_a_page_never_changes_the_answer(store: OwnedStore, page_size: int) -> None:
    history = await _conversation(store, system("Be brief."), user("before"), assistant("yes"))
    messages = await build_messages_from_run_log(store, history.run_id, page_size=page_size)
    assert [message.text for message in messages if message.text] == [
        "Be brief.",
        "before",
        "yes",
        *[text for n in range(TURNS) for text in (f"question {n}", f"answer {n}")],
    ]
    validate_planner_transcript(messages)


@pytest.mark.parametrize("first", [(), (system("Be brief."),), (system("A"), user("q"), assistant("a"))], ids=len)
@pytest.mark.parametrize("turns", range(1, TURNS + 3))
async def test_the_newest_turns_are_those_of_the_whole(
    store: OwnedStore, first: tuple[Message, ...], turns: int
) -> None:
    histories = Histories(store)
    history = await _conversation(store, *first, histories=histories)
    policy = KeepNewestTurns(turns)
    whole = await build_messages_from_run_log(store, history.run_id)
    for again in (histories, histories, Histories(store)):
        read = await read_by(again, history, turns)
        assert await shown(policy, read) == await shown(policy, whole)
    histories.forget()
    assert await shown(policy, await read_by(histories, history, turns)) == await shown(policy, whole)


async def test_what_leads_may_stand_in_several_records(store: OwnedStore) -> None:
    run = (await store.start_root_run(samples.root("by-hand", SESSION))).run
    leads = [samples.said(run, f"lead-{n}", *([system(f"rule {n}")] if n else [])) for n in range(4)]
    talk = [samples.said(run, f"talk-{n}", f"question {n}") for n in range(5)]
    run = (await store.record_run_terminal(samples.completed(run, records=(*leads, *talk)))).run
    read = await read_by(Histories(store), samples.through(run), 1)
    assert [message.text for message in read] == ["rule 1", "rule 2", "rule 3", "question 4"]


async def test_only_as_much_is_read_as_is_shown(store: OwnedStore) -> None:
    history = await _conversation(store, system("Be brief."))
    assert len(await read_by(Histories(store), history, 1)) < len(await read_by(Histories(store), history, None))
    assert await read_by(Histories(store), None, 1) == ()


async def test_a_planner_with_a_policy_sees_whole_turns_of_a_named_history(store: OwnedStore) -> None:
    history = await _conversation(store, system("Be brief."))
    cast = Cast("next")
    async with playing(store, cast, history=KeepNewestTurns(2)) as worker:
        await worker.client.run(SESSION, [user("and now?")], run_id="run-x", history=history)
    seen = await cast.inputs[0].prepare_messages()
    assert [message.text for message in seen if message.text] == [
        "Be brief.",
        f"question {TURNS - 1}",
        f"answer {TURNS - 1}",
        "and now?",
    ]


async def test_a_run_that_is_not_there_has_no_transcript(store: OwnedStore) -> None:
    with pytest.raises(RunNotFound):
        await build_messages_from_run_log(store, "nowhere")


async def test_a_run_without_messages_has_an_empty_one(store: OwnedStore) -> None:
    await store.start_root_run(samples.root("by-hand", SESSION))
    assert await build_messages_from_run_log(store, "by-hand") == ()


class Counting(LocalStore):
    """A store that counts the transcript records which it gives away."""

    given = 0

    async def read_transcript(self, run_id: str, **how: Any) -> Page[Record]:
        page = await super().read_transcript(run_id, **how)
        self.given += len(page.items)
        return page


@pytest.fixture
async def counting() -> Counting:
    backend = MemoryBackend()
    await begun(backend)
    return Counting(backend)


async def test_the_next_turn_reads_only_what_the_last_one_added(counting: Counting) -> None:
    histories = Histories(counting)
    last = await _conversation(counting)
    run = await counting.load_run(last.run_id)
    assert run.history is not None
    histories.goes_on(last.run_id, run.history)
    before = await histories.kept(run.history, None)
    counting.given = 0
    whole = await histories.kept(last, None)
    # A turn is four messages: the input, the call, its result, the answer.
    assert counting.given == 4
    assert whole.messages == await build_messages_from_run_log(counting, last.run_id)
    assert (before.lawful, whole.lawful) == (len(before.messages), len(whole.messages))
    counting.given = 0
    assert await histories.kept(last, None) is whole
    assert counting.given == 0


async def test_what_is_forgotten_or_too_large_is_read_again(
    counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    histories = Histories(counting)
    last = await _conversation(counting)
    whole = await histories.kept(last, None)
    histories.forget()
    monkeypatch.setattr("actum.runtime.transcripts._KEPT_BYTES", 10)
    for _ in range(2):
        counting.given = 0
        assert (await histories.kept(last, None)).messages == whole.messages
        assert counting.given == len(whole.messages)


@pytest.mark.parametrize("first", [(), (system("Be brief."),), (system("A"), user("q"), assistant("a"))], ids=len)
@pytest.mark.parametrize("turns", [1, 2, 4, TURNS + 2, None])
async def test_what_is_kept_of_one_turn_becomes_what_the_next_one_is_shown(
    counting: Counting, first: tuple[Message, ...], turns: int | None
) -> None:
    await _conversation(counting, *first)
    histories, runs = Histories(counting), [await counting.load_run(f"run-{n}") for n in range(TURNS)]
    for n, run in enumerate(runs):
        history = HistoryRef(run_id=run.run_id, through=run.end_record_id or "")
        histories.goes_on(run.run_id, run.history)
        counting.given = 0
        read = await read_by(histories, history, turns)
        # A turn is four messages; what leads the conversation may be looked up once, in its first two records.
        assert n == 0 or counting.given <= 4 + 2
        whole = await build_messages_from_run_log(counting, run.run_id)
        if turns is None:
            assert read == whole
        else:
            assert await shown(KeepNewestTurns(turns), read) == await shown(KeepNewestTurns(turns), whole)
