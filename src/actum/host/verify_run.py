"""Proofs of one run: its row against its records, and both against the runs around it."""

from dataclasses import dataclass, replace
from typing import Final

from actum.base.errors import DurableDataError, NotFound
from actum.base.value import Value
from actum.host.verify_history import standing
from actum.host.verify_reading import Reading, first_record, other_run, unread
from actum.host.verify_report import Check, Damage, Findings, Say
from actum.host.verify_transcript import TranscriptProof
from actum.lifecycle.states import ENGINE_CANCELED, SESSION_ENDED, Run, RunStatus, StartOutcome
from actum.records import kinds
from actum.records.record import Record
from actum.records.types import END_TYPES, RecordType
from actum.storage.contract import Store

# A run that moves while it is verified is read on so many times before it is judged as it was found.
_TRIES: Final = 5


@dataclass
class RunLog:
    """The facts of a run as its records tell them. A payload is None when it cannot be read.

    `unread` is what was said of the first that cannot be read; None when all of them can.
    """

    first: Record | None = None
    started: kinds.RunStarted | None = None
    intent: Record | None = None
    intended: kinds.CancellationIntent | None = None
    end: Record | None = None
    ended: kinds.RunCompleted | kinds.RunSuspended | None = None
    count: int = 0
    unread: str | None = None

    def read(self, record: Record, payload: Value | None, say: Say) -> None:
        """The next record."""
        self.count += 1
        if self.end is not None:
            say(Check.END, f"a record stands behind the run's end ({self.end.event_key!r})", record)
        if self.first is None:
            self.first = record
            self.started = payload if isinstance(payload, kinds.RunStarted) else None
        elif record.type == RecordType.RUN_STARTED:
            say(Check.START, "the run has a second start", record)
        if record.type == RecordType.CANCELLATION_INTENT:
            if self.intent is not None:
                say(Check.CANCELLATION, "the run has a second cancellation intent", record)
            self.intent = record
            self.intended = payload if isinstance(payload, kinds.CancellationIntent) else None
        if record.type in END_TYPES and self.end is None:
            self.end = record
            self.ended = payload if isinstance(payload, kinds.RunCompleted | kinds.RunSuspended) else None


def sayer(findings: Findings, session_id: str | None, run_id: str | None) -> Say:
    """Names a damage of this run."""

    def say(check: Check, says: str, record: Record | None) -> None:
        damage = Damage(check=check, says=says, session_id=session_id, run_id=run_id)
        if record is not None:
            damage = replace(damage, record_id=record.id, event_key=record.event_key)
        findings.add(damage)

    return say


async def verify_run(
    store: Store, run_id: str, session_id: str | None, digest: str, findings: Findings, *, alone: bool = False
) -> Run | None:
    """Everything that can be proved of this run; the run, or None when its row cannot be read.

    A record that cannot be read is named where its scope is read; for a run `alone`, whose scope is not read, here.
    """
    say = sayer(findings, session_id, run_id)
    run = await other_run(store, run_id, Check.START, "the run's row", say)
    if run is None:
        return None
    findings.runs += 1
    proof = await _proof(store, run, digest, say)
    log = RunLog()
    reading = Reading(lambda cursor, limit: store.list_run_records(run_id, cursor=cursor, limit=limit), digest)
    for _ in range(_TRIES):
        await _read_on(reading, log, proof, run, say)
        try:
            run = await store.load_run(run_id)
        except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
            say(Check.READING, f"the run's row cannot be read: {unread(error)}", None)
            break
        if _agree(run, log):
            break
    for passed in reading.passed:
        findings.partial.add(run_id)
        if alone:
            say(Check.READING, f"{passed.which(digest)} cannot be read: {passed.says}", None)
    _start(run, log, say)
    _end(run, log, say)
    _cancellation(run, log, say)
    _moment(run, log, say)
    stopped = run.start_outcome is StartOutcome.STOP
    proof.close(may_be_open=stopped or run.status in (RunStatus.RUNNING, RunStatus.SUSPENDED))
    await _neighbours(store, run, log, digest, say)
    return run


async def _proof(store: Store, run: Run, digest: str, say: Say) -> TranscriptProof:
    proof = TranscriptProof(say)
    if run.history is None:
        return proof
    before = await standing(store, run, digest, say)
    if before is None:
        proof.unreadable()
        return proof
    return TranscriptProof(say, before.tail, before.calls)


