"""Child runs: what a call of an agent asks of one, and what the call's answer is once the child has come to its end.

A child is a run like any other. Its id is made of its parent's and the call's, so whoever asks again finds the same
one; the store writes its start and its parent's link to it together, or neither.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from actum.base.clock import Clock
from actum.base.errors import CancellationConflict, RunCorrupt, RunNotRunning
from actum.base.value import dump_json, replace
from actum.lifecycle.commands import RunCancellation
from actum.lifecycle.states import ENGINE_CANCELED, Run, RunStatus
from actum.loop import keys
from actum.loop.journal import Call
from actum.loop.limits import terms_option
from actum.loop.world import PARENT_ENDED, Begun, ChildStep, ParentCall, RunRequest
from actum.messages.message import user
from actum.records import makers
from actum.records.failures import ToolFailure
from actum.records.kinds import ToolResultReceived
from actum.records.record import NewRecord
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.answers import outcome_of, room_of, within
from actum.runtime.begin import Fresh, begin
from actum.runtime.ledger import Ledger, OpenRun
from actum.runtime.openings import Openings, answers_below
from actum.runtime.output import read_journal
from actum.runtime.policies import Policies
from actum.tools.agents import MESSAGE


@dataclass(frozen=True)
class Children:
    """What child runs are made and ended with."""

    agents: Mapping[str, Agent]
    ledger: Ledger
    clock: Clock
    policies: Policies

    async def begin(self, here: OpenRun, step: ChildStep) -> tuple[Begun, Fresh | None]:
        """Stores the start of the child that answers this call of the run, once; what `begin` gives.

        Raises CancellationRequested and RunNotRunning when the run may start nothing more.
        """
        return await begin(self.ledger.store, replace(await self._request(here, step), owner=step.owner))

    async def end(self, here: OpenRun, reason: str | None) -> tuple[str, ...]:
        """The children that still run while the run is to end, once it is stored that they shall stop."""
        running = [child for _, child in await self._of_open_calls(here) if child.status is RunStatus.RUNNING]
        for child in running:
            await cancel(self.ledger, child, _passed_on(reason), self.clock)
        return tuple(child.run_id for child in running)

    async def answers(self, here: OpenRun) -> dict[str, ToolResultReceived]:
        """The answers of calls without a result whose children have come to their end, by call."""
        found = {}
        for call, child in await self._of_open_calls(here):
            if child.status not in (RunStatus.RUNNING, RunStatus.SUSPENDED):
                found[call.call_id] = await self.answer(here, call, child)
        return found

    async def answer(self, here: OpenRun, call: Call, child: Run) -> ToolResultReceived:
        """The answer that an ended child is to the call of this run."""
        outcome = outcome_of(child.agent_id, await read_journal(self.ledger.store, child.run_id))
        if outcome is None or child.ended_at is None:
            raise RunCorrupt(run_id=child.run_id, reason=f"the run is {child.status} and has no end on record")
        outcome = within(outcome, room_of(here.journal, call), call.part.name)
        return ToolResultReceived(
            tool_call_id=call.call_id,
            call_run_id=child.run_id,
            content=outcome.content,
            attachments=outcome.attachments,
            failure=outcome.failure,
            duration_ms=(child.ended_at - child.started_at) // timedelta(milliseconds=1),
        )

    async def _of_open_calls(self, here: OpenRun) -> list[tuple[Call, Run]]:
        found = []
        for call_id, linked in here.journal.children.items():
            call = here.journal.calls.get(call_id)
            if call is not None and call.result is None:
                found.append((call, await self.ledger.store.load_run(linked.child_run_id)))
        return found

    async def _request(self, here: OpenRun, step: ChildStep) -> RunRequest:
        """The child's first run, or, where one was suspended, the run that continues it with what a person said."""
        run, call = here.run, here.journal.calls[step.call_id]
        name = call.part.name
        parent = ParentCall(run_id=run.run_id, agent_id=run.agent_id, tool_call_id=call.call_id, tool_name=name)
        options = here.journal.requested.options if here.journal.requested is not None else {}
        before = here.journal.left_child(call.call_id)
        if before is not None:
            return await Openings(self.ledger.store, self.agents).continued(
                await self.ledger.store.load_run(before),
                answers_below(options),
                run_id=step.child_run_id,
                request_digest=_digest(parent, before),
                requested_at=self.clock.now(),
                turn_id=here.journal.turn_id,
                parent=parent,
            )
        spec = self.agents[run.agent_id].tools.find(name)
        if isinstance(spec, ToolFailure) or spec.agent_id is None:
            raise RunCorrupt(run_id=run.run_id, reason=f"call {call.call_id!r} is answered by no agent")
        agent = self.agents[spec.agent_id]
        asked = str(spec.decode(call.part.arguments)[MESSAGE])
        return RunRequest(
            run_id=step.child_run_id,
            agent_id=agent.agent_id,
            agent_version=agent.version,
            session_id=run.session_id,
            turn_id=here.journal.turn_id,
            parent=parent,
            labels=run.labels,
            messages=(user(asked),),
            requested_at=self.clock.now(),
            request_digest=_digest(parent, agent.agent_id, asked),
            options={"engine": options.get("engine"), **terms_option(self.policies.child_terms(agent, here))},
        )


def child_run_id(run_id: str, call_id: str) -> str:
    """The id of the child run that answers a call: the same whoever asks."""
    return f"run-{hashlib.sha256(dump_json([run_id, call_id])).hexdigest()[:32]}"


def intent(run: Run, reason: str, by: str | None, at: datetime) -> NewRecord:
    """The record of why a run shall stop."""
    return NewRecord(
        event_key=keys.CANCELLATION,
        run_id=run.run_id,
        agent_id=run.agent_id,
        session_id=run.session_id,
        type=RecordType.CANCELLATION_INTENT,
        payload=makers.cancellation_intent(reason=reason, by=by),
        timestamp=at,
    )


async def cancel(ledger: Ledger, run: Run, reason: str, clock: Clock, *, by: str | None = None) -> None:
    """Stores why a running run shall stop; an earlier reason, or its end, stays as it is."""
    record = intent(run, reason, by, clock.now())
    try:
        await ledger.cancel(run, RunCancellation(run_id=run.run_id, reason=reason, record=record))
    except (CancellationConflict, RunNotRunning):
        return


def _passed_on(reason: str | None) -> str:
    """A parent's own reason is its children's; an end without one has a word of its own."""
    return PARENT_ENDED if reason in (None, ENGINE_CANCELED) else str(reason)


def _digest(parent: ParentCall, *asked: str) -> str:
    return hashlib.sha256(dump_json([parent.run_id, parent.tool_call_id, *asked])).hexdigest()
