"""What a store kept, read through its public lists, and whether it can be true.

`read_everything` pages through all that a store shows; `findings` says what cannot be: a gap, a record twice, a state
that no record proves, a link without its child. It needs no knowledge of how the data came to be, so it holds after
concurrent writers, after crashes and after any order of commands.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from actum.base.errors import ActumError, SuspensionNotFound
from actum.base.limits import PAGE_ITEMS
from actum.lifecycle.states import Run, RunStatus, Session, StartOutcome, Suspension
from actum.records.kinds import (
    CancellationIntent,
    ChildRunLinked,
    RunCompleted,
    RunStarted,
    RunSuspended,
    payload_of,
)
from actum.records.record import Page, Record, position_of, scope_digest
from actum.records.types import END_TYPES, RecordType
from actum.storage.contract import OwnedStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """All that a store shows. Scopes are named as `session s1` or `run r1`; all lists are in the store's order."""

    sessions: tuple[Session, ...]
    runs: tuple[Run, ...]
    records: Mapping[str, tuple[Record, ...]]
    checkpoints: Mapping[str, Suspension]

    def run(self, run_id: str) -> Run:
        """The run with this id."""
        return next(run for run in self.runs if run.run_id == run_id)

    def of(self, run: Run) -> tuple[Record, ...]:
        """The records of a run, in order."""
        return tuple(each for records in self.records.values() for each in records if each.run_id == run.run_id)


class Reads(Protocol[T]):
    """A list operation with everything but its cursor given."""

    def __call__(self, *, cursor: str | None) -> Awaitable[Page[T]]:
        """The page after the cursor."""
        ...


async def pages(read: Reads[T]) -> AsyncIterator[Page[T]]:
    """Every page of a list, until the store says that there is no more."""
    cursor: str | None = None
    while True:
        page = await read(cursor=cursor)
        yield page
        if not page.more:
            return
        cursor = page.cursor


async def all_items(read: Reads[T]) -> tuple[T, ...]:
    """Every item of a list."""
    return tuple([item async for page in pages(read) for item in page.items])


async def read_everything(store: OwnedStore) -> Kept:
    """Pages through all lists of a store that nobody writes to."""
    sessions = await all_items(lambda *, cursor: store.list_sessions(cursor=cursor, limit=PAGE_ITEMS))
    runs = await all_items(lambda *, cursor: store.find_runs(cursor=cursor, limit=PAGE_ITEMS))
    records: dict[str, tuple[Record, ...]] = {}
    for session in sessions:
        records[f"session {session.session_id}"] = await all_items(_session_records(store, session.session_id))
    for run in runs:
        if run.session_id is None and run.parent_run_id is None:
            records[f"run {run.run_id}"] = await all_items(_tree_records(store, run.run_id))
    return Kept(sessions=sessions, runs=runs, records=records, checkpoints=await _checkpoints(store, runs))


def _session_records(store: OwnedStore, session_id: str) -> Reads[Record]:
    return lambda *, cursor: store.list_session_run_records(session_id, cursor=cursor, limit=PAGE_ITEMS)


def _tree_records(store: OwnedStore, run_id: str) -> Reads[Record]:
    return lambda *, cursor: store.list_scope_records(run_id, cursor=cursor, limit=PAGE_ITEMS)


async def _checkpoints(store: OwnedStore, runs: tuple[Run, ...]) -> dict[str, Suspension]:
    found = {}
    for run in runs:
        try:
            found[run.run_id] = await store.load_run_suspension(run.run_id)
        except SuspensionNotFound:
            if run.status is RunStatus.SUSPENDED:
                raise
    return found


def findings(kept: Kept) -> list[str]:
    """Everything in `kept` that cannot be true; empty for a sound store."""
    checks: tuple[Callable[[Kept], Iterator[str]], ...] = (_order, _identity, _proofs, _links, _chains, _heads)
    return [finding for check in checks for finding in check(kept)]


