"""The promise of a store, in prose and in types.

Every operation is one transaction: state and the records that prove it, together or not at all. An exact retry gets the
first answer back; anything else about a known fact is a conflict. Refusals are typed errors before anything is written.
A failure of the machine is StoreUnavailable, with nothing half-written: the caller repeats the same command.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TypeVar

from actum.base.checks import several
from actum.base.limits import PAGE_ITEMS_DEFAULT
from actum.lifecycle import commands as c
from actum.lifecycle.states import Run, RunStatus, Session, SessionStatus, Suspension
from actum.messages.message import Message
from actum.records.record import NewRecord, Page, Record
from actum.transcript.replay import Replay

R = TypeVar("R")


class Store(ABC):
    """What a worker may do: start, append, cancel, suspend, end, and read runs."""

    @abstractmethod
    async def execute(self, command: c.Operation[R]) -> R:
        """The command in one transaction. Raises ContractError when the rules refuse it, else StoreUnavailable."""

    async def start_root_run(self, command: c.RootRunStart) -> c.Started:
        """Run and `run_started`; in an ended session also its canceled end, outcome `stop`."""
        return await self.execute(command)

    async def start_child_run(self, command: c.ChildRunStart) -> c.Started:
        """`child_run_linked` on the parent, then as a root run."""
        return await self.execute(command)

    async def start_one_shot_run(self, command: c.OneShotRunStart) -> c.Started:
        """A run without a session and its `run_started`."""
        return await self.execute(command)

    async def start_one_shot_child_run(self, command: c.OneShotChildRunStart) -> c.Started:
        """The link on the sessionless parent, then the child's `run_started`."""
        return await self.execute(command)

    async def append_run_records(self, records: Sequence[NewRecord]) -> tuple[c.Appended, ...]:
        """Ordinary records of one run, all or none; some may be stored already."""
        return await self.execute(c.AppendRunRecords(records=several("records", records, NewRecord, "records")))

    async def append_run_record(self, record: NewRecord) -> c.Appended:
        """One ordinary record."""
        return (await self.execute(c.AppendRunRecords(records=(record,))))[0]

    async def record_run_cancellation(self, command: c.RunCancellation) -> c.Changed:
        """The first reason and its intent record; the run's status stays `running`."""
        return await self.execute(command)

    async def record_run_suspension(self, command: c.RunSuspension) -> c.Changed:
        """Checkpoint, status `suspended` and `run_suspended`."""
        return await self.execute(command)

    async def record_run_terminal(self, command: c.RunTerminal) -> c.Changed:
        """The final status and `run_completed`."""
        return await self.execute(command)

    async def repair_run_suspension(self, command: c.RunSuspension) -> c.Repaired:
        """As `record_run_suspension`; another end that owns the run is a result."""
        return await self.execute(c.RepairRunSuspension(suspension=command))

    async def repair_run_terminal(self, command: c.RunTerminal) -> c.Repaired:
        """As `record_run_terminal`; another end that owns the run is a result."""
        return await self.execute(c.RepairRunTerminal(terminal=command))

    async def take_run(self, run_id: str, owner: str, expected: str | None = None) -> c.Taken:
        """Makes `owner` the owner of a running run if `expected` still is; losing is a result."""
        return await self.execute(c.TakeRun(run_id=run_id, owner=owner, expected=expected))

    @abstractmethod
    async def load_run(self, run_id: str) -> Run:
        """The run. Raises RunNotFound, RunPurged."""

    @abstractmethod
    async def load_session_status(self, session_id: str) -> SessionStatus:
        """`active` or `ended`. Raises SessionPurged, SessionNotFound."""

    @abstractmethod
    async def load_run_suspension(self, run_id: str) -> Suspension:
        """The checkpoint of a suspended run. Raises RunNotFound, RunPurged, SuspensionNotFound."""

    @abstractmethod
    async def load_run_record(self, run_id: str, event_key: str) -> Record:
        """The record stored under this key. Raises RunNotFound, RunPurged, RecordNotFound."""

    @abstractmethod
    async def list_run_records(
        self,
        run_id: str,
        *,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
        types: Sequence[str] | None = None,
    ) -> Page[Record]:
        """A run's records, oldest first. A page holds at most `limit` records (1 to 1,000) and about 8 MiB."""

    @abstractmethod
    async def list_session_run_records(
        self,
        session_id: str,
        *,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
        types: Sequence[str] | None = None,
    ) -> Page[Record]:
        """The records of all runs of a session in commit order. Raises SessionNotFound, SessionPurged."""

    @abstractmethod
    async def list_scope_records(
        self,
        root_run_id: str,
        *,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
        types: Sequence[str] | None = None,
    ) -> Page[Record]:
        """The records of a one-shot tree, named by its root run, in commit order."""

    @abstractmethod
    async def read_transcript(
        self,
        run_id: str,
        *,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
        backwards: bool = False,
    ) -> Page[Record]:
        """The transcript records of a run and of its history chain, oldest first, or with `backwards` newest first.

        The cursor of a `backwards` list goes on towards older records.
        """

    async def read_messages(
        self, run_id: str, *, cursor: str | None = None, limit: int = PAGE_ITEMS_DEFAULT
    ) -> Page[Message]:
        """The messages that a page of `read_transcript` carries; `limit` counts its records, and its cursor is theirs.

        Whoever wants nothing else of the records reads in two thirds of the time where the store can spare itself the
        making of them. Raises what `read_transcript` raises, and DurableDataError for a record that cannot be read.
        """
        page = await self.read_transcript(run_id, cursor=cursor, limit=limit)
        messages = Replay(chain=True).read(page.items).messages
        return Page(items=messages, cursor=page.cursor, more=page.more)

    @abstractmethod
    async def list_runs(
        self,
        session_id: str,
        *,
        statuses: Sequence[RunStatus] | None = None,
        agent_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
    ) -> Page[Run]:
        """The runs of a session by start time, then id."""

    @abstractmethod
    def bound(self, tenant: str) -> "Store":
        """This store as one tenant sees it: rows of another tenant, or of none, are unknown."""


