"""Ends that are certain: cancellation of a run with everything below it, and runs brought to the end that they lack."""

from dataclasses import dataclass

from actum.base.clock import Clock
from actum.base.errors import (
    CancellationConflict,
    DurableDataError,
    RecordNotFound,
    RunCorrupt,
    RunNotReady,
    RunNotRunning,
)
from actum.base.limits import PAGE_ITEMS
from actum.engines.contract import Engine, RecoveryPolicy
from actum.lifecycle.commands import RunCancellation
from actum.lifecycle.states import Run, RunStatus
from actum.loop import keys
from actum.records.kinds import ChildRunLinked, payload_of
from actum.records.record import Record
from actum.records.types import RecordType
from actum.runtime.children import cancel, intent
from actum.runtime.ledger import Ledger
from actum.runtime.output import RunOutput, output_of, read_journal


@dataclass(frozen=True)
class Ensuring:
    """What runs are canceled and ended with."""

    ledger: Ledger
    engine: Engine
    clock: Clock

    async def cancel(self, run_id: str, reason: str, by: str | None) -> None:
        """Stores the reason on the run, then on every running run below it, then tells the loops.

        From the top down: once a run's reason is stored no new child of it can begin, so none is missed. Each run below
        keeps an earlier reason of its own. Raises CancellationConflict, RunNotRunning, RunNotFound.
        """
        store = self.ledger.store
        run = await store.load_run(run_id)
        record = intent(run, reason, by, self.clock.now())
        try:
            await self.ledger.cancel(run, RunCancellation(run_id=run_id, reason=reason, record=record))
        except (CancellationConflict, RunNotRunning):
            stored = (await store.load_run(run_id)).cancellation_reason
            if stored != reason:
                raise
        told = [run_id]
        for parent_id in told:  # grows while it is read
            for child in await self._running_children(parent_id):
                await cancel(self.ledger, child, reason, self.clock, by=by)
                told.append(child.run_id)
        for each in told:
            await self.engine.cancel(each, reason)

    async def completion(self, run_id: str, policy: RecoveryPolicy) -> RunOutput:
        """The run's end, stored by now, and told once more to those who watch."""
        store = self.ledger.store
        try:
            await self.engine.ensure(run_id, policy)
            run = await store.load_run(run_id)
            journal = await read_journal(store, run_id)
        except DurableDataError as error:
            raise RunCorrupt(run_id=run_id, reason=str(error)) from error
        if run.status is RunStatus.RUNNING:
            raise RunNotReady(run_id=run_id)
        if journal.ended is None and journal.suspended is None:
            raise RunCorrupt(run_id=run_id, reason=f"the run is {run.status} and no record says so")
        self.ledger.stored(run_id, run.session_id)
        return output_of(run.run_id, run.status, journal)

    async def child_link(self, run_id: str) -> Record:
        """The record with which the child's parent names it; told once more to those who watch."""
        store = self.ledger.store
        child = await store.load_run(run_id)
        if child.parent_run_id is None or child.tool_call_id is None:
            raise RunCorrupt(run_id=run_id, reason="the run has no parent, so there is no link to it")
        try:
            record = await store.load_run_record(child.parent_run_id, keys.child(child.tool_call_id))
        except RecordNotFound as error:
            raise RunCorrupt(run_id=run_id, reason=f"run {child.parent_run_id!r} has no link to it") from error
        linked = payload_of(record)
        if not isinstance(linked, ChildRunLinked) or linked.child_run_id != run_id:
            raise RunCorrupt(run_id=run_id, reason=f"run {child.parent_run_id!r} names another child for its call")
        self.ledger.stored(child.parent_run_id, child.session_id)
        return record

    async def settle(self, session_id: str, policy: RecoveryPolicy) -> tuple[RunOutput, ...]:
        """The ends of all runs of a session that had none, parents before their children."""
        store = self.ledger.store
        running: list[Run] = []
        cursor: str | None = None
        more = True
        while more:
            page = await store.list_runs(session_id, statuses=[RunStatus.RUNNING], cursor=cursor, limit=PAGE_ITEMS)
            running += page.items
            cursor, more = page.cursor, page.more
        ended: list[RunOutput] = []
        busy: RunNotReady | None = None
        for run in sorted(running, key=lambda each: each.parent_run_id is not None):
            try:
                ended.append(await self.completion(run.run_id, policy))
            except RunNotReady as error:
                busy = busy or error
        if busy is not None:
            raise busy
        return tuple(ended)

    async def _running_children(self, run_id: str) -> list[Run]:
        store = self.ledger.store
        found: list[Run] = []
        cursor: str | None = None
        more = True
        while more:
            page = await store.list_run_records(
                run_id, cursor=cursor, limit=PAGE_ITEMS, types=[RecordType.CHILD_RUN_LINKED]
            )
            links = [payload_of(record) for record in page.items]
            runs = [await store.load_run(each.child_run_id) for each in links if isinstance(each, ChildRunLinked)]
            found += [run for run in runs if run.status is RunStatus.RUNNING]
            cursor, more = page.cursor, page.more
        return found
