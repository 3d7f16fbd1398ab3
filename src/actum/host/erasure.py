"""Erasure: every copy of a session's data that this host keeps goes, in the store and in memory.

Memory goes first, so that a purge that broke off is resumed by repeating it, and no late delivery brings anything back.
Nothing goes where the purge would be refused: what is judged here is final, for an ended session starts no run, nor
does a tree whose runs have all ended.
"""

from contextlib import suppress
from typing import get_args

from actum.base.checks import refuse
from actum.base.errors import NotFound, RunBusy, RunPurged, SessionBusy, SessionPurged
from actum.host.memories import AfterPurge
from actum.host.opened import Opened
from actum.lifecycle.sessions import may_purge, may_purge_tree
from actum.lifecycle.states import RunStatus
from actum.memory.opening import Memory
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore


async def purge_session(here: Opened, session_id: str, mode: AfterPurge) -> None:
    """Erases an ended session without running runs. Raises SessionActive, SessionBusy; again is a success.

    Whoever watches the session hears SessionPurged.
    """
    erases = _erases(mode)
    try:
        if not erases:
            await _bring_up(here, session_id=session_id)
        elif here.memory is not None:
            await _forget_session(here.store, here.memory, session_id)
        await here.store.purge_session(session_id)
    except SessionBusy as error:
        error.add_note(await _what_to_do(here.store, error.run_id))
        raise
    here.runtime.forget_histories()
    here.hub.wake_session(session_id)


async def purge_one_shot(here: Opened, run_id: str, mode: AfterPurge) -> None:
    """Erases the one-shot tree of this root. Raises RunBusy while a run of it is running; again is a success."""
    erases = _erases(mode)
    try:
        if not erases:
            await _bring_up(here, root_run_id=run_id)
        elif here.memory is not None:
            await _forget_one_shot(here.store, here.memory, run_id)
        await here.store.purge_one_shot(run_id)
    except RunBusy as error:
        error.add_note(await _what_to_do(here.store, error.run_id))
        raise
    here.runtime.forget_histories()


async def _what_to_do(store: OwnedStore, run_id: str) -> str:
    """What brings a running run to its end, as it stands: the error's own text knows of no process."""
    try:
        run = await store.load_run(run_id)
    except (NotFound, RunPurged):
        return f"Run {run_id!r} was erased in this very moment, by another hand; purge once more"
    if run.owner is not None and not await store.owner_alive(run.owner):
        ends = f"settle({run.session_id!r})" if run.session_id is not None else f"ensure_run_completion({run_id!r})"
        return f"Run {run_id!r} is running and its process is gone: `host.runtime.{ends}` brings it to its end"
    return f"Run {run_id!r} is running: wait for its end, or cancel it first"


def _erases(mode: AfterPurge) -> bool:
    if mode not in get_args(AfterPurge):
        raise refuse("memory", mode, "is 'erase' or 'keep'")
    return mode == "erase"


async def _bring_up(here: Opened, *, session_id: str | None = None, root_run_id: str | None = None) -> None:
    """Delivers to the event history what is to be kept there. Raises what kept this scope from being delivered."""
    if here.projection is None:
        return
    for each in (await here.projection.deliver()).failed:
        if (each.scope.session_id, each.scope.root_run_id) == (session_id, root_run_id):
            raise each.error


async def _forget_session(store: OwnedStore, memory: Memory, session_id: str) -> None:
    # Whose a purged session was is known no more; without tenants it was nobody's.
    tenant = None
    # Purged before, perhaps with its memory kept; or by another purge at this very moment.
    with suppress(SessionPurged):
        session = await store.load_session(session_id)
        tenant = session.tenant
        running = (await store.list_runs(session_id, statuses=[RunStatus.RUNNING], limit=1)).items
        may_purge(session, running[0].run_id if running else None)
    await memory.events.forget(session_id, tenant=tenant)
    await memory.entries.forget(session_id, tenant=tenant)


async def _forget_one_shot(store: OwnedStore, memory: Memory, run_id: str) -> None:
    tenant = None
    with suppress(RunPurged):
        tenant = (await store.load_run(run_id)).tenant
        may_purge_tree(await _running(store, run_id))
    await memory.events.forget_one_shot(run_id, tenant=tenant)


async def _running(store: OwnedStore, root_run_id: str) -> str | None:
    """A run of the tree that has started and not ended."""
    running: dict[str, None] = {}
    cursor, more = None, True
    while more:
        page = await store.list_scope_records(
            root_run_id, cursor=cursor, types=[RecordType.RUN_STARTED, RecordType.RUN_COMPLETED]
        )
        for record in page.items:
            if record.type == RecordType.RUN_STARTED:
                running[record.run_id] = None
            else:
                running.pop(record.run_id, None)
        cursor, more = page.cursor, page.more
    return next(iter(running), None)
