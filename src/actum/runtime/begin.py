"""The first step: the start, with all that recovery needs, in one write."""

from typing import TypeAlias

from actum.base.errors import NotFound, RecordConflict, RunConflict, SessionEnded
from actum.base.value import dump
from actum.lifecycle.commands import (
    Appended,
    ChildRunStart,
    OneShotChildRunStart,
    OneShotRunStart,
    RootRunStart,
    RunStart,
    Start,
    Started,
)
from actum.lifecycle.states import SESSION_ENDED, Run, RunStatus, StartOutcome
from actum.loop import keys
from actum.loop.world import Begun, Opening, ParentCall, RunRequest
from actum.records import makers
from actum.records.kinds import Cancellation, Phase, RunRequested, payload_of
from actum.records.record import NewRecord
from actum.records.types import RecordType
from actum.runtime.ledger import stop_of
from actum.storage.contract import Store

# A run that was started just now: its row, its own records in their order, and the answers that the store gave.
Fresh: TypeAlias = tuple[Run, tuple[NewRecord, ...], tuple[Appended, ...]]


async def begin(store: Store, request: RunRequest) -> tuple[Begun, Fresh | None]:
    """Stores the start, and gives with it what it stored when it is new.

    A run that was started by the same request before is that run; another one is RunConflict. A run that its ended
    session stopped keeps nothing of its request, so none can be told to be the same: SessionEnded.
    """
    try:
        started, records = await _start(store, request)
    except (RunConflict, RecordConflict) as error:
        stored = await stored_digest(store, request.run_id)
        if stored is None:
            await _stopped(store, request, error)
            raise
        if stored != request.request_digest:
            raise RunConflict(run_id=request.run_id, field="request") from error
        run = await store.load_run(request.run_id)
        return Begun(ended=None if run.status is RunStatus.RUNNING else run.status, owner=run.owner), None
    begun = Begun(
        ended=None if started.run.status is RunStatus.RUNNING else started.run.status,
        stop=stop_of(started.started),
        owner=started.run.owner,
    )
    fresh = begun.ended is None and started.started.inserted
    return begun, (started.run, records, (started.started, *started.records)) if fresh else None


async def stored_digest(store: Store, run_id: str) -> str | None:
    """The digest of the request that started a run; None when there is no such run, or none that a runtime started."""
    try:
        record = await store.load_run_record(run_id, keys.REQUESTED)
    except NotFound:
        return None
    requested = payload_of(record)
    return requested.request_digest if isinstance(requested, RunRequested) else None


async def _stopped(store: Store, request: RunRequest, error: Exception) -> None:
    """Raises SessionEnded for a run of the session's own that was stopped at its start."""
    if request.session_id is None or request.parent is not None:
        return
    run = await store.load_run(request.run_id)
    if run.session_id == request.session_id and run.start_outcome is StartOutcome.STOP:
        raise SessionEnded(session_id=request.session_id) from error


async def _start(store: Store, request: RunRequest) -> tuple[Started, tuple[NewRecord, ...]]:
    """The store's answer, and the run's own records that were given with its start."""
    parent = request.parent
    run = RunStart(
        run_id=request.run_id,
        agent_id=request.agent_id,
        session_id=request.session_id,
        tenant=request.tenant,
        parent_run_id=parent.run_id if parent is not None else None,
        predecessor_run_id=request.predecessor_run_id,
        history=request.history,
        follows=request.follows,
        started_at=request.requested_at,
        labels=request.labels,
        owner=request.owner,
    )
    started = _record(
        request,
        keys.START,
        RecordType.RUN_STARTED,
        makers.run_started(
            parent_run_id=run.parent_run_id,
            predecessor_run_id=run.predecessor_run_id,
            history=request.history,
            follows=request.follows,
            labels=request.labels,
        ),
    )
    records = tuple(_input(request))
    linked = _link(request, parent) if parent is not None else None
    return await store.execute(_command(request, run, started, linked, records)), (started, *records)


