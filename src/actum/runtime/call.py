"""The tool step: a call's tool runs at most once, unless it is idempotent, and its answer is stored.

`tool_call_started` carries a random attempt made here, where the tool would run. Only the attempt whose bytes are
stored may run the tool, and only after the store's answer says that nothing was canceled and the session is active.
An attempt, and what its tool answered, stay in memory until they are stored, so a write that failed is repeated alone.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from actum.base.clock import Clock, chance, random_token
from actum.base.errors import RecordConflict, RunNotRunning
from actum.base.limits import MIB, TOOL_TRIES
from actum.base.value import dump, dump_json
from actum.lifecycle.states import SESSION_ENDED, RunStatus, SessionStatus
from actum.loop import keys
from actum.loop.journal import Call
from actum.loop.world import Called, CallStep, Stop
from actum.records import makers
from actum.records.failures import Recovery, ToolFailure, ToolFailureKind, cut_message
from actum.records.kinds import ToolResultReceived
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.answers import room_of
from actum.runtime.children import Children, child_run_id
from actum.runtime.consent import ConfirmRule, refusal
from actum.runtime.ledger import Ledger, OpenRun, Try, not_running, stop_of
from actum.runtime.policies import Policies
from actum.runtime.results import answering, lacking
from actum.tools.call import ToolOutcome, call_tool, invalid_call
from actum.tools.spec import ToolContext, ToolSpec

FIRST_WAIT_S: Final = 0.02
LONGEST_WAIT_S: Final = 0.5
# Another worker's tool without a timeout of its own is waited for so long before its call counts as lost.
PATIENCE_S: Final = 300.0
# Beyond the tool's own timeout: its result must be written, and that worker may be slow.
GRACE_S: Final = 10.0
# The wait before the second try of a failed call, in seconds; it doubles, and chance shortens it to no less than half.
FIRST_RETRY_S: Final = 0.5
# A larger result is stored alone: with the message that repeats it, it could be more than one command may hold.
_BESIDE_BYTES: Final = MIB
_PASSING: Final = (ToolFailureKind.UNAVAILABLE, ToolFailureKind.RATE_LIMITED, ToolFailureKind.TIMEOUT)


@dataclass(frozen=True)
class Calling:
    """What the tool step works with."""

    ledger: Ledger
    clock: Clock
    wait: Callable[[float], Awaitable[None]]
    children: Children
    policies: Policies
    confirm: ConfirmRule

    async def call(self, agent: Agent, here: OpenRun, step: CallStep) -> Called:
        """The stored answer of a call, after running its tool when nobody has."""
        waited = 0.0
        # Those who made the attempts that stand here now may be dead; whoever makes one from now on lives.
        dead = len(self._call(here, step.call_id).attempts) if step.presumed_dead else 0
        while True:
            call = self._call(here, step.call_id)
            if call.result is not None or here.ended is not None:
                return Called(ended=call.result is None)
            own = here.tries.get(call.call_id)
            again = own is not None and own.again
            if own is not None and own.outcome is not None and not again:
                return await self._answer(here, call, own.outcome, own.took_ms)
            spec = self._may_run(agent, here, call)
            if isinstance(spec, Called):
                return spec
            if isinstance(spec, ToolFailure):
                return await self._answer(here, call, ToolOutcome(failure=spec), 0)
            if spec.agent_id is not None:
                return await self._child(here, call, spec, spec.agent_id)
            lost = len(call.attempts) <= dead
            mine = own is not None and not own.begun
            # What was approved is approved once: a lost call is not made again on the same word.
            free = spec.idempotent and here.journal.item_of(call.call_id) is None
            if mine or again or not call.attempts or (lost and free):
                done = await self._attempt(here, call, spec)
                if done is not None:
                    return done
            elif lost or waited >= _patience(spec):
                return await self._answer(here, call, ToolOutcome(failure=_lost(spec)), 0)
            pause = min(FIRST_WAIT_S + waited / 4, LONGEST_WAIT_S)
            await self.wait(pause)
            waited += pause
            here = await self.ledger.open(step.run_id)

    def _may_run(self, agent: Agent, here: OpenRun, call: Call) -> ToolSpec | ToolFailure | Called:
        """The tool, if it may run; else the failure that answers its call, or why there is no answer yet."""
        if here.journal.intent is not None:
            return Called(stop=Stop(reason=here.journal.intent))
        if here.journal.waits(call.call_id):
            return Called(waiting=True)
        spec = agent.tools.find(call.part.name)
        if isinstance(spec, ToolFailure):
            return spec
        return invalid_call(spec, call.part) or self._denied(here, call, spec) or spec

    def _denied(self, here: OpenRun, call: Call, spec: ToolSpec) -> ToolFailure | None:
        """Why the call may not begin, as people have it; what has begun was judged before."""
        if call.attempts or call.call_id in here.journal.children or here.journal.left_child(call.call_id) is not None:
            return None
        return refusal(self.confirm, spec, here.journal, call, self.clock.now())

    async def _child(self, here: OpenRun, call: Call, spec: ToolSpec, agent_id: str) -> Called:
        """The answer of the child run that this call has, or the child that must come to its end first."""
        linked = here.journal.children.get(call.call_id)
        if linked is None and agent_id not in self.children.agents:
            says = f"the agent {agent_id} is not registered here"
            failure = ToolFailure(kind=ToolFailureKind.UNAVAILABLE, message=cut_message(says))
            return await self._answer(here, call, ToolOutcome(failure=failure), 0)
        within = self.policies.bound_of_call(here)
        if linked is None and within is not None and within <= 0:
            return await self._answer(here, call, ToolOutcome(failure=_no_time(spec)), 0)
        if linked is None:
            return Called(child=child_run_id(here.run.run_id, call.call_id))
        child = await self.ledger.store.load_run(linked.child_run_id)
        if child.status is RunStatus.RUNNING:
            return Called(child=child.run_id)
        if child.status is RunStatus.SUSPENDED:
            return Called(waiting=True)
        return await self._store(here, await self.children.answer(here, call, child))

    async def _attempt(self, here: OpenRun, call: Call, spec: ToolSpec) -> Called | None:
        """Run the tool under an attempt of this process; None when another one was stored first."""
        if here.metadata is None:
            # Nobody planned here; of an ended session else the answer to the attempt's own record tells.
            status, _ = await self.ledger.session(here)
            if status is SessionStatus.ENDED:
                return Called(stop=Stop(reason=SESSION_ENDED))
        own = here.tries.get(call.call_id)
        within = self.policies.bound_of_call(here)
        if within is not None and within <= 0:
            late = (own.outcome if own is not None else None) or ToolOutcome(failure=_no_time(spec))
            return await self._answer(here, call, late, 0)
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
            session_metadata=here.metadata or {},
        )
        begun = self.clock.monotonic()
        room = room_of(here.journal, call)
        own.outcome = _fitting(await call_tool(spec, call.part, context, timeout=within, max_bytes=room), room)
        own.took_ms = max(round((self.clock.monotonic() - begun) * 1000), 0)
        if _may_pass(spec, own):
            await self.wait(FIRST_RETRY_S * 2 ** (own.number - 1) * (0.5 + chance() / 2))
            own.again = True
            return None
        return await self._answer(here, call, own.outcome, own.took_ms)

    def _try(self, here: OpenRun, call: Call) -> Try:
        attempt = random_token()
        payload = makers.tool_call_started(tool_call_id=call.call_id, attempt=attempt)
        number = len(call.attempts) + 1
        key = keys.started(call.call_id, number)
        return Try(attempt, self.ledger.record(here, key, RecordType.TOOL_CALL_STARTED, payload), number)

    async def _answer(self, here: OpenRun, call: Call, outcome: ToolOutcome, took_ms: int) -> Called:
        """Store the answer; one that was stored before, by whomever, is the answer."""
        return await self._store(here, received(here, call.call_id, outcome, took_ms))

    async def _store(self, here: OpenRun, result: ToolResultReceived) -> Called:
        key = keys.result(result.tool_call_id)
        records = [self.ledger.record(here, key, RecordType.TOOL_RESULT_RECEIVED, dump(result))]
        group = here.journal.group_of(result.tool_call_id)
        # The last result of a group brings the message of all along; the step that collects them finds it stored.
        if not lacking(here, group, result) and len(records[0].payload) <= _BESIDE_BYTES:
            records += answering(self.ledger, here, group, result)
        try:
            stored = await self.ledger.append(here, records)
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


def _fitting(outcome: ToolOutcome, room: int) -> ToolOutcome:
    """An outcome whose failure, too, keeps to its room: a long list of issues is left out before the turn is lost."""
    failure = outcome.failure
    if failure is None or len(dump_json(failure.content)) <= room:
        return outcome
    says = failure.message[:1000]
    return ToolOutcome(failure=ToolFailure(kind=failure.kind, message=says, recovery=failure.recovery))


def _patience(spec: ToolSpec) -> float:
    """How long another worker's call is waited for, in seconds, with every try that it may make."""
    return (spec.timeout or PATIENCE_S) * (TOOL_TRIES if spec.idempotent else 1) + GRACE_S


def _may_pass(spec: ToolSpec, own: Try) -> bool:
    """Whether the call is worth another try: its tool may run twice, and failed of something that may pass."""
    failure = own.outcome.failure if own.outcome is not None else None
    if failure is None or not spec.idempotent or own.number >= TOOL_TRIES:
        return False
    return failure.kind in _PASSING and failure.recovery is not Recovery.FINISH


def _no_time(spec: ToolSpec) -> ToolFailure:
    says = f"{spec.name} was not started: the time of the run is used up"
    return ToolFailure(kind=ToolFailureKind.TIMEOUT, message=says, recovery=Recovery.FINISH)


def _lost(spec: ToolSpec) -> ToolFailure:
    says = f"{spec.name} was started and its result was lost; it may have done its work or not"
    return ToolFailure(kind=ToolFailureKind.OUTCOME_UNKNOWN, message=says)
