"""The one shell around the rules: look, decide, write. The only caller of `decide`.

A store bound to a tenant is the same shell with a narrower view; it is judged inside the transaction.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from functools import partial
from itertools import accumulate
from typing import Any, TypeVar, get_args

from actum.base.checks import identifier, instant, plain, refuse, several
from actum.base.clock import next_round
from actum.base.errors import AccessDenied, ContractError, RecordNotFound, SuspensionNotFound
from actum.base.limits import COMMAND_BYTES, KIB, PAGE_ITEMS_DEFAULT
from actum.base.value import replace
from actum.lifecycle import commands as c
from actum.lifecycle.change import Keys, RunRow, Scope, Seen, SessionRow
from actum.lifecycle.decide import decide
from actum.lifecycle.keys import keys_of
from actum.lifecycle.rows import run_row, session_row
from actum.lifecycle.shape import checked
from actum.lifecycle.states import Run, RunStatus, Session, SessionStatus, Suspension
from actum.lifecycle.tenants import for_tenant
from actum.messages.message import Message
from actum.records.kinds import PendingKind, messages_spelled
from actum.records.record import Page, Record
from actum.storage import pages
from actum.storage.backend import Backend, PayloadSlice, RunQuery, SessionQuery, Transaction, View
from actum.storage.contract import OwnedStore
from actum.storage.cursors import after_of, list_digest

R = TypeVar("R")

# So much is decoded at a stretch on the thread that asks: half a millisecond of common messages, a few of dense ones.
_STRETCH_BYTES = 128 * KIB


class LocalStore(OwnedStore):
    """A store over any backend. With `tenant` it knows that tenant's rows only, and closing it closes nothing."""

    def __init__(self, backend: Backend, *, tenant: str | None = None) -> None:
        self._backend = backend
        self._tenant = tenant

    def bound(self, tenant: str) -> "LocalStore":
        """This store as one tenant sees it. Raises AccessDenied on a store that is bound to another."""
        tenant = identifier("tenant", tenant)
        if self._tenant not in (None, tenant):
            raise AccessDenied(action="bind a store of one tenant to another")
        return LocalStore(self._backend, tenant=tenant)

    async def execute(self, command: c.Operation[R]) -> R:
        """The command in one transaction."""
        if not isinstance(command, c.Operation):
            raise refuse("command", command, "is an operation of the store, such as RootRunStart")
        exact = checked(command)  # type: ignore[arg-type]  # every operation is one of the union's members
        if self._tenant is not None:
            exact = for_tenant(exact, self._tenant)
        answer: R = await self._backend.write(partial(self._step, exact), _size(exact))
        return answer

    def _step(self, command: c.Command, tx: Transaction) -> Any:  # noqa: ANN401 - the rules give each command its own answer
        keys = keys_of(command)
        seen = self._see(tx, keys)
        change = decide(command, seen)
        tx.apply(change)
        return change.result

    def _see(self, view: View, keys: Keys) -> Seen:
        seen = view.see(keys)
        return seen if self._tenant is None else seen.within(self._tenant)

    def _run(self, view: View, run_id: str) -> RunRow:
        return run_row(self._see(view, Keys(scope_of=run_id, runs=(run_id,))), run_id)

    def _session(self, view: View, session_id: str) -> SessionRow:
        return session_row(self._see(view, Keys(scope=Scope(session_id=session_id))), session_id)

    # Reads of a worker

    async def load_run(self, run_id: str) -> Run:
        """The run."""
        identifier("run_id", run_id)
        return await self._backend.read(lambda view: self._run(view, run_id).run)

    async def load_session_status(self, session_id: str) -> SessionStatus:
        """`active` or `ended`."""
        return (await self.load_session(session_id)).status

    async def load_run_suspension(self, run_id: str) -> Suspension:
        """The checkpoint of a suspended run."""
        identifier("run_id", run_id)

        def work(view: View) -> Suspension:
            seen = self._see(view, Keys(scope_of=run_id, runs=(run_id,), suspension_of=run_id))
            run_row(seen, run_id)
            if seen.suspension is None:
                raise SuspensionNotFound(run_id=run_id)
            return seen.suspension

        return await self._backend.read(work)

    async def load_run_record(self, run_id: str, event_key: str) -> Record:
        """The record stored under this key."""
        name = (identifier("run_id", run_id), identifier("event_key", event_key))

        def work(view: View) -> Record:
            seen = self._see(view, Keys(scope_of=run_id, runs=(run_id,), records=(name,)))
            run_row(seen, run_id)
            record = seen.records.get(name)
            if record is None:
                raise RecordNotFound(run_id=run_id, event_key=event_key)
            return record

        return await self._backend.read(work)

    async def list_run_records(
        self,
        run_id: str,
        *,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
        types: Sequence[str] | None = None,
    ) -> Page[Record]:
        """A run's records, oldest first."""
        identifier("run_id", run_id)
        limit, wanted = pages.checked_limit(limit), pages.checked_types(types)

        def work(view: View) -> Page[Record]:
            scope = self._run(view, run_id).scope
            return pages.record_page(view, scope, cursor, limit, run_id=run_id, types=wanted)

        return await self._backend.read(work)

    async def list_session_run_records(
        self,
        session_id: str,
        *,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
        types: Sequence[str] | None = None,
    ) -> Page[Record]:
        """The records of all runs of a session in commit order."""
        identifier("session_id", session_id)
        limit, wanted = pages.checked_limit(limit), pages.checked_types(types)

        def work(view: View) -> Page[Record]:
            self._session(view, session_id)
            return pages.record_page(view, Scope(session_id=session_id), cursor, limit, types=wanted)

        return await self._backend.read(work)

    async def list_scope_records(
        self,
        root_run_id: str,
        *,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
        types: Sequence[str] | None = None,
    ) -> Page[Record]:
        """The records of a one-shot tree, named by its root run, in commit order."""
        identifier("root_run_id", root_run_id)
        limit, wanted = pages.checked_limit(limit), pages.checked_types(types)

        def work(view: View) -> Page[Record]:
            row = self._run(view, root_run_id)
            if row.root_run_id != root_run_id:
                raise refuse("root_run_id", root_run_id, "is the root of a one-shot tree")
            return pages.record_page(view, row.scope, cursor, limit, types=wanted)

        return await self._backend.read(work)

    async def read_transcript(
        self,
        run_id: str,
        *,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
        backwards: bool = False,
    ) -> Page[Record]:
        """The transcript records of a run and of its history chain."""
        identifier("run_id", run_id)
        limit = pages.checked_limit(limit)
        walk = pages.transcript_page_backwards if backwards else pages.transcript_page
        return await self._backend.read(lambda view: walk(view, self._run(view, run_id), cursor, limit))

    async def read_messages(
        self, run_id: str, *, cursor: str | None = None, limit: int = PAGE_ITEMS_DEFAULT
    ) -> Page[Message]:
        """The messages that a page of transcript records carries."""
        identifier("run_id", run_id)
        limit = pages.checked_limit(limit)
        found, ends = await self._backend.read(
            lambda view: pages.message_page(view, self._run(view, run_id), cursor, limit)
        )
        try:
            return Page(items=tuple(await _messages(found)), cursor=ends, more=found.more)
        except ContractError:
            # Which record it is, the records themselves tell.
            return await super().read_messages(run_id, cursor=cursor, limit=limit)

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
        identifier("session_id", session_id)
        chosen = None if statuses is None else _statuses(statuses)
        query = RunQuery(
            session_id=session_id,
            statuses=chosen,
            agent_id=pages.optional_id("agent_id", agent_id),
            labels=pages.checked_filters(labels, "labels"),
            tenant=self._tenant,
            limit=pages.checked_limit(limit) + 1,
        )

        def work(view: View) -> Page[Run]:
            self._session(view, session_id)
            return _run_page(view, "list_runs", query, cursor)

        return await self._backend.read(work)

    # Administration

    async def create_session(
        self,
        session_id: str,
        created_at: datetime,
        *,
        metadata: Mapping[str, str] | None = None,
        tenant: str | None = None,
    ) -> Session:
        """The session, new or as it is now."""
        given = _mapping("metadata", metadata)
        return await self.execute(
            c.CreateSession(session_id=session_id, created_at=created_at, metadata=given, tenant=tenant)
        )

    async def load_session(self, session_id: str) -> Session:
        """The session."""
        identifier("session_id", session_id)
        return await self._backend.read(lambda view: self._session(view, session_id).session)

    async def set_session_metadata(self, session_id: str, metadata: Mapping[str, str]) -> Session:
        """Replaces the session's metadata as a whole."""
        given = _mapping("metadata", metadata)
        return await self.execute(c.SetSessionMetadata(session_id=session_id, metadata=given))

    async def list_sessions(
        self,
        *,
        status: SessionStatus | None = None,
        metadata: Mapping[str, str] | None = None,
        tenant: str | None = None,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
    ) -> Page[Session]:
        """Sessions by creation time, then id."""
        query = SessionQuery(
            status=pages.checked_choice("status", status, [each.value for each in SessionStatus]),
            metadata=pages.checked_filters(metadata, "metadata"),
            tenant=self._own_tenant(tenant),
            limit=pages.checked_limit(limit) + 1,
        )
        given = pages.filters_of(status=query.status, metadata=dict(query.metadata), tenant=query.tenant)
        digest = list_digest("list_sessions", given)
        after = after_of(cursor, digest)

        def work(view: View) -> Page[Session]:
            rows = view.sessions(replace(query, after=after))
            return pages.value_page(
                rows, limit, digest, lambda row: row.session, lambda s: (s.created_at, s.session_id), after
            )

        return await self._backend.read(work)

    async def end_session(self, session_id: str, ended_at: datetime) -> Session:
        """Ends the session; the first time is kept."""
        return await self.execute(c.EndSession(session_id=session_id, ended_at=ended_at))

    async def purge_session(self, session_id: str) -> None:
        """Erases an ended session without running runs; a tombstone stays."""
        await self.execute(c.PurgeSession(session_id=session_id))

    async def purge_one_shot(self, run_id: str) -> None:
        """Erases a one-shot tree without running runs; tombstones stay."""
        await self.execute(c.PurgeOneShot(run_id=run_id))

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
        """Runs of all sessions and one-shot runs, by start time, then id."""
        query = RunQuery(
            statuses=None if status is None else (_status("status", status),),
            agent_id=pages.optional_id("agent", agent),
            labels=pages.checked_filters(labels, "labels"),
            awaiting=pages.checked_choice("awaiting", awaiting, [each.value for each in PendingKind]),
            since=None if since is None else instant("since", since),
            tenant=self._own_tenant(tenant),
            limit=pages.checked_limit(limit) + 1,
        )
        return await self._backend.read(lambda view: _run_page(view, "find_runs", query, cursor))

    async def count_runs(self, *, by: c.CountBy = "status") -> dict[str | None, int]:
        """How many runs there are for each value of the field `by`."""
        if by not in get_args(c.CountBy):
            raise refuse("by", by, "is one of " + ", ".join(get_args(c.CountBy)))
        return dict(await self._backend.read(lambda view: view.count_runs(by, self._tenant)))

    async def scopes_behind(self, consumer: str, limit: int = PAGE_ITEMS_DEFAULT) -> tuple[c.ScopeBehind, ...]:
        """Scopes with records that the consumer has not handled."""
        identifier("consumer", consumer)
        limit = pages.checked_limit(limit)
        return await self._backend.read(lambda view: view.behind(consumer, limit, self._tenant))

    async def advance(
        self, consumer: str, position: int, *, session_id: str | None = None, root_run_id: str | None = None
    ) -> None:
        """The consumer has handled a scope up to `position`."""
        await self.execute(
            c.Advance(consumer=consumer, position=position, session_id=session_id, root_run_id=root_run_id)
        )

    # Owners, and the end

    def hold_owner(self) -> AbstractAsyncContextManager[str]:
        """An owner id that is alive as long as the context, and no longer than the process."""
        return self._backend.owners.hold()

    async def owner_alive(self, owner: str) -> bool:
        """Whether the process that holds this owner id still lives."""
        return await self._backend.owners.alive(identifier("owner", owner))

    async def close(self) -> None:
        """Closes the backend; a bound store closes nothing."""
        if self._tenant is None:
            await self._backend.close()

    def _own_tenant(self, tenant: str | None) -> str | None:
        if self._tenant is not None and tenant not in (None, self._tenant):
            raise refuse("tenant", tenant, "is the tenant that this store is bound to, or left out")
        return self._tenant or pages.optional_id("tenant", tenant)