def _command(
    request: RunRequest, run: RunStart, started: NewRecord, linked: NewRecord | None, records: tuple[NewRecord, ...]
) -> Start:
    if request.session_id is None and linked is not None:
        return OneShotChildRunStart(run=run, parent_linked=linked, started=started, records=records)
    if request.session_id is None:
        return OneShotRunStart(run=run, started=started, records=records)
    canceled = _record(
        request,
        keys.END,
        RecordType.RUN_COMPLETED,
        makers.run_completed(status="canceled", cancellation=Cancellation(reason=SESSION_ENDED), labels=request.labels),
    )
    if linked is not None:
        return ChildRunStart(run=run, parent_linked=linked, started=started, canceled=canceled, records=records)
    return RootRunStart(run=run, started=started, canceled=canceled, records=records)


def _link(request: RunRequest, parent: ParentCall) -> NewRecord:
    payload = makers.child_run_linked(
        tool_name=parent.tool_name,
        tool_call_id=parent.tool_call_id,
        child_run_id=request.run_id,
        child_agent_id=request.agent_id,
    )
    return NewRecord(
        event_key=keys.child(parent.tool_call_id),
        run_id=parent.run_id,
        agent_id=parent.agent_id,
        session_id=request.session_id,
        turn_id=request.turn_id,
        type=RecordType.CHILD_RUN_LINKED,
        payload=payload,
        timestamp=request.requested_at,
    )


def _input(request: RunRequest) -> list[NewRecord]:
    requested = makers.run_requested(
        agent_version=request.agent_version, request_digest=request.request_digest, options=request.options
    )
    records = [_record(request, keys.REQUESTED, RecordType.RUN_REQUESTED, requested)]
    if request.seeded:
        seeded = makers.transcript_messages_seeded(messages=request.seeded)
        records.append(_record(request, keys.SEED, RecordType.TRANSCRIPT_MESSAGES_SEEDED, seeded))
    records += _said(request, request.opening) if request.opening is not None else []
    if request.messages:
        given = makers.transcript_messages_appended(messages=request.messages)
        records.append(_record(request, keys.INPUT, RecordType.TRANSCRIPT_MESSAGES_APPENDED, given))
    prompted = makers.run_phase_changed(phase=Phase.PROMPTED)
    records.append(_record(request, keys.PROMPTED, RecordType.RUN_PHASE_CHANGED, prompted))
    return records


def _said(request: RunRequest, opening: Opening) -> list[NewRecord]:
    """What the start says about the suspended run before it: evidence first, then what follows from it."""
    made: list[tuple[str, RecordType, bytes]] = []
    if opening.superseded is not None:
        made.append((keys.SUPERSEDED, RecordType.TURN_SUPERSEDED, dump(opening.superseded)))
    made += [(keys.answered(each.item_id), RecordType.INPUT_ANSWERED, dump(each)) for each in opening.answered]
    for decision in opening.authorizations:
        made += [(keys.authorized(decision.tool_call_id), RecordType.TOOL_AUTHORIZATION, dump(decision))]
    made += [(keys.result(each.tool_call_id), RecordType.TOOL_RESULT_RECEIVED, dump(each)) for each in opening.results]
    if opening.closing is not None:
        closing = makers.transcript_messages_appended(messages=(opening.closing,))
        made.append((keys.CLOSING, RecordType.TRANSCRIPT_MESSAGES_APPENDED, closing))
    return [_record(request, key, kind, payload) for key, kind, payload in made]


def _record(request: RunRequest, key: str, kind: RecordType, payload: bytes) -> NewRecord:
    return NewRecord(
        event_key=key,
        run_id=request.run_id,
        agent_id=request.agent_id,
        session_id=request.session_id,
        turn_id=request.turn_id,
        type=kind,
        payload=payload,
        timestamp=request.requested_at,
    )