class SessionAdmin(ABC):
    """What belongs to the host, not to workers: sessions, erasure, searching, delivery to projections."""

    @abstractmethod
    async def create_session(
        self,
        session_id: str,
        created_at: datetime,
        *,
        metadata: Mapping[str, str] | None = None,
        tenant: str | None = None,
    ) -> Session:
        """The session, new or as it is now when it was created with the same tenant and metadata.

        Raises SessionConflict, SessionEnded, SessionPurged.
        """

    @abstractmethod
    async def load_session(self, session_id: str) -> Session:
        """The session. Raises SessionNotFound, SessionPurged."""

    @abstractmethod
    async def set_session_metadata(self, session_id: str, metadata: Mapping[str, str]) -> Session:
        """Replaces the session's metadata as a whole."""

    @abstractmethod
    async def list_sessions(
        self,
        *,
        status: SessionStatus | None = None,
        metadata: Mapping[str, str] | None = None,
        tenant: str | None = None,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
    ) -> Page[Session]:
        """Sessions by creation time, then id; every given filter must hold."""

    @abstractmethod
    async def end_session(self, session_id: str, ended_at: datetime) -> Session:
        """Ends the session; the first time is kept. Running runs may still store their last records."""

    @abstractmethod
    async def purge_session(self, session_id: str) -> None:
        """Erases an ended session without running runs; a tombstone stays. Raises SessionActive, SessionBusy."""

    @abstractmethod
    async def purge_one_shot(self, run_id: str) -> None:
        """Erases a one-shot tree without running runs, by its root; tombstones stay. Raises RunBusy."""

    @abstractmethod
    async def find_runs(
        self,
        *,
        status: RunStatus | None = None,
        agent: str | None = None,
        labels: Mapping[str, str] | None = None,
        awaiting: str | None = None,
        since: datetime | None = None,
        tenant: str | None = None,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
    ) -> Page[Run]:
        """Runs of all sessions and one-shot runs, by start time, then id. `awaiting` is a kind of pending input."""

    @abstractmethod
    async def count_runs(self, *, by: c.CountBy = "status") -> dict[str | None, int]:
        """How many runs there are for each value of the field `by`."""

    @abstractmethod
    async def scopes_behind(self, consumer: str, limit: int = PAGE_ITEMS_DEFAULT) -> tuple[c.ScopeBehind, ...]:
        """Scopes with records that the consumer has not handled."""

    @abstractmethod
    async def advance(
        self, consumer: str, position: int, *, session_id: str | None = None, root_run_id: str | None = None
    ) -> None:
        """The consumer has handled a scope up to `position`; a smaller one than before changes nothing."""


class OwnedStore(Store, SessionAdmin):
    """A store of this process: both interfaces, and the proof that a process lives."""

    @abstractmethod
    def bound(self, tenant: str) -> "OwnedStore":
        """This store as one tenant sees it; what it creates is that tenant's own."""

    @abstractmethod
    def hold_owner(self) -> AbstractAsyncContextManager[str]:
        """An owner id that is alive as long as the context, and no longer than the process."""

    @abstractmethod
    async def owner_alive(self, owner: str) -> bool:
        """Whether the process that holds this owner id still lives."""

    @abstractmethod
    async def close(self) -> None:
        """Closes the store after what it accepted is stored."""
