"""What a session and a run are, and the only table of how a run may move."""

from enum import StrEnum
from typing import Annotated, Final

from actum.base.checks import Identifier, Instant, Labels, Reason, refuse
from actum.base.errors import TooLarge
from actum.base.limits import CHECKPOINT_BYTES
from actum.base.value import Value
from actum.records.record import HistoryRef

SESSION_ENDED: Final = "session_ended"
ENGINE_CANCELED: Final = "engine_canceled"


class SessionStatus(StrEnum):
    """Whether a session takes new work."""

    ACTIVE = "active"
    ENDED = "ended"


class RunStatus(StrEnum):
    """Where a run stands. Every status but `running` is final."""

    RUNNING = "running"
    SUSPENDED = "suspended"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


class StartOutcome(StrEnum):
    """What a start decided, once: the run goes on, or stops because its session has ended."""

    PROCEED = "proceed"
    STOP = "stop"


# There is no `pending`: a run exists when its start is stored. A suspended run's answer starts a new run.
MOVES: Final[dict[RunStatus | None, frozenset[RunStatus]]] = {
    None: frozenset({RunStatus.RUNNING, RunStatus.CANCELED}),
    RunStatus.RUNNING: frozenset({RunStatus.SUSPENDED, RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED}),
    RunStatus.SUSPENDED: frozenset(),
    RunStatus.COMPLETED: frozenset(),
    RunStatus.FAILED: frozenset(),
    RunStatus.CANCELED: frozenset(),
}


class Session(Value):
    """A conversation's frame. `head_run_id` is the run from which the conversation goes on."""

    session_id: Identifier
    tenant: Identifier | None = None
    status: SessionStatus
    created_at: Instant
    ended_at: Instant | None = None
    metadata: Labels = {}
    head_run_id: Identifier | None = None


class Run(Value):
    """One run of an agent. `session_id` None is a one-shot run; `ended_at` is the time of its end record.

    `tool_call_id` is the parent's call that a child answers, `chain_id` the first run of the continuation chain,
    `updated_at` the time of the start, the cancellation or the end, never of an ordinary record.
    """

    run_id: Identifier
    agent_id: Identifier
    session_id: Identifier | None = None
    tenant: Identifier | None = None
    parent_run_id: Identifier | None = None
    tool_call_id: Identifier | None = None
    predecessor_run_id: Identifier | None = None
    successor_run_id: Identifier | None = None
    chain_id: Identifier
    history: HistoryRef | None = None
    status: RunStatus
    start_outcome: StartOutcome
    started_at: Instant
    ended_at: Instant | None = None
    end_record_id: Identifier | None = None
    updated_at: Instant
    labels: Labels = {}
    cancellation_reason: Reason | None = None
    owner: Identifier | None = None


def checkpoint_bytes(path: str, value: object) -> bytes:
    """Opaque bytes, at most 16 MiB."""
    if type(value) is not bytes:
        raise refuse(path, value, "is bytes")
    if len(value) > CHECKPOINT_BYTES:
        raise TooLarge(field=path, size=len(value), limit=CHECKPOINT_BYTES)
    return value


class Suspension(Value):
    """A suspended run's checkpoint: bytes that only its loop reads."""

    suspension_id: Identifier
    data: Annotated[bytes, checkpoint_bytes]