def lost(kept: Kept, acknowledged: Mapping[tuple[str, str], str]) -> list[str]:
    """Which acknowledged records, given as (run, event key) and record id, the store does not show as acknowledged."""
    shown = {(each.run_id, each.event_key): each.id for records in kept.records.values() for each in records}
    return [
        f"run {run_id}, key {key}: acknowledged as {record_id}, kept as {shown.get((run_id, key))}"
        for (run_id, key), record_id in acknowledged.items()
        if shown.get((run_id, key)) != record_id
    ]


def _order(kept: Kept) -> Iterator[str]:
    """Positions of a scope are 1, 2, 3 and so on, without a gap."""
    for scope, records in kept.records.items():
        kind, _, name = scope.partition(" ")
        digest = scope_digest(
            session_id=name if kind == "session" else None, root_run_id=name if kind == "run" else None
        )
        positions = [position_of(each.id, digest) for each in records]
        if positions != list(range(1, len(records) + 1)):
            yield f"{scope}: positions are {positions}"


def _identity(kept: Kept) -> Iterator[str]:
    """One record for a run and an event key, one run for an id, and every record belongs to a run of its scope."""
    keys = Counter((each.run_id, each.event_key) for records in kept.records.values() for each in records)
    yield from (f"record {key} is kept {times} times" for key, times in keys.items() if times > 1)
    ids = Counter(run.run_id for run in kept.runs)
    yield from (f"run {run_id} is kept {times} times" for run_id, times in ids.items() if times > 1)
    runs = {run.run_id: run for run in kept.runs}
    for scope, records in kept.records.items():
        for each in records:
            owner = runs.get(each.run_id)
            if owner is None:
                yield f"{scope}: record {each.event_key} belongs to no run"
            elif (owner.agent_id, owner.session_id) != (each.agent_id, each.session_id):
                yield f"{scope}: record {each.event_key} names another agent or session than its run {each.run_id}"


def _proofs(kept: Kept) -> Iterator[str]:
    """A run's state is what its records say, and nothing else."""
    for run in kept.runs:
        records = kept.of(run)
        starts = [each for each in records if each.type == RecordType.RUN_STARTED]
        ends = [each for each in records if each.type in END_TYPES]
        intents = [each for each in records if each.type == RecordType.CANCELLATION_INTENT]
        if len(starts) != 1 or len(ends) > 1 or len(intents) > 1:
            yield f"run {run.run_id}: {len(starts)} starts, {len(ends)} ends, {len(intents)} cancellations"
            continue
        if records[0] != starts[0] or (ends and records[-1] != ends[0]):
            yield f"run {run.run_id}: a record stands before its start or after its end"
        yield from _proved_start(run, starts[0])
        yield from _proved_end(run, ends[0] if ends else None, intents[0] if intents else None)
        moments = [starts[0].timestamp, *(each.timestamp for each in (*intents, *ends))]
        if run.updated_at not in moments[-2:]:
            yield f"run {run.run_id}: updated_at is no time of a change"
        if (run.status is RunStatus.SUSPENDED) != (run.run_id in kept.checkpoints):
            yield f"run {run.run_id}: is {run.status} and its checkpoint says otherwise"


def _proved_start(run: Run, start: Record) -> Iterator[str]:
    says = payload_of(start)
    assert isinstance(says, RunStarted)
    told = (says.parent_run_id, says.predecessor_run_id, says.history, says.labels, start.timestamp)
    if told != (run.parent_run_id, run.predecessor_run_id, run.history, run.labels, run.started_at):
        yield f"run {run.run_id}: its start record says otherwise"


