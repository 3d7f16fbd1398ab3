"""Rules for sessions: create, end, purge; for a run's owner; and for what a projection has handled."""

from actum.base import value
from actum.base.checks import Identifier, Labels, refuse
from actum.base.errors import (
    RunBusy,
    RunNotRunning,
    SessionActive,
    SessionBusy,
    SessionConflict,
    SessionEnded,
    SessionPurged,
)
from actum.lifecycle import commands as c
from actum.lifecycle.change import Change, Scope, Seen, SessionRow, Tombstone
from actum.lifecycle.rows import run_row, session_row
from actum.lifecycle.states import RunStatus, Session, SessionStatus


class _AtCreation(value.Value):
    """What a repeated creation must repeat; the time is not part of it."""

    tenant: Identifier | None
    metadata: Labels


def create(command: c.CreateSession, seen: Seen) -> Change:
    """A new session, or the active one that was created with the same tenant and metadata."""
    name = command.session_id
    digest = value.fingerprint(_AtCreation(tenant=command.tenant, metadata=command.metadata))
    if ("session", name) in seen.hidden:
        raise SessionConflict(session_id=name, field="session_id")
    row = seen.sessions.get(name)
    if isinstance(row, Tombstone):
        raise SessionPurged(session_id=name)
    if row is None:
        session = Session(
            session_id=name,
            tenant=command.tenant,
            status=SessionStatus.ACTIVE,
            created_at=command.created_at,
            metadata=command.metadata,
        )
        return Change(result=session, scope=Scope(session_id=name), session=SessionRow(session, digest))
    if row.session.status is SessionStatus.ENDED:
        raise SessionEnded(session_id=name)
    if row.session.tenant != command.tenant:
        raise SessionConflict(session_id=name, field="tenant")
    if row.created_digest != digest:
        raise SessionConflict(session_id=name, field="metadata")
    return Change(result=row.session)


def set_metadata(command: c.SetSessionMetadata, seen: Seen) -> Change:
    """The metadata as a whole; what was given at creation stays known by its digest."""
    row = session_row(seen, command.session_id)
    if row.session.metadata == command.metadata:
        return Change(result=row.session)
    session = value.replace(row.session, metadata=command.metadata)
    return Change(
        result=session, scope=Scope(session_id=command.session_id), session=value.replace(row, session=session)
    )


def end(command: c.EndSession, seen: Seen) -> Change:
    """No new work from now on; the first time is kept."""
    row = session_row(seen, command.session_id)
    if row.session.status is SessionStatus.ENDED:
        return Change(result=row.session)
    session = value.replace(row.session, status=SessionStatus.ENDED, ended_at=command.ended_at)
    return Change(
        result=session, scope=Scope(session_id=command.session_id), session=value.replace(row, session=session)
    )


def purge(command: c.PurgeSession, seen: Seen) -> Change:
    """Everything of an ended session goes, once no run of it runs. Purging again succeeds."""
    if isinstance(seen.sessions.get(command.session_id), Tombstone):
        return Change(result=None)
    may_purge(session_row(seen, command.session_id).session, seen.running_run_id)
    return Change(result=None, purge=Scope(session_id=command.session_id))


def purge_one_shot(command: c.PurgeOneShot, seen: Seen) -> Change:
    """Everything of a one-shot tree goes, once no run of it runs. Purging again succeeds."""
    if isinstance(seen.runs.get(command.run_id), Tombstone):
        return Change(result=None)
    row = run_row(seen, command.run_id)
    if row.root_run_id != command.run_id:
        raise refuse("run_id", command.run_id, "is the root of a one-shot tree")
    may_purge_tree(seen.running_run_id)
    return Change(result=None, purge=row.scope)


def may_purge(session: Session, running_run_id: str | None) -> None:
    """Raises SessionActive for a session that has not ended, SessionBusy while a run of it runs.

    Final where it passes: an ended session starts no run. So whoever keeps data of the session elsewhere may ask first.
    """
    if session.status is not SessionStatus.ENDED:
        raise SessionActive(session_id=session.session_id)
    if running_run_id is not None:
        raise SessionBusy(session_id=session.session_id, run_id=running_run_id)


def may_purge_tree(running_run_id: str | None) -> None:
    """Raises RunBusy while a run of the one-shot tree runs; final where it passes, as for a session."""
    if running_run_id is not None:
        raise RunBusy(run_id=running_run_id)


def take(command: c.TakeRun, seen: Seen) -> Change:
    """The running run's owner, if the expected one still is; losing is a result, and so is having it already."""
    row = run_row(seen, command.run_id)
    run = row.run
    if run.status is not RunStatus.RUNNING:
        raise RunNotRunning(run_id=run.run_id, status=run.status)
    if run.owner == command.owner:
        return Change(result=c.Taken(taken=True, owner=run.owner))
    if run.owner != command.expected:
        return Change(result=c.Taken(taken=False, owner=run.owner))
    taken = value.replace(row, run=value.replace(run, owner=command.owner))
    return Change(result=c.Taken(taken=True, owner=command.owner), scope=row.scope, runs=(taken,))


def advance(command: c.Advance, seen: Seen) -> Change:
    """What a projection has handled only grows, and never beyond what is stored."""
    if command.session_id is not None:
        session_row(seen, command.session_id)
        scope = Scope(session_id=command.session_id)
    else:
        row = run_row(seen, command.root_run_id or "")
        if row.root_run_id != row.run.run_id:
            raise refuse("root_run_id", command.root_run_id, "is the root of a one-shot tree")
        scope = row.scope
    if command.position > seen.position:
        raise refuse("position", command.position, f"is at most the scope's last position, {seen.position}")
    if command.position <= seen.advanced:
        return Change(result=None)
    return Change(result=None, scope=scope, advance=(command.consumer, command.position))
