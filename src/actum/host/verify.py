"""Re-checking a store: what it says of sessions, runs and transcripts, held against the records that must prove it.

Nothing is repaired. The store is only read, in pages; what is kept in memory does not grow with it. A store in use may
be verified: a run that moves on meanwhile is read on. What no second fact repeats (the words of a user's message, say)
cannot be proved by records, nor that nothing was cut off behind the last record of a run that still runs; that a file
was not changed at rest is for the file system to say.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeVar

from actum.base.errors import ActumError, NotFound, RunPurged, SessionPurged
from actum.host.verify_reading import Reading, ReadRecords, other_run
from actum.host.verify_report import Check, Damage, Findings, Listener, Progress, Report
from actum.host.verify_run import sayer, verify_run
from actum.host.verify_scope import ScopeProof
from actum.lifecycle.states import Run, Session, SessionStatus
from actum.records.record import Page, scope_digest
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore

__all__ = ["Check", "Damage", "Progress", "Report", "verify"]

T = TypeVar("T")

_PAGE: Final = 100
_TRIES: Final = 5


async def verify(store: OwnedStore, progress: Listener | None = None) -> Report:
    """Checks every scope, run and record of the store; `progress` is told after each run and session.

    Raises StoreUnavailable when the store cannot be read at all. Whatever is wrong inside it is in the report.
    """
    verification = _Verification(store, progress or (lambda _: None))
    return await verification.whole()


class _Verification:
    def __init__(self, store: OwnedStore, progress: Listener) -> None:
        self._store = store
        self._tell = progress
        self._findings = Findings()

    async def whole(self) -> Report:
        found = self._findings
        found.expected_runs = sum((await self._store.count_runs()).values())

        async def list_sessions(cursor: str | None, limit: int) -> Page[Session]:
            return await self._store.list_sessions(cursor=cursor, limit=limit)

        async def find_runs(cursor: str | None, limit: int) -> Page[Run]:
            return await self._store.find_runs(cursor=cursor, limit=limit)

        async for session in self._listed("sessions", list_sessions, lambda session: session.session_id):
            await self._session(session)
        async for run in self._listed("runs", find_runs, lambda run: run.run_id):
            await self._row(run)
        return found.report()

    async def _session(self, session: Session) -> None:
        session_id = session.session_id
        say = sayer(self._findings, session_id, None)
        if (session.status is SessionStatus.ENDED) != (session.ended_at is not None):
            say(Check.SESSION, f"the session is {session.status}, but its ended_at says otherwise", None)
        try:
            proof = await self._scope(
                session_id,
                scope_digest(session_id=session_id, root_run_id=None),
                lambda cursor, limit: self._store.list_session_run_records(session_id, cursor=cursor, limit=limit),
            )
            if not proof.reading.unreadable:  # else a start that moved the head may be among what was lost
                await self._head(session_id, proof)
        except (NotFound, SessionPurged):
            return  # purged while it was read
        self._findings.sessions += 1
        self._tell(self._findings.progress())

    async def _head(self, session_id: str, proof: ScopeProof) -> None:
        """The session's head, held against the one that its records lead to. New records are read first."""
        for _ in range(_TRIES):
            head = (await self._store.load_session(session_id)).head_run_id
            if head == proof.head:
                return
            if not await self._read_on(proof, session_id):
                break
        else:
            return  # it moves faster than it can be read
        says = f"the session's head is {head!r}, its records lead to {proof.head!r}"
        sayer(self._findings, session_id, head)(Check.SESSION, says, None)

    async def _row(self, run: Run) -> None:
        """A row of the list of all runs. Runs with records in a session were verified there."""
        if run.session_id is None and run.parent_run_id is None:
            await self._one_shot(run.run_id)
        say = sayer(self._findings, run.session_id, run.run_id)
        try:
            if run.session_id is not None:
                await self._store.load_session_status(run.session_id)
            page = await self._store.list_run_records(run.run_id, limit=1)
        except (NotFound, RunPurged, SessionPurged) as error:
            if not await self._purged(run):
                say(Check.START, f"the run stands in no scope: {error}", None)
        except ActumError:
            raise
        except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
            say(Check.READING, f"the run's first record cannot be read: {type(error).__name__}: {error}", None)
        else:
            if not page.items or page.items[0].type != RecordType.RUN_STARTED or await self._lost(run):
                # The scope's records did not lead here.
                await verify_run(self._store, run.run_id, run.session_id, await self._digest(run), self._findings)
        self._tell(self._findings.progress())

    async def _lost(self, run: Run) -> bool:
        """Whether the run belongs to a one-shot tree whose parent is gone, so that no root leads to it."""
        if run.session_id is not None or run.parent_run_id is None:
            return False
        return await other_run(self._store, run.parent_run_id, Check.LINK, "the parent", _silent) is None

    async def _purged(self, run: Run) -> bool:
        """Whether the run was purged while the list was read."""
        try:
            await self._store.load_run(run.run_id)
        except (NotFound, RunPurged):
            return True
        return False

    async def _digest(self, run: Run) -> str:
        """The digest of the run's scope, found by its root."""
        seen = {run.run_id}
        while run.session_id is None and run.parent_run_id is not None and run.parent_run_id not in seen:
            seen.add(run.parent_run_id)
            parent = await other_run(self._store, run.parent_run_id, Check.LINK, "the parent", _silent)
            if parent is None:
                break
            run = parent
        return scope_digest(session_id=run.session_id, root_run_id=run.run_id)

    async def _one_shot(self, run_id: str) -> None:
        try:
            await self._scope(
                None,
                scope_digest(session_id=None, root_run_id=run_id),
                lambda cursor, limit: self._store.list_scope_records(run_id, cursor=cursor, limit=limit),
            )
        except (NotFound, RunPurged):
            return  # purged while it was read

    async def _scope(self, session_id: str | None, digest: str, read: ReadRecords) -> ScopeProof:
        proof = ScopeProof(self._store, digest, Reading(read, digest), sayer(self._findings, session_id, None))
        await self._read_on(proof, session_id)
        return proof

    async def _read_on(self, proof: ScopeProof, session_id: str | None) -> bool:
        """Reads on to the scope's end, verifying each run at its start; whether there was anything new."""
        before = self._findings.records
        async for record in proof.reading.records():
            self._findings.records += 1
            await proof.read(record, sayer(self._findings, session_id, record.run_id))
            if record.type == RecordType.RUN_STARTED:
                await verify_run(self._store, record.run_id, session_id, proof.digest, self._findings)
                self._tell(self._findings.progress())
        proof.finish()
        return self._findings.records > before

    async def _listed(
        self, what: str, read: Callable[[str | None, int], Awaitable[Page[T]]], name: Callable[[T], str]
    ) -> AsyncIterator[T]:
        """Every item of a list, up to a row that cannot be read."""
        cursor: str | None = None
        limit, last = _PAGE, "the beginning"
        while True:
            try:
                page = await read(cursor, limit)
            except ActumError:
                raise
            except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
                if limit > 1:
                    limit = 1
                    continue
                says = f"the list of {what} cannot be read beyond {last}: {type(error).__name__}: {error}"
                self._findings.add(Damage(check=Check.READING, says=says))
                return
            for item in page.items:
                yield item
                last = repr(name(item))
            if not page.more:
                return
            cursor = page.cursor


def _silent(*_: object) -> None:
    """Somebody else names this damage."""
