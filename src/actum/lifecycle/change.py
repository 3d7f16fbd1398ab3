"""What a decision reads (Keys, Seen) and what it writes (Change). Data only: a store moves it and decides nothing."""

import hashlib
from collections.abc import Mapping
from typing import TypeAlias

from actum.base.value import Fact, replace
from actum.lifecycle.commands import Result
from actum.lifecycle.states import Run, Session, Suspension
from actum.records.record import NewRecord, Record, record_id, scope_digest


class Scope(Fact, frozen=True):
    """Where records are numbered: a session, or the root run of a one-shot tree. Exactly one of the two is set."""

    session_id: str | None = None
    root_run_id: str | None = None

    @property
    def digest(self) -> str:
        """The scope's name inside record ids and cursors."""
        return scope_digest(session_id=self.session_id, root_run_id=self.root_run_id)

    def record_id(self, position: int) -> str:
        """The id of the record at `position`."""
        return record_id(self.digest, position)


class SessionRow(Fact, frozen=True):
    """A session and the digest of what was given at its creation."""

    session: Session
    created_digest: str


class RunRow(Fact, frozen=True):
    """A run, its one-shot root, and the event keys of the records that proved its facts.

    `awaiting` are the kinds of input that a suspended run without a successor waits for.
    """

    run: Run
    root_run_id: str | None
    start_key: str
    link_key: str | None = None
    cancel_key: str | None = None
    end_key: str | None = None
    awaiting: tuple[str, ...] = ()

    @property
    def scope(self) -> Scope:
        """The scope of the run's records, fixed at its start."""
        return Scope(session_id=self.run.session_id, root_run_id=self.root_run_id)


class Tombstone(Fact, frozen=True):
    """A purged id: refused for ever. The id itself is gone; the tenant's digest tells whom it is refused to by name."""

    tenant_digest: str | None


Found: TypeAlias = SessionRow | Tombstone
FoundRun: TypeAlias = RunRow | Tombstone


def tombstone_digest(kind: str, name: str) -> str:
    """The digest under which a purged id is kept; `kind` is `session`, `run` or `tenant`."""
    return hashlib.sha256(f"{kind}\0{name}".encode()).hexdigest()


class Keys(Fact, frozen=True):
    """What to lock and read for a command.

    `scope` names the scope where its records go when the command itself tells it; else it is the scope of the run
    `scope_of`. That scope is locked before anything is read. Read are: the scope's session with the run that is its
    head, the rows of `runs`, the parents of `parents_of`, the records stored under `records`, the checkpoint of
    `suspension_of`; with `running`, the id of any running run of the scope; what `consumer` has handled of the scope.
    """

    scope: Scope | None = None
    scope_of: str | None = None
    runs: tuple[str, ...] = ()
    parents_of: tuple[str, ...] = ()
    records: tuple[tuple[str, str], ...] = ()
    suspension_of: str | None = None
    running: bool = False
    consumer: str | None = None


class Seen(Fact, frozen=True):
    """The facts that `keys_of` asked for, as one transaction saw them after the scope was locked.

    Absent rows are absent from the mappings. `position` is the scope's last position, 0 for a new scope; `scope` is
    None when `scope_of` is no run. `hidden` holds the (`session` or `run`, id) of rows that belong to another tenant.
    """

    scope: Scope | None
    position: int = 0
    sessions: Mapping[str, Found] = {}
    runs: Mapping[str, FoundRun] = {}
    records: Mapping[tuple[str, str], Record] = {}
    suspension: Suspension | None = None
    running_run_id: str | None = None
    advanced: int = 0
    hidden: frozenset[tuple[str, str]] = frozenset()

    def within(self, tenant: str) -> "Seen":
        """What a store bound to `tenant` sees: rows of another tenant, or of none, are unknown and their ids hidden."""
        digest = tombstone_digest("tenant", tenant)

        def theirs(row: Found | FoundRun) -> bool:
            match row:
                case Tombstone():
                    return row.tenant_digest == digest
                case SessionRow():
                    return row.session.tenant == tenant
                case RunRow():
                    return row.run.tenant == tenant

        kinds: tuple[tuple[str, Mapping[str, Found | FoundRun]], ...] = (("session", self.sessions), ("run", self.runs))
        hidden = {(kind, name) for kind, rows in kinds for name, row in rows.items() if not theirs(row)}
        return replace(
            self,
            sessions={name: row for name, row in self.sessions.items() if theirs(row)},
            runs={name: row for name, row in self.runs.items() if theirs(row)},
            hidden=frozenset(hidden),
        )


class Placed(Fact, frozen=True):
    """A new record and its position in the change's scope."""

    position: int
    record: NewRecord


class Change(Fact, frozen=True):
    """What to write, in one transaction, and the answer to give once it is durable.

    `scope` is where `records` go; their positions follow the scope's last one without a gap. Rows are given whole, to
    be inserted or to take the place of the row with their id. `purge` erases the whole scope and leaves tombstones:
    for its session, or for every run of a one-shot tree. `advance` is a consumer and the position that it has handled.
    """

    result: Result
    scope: Scope | None = None
    session: SessionRow | None = None
    runs: tuple[RunRow, ...] = ()
    records: tuple[Placed, ...] = ()
    suspension: tuple[str, Suspension] | None = None
    purge: Scope | None = None
    advance: tuple[str, int] | None = None

    @property
    def appends(self) -> bool:
        """Whether records are to be written and nothing else."""
        return bool(self.records) and not (self.session or self.runs or self.suspension or self.purge or self.advance)

    @property
    def empty(self) -> bool:
        """Whether nothing is to be written: the answer of an exact repeat, or a result that changes nothing."""
        return not (self.session or self.runs or self.records or self.suspension or self.purge or self.advance)
