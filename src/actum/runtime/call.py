"""The tool step: a call's tool runs at most once, unless it is idempotent, and its answer is stored.

`tool_call_started` carries a random attempt made here, where the tool would run. Only the attempt whose bytes are
stored may run the tool, and only after the store's answer says that nothing was canceled and the session is active.
An attempt, and what its tool answered, stay in memory until they are stored, so a write that failed is repeated alone.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from actum.base.clock import Clock, random_token
from actum.base.errors import RecordConflict, RunNotRunning
from actum.base.value import dump, dump_json
from actum.lifecycle.states import SESSION_ENDED, SessionStatus
from actum.loop import keys
from actum.loop.journal import Call
from actum.loop.world import Called, CallStep, Stop
from actum.records import makers
from actum.records.failures import ToolFailure, ToolFailureKind
from actum.records.kinds import ToolResultReceived
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.ledger import Ledger, OpenRun, Try, not_running, stop_of
from actum.tools.call import RESULT_BYTES, ToolOutcome, call_tool, invalid_call
from actum.tools.spec import ToolContext, ToolSpec

FIRST_WAIT_S: Final = 0.02
LONGEST_WAIT_S: Final = 0.5
# Another worker's tool without a timeout of its own is waited for so long before its call counts as lost.
PATIENCE_S: Final = 300.0
# Beyond the tool's own timeout: its result must be written, and that worker may be slow.
GRACE_S: Final = 10.0
# What a result's part needs in its message beside its content and its id.
PART_BYTES: Final = 128


@dataclass(frozen=True)
class Calling:
    """What the tool step works with."""

    ledger: Ledger
    clock: Clock
    wait: Callable[[float], Awaitable[None]]

    async def call(self, agent: Agent, here: OpenRun, step: CallStep) -> Called:
        """The stored answer of a call, after running its tool when nobody has."""
        waited = 0.0
        # Those who made the attempts that stand here now may be dead; whoever makes one from now on lives.
        dead = len(self._call(here, step.call_id).attempts) if step.presumed_dead else 0
        while True:
            call = self._call(here, step.call_id)
            if call.result is not None:
                return Called()
            if here.ended is not None:
                return Called(ended=True)
            own = here.tries.get(call.call_id)
            if own is not None and own.outcome is not None:
                return await self._answer(here, call, own.outcome, own.took_ms)
            if here.journal.intent is not None:
                return Called(stop=Stop(reason=here.journal.intent))
            spec = agent.tools.find(call.part.name)
            refused = spec if isinstance(spec, ToolFailure) else invalid_call(spec, call.part)
            if refused is not None or isinstance(spec, ToolFailure):
                return await self._answer(here, call, ToolOutcome(failure=refused), 0)
            lost = len(call.attempts) <= dead
            mine = own is not None and not own.begun
            if mine or not call.attempts or (lost and spec.idempotent):
                done = await self._attempt(here, call, spec)
                if done is not None:
                    return done
            elif lost or waited >= (spec.timeout or PATIENCE_S) + GRACE_S:
                return await self._answer(here, call, ToolOutcome(failure=_lost(spec)), 0)
            pause = min(FIRST_WAIT_S + waited / 4, LONGEST_WAIT_S)
            await self.wait(pause)
            waited += pause
            here = await self.ledger.open(step.run_id)

    async def _attempt(self, here: OpenRun, call: Call, spec: ToolSpec) -> Called | None:
        """Run the tool under an attempt of this process; None when another one was stored first."""
        status, metadata = await self.ledger.session(here)
        if status is SessionStatus.ENDED:
            return Called(stop=Stop(reason=SESSION_ENDED))
        own = here.tries.get(call.call_id)
        if own is None or own.begun:
            own = here.tries[call.call_id] = self._try(here, call)
        try:
            # The same record again when its first answer was lost: an exact repeat tells how things stand now.
            started = await self.ledger.append(here, [own.started])
        except RecordConflict:
            del here.tries[call.call_id]
            return None
        stop = stop_of(*started)
        if stop is not None:
            return Called(stop=stop)
        if own.begun:
            return None
        own.begun = True
        context = ToolContext(
            run_id=here.run.run_id,
            session_id=here.run.session_id,
            tool_call_id=call.call_id,
            attempt=own.attempt,
            idempotency_key=f"{here.run.run_id}/{call.call_id}",
            labels=here.run.labels,
            session_metadata=metadata,
        )
        begun = self.clock.monotonic()
        outcome = await call_tool(spec, call.part, context, max_bytes=_room(here, call))
        own.outcome = _fitting(outcome, _room(here, call))
        own.took_ms = max(round((self.clock.monotonic() - begun) * 1000), 0)
        return await self._answer(here, call, own.outcome, own.took_ms)

    def _try(self, here: OpenRun, call: Call) -> Try:
        attempt = random_token()
        payload = makers.tool_call_started(tool_call_id=call.call_id, attempt=attempt)
        key = keys.started(call.call_id, len(call.attempts) + 1)
        return Try(attempt, self.ledger.record(here, key, RecordType.TOOL_CALL_STARTED, payload))

    async def _answer(self, here: OpenRun, call: Call, outcome: ToolOutcome, took_ms: int) -> Called:
        """Store the answer; one that was stored before, by whomever, is the answer."""
        payload = dump(received(here, call.call_id, outcome, took_ms))
        record = self.ledger.record(here, keys.result(call.call_id), RecordType.TOOL_RESULT_RECEIVED, payload)
        try:
            stored = await self.ledger.append(here, [record])
        except (RecordConflict, RunNotRunning):
            # Stored by another hand, or too late: the run has ended. A late result is refused, never taken.
            return Called(ended=(await self.ledger.open(here.run.run_id)).ended is not None)
        return Called(stop=stop_of(*stored))

    def _call(self, here: OpenRun, call_id: str) -> Call:
        call = here.journal.calls.get(call_id)
        if call is None:
            raise not_running(here)
        return call


def received(here: OpenRun, call_id: str, outcome: ToolOutcome, took_ms: int) -> ToolResultReceived:
    """The payload of a call's answer."""
    return ToolResultReceived(
        tool_call_id=call_id,
        call_run_id=here.run.run_id,
        content=outcome.content,
        attachments=outcome.attachments,
        failure=outcome.failure,
        duration_ms=took_ms,
    )


def _room(here: OpenRun, call: Call) -> int:
    """How many bytes of JSON a result may have, so that all results of the step fit into their one message."""
    group = here.journal.group_of(call.call_id)
    ids = sum(len(dump_json(here.journal.calls[each].part.id)) for each in group.call_ids)
    return (RESULT_BYTES - ids) // len(group.call_ids) - PART_BYTES


def _fitting(outcome: ToolOutcome, room: int) -> ToolOutcome:
    """An outcome whose failure, too, keeps to its room: a long list of issues is left out before the turn is lost."""
    failure = outcome.failure
    if failure is None or len(dump_json(failure.content)) <= room:
        return outcome
    says = failure.message[:1000]
    return ToolOutcome(failure=ToolFailure(kind=failure.kind, message=says, recovery=failure.recovery))


def _lost(spec: ToolSpec) -> ToolFailure:
    says = f"{spec.name} was started and its result was lost; it may have done its work or not"
    return ToolFailure(kind=ToolFailureKind.OUTCOME_UNKNOWN, message=says)