def _proved_end(run: Run, end: Record | None, intent: Record | None) -> Iterator[str]:
    if end is None:
        if run.status is not RunStatus.RUNNING or run.ended_at or run.end_record_id:
            yield f"run {run.run_id}: is {run.status} without an end record"
        ended_for = None
    else:
        says = payload_of(end)
        status = says.status if isinstance(says, RunCompleted) else "suspended"
        if (status, end.id, end.timestamp) != (run.status, run.end_record_id, run.ended_at):
            yield f"run {run.run_id}: is {run.status}, its end record says {status}"
        ended_for = says.cancellation.reason if isinstance(says, RunCompleted) and says.cancellation else None
        if isinstance(says, RunSuspended) and intent is not None:
            yield f"run {run.run_id}: suspended after its cancellation was recorded"
    asked = payload_of(intent) if intent else None
    reason = asked.reason if isinstance(asked, CancellationIntent) else None
    stopped = run.start_outcome is StartOutcome.STOP
    # The three lawful histories: a request keeps its reason to the end, a stop has no request, an engine neither.
    stored = "session_ended" if stopped else reason
    if run.cancellation_reason != stored:
        yield f"run {run.run_id}: cancellation reason {run.cancellation_reason!r}, its records say {stored!r}"
    if ended_for is not None and ended_for != (stored or "engine_canceled"):
        yield f"run {run.run_id}: canceled for {ended_for!r}, its request says {stored!r}"
    if stopped and (run.status is not RunStatus.CANCELED or intent is not None):
        yield f"run {run.run_id}: stopped at its start, and yet {run.status}"


def _links(kept: Kept) -> Iterator[str]:
    """Every child is linked once on its parent, and every link has its child, in one scope."""
    linked: dict[str, list[Record]] = {}
    for records in kept.records.values():
        for each in records:
            if each.type == RecordType.CHILD_RUN_LINKED:
                says = payload_of(each)
                assert isinstance(says, ChildRunLinked)
                linked.setdefault(says.child_run_id, []).append(each)
    for run in kept.runs:
        links = linked.pop(run.run_id, [])
        if [each.run_id for each in links] != ([run.parent_run_id] if run.parent_run_id else []):
            yield f"run {run.run_id}: its parent is {run.parent_run_id}, linked by {[each.run_id for each in links]}"
        says = payload_of(links[0]) if links else None
        if isinstance(says, ChildRunLinked) and (says.tool_call_id, says.child_agent_id) != (
            run.tool_call_id,
            run.agent_id,
        ):
            yield f"run {run.run_id}: its link names another call or agent"
    yield from (f"run {run_id}: linked, and not there" for run_id in linked)


def _chains(kept: Kept) -> Iterator[str]:
    """Predecessor and successor name each other, or the successor supersedes; a continuation shares its chain."""
    runs = {run.run_id: run for run in kept.runs}
    taken: Counter[str] = Counter()
    for run in kept.runs:
        if run.successor_run_id is not None:
            taken[run.successor_run_id] += 1
            after = runs.get(run.successor_run_id)
            if after is None or run.status is not RunStatus.SUSPENDED:
                yield f"run {run.run_id}: is {run.status} and its successor is {run.successor_run_id}"
        before = runs.get(run.predecessor_run_id or "")
        if run.start_outcome is StartOutcome.PROCEED:
            if before is not None and before.successor_run_id != run.run_id:
                yield f"run {run.run_id}: its predecessor {before.run_id} goes on in {before.successor_run_id}"
            chain = before.chain_id if before is not None else run.run_id
            if run.chain_id != chain:
                yield f"run {run.run_id}: its chain is {run.chain_id}, and should be {chain}"
    yield from (f"run {run_id}: took {slots} successor slots" for run_id, slots in taken.items() if slots > 1)


def _heads(kept: Kept) -> Iterator[str]:
    """A head is a root run of its session that was allowed to go on, and its history is final."""
    runs = {run.run_id: run for run in kept.runs}
    for session in kept.sessions:
        head = runs.get(session.head_run_id or "")
        if session.head_run_id is not None and (head is None or head.session_id != session.session_id):
            yield f"session {session.session_id}: its head {session.head_run_id} is not its run"
        elif head is not None and (head.parent_run_id is not None or head.start_outcome is StartOutcome.STOP):
            yield f"session {session.session_id}: its head {head.run_id} is a child, or never went on"
    for run in kept.runs:
        if run.history is None or run.start_outcome is StartOutcome.STOP:
            continue
        past = runs.get(run.history.run_id)
        if past is None or past.end_record_id != run.history.through:
            yield f"run {run.run_id}: its history is {run.history}, which is not there"


async def outcome(awaited: Awaitable[T]) -> T | ActumError:
    """The answer of a call, or the typed error in its place."""
    try:
        return await awaited
    except ActumError as error:
        return error
