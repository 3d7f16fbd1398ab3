"""A store as a distant worker has it: no administration, no owners."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from actum.lifecycle import commands as c
from actum.lifecycle.states import Run, RunStatus, SessionStatus, Suspension
from actum.records.record import Page, Record
from actum.storage.contract import Store

R = TypeVar("R")


class WorkerStore(Store):
    """Everything that a worker may ask of `store`, and no more."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def execute(self, command: c.Operation[R]) -> R:
        """The command."""
        return await self._store.execute(command)

    async def load_run(self, run_id: str) -> Run:
        """The run."""
        return await self._store.load_run(run_id)

    async def load_session_status(self, session_id: str) -> SessionStatus:
        """The session's status."""
        return await self._store.load_session_status(session_id)

    async def load_run_suspension(self, run_id: str) -> Suspension:
        """The checkpoint."""
        return await self._store.load_run_suspension(run_id)

    async def load_run_record(self, run_id: str, event_key: str) -> Record:
        """The record."""
        return await self._store.load_run_record(run_id, event_key)

    async def list_run_records(
        self, run_id: str, *, cursor: str | None = None, limit: int = 100, types: Sequence[str] | None = None
    ) -> Page[Record]:
        """A run's records."""
        return await self._store.list_run_records(run_id, cursor=cursor, limit=limit, types=types)

    async def list_session_run_records(
        self, session_id: str, *, cursor: str | None = None, limit: int = 100, types: Sequence[str] | None = None
    ) -> Page[Record]:
        """A session's records."""
        return await self._store.list_session_run_records(session_id, cursor=cursor, limit=limit, types=types)

    async def list_scope_records(
        self, root_run_id: str, *, cursor: str | None = None, limit: int = 100, types: Sequence[str] | None = None
    ) -> Page[Record]:
        """A one-shot tree's records."""
        return await self._store.list_scope_records(root_run_id, cursor=cursor, limit=limit, types=types)

    async def read_transcript(
        self, run_id: str, *, cursor: str | None = None, limit: int = 100, backwards: bool = False
    ) -> Page[Record]:
        """A run's transcript."""
        return await self._store.read_transcript(run_id, cursor=cursor, limit=limit, backwards=backwards)

    async def list_runs(
        self,
        session_id: str,
        *,
        statuses: Sequence[RunStatus] | None = None,
        agent_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        cursor: str | None = None,
        limit: int = 100,
    ) -> Page[Run]:
        """A session's runs."""
        return await self._store.list_runs(
            session_id, statuses=statuses, agent_id=agent_id, labels=labels, cursor=cursor, limit=limit
        )

    def bound(self, tenant: str) -> "WorkerStore":
        """The same for one tenant."""
        return WorkerStore(self._store.bound(tenant))
