"""The few verbs a database supplies. It moves rows; it decides nothing, and it contains no `if` about a run's state.

Work is a plain function that the backend calls inside one transaction, on a thread of its choice: `see`, then the
rules, then `apply`. So a backend never holds a transaction over an await, and every database runs the same steps.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol, TypeVar

from actum.base.limits import PAGE_BYTES
from actum.base.value import Fact
from actum.lifecycle.change import Change, Keys, RunRow, Scope, Seen, SessionRow
from actum.lifecycle.commands import CountBy, ScopeBehind
from actum.records.record import Record
from actum.storage.owners import Owners

T = TypeVar("T")

# The position of the end of a run that has not ended.
UNENDED: Final = 2**63 - 1


class RecordQuery(Fact, frozen=True, kw_only=True):
    """Records of one scope, by position. `after` and `before` are exclusive; `types` None is every type.

    `runs` None is every run of the scope; otherwise the records come run after run, in the order given, and no run is
    asked for before its turn comes. An unknown run, or one of another scope, has none.
    With `backwards` the newest come first. Reading stops at `limit` records, or once `max_bytes` of payload are
    reached; the first record is always given, however large.
    """

    scope: Scope
    runs: Iterable[str] | None = None
    after: int = 0
    before: int | None = None
    types: tuple[str, ...] | None = None
    limit: int
    max_bytes: int = PAGE_BYTES
    backwards: bool = False


class Slice(Fact, frozen=True):
    """Records in the asked order, whether there are more, and the scope's last position at that moment."""

    records: tuple[Record, ...]
    more: bool
    last: int


class PayloadSlice(Fact, frozen=True):
    """What a `Slice` holds, of each record only its type and its payload; `through` is the position of the last one."""

    types: Sequence[str]
    payloads: Sequence[bytes]
    more: bool
    through: int | None
    last: int


class SessionQuery(Fact, frozen=True, kw_only=True):
    """Sessions by `created_at`, then id, after the pair `after`; `metadata` entries must all be equal."""

    status: str | None = None
    tenant: str | None = None
    metadata: Mapping[str, str] = {}
    after: tuple[datetime, str] | None = None
    limit: int


class RunQuery(Fact, frozen=True, kw_only=True):
    """Runs by `started_at`, then id, after the pair `after`; every given filter must hold.

    `awaiting` is a kind of pending input; `since` a lower bound of `started_at`, inclusive.
    """

    session_id: str | None = None
    tenant: str | None = None
    statuses: tuple[str, ...] | None = None
    agent_id: str | None = None
    labels: Mapping[str, str] = {}
    awaiting: str | None = None
    since: datetime | None = None
    after: tuple[datetime, str] | None = None
    limit: int


class View(Protocol):
    """One consistent view of all rows."""

    def see(self, keys: Keys) -> Seen:
        """The facts that `keys` asks for. In a write transaction the scope is locked before they are read."""
        ...

    def records(self, query: RecordQuery) -> Slice:
        """A slice of one scope's records; empty for a scope that is not there."""
        ...

    def payloads(self, query: RecordQuery) -> PayloadSlice:
        """As `records`, without what else a record has."""
        ...

    def chain(self, run_id: str) -> Iterable[tuple[str, int]]:
        """The run and the runs of its history chain, newest first, each with the position of its end record.

        No run is read before it is asked for; a list means that all are known. A run that has not ended has the
        position UNENDED.
        """
        ...

    def sessions(self, query: SessionQuery) -> tuple[SessionRow, ...]:
        """Session rows in list order."""
        ...

    def runs(self, query: RunQuery) -> tuple[RunRow, ...]:
        """Run rows in list order."""
        ...

    def count_runs(self, by: CountBy, tenant: str | None) -> Mapping[str | None, int]:
        """How many runs there are for each value of a field."""
        ...

    def behind(self, consumer: str, limit: int, tenant: str | None) -> tuple[ScopeBehind, ...]:
        """At most `limit` scopes whose last position is beyond what the consumer has handled, oldest scope first."""
        ...


class Transaction(View, Protocol):
    """One write transaction: what it read cannot change before its commit."""

    def apply(self, change: Change) -> None:
        """Writes rows, records and checkpoints, or erases a scope."""
        ...


class Backend(Protocol):
    """A database. Every failure of its own leaves it as StoreUnavailable, SchemaTooNew or NotAStore.

    What it holds and cannot read, as a damaged row, leaves it as DurableDataError.
    """

    @property
    def owners(self) -> Owners:
        """Who holds owner ids of this store."""
        ...

    async def write(self, work: Callable[[Transaction], T], size: int) -> T:
        """`work` in one transaction; its answer once that is durable. Nothing of it stays when it raises.

        `size` is about how many bytes it writes. Commands may share a commit; each stays all-or-nothing on its own.
        Cancelling the awaiting task detaches; the command may still be stored.
        """
        ...

    async def read(self, work: Callable[[View], T]) -> T:
        """`work` on one consistent view, beside writers and never blocking them."""
        ...

    async def close(self) -> None:
        """Releases files and threads, after the commands that were accepted are stored."""
        ...
