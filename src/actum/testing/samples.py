"""Valid commands in few words, so that a test reads like the domain.

Every builder gives a command that a store accepts in the right situation; a test that wants a wrong one changes it with
`replace`. Times are seconds after T0. Builders that speak of a run take its start, its answer or the run itself.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias

from actum.base.value import dump_json
from actum.lifecycle import commands as c
from actum.lifecycle.states import SESSION_ENDED, Run, RunStatus, Suspension
from actum.messages.message import Message, user
from actum.records import makers
from actum.records.failures import Failure, FailureKind
from actum.records.kinds import Cancellation, PendingItem, PendingKind
from actum.records.record import Follows, HistoryRef, NewRecord
from actum.records.types import RecordType

T0: Final = datetime(2025, 1, 1, tzinfo=UTC)
AGENT: Final = "assistant"
NOTE: Final = "x.note"

AnyRun: TypeAlias = Run | c.RunStart | c.Start | c.Started | c.Changed | c.Repaired

_ENDS: Final[dict[RunStatus, Literal["completed", "failed", "canceled"]]] = {
    RunStatus.COMPLETED: "completed",
    RunStatus.FAILED: "failed",
    RunStatus.CANCELED: "canceled",
}


def at(seconds: float) -> datetime:
    """The instant `seconds` after T0, which is the first of January 2025."""
    return T0 + timedelta(seconds=seconds)


def told(run: AnyRun) -> Run | c.RunStart:
    """The identity of a run, however it is given."""
    return run if isinstance(run, Run | c.RunStart) else run.run


def record(
    run: AnyRun,
    key: str,
    *,
    type: str = NOTE,
    payload: bytes = b'{"text":"noted"}',
    seconds: float = 1,
    turn_id: str | None = None,
) -> NewRecord:
    """Any record of a run."""
    owner = told(run)
    return NewRecord(
        event_key=key,
        run_id=owner.run_id,
        agent_id=owner.agent_id,
        session_id=owner.session_id,
        turn_id=turn_id,
        type=type,
        payload=payload,
        timestamp=at(seconds),
    )


def note(run: AnyRun, key: str, text: str = "noted", *, seconds: float = 1) -> NewRecord:
    """An ordinary record of the product's own type `x.note`."""
    return record(run, key, payload=dump_json({"text": text}), seconds=seconds)


def notes(run: AnyRun, *keys: str) -> tuple[NewRecord, ...]:
    """A note under each key."""
    return tuple(note(run, key, key) for key in keys)


def said(run: AnyRun, key: str, *messages: Message | str, seconds: float = 1) -> NewRecord:
    """A transcript record: messages, or texts that a user says."""
    spoken = tuple(user(each) if isinstance(each, str) else each for each in messages)
    payload = makers.transcript_messages_appended(messages=spoken)
    return record(run, key, type=RecordType.TRANSCRIPT_MESSAGES_APPENDED, payload=payload, seconds=seconds)


def tool_started(run: AnyRun, key: str = "tool", *, call: str = "call-1", attempt: str = "attempt-1") -> NewRecord:
    """An attempt to run a tool."""
    payload = makers.tool_call_started(tool_call_id=call, attempt=attempt)
    return record(run, key, type=RecordType.TOOL_CALL_STARTED, payload=payload)


def run_start(
    run_id: str,
    session_id: str | None,
    *,
    agent: str = AGENT,
    tenant: str | None = None,
    parent: str | None = None,
    predecessor: str | None = None,
    history: HistoryRef | None = None,
    follows: Follows | None = None,
    labels: Mapping[str, str] | None = None,
    seconds: float = 0,
) -> c.RunStart:
    """The identity of a run."""
    return c.RunStart(
        run_id=run_id,
        agent_id=agent,
        session_id=session_id,
        tenant=tenant,
        parent_run_id=parent,
        predecessor_run_id=predecessor,
        history=history,
        follows=follows,
        started_at=at(seconds),
        labels=dict(labels or {}),
    )


