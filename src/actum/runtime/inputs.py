"""What runs wait for: what is pending, answers that start the next run of a chain, and withdrawals.

Any run of a chain, and any child of one, leads to the newest run of the root's chain; that one is judged. While it runs
it is waited for, because its end decides what is left to answer. The store lets one continuation take a suspended run's
place; whoever comes second is judged again against that one.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from actum.base.checks import refuse
from actum.base.clock import Clock, Ids
from actum.base.errors import AlreadyAnswered, ContinuationRefused, RunConflict, SessionEnded, SuccessorConflict
from actum.base.limits import PAGE_ITEMS
from actum.base.value import dump_json, load, load_json, replace
from actum.engines.contract import Engine
from actum.lifecycle.states import Run, RunStatus, SessionStatus
from actum.loop import keys
from actum.loop.world import RunRequest
from actum.records.kinds import InputRequested, ToolCallScheduled, payload_of
from actum.records.record import Record
from actum.records.types import RecordType
from actum.runtime.begin import stored_digest
from actum.runtime.consent import Binding
from actum.runtime.given import PendingInput, PreparedRun, given_answers, said_digest
from actum.runtime.judge import Judge
from actum.runtime.openings import Openings
from actum.storage.contract import Store


@dataclass(frozen=True)
class Inputs:
    """What answers are taken with."""

    store: Store
    engine: Engine
    clock: Clock
    ids: Ids
    judge: Judge
    openings: Openings

    async def pending(self, session_id: str | None, run_id: str | None) -> tuple[PendingInput, ...]:
        """Everything that a session, or the chain of a run, waits for now; in the order in which it was asked."""
        if (session_id is None) == (run_id is None):
            raise refuse("run_id", run_id, "is given exactly when session_id is not")
        found: list[PendingInput] = []
        for run in await self._waiting(session_id, run_id):
            found += await self._asked_by(run)
        return tuple(found)

    async def prepare(
        self, run_id: str, answers: Mapping[str, object], by: str | None, turn_id: str | None
    ) -> PreparedRun:
        """The answers, judged and put into form; nothing is written.

        Raises UnknownItem, AlreadyAnswered, AnswerRefused, ApprovalExpired, InvalidValue, SessionEnded, RunNotFound.
        """
        root = await self._root(run_id)
        given = given_answers(answers, by, self.clock.now())
        digest = said_digest(root.chain_id, given, turn_id)
        if root.session_id is None:
            raise ContinuationRefused(run_id=root.run_id, rule="a run without a session cannot be suspended")
        prepared = PreparedRun(
            run_id=_continuation_id(root.chain_id, digest),
            chain_id=root.chain_id,
            session_id=root.session_id,
            agent_id=root.agent_id,
            turn_id=turn_id,
            answers=given,
            request_digest=digest,
        )
        await self._judged(prepared)
        return prepared

    async def start(self, prepared: PreparedRun) -> str:
        """The id of the run that goes on with these answers, started by now; the same run for the same answers."""
        self._whole(prepared)
        while (before := await self._judged(prepared)) is not None:
            request = await self.openings.continued(
                before,
                prepared.answers,
                run_id=prepared.run_id,
                request_digest=prepared.request_digest,
                requested_at=self.clock.now(),
                turn_id=prepared.turn_id or self.ids.new("turn"),
            )
            if await self._accepted(request):
                break
        return prepared.run_id

    async def withdraw(self, run_id: str, reason: str) -> str:
        """The id of the run that closes what the chain waits for and ends canceled for this reason; started by now.

        Raises ContinuationRefused when the chain waits for nothing, SessionEnded.
        """
        root = await self._root(run_id)
        while True:
            before = await self._newest(root.chain_id)
            digest = hashlib.sha256(dump_json(["withdraw", root.chain_id, reason])).hexdigest()
            name = _continuation_id(root.chain_id, digest)
            if await stored_digest(self.store, name) == digest:
                return name
            await self._active(before)
            if before.status is not RunStatus.SUSPENDED or before.successor_run_id is not None:
                raise ContinuationRefused(run_id=before.run_id, rule="only what is suspended can be withdrawn")
            request = await self.openings.continued(
                before,
                (),
                run_id=name,
                request_digest=digest,
                requested_at=self.clock.now(),
                turn_id=self.ids.new("turn"),
                withdrawn=reason,
            )
            if await self._accepted(request):
                return name

    async def _accepted(self, request: RunRequest) -> bool:
        """Whether this request took the suspended run's place; another that did so first is judged anew."""
        try:
            await self.engine.accept(request)
        except SuccessorConflict:
            return False
        return True

    def _whole(self, prepared: PreparedRun) -> None:
        """Raises InvalidValue for a prepared run that was put together by hand, and for an agent that is not here."""
        digest = said_digest(prepared.chain_id, prepared.answers, prepared.turn_id)
        if (prepared.request_digest, prepared.run_id) != (digest, _continuation_id(prepared.chain_id, digest)):
            raise refuse("prepared", prepared.run_id, "is what prepare_continuation made")
        if prepared.agent_id not in self.judge.agents:
            raise refuse("prepared.agent_id", prepared.agent_id, "names a registered agent")

    async def _started(self, prepared: PreparedRun) -> bool:
        stored = await stored_digest(self.store, prepared.run_id)
        if stored is not None and stored != prepared.request_digest:
            raise RunConflict(run_id=prepared.run_id, field="request")
        return stored is not None

    async def _judged(self, prepared: PreparedRun) -> Run | None:
        """The newest run of the chain, which takes these answers; None when the very same words have been taken."""
        if await self._started(prepared):
            return None
        try:
            return await self._taken_by(prepared)
        except AlreadyAnswered:
            # Perhaps by this same request, since the look before.
            if await self._started(prepared):
                return None
            raise

    async def _taken_by(self, prepared: PreparedRun) -> Run:
        newest = await self._newest(prepared.chain_id)
        if (newest.session_id, newest.agent_id) != (prepared.session_id, prepared.agent_id):
            raise refuse("prepared", prepared.run_id, "is of the chain's own session and agent")
        await self._active(newest)
        await self.judge.judge(newest, prepared.answers, self.clock.now())
        return newest

    async def _active(self, run: Run) -> None:
        if run.session_id is None:
            return
        if await self.store.load_session_status(run.session_id) is SessionStatus.ENDED:
            raise SessionEnded(session_id=run.session_id)

    async def _root(self, run_id: str) -> Run:
        run = await self.store.load_run(run_id)
        while run.parent_run_id is not None:
            run = await self.store.load_run(run.parent_run_id)
        return run

    async def _newest(self, chain_id: str) -> Run:
        """The newest run of the chain, read anew, once it does not run any more."""
        run = await self.store.load_run(chain_id)
        while True:
            if run.status is RunStatus.RUNNING:
                await self.engine.wait(run.run_id)
                run = await self.store.load_run(run.run_id)
            if run.successor_run_id is None:
                return run
            after = await self.store.load_run(run.successor_run_id)
            if after.chain_id != run.chain_id:
                return run  # superseded: the chain ends here
            run = after

    async def _waiting(self, session_id: str | None, run_id: str | None) -> list[Run]:
        if session_id is None:
            run = await self._root(str(run_id))
            while run.successor_run_id is not None:
                after = await self.store.load_run(run.successor_run_id)
                if after.chain_id != run.chain_id:
                    return []
                run = after
            return [run] if run.status is RunStatus.SUSPENDED else []
        found: list[Run] = []
        cursor: str | None = None
        while True:
            page = await self.store.list_runs(session_id, statuses=[RunStatus.SUSPENDED], cursor=cursor)
            found += [run for run in page.items if run.parent_run_id is None and run.successor_run_id is None]
            if not page.more:
                return found
            cursor = page.cursor

    async def _asked_by(self, run: Run) -> list[PendingInput]:
        found: list[PendingInput] = []
        cursor: str | None = None
        while True:
            page = await self.store.list_run_records(
                run.run_id, cursor=cursor, limit=PAGE_ITEMS, types=[RecordType.INPUT_REQUESTED]
            )
            found += [await self._pending(record) for record in page.items]
            if not page.more:
                return found
            cursor = page.cursor

    async def _pending(self, record: Record) -> PendingInput:
        asked = payload_of(record)
        assert isinstance(asked, InputRequested)  # noqa: S101 - the list holds no other type
        asker = asked.run_id or record.run_id
        item = PendingInput(
            item_id=asked.item_id,
            kind=asked.kind,
            run_id=record.run_id,
            asked_by=asker,
            agent_id=record.agent_id,
            asked_at=record.timestamp,
            prompt=asked.prompt,
        )
        if asked.tool_call_id is None:
            return replace(item, data=asked.data or {})
        binding = load(Binding, dump_json(asked.data))
        scheduled = await self.store.load_run_record(asker, keys.scheduled(asked.tool_call_id))
        call = payload_of(scheduled)
        assert isinstance(call, ToolCallScheduled)  # noqa: S101 - the key is that of no other payload
        return replace(
            item,
            agent_id=scheduled.agent_id,
            tool_call_id=asked.tool_call_id,
            tool_name=call.tool_name,
            arguments=load_json(bytes(call.input)),
            arguments_digest=binding.arguments_digest,
            tool_version=binding.tool_version,
            expires_at=binding.expires_at,
        )


def _continuation_id(chain_id: str, digest: str) -> str:
    """The id of the run that a request starts: the same for the same words, so that a repeat finds it."""
    return f"run-{hashlib.sha256(dump_json([chain_id, digest])).hexdigest()[:32]}"