async def _read_on(reading: Reading, log: RunLog, proof: TranscriptProof, run: Run, say: Say) -> None:
    async for record in reading.records():
        _doubt(reading, log, proof)
        if (record.agent_id, record.session_id) != (run.agent_id, run.session_id):
            say(Check.START, "the record names another agent or session than its run", record)
        payload: Value | None = None
        try:
            decoded = kinds.payload_of(record)
            payload = decoded if isinstance(decoded, Value) else None
        except DurableDataError as error:
            say(Check.PAYLOAD, f"the payload of {record.type} cannot be read: {error.path}: {error.rule}", record)
            proof.undecoded(record)
        log.read(record, payload, say)
        if payload is not None:
            proof.read(payload, record)
    _doubt(reading, log, proof)


def _doubt(reading: Reading, log: RunLog, proof: TranscriptProof) -> None:
    """Once a row was passed by, nobody knows what it told: nothing is named that may only be missing with it."""
    if log.unread is None and reading.passed:
        log.unread = reading.passed[0].says
        proof.unreadable()


def _agree(run: Run, log: RunLog) -> bool:
    """Whether row and records were read at the same moment of the run's life, or are damaged for good."""
    reasoned = run.cancellation_reason is not None and run.start_outcome is not StartOutcome.STOP
    return (run.status is RunStatus.RUNNING) == (log.end is None) and reasoned == (log.intent is not None)


def _start(run: Run, log: RunLog, say: Say) -> None:
    first, started = log.first, log.started
    if first is None or first.type != RecordType.RUN_STARTED:
        if log.unread is None:
            say(Check.START, "the run's first record is not its run_started", first)
        else:
            say(Check.READING, f"the run's run_started cannot be read: {log.unread}", None)
        return
    if first.timestamp != run.started_at:
        says = f"the run began at {run.started_at.isoformat()}, its record says {first.timestamp.isoformat()}"
        say(Check.START, says, first)
    if started is None:
        return
    for name in ("parent_run_id", "predecessor_run_id", "history", "labels"):
        if getattr(run, name) != getattr(started, name):
            say(Check.START, f"the run's {name} is not the one of its run_started", first)


def _end(run: Run, log: RunLog, say: Say) -> None:
    end = log.end
    if run.status is RunStatus.RUNNING or end is None:
        if end is not None:
            say(Check.END, "the run's status is running, but its end record is stored", end)
        elif run.status is not RunStatus.RUNNING:
            say(Check.END, f"the run's status is {run.status}, but no end record proves it", None)
        elif run.ended_at is not None or run.end_record_id is not None:
            say(Check.END, "a running run has a time or a record of its end", None)
        return
    told = _status(end, log)
    if told is not None and told is not run.status:
        say(Check.END, f"the run's status is {run.status}, its end record says {told}", end)
    if run.end_record_id != end.id:
        say(Check.END, f"the run names {run.end_record_id!r} as its end record", end)
    if run.ended_at != end.timestamp:
        says = f"the run ended at {run.ended_at and run.ended_at.isoformat()}, its record says another time"
        say(Check.END, says, end)
    if isinstance(log.ended, kinds.RunCompleted) and log.ended.labels != run.labels:
        say(Check.END, "the labels of the end record are not the run's", end)


def _status(end: Record, log: RunLog) -> RunStatus | None:
    if end.type == RecordType.RUN_SUSPENDED:
        return RunStatus.SUSPENDED
    return RunStatus(log.ended.status) if isinstance(log.ended, kinds.RunCompleted) else None


def _cancellation(run: Run, log: RunLog, say: Say) -> None:
    """One of the three lawful histories: requested, session ended before the start, or stopped by the engine."""
    reason, ended = run.cancellation_reason, log.ended
    said = ended.cancellation.reason if isinstance(ended, kinds.RunCompleted) and ended.cancellation else None
    if run.start_outcome is StartOutcome.STOP:
        others = log.unread is None and log.count != 2  # noqa: PLR2004 - start and end, nothing else
        if others or (run.status, reason, said) != (RunStatus.CANCELED, SESSION_ENDED, SESSION_ENDED):
            says = "the run was stopped at its start, but is not canceled for session_ended by exactly two records"
            say(Check.CANCELLATION, says, log.end)
        return
    if log.intent is None and reason is not None:
        say(Check.CANCELLATION, f"the run's reason {reason!r} is proved by no cancellation intent", None)
    if log.intent is not None and reason is None:
        say(Check.CANCELLATION, "a cancellation intent is stored, but the run has no reason", log.intent)
    if log.intended is not None and reason is not None and log.intended.reason != reason:
        say(Check.CANCELLATION, f"the run's reason is {reason!r}, its intent says another", log.intent)
    if said is not None and said != (reason or ENGINE_CANCELED):
        says = f"the run ended canceled for {said!r}, but its reason is {reason or ENGINE_CANCELED!r}"
        say(Check.CANCELLATION, says, log.end)