def started_record(run: c.RunStart, key: str = "start") -> NewRecord:
    """The record that proves a start."""
    payload = makers.run_started(
        parent_run_id=run.parent_run_id,
        predecessor_run_id=run.predecessor_run_id,
        history=run.history,
        follows=run.follows,
        labels=run.labels,
    )
    return _proof(run, key, RecordType.RUN_STARTED, payload, run.started_at)


def stopped_record(run: c.RunStart, key: str = "stop") -> NewRecord:
    """The canceled end that a start brings along for a session that has ended."""
    payload = makers.run_completed(
        status="canceled", cancellation=Cancellation(reason=SESSION_ENDED), labels=run.labels
    )
    return _proof(run, key, RecordType.RUN_COMPLETED, payload, run.started_at)


def linked_record(
    parent: AnyRun, child: c.RunStart, key: str | None = None, *, call: str = "call-1", tool: str = "ask"
) -> NewRecord:
    """The record on the parent that proves which of its calls the child answers."""
    payload = makers.child_run_linked(
        tool_name=tool, tool_call_id=call, child_run_id=child.run_id, child_agent_id=child.agent_id
    )
    key = f"link:{child.run_id}" if key is None else key
    return _proof(told(parent), key, RecordType.CHILD_RUN_LINKED, payload, child.started_at)


def root(
    run_id: str,
    session_id: str = "s1",
    *,
    agent: str = AGENT,
    predecessor: str | None = None,
    history: HistoryRef | None = None,
    follows: Follows | None = None,
    labels: Mapping[str, str] | None = None,
    seconds: float = 0,
) -> c.RootRunStart:
    """A run of a session; without `follows` a side run."""
    run = run_start(
        run_id,
        session_id,
        agent=agent,
        predecessor=predecessor,
        history=history,
        follows=follows,
        labels=labels,
        seconds=seconds,
    )
    return c.RootRunStart(run=run, started=started_record(run), canceled=stopped_record(run))


def child(
    run_id: str,
    parent: AnyRun,
    *,
    agent: str = "specialist",
    predecessor: str | None = None,
    history: HistoryRef | None = None,
    labels: Mapping[str, str] | None = None,
    call: str = "call-1",
    seconds: float = 1,
) -> c.ChildRunStart:
    """A run that answers the tool call `call` of its parent."""
    above = told(parent)
    run = run_start(
        run_id,
        above.session_id,
        agent=agent,
        parent=above.run_id,
        predecessor=predecessor,
        history=history,
        labels=labels,
        seconds=seconds,
    )
    return c.ChildRunStart(
        run=run,
        parent_linked=linked_record(above, run, call=call),
        started=started_record(run),
        canceled=stopped_record(run),
    )


def one_shot(
    run_id: str,
    *,
    agent: str = AGENT,
    tenant: str | None = None,
    history: HistoryRef | None = None,
    labels: Mapping[str, str] | None = None,
    seconds: float = 0,
) -> c.OneShotRunStart:
    """A run without a session."""
    run = run_start(run_id, None, agent=agent, tenant=tenant, history=history, labels=labels, seconds=seconds)
    return c.OneShotRunStart(run=run, started=started_record(run))


def one_shot_child(
    run_id: str, parent: AnyRun, *, agent: str = "specialist", call: str = "call-1", seconds: float = 1
) -> c.OneShotChildRunStart:
    """A run that answers a tool call of a run without a session."""
    run = run_start(run_id, None, agent=agent, parent=told(parent).run_id, seconds=seconds)
    return c.OneShotChildRunStart(
        run=run, parent_linked=linked_record(parent, run, call=call), started=started_record(run)
    )


def through(run: Run) -> HistoryRef:
    """The whole transcript of a run that has ended, as another run's history; of any other, one to be refused."""
    return HistoryRef(run_id=run.run_id, through=run.end_record_id or "not-yet")


def following(
    run_id: str, head: Run | None, session_id: str = "s1", *, supersede: bool = False, seconds: float = 2
) -> c.RootRunStart:
    """The next run of a conversation: it follows the head, with its transcript as history."""
    follows = Follows(run_id=head.run_id if head else None, supersede=supersede)
    return root(run_id, session_id, history=through(head) if head else None, follows=follows, seconds=seconds)


