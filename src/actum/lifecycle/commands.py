"""One value per operation: all that a caller must repeat on a retry, and what it gets back."""

from enum import StrEnum
from typing import Generic, Literal, TypeAlias, TypeVar

from actum.base.checks import Count, Identifier, Instant, Labels, Reason
from actum.base.value import Value
from actum.lifecycle.states import Run, RunStatus, Session, SessionStatus, StartOutcome, Suspension
from actum.records.record import Follows, HistoryRef, NewRecord

R = TypeVar("R")


class Operation(Value, Generic[R]):
    """A command whose answer is an `R`."""


class Appended(Value):
    """A record's id, whether this command stored it, and what the same transaction saw of its run."""

    id: str
    inserted: bool
    session_status: SessionStatus | None = None
    cancellation_reason: str | None = None


class Started(Value):
    """A start's answer: the original outcome, also when repeated. `records` is empty when the start stopped."""

    run: Run
    outcome: StartOutcome
    started: Appended
    linked: Appended | None = None
    canceled: Appended | None = None
    records: tuple[Appended, ...] = ()


class Changed(Value):
    """The answer of a cancellation, a suspension or an end."""

    run: Run
    record: Appended
    records: tuple[Appended, ...] = ()


class RepairResult(StrEnum):
    """What a repair found."""

    STORED = "stored"
    ALREADY_STORED = "already_stored"
    DIFFERENT_TERMINAL = "different_terminal"


class Repaired(Value):
    """A repair's answer. `record` is None when another end owns the run."""

    result: RepairResult
    run: Run
    record: Appended | None = None
    records: tuple[Appended, ...] = ()


class Taken(Value):
    """Whether the run is now owned by the caller, and who owns it."""

    taken: bool
    owner: str | None = None


class ScopeBehind(Value):
    """A scope that a consumer has not handled to its end: from `position` (exclusive) to `last`."""

    session_id: str | None = None
    root_run_id: str | None = None
    position: int
    last: int


class RunStart(Value):
    """The immutable identity of a run, and its first owner. `tenant` is for one-shot roots only; others inherit theirs.

    `owner` is who drives the run from its first moment. It is no part of the identity: a repeat leaves the owner as it
    is now, and its answer tells who that is.
    """

    run_id: Identifier
    agent_id: Identifier
    session_id: Identifier | None = None
    tenant: Identifier | None = None
    parent_run_id: Identifier | None = None
    predecessor_run_id: Identifier | None = None
    history: HistoryRef | None = None
    follows: Follows | None = None
    started_at: Instant
    labels: Labels = {}
    owner: Identifier | None = None


class RootRunStart(Operation[Started]):
    """A run of a session. `canceled` is stored in place of `records` when the session has ended."""

    run: RunStart
    started: NewRecord
    canceled: NewRecord
    records: tuple[NewRecord, ...] = ()


class ChildRunStart(Operation[Started]):
    """A run that answers a tool use of another run of its session."""

    run: RunStart
    parent_linked: NewRecord
    started: NewRecord
    canceled: NewRecord
    records: tuple[NewRecord, ...] = ()


class OneShotRunStart(Operation[Started]):
    """A run without a session."""

    run: RunStart
    started: NewRecord
    records: tuple[NewRecord, ...] = ()


class OneShotChildRunStart(Operation[Started]):
    """A run that answers a tool use of a run without a session."""

    run: RunStart
    parent_linked: NewRecord
    started: NewRecord
    records: tuple[NewRecord, ...] = ()


class AppendRunRecords(Operation[tuple[Appended, ...]]):
    """Ordinary records of one run, all or none."""

    records: tuple[NewRecord, ...]


class RunCancellation(Operation[Changed]):
    """The first reason to cancel a run, which stays for ever."""

    run_id: Identifier
    reason: Reason
    record: NewRecord


class RunSuspension(Operation[Changed]):
    """The run stops to wait; `records` are stored before its end record."""

    run_id: Identifier
    suspension: Suspension
    record: NewRecord
    records: tuple[NewRecord, ...] = ()


class RunTerminal(Operation[Changed]):
    """The run completes, fails or is canceled; `records` are stored before its end record."""

    run_id: Identifier
    status: RunStatus
    record: NewRecord
    records: tuple[NewRecord, ...] = ()


class RepairRunSuspension(Operation[Repaired]):
    """A suspension that may find another end in its place."""

    suspension: RunSuspension


class RepairRunTerminal(Operation[Repaired]):
    """An end that may find another end in its place."""

    terminal: RunTerminal


class TakeRun(Operation[Taken]):
    """Compare-and-set of a running run's owner."""

    run_id: Identifier
    owner: Identifier
    expected: Identifier | None = None


class CreateSession(Operation[Session]):
    """A session begins."""

    session_id: Identifier
    created_at: Instant
    metadata: Labels = {}
    tenant: Identifier | None = None


class SetSessionMetadata(Operation[Session]):
    """The session's metadata as a whole."""

    session_id: Identifier
    metadata: Labels


class EndSession(Operation[Session]):
    """The session takes no new work."""

    session_id: Identifier
    ended_at: Instant


class PurgeSession(Operation[None]):
    """An ended session's data goes; a tombstone stays."""

    session_id: Identifier


class PurgeOneShot(Operation[None]):
    """A one-shot tree's data goes; tombstones stay."""

    run_id: Identifier


class Advance(Operation[None]):
    """A projection has handled a scope up to `position`. The scope is a session id or a one-shot root's run id."""

    consumer: Identifier
    session_id: Identifier | None = None
    root_run_id: Identifier | None = None
    position: Count


Start: TypeAlias = RootRunStart | ChildRunStart | OneShotRunStart | OneShotChildRunStart
WorkerCommand: TypeAlias = (
    Start
    | AppendRunRecords
    | RunCancellation
    | RunSuspension
    | RunTerminal
    | RepairRunSuspension
    | RepairRunTerminal
    | TakeRun
)
AdminCommand: TypeAlias = CreateSession | SetSessionMetadata | EndSession | PurgeSession | PurgeOneShot | Advance
Command: TypeAlias = WorkerCommand | AdminCommand
CountBy = Literal["status", "agent_id", "session_id", "tenant"]

Result: TypeAlias = Started | tuple[Appended, ...] | Changed | Repaired | Taken | Session | None
