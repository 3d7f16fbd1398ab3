"""Re-checking a store: what it says of sessions, runs and transcripts, held against the records that must prove it.

Nothing is repaired. The store is only read, in pages; what is kept in memory does not grow with it, unless a list of
sessions or runs is damaged: then names are kept of what stands behind the damage. A store in use may be verified: a run
that moves on meanwhile is read on. What no second fact repeats (the words of a user's message, say) cannot be proved by
records, nor that nothing was cut off behind the last record of a run that still runs; that a file was not changed at
rest is for the file system to say.
"""

from typing import Final

from actum.base.errors import NotFound, RunPurged, SessionPurged
from actum.host.verify_lists import all_runs, all_sessions, run_place, session_place
from actum.host.verify_reading import Passed, Reading, ReadRecords, other_run, start_record, unread
from actum.host.verify_report import Check, Damage, Findings, Listener, Progress, Report
from actum.host.verify_run import sayer, verify_run
from actum.host.verify_scope import ScopeProof
from actum.lifecycle.states import Run, Session, SessionStatus
from actum.records.record import scope_digest
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore

__all__ = ["Check", "Damage", "Progress", "Report", "verify"]

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
        self._say = sayer(self._findings, None, None)
        self._sessions = all_sessions(store, self._say)
        self._runs = all_runs(store, self._say)
        # What was verified of that which stands behind a damaged row of its list: session ids, ids of roots.
        self._reached: set[str] = set()
        self._roots: set[str] = set()
        # By the digests of their scopes.
        self._passed: dict[str, list[Passed]] = {}

    async def whole(self) -> Report:
        found = self._findings
        found.expected_runs = await self._count()
        async for session in self._sessions.items():
            if self._sessions.cut:
                if session.session_id in self._reached:
                    continue  # it ended between two lists
                self._reached.add(session.session_id)
            await self._session(session)
        if self._sessions.cut:
            await self._sessions_of_runs()
        async for run in self._runs.items():
            await self._row(run)
        lost = found.expected_runs - self._runs.count
        if self._runs.cut and lost > 0:
            says = (
                f"{lost} of {found.expected_runs} runs stand in no list that can be read; each was verified only if "
                "the records of its session or tree led to it"
            )
            self._say(Check.READING, says, None)
        return found.report()

    async def _count(self) -> int:
        try:
            return sum((await self._store.count_runs()).values())
        except Exception as error:  # noqa: BLE001 - a damaged page may make its reader raise anything
            self._say(Check.READING, f"the runs cannot be counted: {unread(error)}", None)
            return 0

    async def _sessions_of_runs(self) -> None:
        """The sessions that no list shows, by the runs in them. One that has none is not reached."""
        try:
            names = await self._store.count_runs(by="session_id")
        except Exception as error:  # noqa: BLE001 - a damaged page may make its reader raise anything
            self._say(Check.READING, f"sessions cannot be found by their runs: {unread(error)}", None)
            return
        for session_id in names:
            if session_id is None or session_id in self._reached:
                continue
            try:
                session = await self._store.load_session(session_id)
            except (NotFound, SessionPurged):
                continue  # its runs name that they stand in no scope, unless it was purged meanwhile
            except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
                says = f"the session's row cannot be read: {unread(error)}"
                sayer(self._findings, session_id, None)(Check.READING, says, None)
                continue
            if not self._sessions.whole_to(session_place(session)):
                self._reached.add(session_id)
                await self._session(session)

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
            if not proof.reading.passed:  # else a start that moved the head may be among what was lost
                await self._head(session_id, proof)
        except (NotFound, RunPurged, SessionPurged):
            return  # purged while it was read
        self._findings.sessions += 1
        self._tell(self._findings.progress())

    async def _head(self, session_id: str, proof: ScopeProof) -> None:
        """The session's head, held against the one that its records lead to. New records are read first."""
        for _ in range(_TRIES):
            try:
                head = (await self._store.load_session(session_id)).head_run_id
            except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
                says = f"the session's row cannot be read: {unread(error)}"
                sayer(self._findings, session_id, None)(Check.READING, says, None)
                return
            if head == proof.head:
                return
            if not await self._read_on(proof, session_id):
                break
        else:
            return  # it moves faster than it can be read
        says = f"the session's head is {head!r}, its records lead to {proof.head!r}"
        sayer(self._findings, session_id, head)(Check.SESSION, says, None)

    async def _row(self, run: Run) -> None:
        """A row of the list of all runs. Runs to which the records of their scope led were verified there."""
        try:
            root = await self._root(run)
            if root is not None:
                await self._tree(run, root)
            if run.run_id not in self._findings.partial:
                await self._unless_led_to(run, root)
        except (NotFound, RunPurged, SessionPurged) as error:
            if not await self._purged(run):
                say = sayer(self._findings, run.session_id, run.run_id)
                say(Check.START, f"the run stands in no scope: {error}", None)
        self._tell(self._findings.progress())

    async def _root(self, run: Run) -> Run | None:
        """The root of a one-shot tree; None for a run of a session, and where no parents lead to a root."""
        if run.session_id is not None:
            return None
        seen = {run.run_id}
        above: Run | None = run
        while above is not None and above.parent_run_id is not None:
            if above.parent_run_id in seen:
                return None
            seen.add(above.parent_run_id)
            above = await other_run(self._store, above.parent_run_id, Check.LINK, "the parent", _silent)
        return above

    async def _tree(self, run: Run, root: Run) -> None:
        """The tree of this run, at the row of its root, or at that of any of its runs if the root may not be listed."""
        if self._runs.cut:
            if root.run_id in self._roots or (run is not root and self._runs.whole_to(run_place(root))):
                return
            self._roots.add(root.run_id)
        elif run is not root:
            return
        await self._scope(
            None,
            scope_digest(session_id=None, root_run_id=root.run_id),
            lambda cursor, limit: self._store.list_scope_records(root.run_id, cursor=cursor, limit=limit),
            root.run_id,
        )

    async def _unless_led_to(self, run: Run, root: Run | None) -> None:
        """Verifies the run unless its scope's records were read, and its start among them."""
        start = await start_record(self._store, run.run_id)
        digest, position = self._digest(run, root), None
        if start is not None:
            digest, _, at = start.id.rpartition("-")
            position = int(at)
        read = root is not None if run.session_id is None else await self._was_read(run.session_id)
        passed = self._passed.get(digest, ())
        if not read or position is None or any(each.covers(position) for each in passed):
            await verify_run(self._store, run.run_id, run.session_id, digest, self._findings, alone=not read)

    async def _was_read(self, session_id: str) -> bool:
        """Whether the records of this session were read."""
        try:
            session = await self._store.load_session(session_id)
        except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
            unread(error)
            reached = not self._sessions.cut
        else:
            reached = self._sessions.whole_to(session_place(session))
        return reached or session_id in self._reached

    def _digest(self, run: Run, root: Run | None) -> str:
        """The digest of the run's scope, as well as it can be told without a record."""
        top = run.parent_run_id or run.run_id if root is None else root.run_id
        return scope_digest(session_id=run.session_id, root_run_id=top)

    async def _purged(self, run: Run) -> bool:
        """Whether the run was purged while the list was read."""
        try:
            await self._store.load_run(run.run_id)
        except (NotFound, RunPurged):
            return True
        except Exception as error:  # noqa: BLE001 - a damaged row may make its reader raise anything
            unread(error)
        return False

    async def _scope(
        self, session_id: str | None, digest: str, read: ReadRecords, root_run_id: str | None = None
    ) -> ScopeProof:
        say = sayer(self._findings, session_id, root_run_id)
        proof = ScopeProof(self._store, digest, Reading(read, digest), say)
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
        if proof.reading.passed:
            self._passed[proof.digest] = proof.reading.passed
        return self._findings.records > before


def _silent(*_: object) -> None:
    """Somebody else names this damage."""