def _moment(run: Run, log: RunLog, say: Say) -> None:
    if log.end is None and run.status is not RunStatus.RUNNING:
        return  # the record that would tell is missing, and named
    last = log.end or log.intent or (log.first if log.unread is None else None)
    if last is not None and run.updated_at != last.timestamp:
        say(Check.END, "the run's updated_at is not the time of its start, cancellation or end", last)


async def _neighbours(store: Store, run: Run, log: RunLog, digest: str, say: Say) -> None:
    stopped = run.start_outcome is StartOutcome.STOP
    if run.parent_run_id is not None:
        parent = await other_run(store, run.parent_run_id, Check.LINK, "the run's parent", say)
        if parent is not None and parent.session_id != run.session_id:
            say(Check.LINK, f"the run's parent {parent.run_id!r} belongs to another session", log.first)
    before = None
    if run.predecessor_run_id is not None:
        before = await other_run(store, run.predecessor_run_id, Check.CHAIN, "the run's predecessor", say)
    if run.predecessor_run_id is None or before is not None:
        chain = before.chain_id if before is not None else run.run_id
        if run.chain_id != chain:
            say(Check.CHAIN, f"the run's chain is {run.chain_id!r}, it should be {chain!r}", log.first)
    if before is not None and not stopped:
        _slot(before, run, log, say)
    follows = log.started.follows if log.started is not None else None
    if follows is not None and follows.supersede and follows.run_id is not None and not stopped:
        head = await other_run(store, follows.run_id, Check.CHAIN, "the run that this one supersedes", say)
        if head is not None and head.status is RunStatus.SUSPENDED:
            _slot(head, run, log, say)
    await _successor(store, run, digest, say)
    await _checkpoint(store, run, log, say)


def _slot(before: Run, run: Run, log: RunLog, say: Say) -> None:
    if before.status is not RunStatus.SUSPENDED:
        say(Check.CHAIN, f"the run goes on from {before.run_id!r}, which is {before.status}", log.first)
    elif before.successor_run_id != run.run_id:
        says = f"the run goes on from {before.run_id!r}, whose successor is {before.successor_run_id!r}"
        say(Check.CHAIN, says, log.first)


async def _successor(store: Store, run: Run, digest: str, say: Say) -> None:
    if run.successor_run_id is None:
        return
    after = await other_run(store, run.successor_run_id, Check.CHAIN, "the run's successor", say)
    if after is None:
        return
    if run.status is not RunStatus.SUSPENDED:
        say(Check.CHAIN, f"the run has a successor and is {run.status}; only a suspended run has one", None)
    if after.predecessor_run_id == run.run_id:
        return
    first = await first_record(store, after.run_id, digest)
    try:
        started = kinds.payload_of(first) if first is not None else None
    except DurableDataError:
        return  # named at the successor
    if not isinstance(started, kinds.RunStarted):
        return  # named there too
    follows = started.follows
    if follows is None or follows.run_id != run.run_id or not follows.supersede:
        say(Check.CHAIN, f"the run's successor {after.run_id!r} does not go on from it", None)


async def _checkpoint(store: Store, run: Run, log: RunLog, say: Say) -> None:
    if run.status is not RunStatus.SUSPENDED:
        return
    try:
        held = await store.load_run_suspension(run.run_id)
    except NotFound:
        say(Check.CHECKPOINT, "the run is suspended, but its checkpoint is missing", log.end)
        return
    except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
        say(Check.READING, f"the run's checkpoint cannot be read: {unread(error)}", log.end)
        return
    if isinstance(log.ended, kinds.RunSuspended) and held.suspension_id != log.ended.suspension_id:
        says = f"the checkpoint is {held.suspension_id!r}, the run's record names {log.ended.suspension_id!r}"
        say(Check.CHECKPOINT, says, log.end)
