"""The planning step: ask the planner once, and store what it decides with everything that belongs to it."""

from dataclasses import dataclass

from actum.base.errors import InvalidValue, TooLarge
from actum.base.value import dump_json
from actum.lifecycle.commands import RunTerminal
from actum.lifecycle.states import SESSION_ENDED, RunStatus, SessionStatus
from actum.loop import keys
from actum.loop.journal import call_ids
from actum.loop.world import Planned, PlanStep, Stop
from actum.messages.message import Message, Role, assistant
from actum.planning.failures import failure_of
from actum.planning.planner import PlanResult
from actum.records import makers
from actum.records.failures import Failure
from actum.records.kinds import Phase
from actum.records.record import NewRecord
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.ask import Asking, Sink
from actum.runtime.ledger import Ledger, OpenRun, no_plan, not_running, stop_of

__all__ = ["Planning", "Sink", "decided", "end_record"]


@dataclass(frozen=True)
class Planning:
    """What the planning step works with."""

    ledger: Ledger
    asking: Asking

    async def plan(self, agent: Agent, here: OpenRun, step: PlanStep) -> Planned:
        """The decision of a step, stored before it is given."""
        known = decided(here, step.step)
        if known is not None:
            return known
        if here.journal.intent is not None:
            return Planned(stop=Stop(reason=here.journal.intent))
        if step.step != len(here.journal.plans):
            raise not_running(here)
        status, metadata = await self.ledger.session(here)
        if status is SessionStatus.ENDED:
            return Planned(stop=Stop(reason=SESSION_ENDED))
        result = here.plans.get(step.step)
        if result is None:
            result = here.plans[step.step] = await self.asking.ask(agent, here, step, metadata)
        try:
            return await self._store(here, step.step, result)
        except (InvalidValue, TooLarge) as error:
            # What cannot be stored was not decided; the run ends with the reason, which fits.
            failed = here.plans[step.step] = PlanResult(failure=failure_of(error), usage=result.usage)
        return await self._store(here, step.step, failed)

    async def _store(self, here: OpenRun, step: int, result: PlanResult) -> Planned:
        message = _message(result)
        calls = call_ids(here.journal, message) if result.tool_calls is not None and message is not None else ()
        records = self._records(here, step, result, message, calls)
        if result.tool_calls is not None:
            answers = await self.ledger.append(here, records)
            return Planned(call_ids=calls, synthesize_after_tools=result.synthesize_after_tools, stop=stop_of(*answers))
        status = RunStatus.FAILED if result.failure is not None else RunStatus.COMPLETED
        end = end_record(self.ledger, here, status, result.failure)
        await self.ledger.end(
            here, RunTerminal(run_id=here.run.run_id, status=status, record=end, records=tuple(records))
        )
        return Planned(ended=status)

    def _records(
        self, here: OpenRun, step: int, result: PlanResult, message: Message | None, calls: tuple[str, ...]
    ) -> list[NewRecord]:
        made: list[tuple[str, RecordType, bytes]] = []
        if message is not None:
            payload = makers.transcript_messages_appended(messages=(message,), response_id=result.response_id)
            made.append((keys.message(step), RecordType.TRANSCRIPT_MESSAGES_APPENDED, payload))
        if result.kind is not None:
            payload = makers.plan_decided(
                step=step,
                kind=result.kind,
                call_ids=calls,
                selected_response=result.response_id,
                synthesize_after_tools=result.synthesize_after_tools,
            )
            made.append((keys.plan(step), RecordType.PLAN_DECIDED, payload))
        for call_id, part in zip(calls, message.tool_uses if message is not None and calls else (), strict=True):
            payload = makers.tool_call_scheduled(
                tool_call_id=call_id,
                model_tool_call_id=part.id if part.id != call_id else None,
                tool_name=part.name,
                input=part.input,
                step=step,
            )
            made.append((keys.scheduled(call_id), RecordType.TOOL_CALL_SCHEDULED, payload))
        for i, used in enumerate(result.usage):
            counted = used.counted(step)
            payload = makers.usage(
                model=counted.model,
                input=counted.input,
                output=counted.output,
                cache_read=counted.cache_read,
                cache_write=counted.cache_write,
                step=step,
            )
            made.append((keys.usage(step, i), RecordType.USAGE, payload))
        for i, note in enumerate(result.notes):
            made.append((keys.note(step, i), RecordType.PLANNER_NOTE, makers.planner_note(note=note)))
        if calls:
            payload = makers.run_phase_changed(phase=Phase.EXECUTING_TOOLS)
            made.append((keys.phase(step, Phase.EXECUTING_TOOLS), RecordType.RUN_PHASE_CHANGED, payload))
        records = [self.ledger.record(here, key, kind, payload) for key, kind, payload in made]
        return records if result.kind is not None else [*records, no_plan(self.ledger, here, "the planner failed")]


def decided(here: OpenRun, step: int) -> Planned | None:
    """What is stored of a step already, or of the run's end."""
    if step < len(here.journal.plans) and here.ended is None:
        plan = here.journal.plans[step].decided
        return Planned(call_ids=plan.call_ids, synthesize_after_tools=plan.synthesize_after_tools)
    return Planned(ended=here.ended) if here.ended is not None else None


def end_record(ledger: Ledger, here: OpenRun, status: RunStatus, failure: Failure | None) -> NewRecord:
    """The record of a completed or failed end."""
    failed = status is RunStatus.FAILED
    payload = makers.run_completed(status="failed" if failed else "completed", failure=failure, labels=here.run.labels)
    return ledger.record(here, keys.END, RecordType.RUN_COMPLETED, payload)


def _message(result: PlanResult) -> Message | None:
    """The assistant message that a plan adds to the transcript; one is made of a final tool result."""
    if result.final_tool_result is None:
        remainder = result.remainder
        if remainder is not None and remainder.meta is None:
            return Message(role=Role.ASSISTANT, parts=remainder.parts, meta={"partial": True})
        return result.message
    outcome = result.final_tool_result
    content = outcome.failure.content if outcome.failure is not None else outcome.content
    return assistant(content if isinstance(content, str) and content else dump_json(content).decode())
