"""Trees of runs: what a session with parents, children and continuations proves as a whole."""

from collections import Counter, defaultdict

from actum.host.verify import verify
from actum.lifecycle.states import Run, RunStatus, StartOutcome
from actum.records.kinds import ChildRunLinked, payload_of
from actum.records.record import Record
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore
from actum.testing.history import all_items, findings, read_everything
from actum.transcript.validate import open_calls, validate_planner_transcript
from tests.support.runlogs import log_of, never_poisoned
from tests.support.scenario import SESSION, Cast


async def runs_of(store: OwnedStore, session_id: str = SESSION) -> list[Run]:
    """All runs of the session."""
    return list(await all_items(lambda *, cursor: store.list_runs(session_id, cursor=cursor, limit=1000)))


async def lawful(store: OwnedStore, session_id: str = SESSION, *, finished: bool = True) -> list[Run]:
    """The session's runs, after every law was tried on each of them.

    No log is poisoned at any prefix; whoever went on and ended has answers to all its calls, and its children ended
    before it did; `verify` finds nothing. With `finished` no run is left running.
    """
    assert findings(await read_everything(store)) == []
    runs = await runs_of(store, session_id)
    for run in runs:
        log = await log_of(store, run.run_id)
        never_poisoned(log)
        ends = log.types[RecordType.RUN_COMPLETED] + log.types[RecordType.RUN_SUSPENDED]
        assert ends == (run.status is not RunStatus.RUNNING)
        assert not finished or run.status is not RunStatus.RUNNING
        # A stopped run has no transcript of its own: reading it gives its history, open where that was suspended.
        went_on = run.start_outcome is StartOutcome.PROCEED
        if went_on and run.status not in (RunStatus.RUNNING, RunStatus.SUSPENDED):
            validate_planner_transcript(log.messages)
            assert open_calls(log.messages) == ()
    records = await all_items(lambda *, cursor: store.list_session_run_records(session_id, cursor=cursor, limit=1000))
    _children_end_first(records)
    report = await verify(store)
    assert report.damages == ()
    return runs


async def ran_at_most_once(store: OwnedStore, *casts: Cast) -> None:
    """No tool of these casts ran twice for one call, over all runs of that call's chain."""
    for cast in casts:
        times = Counter[tuple[str, str]]()
        for context in cast.contexts:
            run = await store.load_run(context.run_id)
            times[(run.chain_id, context.tool_call_id)] += 1
        assert [call for call, count in times.items() if count > 1] == []


def _children_end_first(records: tuple[Record, ...]) -> None:
    children: dict[str, list[str]] = defaultdict(list)
    ended: set[str] = set()
    for record in records:
        payload = payload_of(record)
        if isinstance(payload, ChildRunLinked):
            children[record.run_id].append(payload.child_run_id)
        if record.type in (RecordType.RUN_COMPLETED, RecordType.RUN_SUSPENDED):
            ended.add(record.run_id)
            assert [each for each in children[record.run_id] if each not in ended] == []
