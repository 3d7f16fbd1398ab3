"""Erasure: every copy of a session's data that this host keeps goes, in the store and in memory."""

from typing import get_args

from actum.base.checks import refuse
from actum.base.errors import SessionActive, SessionBusy, SessionPurged
from actum.host.memories import AfterPurge, forget_session
from actum.lifecycle.states import RunStatus, SessionStatus
from actum.memory.opening import Memory
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore
from actum.stream.hub import Hub


async def purge(
    store: OwnedStore, runtime: Runtime, hub: Hub, memory: Memory | None, session_id: str, mode: AfterPurge
) -> None:
    """Erases an ended session without running runs. Raises SessionActive, SessionBusy; again is a success.

    With `erase` the product's memory of the session goes first, so that a purge that broke off is resumed by repeating
    it. Whoever watches the session hears SessionPurged.
    """
    if mode not in get_args(AfterPurge):
        raise refuse("memory", mode, "is 'erase' or 'keep'")
    if memory is not None and mode == "erase":
        await _forget(store, memory, session_id)
    await store.purge_session(session_id)
    runtime.forget_histories()
    hub.wake_session(session_id)


async def _forget(store: OwnedStore, memory: Memory, session_id: str) -> None:
    """Forgets what is remembered of a session that may be purged: nothing goes where the purge would be refused."""
    try:
        session = await store.load_session(session_id)
    except SessionPurged:
        return
    if session.status is not SessionStatus.ENDED:
        raise SessionActive(session_id=session_id)
    running = await store.list_runs(session_id, statuses=[RunStatus.RUNNING], limit=1)
    if running.items:
        raise SessionBusy(session_id=session_id, run_id=running.items[0].run_id)
    await forget_session(store, memory, session_id)
