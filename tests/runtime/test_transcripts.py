"""Transcripts out of a store: the same by any pages, and what a planner is shown of a long one."""

import pytest

from actum.base.errors import RunNotFound
from actum.messages.message import Message, assistant, system, user
from actum.records.record import Follows, HistoryRef
from actum.runtime.agent import KeepNewestTurns
from actum.runtime.transcripts import Histories, build_messages_from_run_log
from actum.storage.contract import OwnedStore
from actum.storage.memory import MemoryBackend
from actum.testing import samples
from actum.transcript.validate import validate_planner_transcript
from tests.support.scenario import SESSION, Cast, Worker, begun, playing, uses

TURNS = 6


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


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
        read = await again.read(history, turns)
        assert policy.view(read) == policy.view(whole)
    histories.forget()
    assert policy.view(await histories.read(history, turns)) == policy.view(whole)


async def test_only_as_much_is_read_as_is_shown(store: OwnedStore) -> None:
    history = await _conversation(store, system("Be brief."))
    assert len(await Histories(store).read(history, 1)) < len(await Histories(store).read(history, None))
    assert await Histories(store).read(None, 1) == ()


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
