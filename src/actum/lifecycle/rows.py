"""Finding the rows that a rule needs, with one error for each way in which they are not there."""

from actum.base.errors import RunNotFound, RunPurged, SessionNotFound, SessionPurged
from actum.lifecycle.change import RunRow, Seen, SessionRow, Tombstone


def run_row(seen: Seen, run_id: str) -> RunRow:
    """The run's row. Raises RunNotFound, RunPurged."""
    row = seen.runs.get(run_id)
    if isinstance(row, RunRow):
        return row
    if isinstance(row, Tombstone):
        raise RunPurged(run_id=run_id)
    raise RunNotFound(run_id=run_id)


def session_row(seen: Seen, session_id: str) -> SessionRow:
    """The session's row. Raises SessionNotFound, SessionPurged."""
    row = seen.sessions.get(session_id)
    if row is None:
        raise SessionNotFound(session_id=session_id)
    if isinstance(row, Tombstone):
        raise SessionPurged(session_id=session_id)
    return row