def _run_page(view: View, name: str, query: RunQuery, cursor: str | None) -> Page[Run]:
    digest = list_digest(
        name,
        pages.filters_of(
            session_id=query.session_id,
            statuses=None if query.statuses is None else sorted(query.statuses),
            agent_id=query.agent_id,
            labels=dict(query.labels),
            awaiting=query.awaiting,
            since=query.since.isoformat() if query.since else None,
            tenant=query.tenant,
        ),
    )
    after = after_of(cursor, digest)
    rows = view.runs(replace(query, after=after))
    return pages.value_page(
        rows, query.limit - 1, digest, lambda row: row.run, lambda r: (r.started_at, r.run_id), after
    )


async def _messages(found: PayloadSlice) -> list[Message]:
    """The messages of these payloads, with room for the other tasks of the loop in between."""
    messages: list[Message] = []
    sizes = list(accumulate(map(len, found.payloads)))
    begin = read = 0
    while begin < len(sizes):
        if begin:
            await next_round()
        # At least one, however large.
        end = max(bisect_right(sizes, read + _STRETCH_BYTES), begin + 1)
        messages += messages_spelled(found.types[begin:end], found.payloads[begin:end])
        begin, read = end, sizes[end - 1]
    return messages


def _mapping(path: str, given: Mapping[str, str] | None) -> dict[str, str]:
    if given is not None and not isinstance(given, Mapping):
        raise refuse(path, given, "is a mapping of text to text")
    return dict(given or {})


def _statuses(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(_status("statuses", each) for each in several("statuses", given, object, "run statuses"))
    )


def _status(path: str, given: object) -> str:
    choices = [each.value for each in RunStatus]
    if not isinstance(given, str) or plain(given) not in choices:
        raise refuse(path, given, "is one of " + ", ".join(choices))
    return plain(given)


def _size(command: Any) -> int:  # noqa: ANN401 - any command, whichever records it carries
    """About how many bytes a command writes: its payloads and a checkpoint; a purge may move a whole file."""
    if isinstance(command, c.AppendRunRecords):
        size = 512
        for record in command.records:
            size += len(record.payload)
        return size
    if isinstance(command, c.PurgeSession | c.PurgeOneShot):
        return COMMAND_BYTES
    stop = getattr(command, "suspension", None) or getattr(command, "terminal", None) or command
    stop = stop if isinstance(stop, c.RunSuspension | c.RunTerminal) else command
    checkpoint = len(stop.suspension.data) if isinstance(stop, c.RunSuspension) else 0
    return 512 + checkpoint + sum(len(record.payload) for record in getattr(stop, "records", ()))
