"""Rules for how a run begins: root, child, one-shot and one-shot child; a stop in an ended session.

A start is judged once and its outcome kept: a repeat gets the original outcome, also after the run or its parent ended.
"""

from dataclasses import dataclass

from actum.base import value
from actum.base.errors import (
    CancellationRequested,
    OwnerMismatch,
    RunConflict,
    RunNotRunning,
    RunPurged,
    SessionEnded,
)
from actum.lifecycle import commands as c
from actum.lifecycle.change import Change, RunRow, Scope, Seen, SessionRow, Tombstone
from actum.lifecycle.heads import Moves, judge_continuation, judge_follows, judge_history
from actum.lifecycle.repeats import (
    new_answer,
    old_answer,
    place,
    proof,
    session_status,
    stored_with,
    unused,
)
from actum.lifecycle.rows import run_row, session_row
from actum.lifecycle.shape import payload
from actum.lifecycle.states import SESSION_ENDED, Run, RunStatus, SessionStatus, StartOutcome
from actum.records.kinds import ChildRunLinked
from actum.records.record import NewRecord

_IDENTITY = ("agent_id", "session_id", "parent_run_id", "predecessor_run_id", "history", "started_at", "labels")


@dataclass(frozen=True, slots=True)
class _Given:
    """The parts of a start, whichever kind it is."""

    run: c.RunStart
    started: NewRecord
    link: NewRecord | None
    canceled: NewRecord | None
    records: tuple[NewRecord, ...]

    @property
    def link_key(self) -> str | None:
        return self.link.event_key if self.link else None


def start(command: c.Start, seen: Seen) -> Change:
    """The run begins, stops at once because its session has ended, or began before in exactly this way."""
    given = _Given(
        command.run,
        command.started,
        getattr(command, "parent_linked", None),
        getattr(command, "canceled", None),
        command.records,
    )
    run_id = given.run.run_id
    if ("run", run_id) in seen.hidden:
        raise RunConflict(run_id=run_id, field="run_id")
    row = seen.runs.get(run_id)
    if isinstance(row, Tombstone):
        raise RunPurged(run_id=run_id)
    if row is not None:
        return _again(given, row, seen)
    return _anew(given, seen)


def _again(given: _Given, row: RunRow, seen: Seen) -> Change:
    """The first answer, when key, bytes and identity are those of the start that is stored."""
    run = row.run

    def conflict(field: str) -> RunConflict:
        return RunConflict(run_id=run.run_id, field=field)

    for name in _IDENTITY:
        if getattr(run, name) != getattr(given.run, name):
            raise conflict(name)
    if row.root_run_id == run.run_id and run.tenant != given.run.tenant:
        raise conflict("tenant")
    started = proof(seen, row.start_key, given.started)
    if started is None:
        raise conflict("started")
    linked = proof(seen, row.link_key, given.link) if given.link else None
    if given.link is not None and linked is None:
        raise conflict("parent_linked")
    stopped = run.start_outcome is StartOutcome.STOP
    canceled = proof(seen, row.end_key, given.canceled) if given.canceled and stopped else None
    if stopped and canceled is None:
        raise conflict("canceled")
    records = () if stopped else stored_with(seen, given.records, conflict)
    status = session_status(seen, run.session_id)
    parent = run_row(seen, run.parent_run_id).run if run.parent_run_id else None
    return Change(
        result=c.Started(
            run=run,
            outcome=run.start_outcome,
            started=old_answer(started, run, status),
            linked=old_answer(linked, parent, status) if linked and parent else None,
            canceled=old_answer(canceled, run, status) if canceled else None,
            records=tuple(old_answer(record, run, status) for record in records),
        )
    )


def _anew(given: _Given, seen: Seen) -> Change:
    start = given.run
    session = session_row(seen, start.session_id) if start.session_id is not None else None
    parent = _parent(given, seen) if start.parent_run_id is not None else None
    scope = parent.scope if parent else Scope(start.session_id, None if session else start.run_id)
    stops = session is not None and session.session.status is SessionStatus.ENDED
    moves = _moves(start, given, session, scope, seen, stops=stops)
    unused(seen, *filter(None, (given.link, given.started, given.canceled)), *given.records)
    run = _new_run(given, session, parent, moves)
    if stops and session is not None and given.canceled is not None:
        return _stopped(given, run, parent, seen, scope)

    first = (given.link,) if given.link else ()
    placed = place(seen, *first, given.started, *given.records)
    row = RunRow(run, None if session else scope.root_run_id, given.started.event_key, given.link_key)
    status = session_status(seen, run.session_id)
    answers = [new_answer(scope, each, run, status) for each in placed]
    return Change(
        result=c.Started(
            run=run,
            outcome=StartOutcome.PROCEED,
            linked=answers[0] if first else None,
            started=answers[len(first)],
            records=tuple(answers[len(first) + 1 :]),
        ),
        scope=scope,
        session=_moved(session, run.run_id) if session and moves.head else None,
        runs=(row, *moves.rows),
        records=placed,
    )


