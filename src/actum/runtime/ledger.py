"""What a runtime knows of its runs: identities, journals, and how a record of a run is made."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from actum.base.clock import Clock
from actum.base.errors import RunNotRunning
from actum.base.limits import PAGE_ITEMS
from actum.lifecycle.commands import Appended, RunCancellation, RunSuspension, RunTerminal
from actum.lifecycle.states import Run, RunStatus, SessionStatus, StartOutcome
from actum.lifecycle.stops import reason_to_stop
from actum.loop import keys
from actum.loop.journal import Journal
from actum.loop.world import Stop
from actum.planning.history import Summary
from actum.planning.planner import ModelUsage, PlanResult, Unfinished
from actum.planning.policy import Terms
from actum.records import makers
from actum.records.kinds import HistoryCompressed, PolicyDecision, PromptRendered
from actum.records.record import NewRecord, Record, following
from actum.records.types import RecordType
from actum.runtime.inherit import inherit
from actum.runtime.transcripts import Placed
from actum.storage.contract import SessionAdmin, Store
from actum.tools.call import ToolOutcome

_STATUS = {"completed": RunStatus.COMPLETED, "failed": RunStatus.FAILED, "canceled": RunStatus.CANCELED}


@dataclass(eq=False)
class Try:
    """An attempt of this process at a call, the `number`th: its record, whether its tool was begun, what came of it.

    `again` says that another attempt follows, and that the outcome counts only where that does not come about.
    """

    attempt: str
    started: NewRecord
    number: int = 1
    begun: bool = False
    again: bool = False
    outcome: ToolOutcome | None = None
    took_ms: int = 0


@dataclass(eq=False)
class Draft:
    """What belongs to a plan beside the planner's answer: the terms that it was made under and what policies decided.

    `rendered` are the prompts that it used, `spent` is what asking cost that came to nothing, and `unfinished` what
    there was of an answer when the plan was stopped.
    """

    terms: Terms = Terms()  # noqa: RUF009 - a frozen value
    decisions: list[PolicyDecision] = field(default_factory=list)
    rendered: list[PromptRendered] = field(default_factory=list)
    spent: list[ModelUsage] = field(default_factory=list)
    unfinished: Unfinished | None = None
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class OpenRun:
    """A run that is worked on here: its identity and its journal, read on by one reader at a time.

    `plans`, `drafts`, `summaries` (by step) and `tries` (by call) hold what was done here and may not be stored yet: a
    write that failed is repeated, the model call or the tool before it is not. `placed_before` is what the run goes
    on from, once that was read whole, and `summary_before` its newest summary, once somebody `looked_back` for it.
    `metadata` is the session's, as the newest plan saw it. `current` says that the journal has all that was stored
    until this process's own last write, and that nobody has asked since.
    """

    run: Run
    journal: Journal
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    plans: dict[int, PlanResult] = field(default_factory=dict)
    tries: dict[str, Try] = field(default_factory=dict)
    drafts: dict[int, Draft] = field(default_factory=dict)
    summaries: dict[int, Summary] = field(default_factory=dict)
    placed_before: Placed | None = None
    summary_before: HistoryCompressed | None = None
    looked_back: bool = False
    metadata: dict[str, str] | None = None
    current: bool = False

    @property
    def ended(self) -> RunStatus | None:
        """The status of the run's end, once the journal has read it."""
        if self.journal.suspended is not None:
            return RunStatus.SUSPENDED
        return _STATUS[self.journal.ended.status] if self.journal.ended is not None else None


