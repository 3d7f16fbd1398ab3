"""Situations in which a promise is tried, and the frame that proves a refusal wrote nothing."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar, cast

import pytest

from actum.base.errors import ContractError
from actum.base.value import replace
from actum.lifecycle import commands as c
from actum.lifecycle.states import Run, RunStatus
from actum.records.record import NewRecord
from actum.storage.contract import OwnedStore, Store
from actum.testing import samples
from actum.testing.history import findings, read_everything

E = TypeVar("E", bound=ContractError)


@asynccontextmanager
async def refused(store: OwnedStore, *kinds: type[E]) -> AsyncIterator[pytest.ExceptionInfo[E]]:
    """What is done inside raises one of these errors and leaves every read as it was."""
    before = await read_everything(store)
    with pytest.raises(kinds) as caught:
        yield caught
    assert await read_everything(store) == before


@asynccontextmanager
async def unchanged(store: OwnedStore) -> AsyncIterator[None]:
    """What is done inside succeeds and leaves every read as it was."""
    before = await read_everything(store)
    yield
    assert await read_everything(store) == before


async def sound(store: OwnedStore) -> None:
    """Everything that the store shows can be true."""
    assert findings(await read_everything(store)) == []


async def session(store: OwnedStore, session_id: str = "s1", *, tenant: str | None = None) -> str:
    """An active session; nothing happens when it is there already."""
    await store.create_session(session_id, samples.T0, tenant=tenant)
    return session_id


async def running(
    store: OwnedStore, run_id: str = "r1", session_id: str = "s1", *, labels: Mapping[str, str] | None = None
) -> Run:
    """A running side run of an active session."""
    await session(store, session_id)
    return (await store.start_root_run(samples.root(run_id, session_id, labels=labels))).run


async def suspended(
    store: OwnedStore, run_id: str = "r1", session_id: str = "s1", *, kinds: tuple[str, ...] = ("confirmation",)
) -> Run:
    """A suspended side run of an active session."""
    run = await running(store, run_id, session_id)
    return (await store.record_run_suspension(samples.suspension(run, kinds=kinds))).run


async def ended(
    store: OwnedStore, run_id: str = "r1", session_id: str = "s1", *, status: RunStatus = RunStatus.COMPLETED
) -> Run:
    """A side run of an active session, at its end."""
    run = await running(store, run_id, session_id)
    return await end(store, run, status)


async def end(store: OwnedStore, run: Run, status: RunStatus = RunStatus.COMPLETED) -> Run:
    """The run comes to this end; canceled by its engine, when it is canceled."""
    if status is RunStatus.SUSPENDED:
        return (await store.record_run_suspension(samples.suspension(run))).run
    reason = (run.cancellation_reason or "engine_canceled") if status is RunStatus.CANCELED else None
    return (await store.record_run_terminal(samples.ending(run, status, reason=reason))).run


async def canceling(store: OwnedStore, run_id: str = "r1", reason: str = "user_requested") -> Run:
    """A running run whose cancellation is recorded."""
    run = await running(store, run_id)
    return (await store.record_run_cancellation(samples.cancellation(run, reason))).run


async def over(store: OwnedStore, session_id: str = "s1") -> str:
    """A session that has ended."""
    await session(store, session_id)
    await store.end_session(session_id, samples.at(60))
    return session_id


async def head(store: OwnedStore, run_id: str = "h1", session_id: str = "s1") -> Run:
    """A running run that is its session's head."""
    await session(store, session_id)
    return (await store.start_root_run(samples.following(run_id, None, session_id))).run


async def head_of(store: OwnedStore, session_id: str = "s1") -> str | None:
    """Which run the conversation goes on from."""
    return (await store.load_session(session_id)).head_run_id


async def one_shot(store: OwnedStore, run_id: str = "o1", *, tenant: str | None = None) -> Run:
    """A running one-shot run."""
    return (await store.start_one_shot_run(samples.one_shot(run_id, tenant=tenant))).run


async def kept_keys(store: OwnedStore, run: samples.AnyRun) -> list[str]:
    """The event keys of a run's records, in order."""
    page = await store.list_run_records(samples.told(run).run_id, limit=1000)
    assert not page.more
    return [each.event_key for each in page.items]


async def execute(store: Store, command: c.Command) -> c.Result:
    """Any command, where the test does not know which."""
    # A union of operations has a union of answers, which the type of `execute` cannot say.
    return await store.execute(cast("c.Operation[c.Result]", command))


def same_answer(first: c.Result, again: c.Result) -> bool:
    """Whether a repeat gave the first answer: the same ids and outcome, and nothing inserted."""
    firsts, agains = list(appended(first)), list(appended(again))
    outcomes = [each.outcome for each in (first, again) if isinstance(each, c.Started)]
    return (
        [each.id for each in firsts] == [each.id for each in agains]
        and not any(each.inserted for each in agains)
        and len(set(outcomes)) <= 1
    )


def appended(result: c.Result) -> tuple[c.Appended, ...]:
    """Every record that an answer speaks of."""
    match result:
        case tuple():
            return result
        case c.Started():
            proofs = (result.linked, result.started, result.canceled)
            return (*(each for each in proofs if each), *result.records)
        case c.Changed():
            return (result.record, *result.records)
        case c.Repaired():
            return (*((result.record,) if result.record else ()), *result.records)
        case _:
            return ()


def with_records(start: c.RootRunStart, *records: NewRecord) -> c.RootRunStart:
    """The start with these records beside it."""
    return replace(start, records=records)
