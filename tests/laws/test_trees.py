"""Laws of trees: whoever waits, dies, answers or stops, at whichever call, every log of the tree stays lawful."""

import asyncio

from hypothesis import event, given, settings
from hypothesis import strategies as st

from actum.base.errors import ContinuationRefused, NotFound, RunNotRunning, SessionEnded
from actum.lifecycle.states import RunStatus
from actum.messages.message import Message, assistant
from actum.messages.parts import tool_use
from actum.model.response import Usage
from actum.planning.planner import AwaitInput, ModelUsage, PlanResult
from actum.records.kinds import PendingKind, UsageCounted, payload_of
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore
from actum.storage.local import LocalStore
from actum.storage.memory import MemoryBackend
from actum.testing.samples import at
from tests.support.frail import MortalBackend, until_dead
from tests.support.scenario import RUN, SESSION, Cast, Worker, begun, onward
from tests.support.trees import lawful, ran_at_most_once

# What an agent may do at a step; `sub` and `deep` are the agents below it. `?` asks a person instead of any tool.
DEEP = ("fine", "broken", "edit", "?")
SUB = (*DEEP, "deep")
ROOT = (*DEEP, "sub", "deep")


def stories(names: tuple[str, ...]) -> st.SearchStrategy[list[list[str]]]:
    """The calls of each step of one agent."""
    return st.lists(st.lists(st.sampled_from(names), min_size=1, max_size=3), max_size=2)


deaths = st.lists(st.tuples(st.integers(1, 90), st.booleans()), max_size=3)
stops = st.sampled_from(["nobody", "nobody", "caller", "host", "withdrawal"])


def _plan(names: list[str]) -> PlanResult:
    used = (ModelUsage(model="m", usage=Usage(input=1, output=1)),)
    if "?" in names:
        asked = AwaitInput(kind=PendingKind.CLARIFICATION, prompt="which?")
        return PlanResult(await_input=tuple(asked for name in names if name == "?"), usage=used)
    return PlanResult.calls(_calls(names), usage=used)


def _calls(names: list[str]) -> Message:
    agents = ("sub", "deep")
    return assistant(
        *[tool_use(f"c{n}", name, {"message": f"do {n}"} if name in agents else {}) for n, name in enumerate(names)]
    )


def _cast(agent_id: str, story: list[list[str]], *others: Cast) -> Cast:
    cast = Cast(onward(*[_plan(names) for names in story], "done"), agent_id=agent_id)
    cast.returns("fine", {"c": 7}).returns("broken", ValueError("no")).returns("edit", "edited", confirm=True)
    for other in others:
        cast.asking(other)
    return cast


async def _answered(worker: Worker, answers: list[bool]) -> None:
    """Answers some of what the tree waits for, until it waits for nothing."""
    turn = 0
    while items := await worker.runtime.pending(SESSION):
        some = items[: 1 + turn % 2]
        given = {
            item.item_id: answers[(turn + n) % len(answers)] if item.kind is PendingKind.CONFIRMATION else "that"
            for n, item in enumerate(some)
        }
        await worker.runtime.continue_run(RUN, given, by="ada")
        turn += 1


async def _turn(store: OwnedStore, worker: Worker, answers: list[bool]) -> None:
    try:
        await store.load_run(RUN)
    except NotFound:
        await worker.play()
    else:
        await worker.recover()
    await _answered(worker, answers)


async def _stop(store: OwnedStore, who: str, cast: Cast) -> None:
    if who == "host":
        await store.end_session(SESSION, at(5))
        return
    worker = Worker(store, cast)
    try:
        newest = (await worker.runtime.continuations(RUN))[-1]
        if who == "caller":
            await worker.runtime.cancel_run(newest.run_id, "user_stop")
        elif newest.status is RunStatus.SUSPENDED:
            await worker.runtime.withdraw(newest.run_id, "enough")
    except (NotFound, RunNotRunning, ContinuationRefused) as error:
        event(f"came too early or too late: {type(error).__name__}")
    await worker.runtime.close()


async def _lived(
    casts: tuple[Cast, Cast, Cast], fates: list[tuple[int, bool]], who: str, answers: list[bool]
) -> OwnedStore | None:
    store = await begun(backend := MemoryBackend())
    for n, (call, after) in enumerate([*fates, (0, False)]):
        mortal = MortalBackend(backend, dies_at=call, after=after)
        worker = Worker(LocalStore(mortal), casts[0])
        try:
            await until_dead(mortal, _turn(store, worker, answers))
        except SessionEnded:
            event("the session had ended before somebody could begin or answer")
        finally:
            await worker.runtime.close()
        if n == 0 and who != "nobody":
            await _stop(store, who, casts[0])
        await lawful(store, finished=False)
    return store


@settings(max_examples=30)
@given(
    root=stories(ROOT),
    sub=stories(SUB),
    deep=stories(DEEP),
    fates=deaths,
    who=stops,
    answers=st.lists(st.booleans(), min_size=1, max_size=4),
)
def test_every_log_of_a_tree_stays_lawful(
    root: list[list[str]],
    sub: list[list[str]],
    deep: list[list[str]],
    fates: list[tuple[int, bool]],
    who: str,
    answers: list[bool],
) -> None:
    deepest = _cast("deep", deep)
    middle = _cast("sub", sub, deepest)
    casts = (_cast("helper", root, middle, deepest), middle, deepest)
    asyncio.run(_proven(casts, fates, who, answers))


async def _proven(casts: tuple[Cast, Cast, Cast], fates: list[tuple[int, bool]], who: str, answers: list[bool]) -> None:
    store = await _lived(casts, fates, who, answers)
    runs = await lawful(store) if store is not None else []
    if store is None or not runs:
        return
    await ran_at_most_once(store, *casts)
    newest = [run for run in runs if run.parent_run_id is None and run.successor_run_id is None]
    event(f"{newest[0].status}, {len(runs)} runs")
    if who == "nobody":
        assert newest[0].status is RunStatus.COMPLETED
        assert {run.cancellation_reason for run in runs} == {None}
    await _counted_once(store)


async def _counted_once(store: OwnedStore) -> None:
    """The root's total is the sum of all usage records of the session: each is there once and reached once."""
    page = await store.list_session_run_records(SESSION, limit=1000, types=[RecordType.USAGE])
    counted = [payload_of(record) for record in page.items]
    total = sum(each.input or 0 for each in counted if isinstance(each, UsageCounted))
    worker = Worker(store, Cast("nothing"))
    shot = await worker.runtime.snapshot(RUN)
    await worker.runtime.close()
    assert (shot.total_usage.input or 0) == total