def _parent(given: _Given, seen: Seen) -> RunRow:
    """The running parent in the same session, whose agent wrote the link."""
    start, link = given.run, given.link
    row = run_row(seen, start.parent_run_id or "")
    parent = row.run
    if parent.session_id != start.session_id:
        raise OwnerMismatch(run_id=parent.run_id, field="session_id", stored=parent.session_id, given=start.session_id)
    if link is not None and link.agent_id != parent.agent_id:
        raise OwnerMismatch(run_id=parent.run_id, field="agent_id", stored=parent.agent_id, given=link.agent_id)
    if parent.status is not RunStatus.RUNNING:
        raise RunNotRunning(run_id=parent.run_id, status=parent.status)
    if parent.cancellation_reason is not None:
        raise CancellationRequested(run_id=parent.run_id, reason=parent.cancellation_reason)
    return row


def _moves(
    start: c.RunStart, given: _Given, session: SessionRow | None, scope: Scope, seen: Seen, *, stops: bool
) -> Moves:
    """What else the start moves: the predecessor's successor, the head. A stop moves nothing."""
    moves = Moves()
    if session is not None and start.predecessor_run_id is not None:
        moves = judge_continuation(start, _call_id(given), session, seen, stops=stops)
    elif session is not None and start.follows is not None and not stops:
        moves = judge_follows(start, start.follows, session, seen)
    judge_history(start, scope, moves, seen, stops=stops)
    return moves


def _new_run(given: _Given, session: SessionRow | None, parent: RunRow | None, moves: Moves) -> Run:
    start = given.run
    tenant = session.session.tenant if session else parent.run.tenant if parent else start.tenant
    return Run(
        run_id=start.run_id,
        agent_id=start.agent_id,
        session_id=start.session_id,
        tenant=tenant,
        parent_run_id=start.parent_run_id,
        tool_call_id=_call_id(given),
        predecessor_run_id=start.predecessor_run_id,
        chain_id=moves.chain_id or start.run_id,
        history=start.history,
        status=RunStatus.RUNNING,
        start_outcome=StartOutcome.PROCEED,
        started_at=start.started_at,
        updated_at=start.started_at,
        labels=start.labels,
        owner=start.owner,
    )


def _stopped(given: _Given, run: Run, parent: RunRow | None, seen: Seen, scope: Scope) -> Change:
    """The session has ended: the start and its canceled end in one step, none of `records`, no head, no slot."""
    if given.canceled is None:
        raise SessionEnded(session_id=run.session_id or "")
    first = (given.link,) if given.link else ()
    placed = place(seen, *first, given.started, given.canceled)
    run = value.replace(
        run,
        status=RunStatus.CANCELED,
        start_outcome=StartOutcome.STOP,
        cancellation_reason=SESSION_ENDED,
        owner=None,
        ended_at=run.started_at,
        end_record_id=scope.record_id(placed[-1].position),
    )
    status = SessionStatus.ENDED
    row = RunRow(
        run,
        None,
        given.started.event_key,
        link_key=given.link_key,
        end_key=given.canceled.event_key,
    )
    return Change(
        result=c.Started(
            run=run,
            outcome=StartOutcome.STOP,
            linked=new_answer(scope, placed[0], parent.run, status) if parent else None,
            started=new_answer(scope, placed[-2], run, status),
            canceled=new_answer(scope, placed[-1], run, status),
        ),
        scope=scope,
        runs=(row,),
        records=placed,
    )


def _call_id(given: _Given) -> str | None:
    return payload(given.link, ChildRunLinked).tool_call_id if given.link else None


def _moved(session: SessionRow, run_id: str) -> SessionRow:
    return value.replace(session, session=value.replace(session.session, head_run_id=run_id))
