"""Rules for how a conversation goes on: continuation, the session's head, and what may be a run's history.

A suspended run has one successor slot. A continuation takes it, or a new turn that supersedes the suspended head.
"""

from dataclasses import dataclass

from actum.base import value
from actum.base.errors import ContinuationRefused, HeadMoved, HistoryRefused, SessionBusy, SuccessorConflict
from actum.lifecycle.change import RunRow, Scope, Seen, SessionRow
from actum.lifecycle.commands import RunStart
from actum.lifecycle.rows import run_row
from actum.lifecycle.states import Run, RunStatus, Session
from actum.records.record import Follows


@dataclass(frozen=True, slots=True)
class Moves:
    """What a start moves besides itself: other runs' rows, the head, and the suspended run whose slot it takes."""

    rows: tuple[RunRow, ...] = ()
    head: bool = False
    chain_id: str | None = None
    takes: str | None = None


def judge_continuation(start: RunStart, call_id: str | None, session: SessionRow, seen: Seen, *, stops: bool) -> Moves:
    """A suspended run goes on as this run. In an ended session only existence, scope, agent and parent are judged."""
    row = run_row(seen, start.predecessor_run_id or "")
    before = row.run
    if before.session_id != start.session_id:
        raise _refused(before, "the predecessor is a run of the same session")
    if before.agent_id != start.agent_id:
        raise _refused(before, "the predecessor is a run of the same agent")
    _same_place(before, start, call_id, seen)
    if stops:
        return Moves(chain_id=before.chain_id)
    if before.status is not RunStatus.SUSPENDED:
        raise _refused(before, f"the predecessor is suspended, not {before.status}")
    return Moves(
        rows=(_succeeded(row, start.run_id),),
        head=session.session.head_run_id == before.run_id,
        chain_id=before.chain_id,
        takes=before.run_id,
    )


def judge_follows(start: RunStart, follows: Follows, session: SessionRow, seen: Seen) -> Moves:
    """A new turn takes the head from the run that it claims to follow, with a chain of its own."""
    head_id = session.session.head_run_id
    if follows.run_id != head_id:
        raise HeadMoved(session_id=session.session.session_id, head_run_id=head_id, given=follows.run_id)
    if head_id is None:
        return Moves(head=True)
    row = run_row(seen, head_id)
    may_follow(session.session, row.run, supersede=follows.supersede)
    if row.run.status is not RunStatus.SUSPENDED:
        return Moves(head=True)
    return Moves(rows=(_succeeded(row, start.run_id),), head=True, takes=head_id)


def may_follow(session: Session, head: Run, *, supersede: bool) -> None:
    """Raises SessionBusy while the head runs, or waits and is not superseded."""
    waits = head.status is RunStatus.SUSPENDED and not supersede
    if head.status is RunStatus.RUNNING or waits:
        raise SessionBusy(session_id=session.session_id, run_id=head.run_id, status=head.status)


def judge_history(start: RunStart, scope: Scope, moves: Moves, seen: Seen, *, stops: bool) -> None:
    """A history is a final run of the same scope, up to its end; a suspended one only for whom takes its slot."""
    history = start.history
    if start.predecessor_run_id is not None and (history is None or history.run_id != start.predecessor_run_id):
        raise HistoryRefused(run_id=start.predecessor_run_id, rule="a continuation's history is its predecessor")
    if history is None:
        return
    row = run_row(seen, history.run_id)
    if row.scope != scope:
        raise HistoryRefused(run_id=history.run_id, rule="the history is a run of the same session or one-shot tree")
    if row.run.status is RunStatus.RUNNING:
        raise HistoryRefused(run_id=history.run_id, rule="the history has ended; this run is running")
    if row.run.end_record_id != history.through:
        raise HistoryRefused(run_id=history.run_id, rule="`through` is the id of the history's end record")
    if row.run.status is RunStatus.SUSPENDED and moves.takes != history.run_id and not stops:
        raise HistoryRefused(
            run_id=history.run_id, rule="a suspended run is history only of the run that takes its slot"
        )


def _same_place(before: Run, start: RunStart, call_id: str | None, seen: Seen) -> None:
    """Both answer the same tool call: of one parent, or of a later run in that parent's chain."""
    if (before.parent_run_id is None) != (start.parent_run_id is None):
        raise _refused(before, "a root run is continued by a root run, a child by a child")
    if before.parent_run_id is None or start.parent_run_id is None:
        return
    if start.parent_run_id != before.parent_run_id:
        chain = run_row(seen, before.parent_run_id).run.chain_id
        if run_row(seen, start.parent_run_id).run.chain_id != chain:
            raise _refused(before, "the new parent belongs to the chain of the predecessor's parent")
    if call_id != before.tool_call_id:
        raise _refused(before, "the new link names the predecessor's tool call")


def _succeeded(row: RunRow, successor: str) -> RunRow:
    taken = row.run.successor_run_id
    if taken is not None:
        raise SuccessorConflict(run_id=row.run.run_id, successor_run_id=taken)
    # What a succeeded run asked for is gone, whether it was answered or not.
    return value.replace(row, run=value.replace(row.run, successor_run_id=successor), awaiting=())


def _refused(before: Run, rule: str) -> ContinuationRefused:
    return ContinuationRefused(run_id=before.run_id, rule=rule)
