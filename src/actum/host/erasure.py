"""Erasure: every copy of a session's data that this host keeps goes, in the store and in memory."""

from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore
from actum.stream.hub import Hub


async def purge(store: OwnedStore, runtime: Runtime, hub: Hub, session_id: str) -> None:
    """Erases an ended session without running runs. Raises SessionActive, SessionBusy; again is a success.

    Whoever watches the session hears SessionPurged.
    """
    await store.purge_session(session_id)
    runtime.forget_histories()
    hub.wake_session(session_id)
