"""The planning step: ask the planner once, and store what it decides with everything that belongs to it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from actum.base.errors import InvalidValue, TooLarge
from actum.base.value import dump_json
from actum.lifecycle.commands import RunTerminal
from actum.lifecycle.states import RunStatus
from actum.loop import keys
from actum.loop.journal import Journal, call_ids
from actum.loop.world import Planned, PlanStep, Stop
from actum.messages.message import Message, Role, assistant
from actum.model.client import ModelClient
from actum.model.response import Chunk
from actum.planning.failures import failure_of
from actum.planning.planner import PlanInput, PlanResult, PlanResumeInput, RunInfo
from actum.records import makers
from actum.records.failures import Failure, FailureKind, Recovery
from actum.records.kinds import Phase
from actum.records.record import NewRecord
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.ledger import Ledger, OpenRun, not_running, stop_of
from actum.runtime.transcripts import Histories
from actum.storage.contract import SessionAdmin, Store
from actum.transcript.validate import validate_planner_transcript

Sink = Callable[[Chunk], None]


@dataclass(frozen=True)
class Planning:
    """What the planning step works with. `listener` gives a sink for a step's deltas, or None when nobody looks."""

    ledger: Ledger
    histories: Histories
    models: Callable[[str], ModelClient]
    listener: Callable[[OpenRun, int], Sink | None]

    async def plan(self, agent: Agent, here: OpenRun, step: PlanStep) -> Planned:
        """The decision of a step, stored before it is given."""
        known = decided(here, step.step)
        if known is not None:
            return known
        if here.journal.intent is not None:
            return Planned(stop=Stop(reason=here.journal.intent))
        if step.step != len(here.journal.plans):
            raise not_running(here)
        result = await self._ask(agent, here, step)
        if step.finalize and result.tool_calls is not None:
            says = "the last plan of a run calls nothing, and this one called tools"
            result = PlanResult.failed(
                FailureKind.LIMIT, says, usage=result.usage, notes=result.notes, response_id=result.response_id
            )
        try:
            return await self._store(here, step.step, result)
        except (InvalidValue, TooLarge) as error:
            # What cannot be stored was not decided; the run ends with the reason, which fits.
            return await self._store(here, step.step, PlanResult(failure=failure_of(error)))

    async def _ask(self, agent: Agent, here: OpenRun, step: PlanStep) -> PlanResult:
        try:
            given = await self._input(agent, here, step)
            if isinstance(given, PlanResumeInput):
                result: object = await agent.planner.plan_resume(given)
            else:
                result = await agent.planner.plan_start(given)
        except asyncio.CancelledError as error:
            # A planner's own CancelledError is a failed plan; the run's is told by the task's own state.
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return PlanResult(failure=failure_of(error))
        except Exception as error:  # noqa: BLE001 - whatever a planner raises is how its plan failed
            return PlanResult(failure=failure_of(error))
        if not isinstance(result, PlanResult):
            says = f"the planner gave a {type(result).__name__}, not a PlanResult"
            return PlanResult.failed(FailureKind.PLANNER, says)
        if result.await_input:
            says = "the planner awaits input, which this runtime does not serve"
            return PlanResult.failed(FailureKind.PLANNER, says, usage=result.usage)
        return result

    async def _input(self, agent: Agent, here: OpenRun, step: PlanStep) -> PlanInput:
        async def prepare() -> tuple[Message, ...]:
            return await self._prepared(agent, here)

        run, journal = here.run, here.journal
        info = RunInfo(
            run_id=run.run_id,
            agent_id=run.agent_id,
            session_id=run.session_id,
            turn_id=journal.turn_id,
            labels=run.labels,
            session_metadata=await session_metadata(self.ledger.store, run.session_id),
            step=step.step,
        )
        tools = () if step.finalize else agent.tools.definitions()
        sink = self.listener(here, step.step)
        last = journal.last_plan
        if last is None:
            return PlanInput(
                run=info, tools=tools, finalize=step.finalize, prepare=prepare, models=self.models, sink=sink
            )
        return PlanResumeInput(
            run=info,
            tools=tools,
            finalize=step.finalize,
            prepare=prepare,
            models=self.models,
            sink=sink,
            results=journal.messages[-1].tool_results,
            recovery=recovery_of(journal, last.decided.call_ids),
        )

    async def _prepared(self, agent: Agent, here: OpenRun) -> tuple[Message, ...]:
        policy, journal = agent.history, here.journal
        turns = policy.turns if policy is not None else None
        before = await self.histories.read(here.run.history, turns)
        messages = (*before, *journal.seeded, *journal.messages)
        validate_planner_transcript(messages)
        return policy.view(messages) if policy is not None else messages

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
        return [self.ledger.record(here, key, kind, payload) for key, kind, payload in made]


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


def recovery_of(journal: Journal, calls: tuple[str, ...]) -> Recovery | None:
    """What the failures among these calls ask for: finish beats correct_call beats replan; None when none failed."""
    results = [journal.calls[each].result for each in calls]
    asked = {result.failure.recovery for result in results if result is not None and result.failure is not None}
    return next((each for each in (Recovery.FINISH, Recovery.CORRECT_CALL, Recovery.REPLAN) if each in asked), None)


async def session_metadata(store: Store, session_id: str | None) -> dict[str, str]:
    """The session's metadata, where the store may tell it."""
    if session_id is None or not isinstance(store, SessionAdmin):
        return {}
    return (await store.load_session(session_id)).metadata


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