def continuation(run_id: str, suspended_run: Run, *, seconds: float = 3) -> c.RootRunStart:
    """The run that goes on from a suspended root run."""
    return root(
        run_id,
        suspended_run.session_id or "nowhere",
        agent=suspended_run.agent_id,
        predecessor=suspended_run.run_id,
        history=through(suspended_run),
        seconds=seconds,
    )


def cancellation(
    run: AnyRun,
    reason: str = "user_requested",
    *,
    key: str = "cancel",
    by: str | None = None,
    seconds: float | None = None,
) -> c.RunCancellation:
    """A request to cancel, with its reason."""
    payload = makers.cancellation_intent(reason=reason, by=by)
    return c.RunCancellation(
        run_id=told(run).run_id,
        reason=reason,
        record=record(run, key, type=RecordType.CANCELLATION_INTENT, payload=payload, seconds=_moment(run, seconds)),
    )


def suspension(
    run: AnyRun,
    *,
    suspension_id: str = "wait-1",
    data: bytes = b"checkpoint\x00\xff",
    kinds: Sequence[str] = ("confirmation",),
    key: str = "suspend",
    seconds: float | None = None,
    records: tuple[NewRecord, ...] = (),
) -> c.RunSuspension:
    """The run waits for one item of each kind."""
    pending = tuple(PendingItem(item_id=f"item-{n}", kind=PendingKind(kind)) for n, kind in enumerate(kinds, 1))
    payload = makers.run_suspended(suspension_id=suspension_id, version=1, pending=pending)
    return c.RunSuspension(
        run_id=told(run).run_id,
        suspension=Suspension(suspension_id=suspension_id, data=data),
        record=record(run, key, type=RecordType.RUN_SUSPENDED, payload=payload, seconds=_moment(run, seconds)),
        records=records,
    )


def ending(
    run: AnyRun,
    status: RunStatus = RunStatus.COMPLETED,
    *,
    reason: str | None = None,
    message: str = "no luck",
    key: str = "end",
    seconds: float | None = None,
    records: tuple[NewRecord, ...] = (),
) -> c.RunTerminal:
    """The run's end: completed, failed with a message, or canceled for a reason."""
    payload = makers.run_completed(
        status=_ENDS[status],
        failure=Failure(kind=FailureKind.INTERNAL, message=message) if status is RunStatus.FAILED else None,
        cancellation=Cancellation(reason=reason or "") if status is RunStatus.CANCELED else None,
        labels=told(run).labels,
    )
    return c.RunTerminal(
        run_id=told(run).run_id,
        status=status,
        record=record(run, key, type=RecordType.RUN_COMPLETED, payload=payload, seconds=_moment(run, seconds)),
        records=records,
    )


def completed(run: AnyRun, *, seconds: float | None = None, records: tuple[NewRecord, ...] = ()) -> c.RunTerminal:
    """The run completes."""
    return ending(run, seconds=seconds, records=records)


def failed(run: AnyRun, *, seconds: float | None = None) -> c.RunTerminal:
    """The run fails."""
    return ending(run, RunStatus.FAILED, seconds=seconds)


def canceled(run: AnyRun, reason: str = "user_requested", *, seconds: float | None = None) -> c.RunTerminal:
    """The run ends canceled."""
    return ending(run, RunStatus.CANCELED, reason=reason, seconds=seconds)


def _moment(run: AnyRun, seconds: float | None) -> float:
    """When a run changes, unless a test says when: two seconds after its start."""
    return seconds if seconds is not None else (told(run).started_at - T0).total_seconds() + 2


def _proof(run: Run | c.RunStart, key: str, type: RecordType, payload: bytes, timestamp: datetime) -> NewRecord:
    return NewRecord(
        event_key=key,
        run_id=run.run_id,
        agent_id=run.agent_id,
        session_id=run.session_id,
        type=type,
        payload=payload,
        timestamp=timestamp,
    )