class Ledger:
    """The journals of the runs that are open here: what is stored is read on, and what was read is kept folded.

    What this process itself has just stored, with nothing of others before it, need not be read. `stored` hears, with
    run and session, of each write that was made here, and of a run that is over here.
    """

    def __init__(self, store: Store, clock: Clock, stored: Callable[[str, str | None], None]) -> None:
        self.store = store
        self.stored = stored
        self._clock = clock
        self._open: dict[str, OpenRun] = {}

    async def open(self, run_id: str) -> OpenRun:
        """The run, read up to this moment. Raises RunNotFound, RunPurged."""
        known = self._open.get(run_id)
        if known is None:
            run = await self.store.load_run(run_id)
            journal = Journal(run_id)
            if run.predecessor_run_id is not None and run.start_outcome is StartOutcome.PROCEED:
                await inherit(self.store, journal, run.predecessor_run_id)
            known = self._open.setdefault(run_id, OpenRun(run, journal))
        async with known.reading:
            while True:
                page = await self.store.list_run_records(run_id, cursor=known.journal.cursor, limit=PAGE_ITEMS)
                known.journal.read(page.items, page.cursor)
                if not page.more:
                    return known

    async def resume(self, run_id: str) -> OpenRun:
        """The run, read up to this process's last write where nobody has asked since then, else up to this moment.

        Whatever others stored after that write is met by the next one, whose answer or conflict tells.
        """
        known = self._open.get(run_id)
        if known is not None and known.current:
            known.current = False
            return known
        return await self.open(run_id)

    def adopt(self, run: Run, records: Sequence[NewRecord], answers: Sequence[Appended]) -> None:
        """A run that this process has just started, with its own records in their order and the store's answers."""
        here = OpenRun(run, Journal(run.run_id))
        if run.run_id not in self._open and run.predecessor_run_id is None and _fold(here, records, answers):
            self._open[run.run_id] = here

    def forget(self, run_id: str) -> None:
        """The run is over here."""
        known = self._open.pop(run_id, None)
        if known is not None:
            self.stored(run_id, known.run.session_id)

    async def session(self, here: OpenRun) -> tuple[SessionStatus | None, dict[str, str]]:
        """How the run's session stands, with its metadata where the store may tell it; nothing for a one-shot run."""
        session_id = here.run.session_id
        here.metadata = {}
        if session_id is None:
            return None, here.metadata
        if isinstance(self.store, SessionAdmin):
            session = await self.store.load_session(session_id)
            here.metadata = session.metadata
            return session.status, here.metadata
        return await self.store.load_session_status(session_id), here.metadata

    def is_open(self, run_id: str) -> bool:
        """Whether the run is worked on here."""
        return run_id in self._open

    async def append(self, here: OpenRun, records: Sequence[NewRecord]) -> tuple[Appended, ...]:
        """Stores ordinary records of the run."""
        here.current = False
        answers = await self.store.append_run_records(records)
        _fold(here, records, answers)
        self.stored(here.run.run_id, here.run.session_id)
        return answers

    async def cancel(self, run: Run, cancellation: RunCancellation) -> None:
        """Stores the reason why the run shall stop."""
        await self.store.record_run_cancellation(cancellation)
        self.stored(run.run_id, run.session_id)

    async def suspend(self, here: OpenRun, suspension: RunSuspension) -> None:
        """Stores the run's checkpoint, and that it waits."""
        await self.store.record_run_suspension(suspension)
        self.stored(here.run.run_id, here.run.session_id)

    async def end(self, here: OpenRun, terminal: RunTerminal) -> None:
        """Stores the run's end."""
        await self.store.record_run_terminal(terminal)
        self.stored(here.run.run_id, here.run.session_id)

    def now(self) -> datetime:
        """The present instant."""
        return self._clock.now()

    def record(self, here: OpenRun, key: str, kind: str, payload: bytes) -> NewRecord:
        """A new record of this run, at this moment, of the run's turn."""
        return NewRecord(
            event_key=key,
            run_id=here.run.run_id,
            agent_id=here.run.agent_id,
            session_id=here.run.session_id,
            turn_id=here.journal.turn_id,
            type=kind,
            payload=payload,
            timestamp=self._clock.now(),
        )


def _fold(here: OpenRun, records: Sequence[NewRecord], answers: Sequence[Appended]) -> bool:
    """Reads what was just stored into the journal, if it follows at once what was read before, and nobody reads now.

    A journal that has read nothing begins with the run's start, before which there is nothing of it.
    """
    before = here.journal.cursor
    ids = [each.id for each in answers]
    behind = ids if before is not None else ids[1:]
    if here.reading.locked() or not ids or not all(each.inserted for each in answers):
        return False
    if behind != following(before if before is not None else ids[0], len(behind)):
        return False
    stored = [
        Record(
            id=answer.id,
            event_key=given.event_key,
            run_id=given.run_id,
            agent_id=given.agent_id,
            session_id=given.session_id,
            turn_id=given.turn_id,
            type=given.type,
            payload=given.payload,
            timestamp=given.timestamp,
        )
        for given, answer in zip(records, answers, strict=True)
    ]
    here.journal.read(stored, ids[-1])
    here.current = True
    return True


def no_plan(ledger: Ledger, here: OpenRun, why: str) -> NewRecord:
    """Takes the place of the next plan, for an end that is not a plan itself.

    The end closes the calls that its journal shows. A plan that another worker stores after that reading would bring
    open calls that nobody closes; holding its key makes the two collide, and the end is decided again.
    """
    step = len(here.journal.plans)
    payload = makers.policy_decision(rule="one_end", decision="no_plan", reason=f"plan {step} is not made: {why}")
    return ledger.record(here, keys.plan(step), RecordType.POLICY_DECISION, payload)


def stop_of(*answers: Appended) -> Stop | None:
    """Why the loop shall start nothing more, as the store's answers tell: every write looks."""
    for answer in answers:
        reason = reason_to_stop(answer.cancellation_reason, answer.session_status)
        if reason is not None:
            return Stop(reason=reason)
    return None


def not_running(here: OpenRun) -> RunNotRunning:
    """The error for a step of a run that has ended."""
    return RunNotRunning(run_id=here.run.run_id, status=here.ended or here.run.status)
