"""The planning step: ask the planner once, and store what it decides with everything that belongs to it."""

from collections.abc import Iterable
from dataclasses import dataclass

from actum.base.errors import InvalidValue, RunCorrupt, TooLarge
from actum.base.value import Value, dump, replace
from actum.lifecycle.commands import RunTerminal
from actum.lifecycle.states import SESSION_ENDED, RunStatus, SessionStatus
from actum.loop import keys
from actum.loop.checkpoint import item_id
from actum.loop.journal import call_ids
from actum.loop.limits import fixed_call
from actum.loop.world import Planned, PlanStep, Stop
from actum.messages.message import Message, Role
from actum.messages.parts import ToolUsePart
from actum.planning.failures import failure_of
from actum.planning.planner import PlanResult, Unfinished
from actum.planning.policy import Limit
from actum.records import makers
from actum.records.failures import Failure, FailureKind, ToolFailure
from actum.records.kinds import InputRequested, Phase
from actum.records.record import NewRecord
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.answers import saying
from actum.runtime.apart import OutOfTime
from actum.runtime.ask import Asked, Asking, Sink
from actum.runtime.call import received
from actum.runtime.consent import ConfirmRule, question_about
from actum.runtime.ledger import Draft, Ledger, OpenRun, no_plan, not_running, stop_of
from actum.runtime.policies import Policies, refusals
from actum.tools.call import ToolOutcome

__all__ = ["Planning", "Sink", "decided", "end_record"]


@dataclass(frozen=True)
class Planning:
    """What the planning step works with."""

    ledger: Ledger
    asking: Asking
    policies: Policies
    confirm: ConfirmRule

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
            result = here.plans[step.step] = await self._decide(agent, here, step, metadata)
        try:
            return await self._store(agent, here, step.step, result)
        except (InvalidValue, TooLarge) as error:
            # What cannot be stored was not decided; the run ends with the reason, which fits.
            failed = here.plans[step.step] = PlanResult(failure=failure_of(error), usage=result.usage)
        return await self._store(agent, here, step.step, failed)

    async def _decide(self, agent: Agent, here: OpenRun, step: PlanStep, metadata: dict[str, str]) -> PlanResult:
        """The planner's decision, or what stands in its place at a limit of the run."""
        draft = here.drafts[step.step] = Draft(metadata=metadata)
        standing = await self.policies.standing(agent, here, step.step, metadata)
        while True:
            draft.terms = standing.terms
            draft.decisions += standing.decisions
            if standing.failure is not None:
                return PlanResult(failure=standing.failure)
            if standing.fixed is not None:
                return PlanResult.calls(standing.fixed.part(f"limit-{step.step}"))
            question = Asked(
                step=step.step,
                metadata=metadata,
                terms=standing.terms,
                finalize=step.finalize or standing.limit is not None,
                limit=standing.limit,
                within_s=standing.within_s,
            )
            answer = await self.asking.ask(agent, here, question)
            if not isinstance(answer, OutOfTime):
                return answer
            if not standing.by_budget:
                return _out_of_time(answer, draft)
            # The budget ran out while the planner thought: what that cost is kept, and a last plan is asked for.
            draft.spent += draft.unfinished.usage if draft.unfinished is not None else ()
            draft.unfinished = None
            standing = self.policies.at(agent, here, standing.terms, Limit.TIME)

    async def _store(self, agent: Agent, here: OpenRun, step: int, result: PlanResult) -> Planned:
        message = _message(result)
        calls = call_ids(here.journal, message) if result.tool_calls is not None and message is not None else ()
        records = self._records(here, step, result, message, calls)
        records += self._beside(agent, here, step, message, calls)
        records += self._questions(here, step, result)
        if result.tool_calls is not None or result.await_input:
            stop = stop_of(*await self.ledger.append(here, records))
            if not here.current:
                here = await self.ledger.open(here.run.run_id)
            planned = decided(here, step)
            if planned is None:
                raise RunCorrupt(run_id=here.run.run_id, reason=f"plan {step} was stored and is not there")
            return replace(planned, stop=stop)
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

    def _beside(
        self, agent: Agent, here: OpenRun, step: int, message: Message | None, calls: tuple[str, ...]
    ) -> list[NewRecord]:
        """What is stored with a plan beside it: what policies decided, and what they answer its calls with."""
        draft = here.drafts[step]
        decisions = list(draft.decisions)
        made: list[tuple[str, RecordType, Value]] = []
        if calls and message is not None and not fixed_call(decisions):
            refused, decision = refusals(agent, here, draft.terms, message.tool_uses)
            decisions += [decision] if decision is not None else []
            for call_id, failure in zip(calls, refused, strict=True):
                if failure is not None:
                    result = received(here, call_id, ToolOutcome(failure=failure), 0)
                    made.append((keys.result(call_id), RecordType.TOOL_RESULT_RECEIVED, result))
            made += self._about_calls(agent, here, step, zip(calls, message.tool_uses, refused, strict=True))
        for i, each in enumerate(decisions):
            made.append((keys.policy(step, i), RecordType.POLICY_DECISION, each))
        for i, prompt in enumerate(dict.fromkeys(draft.rendered)):
            if prompt not in here.journal.rendered:
                made.append((keys.prompt(step, i), RecordType.PROMPT_RENDERED, prompt))
        for i, used in enumerate(draft.spent):
            made.append((keys.spent(step, i), RecordType.USAGE, used.counted(step)))
        return [self.ledger.record(here, key, kind, dump(payload)) for key, kind, payload in made]

    def _about_calls(
        self,
        agent: Agent,
        here: OpenRun,
        step: int,
        calls: Iterable[tuple[str, ToolUsePart, ToolFailure | None]],
    ) -> list[tuple[str, RecordType, Value]]:
        """What must be asked about the calls that no policy refused, before any of them runs."""
        made: list[tuple[str, RecordType, Value]] = []
        metadata, now = here.drafts[step].metadata, self.ledger.now()
        for call_id, part, refused in calls:
            if refused is not None:
                continue
            asked = question_about(self.confirm, agent, here.run, metadata, part, call_id, now)
            if isinstance(asked, InputRequested):
                made.append((keys.asked(asked.item_id), RecordType.INPUT_REQUESTED, asked))
            elif asked is not None:
                result = received(here, call_id, ToolOutcome(failure=asked), 0)
                made.append((keys.result(call_id), RecordType.TOOL_RESULT_RECEIVED, result))
        return made

    def _questions(self, here: OpenRun, step: int, result: PlanResult) -> list[NewRecord]:
        """What the planner itself asks."""
        made = []
        for i, each in enumerate(result.await_input):
            name = item_id(here.run.run_id, f"input:{step}:{i}")
            asked = InputRequested(item_id=name, kind=each.kind, prompt=each.prompt, data=each.data)
            made.append(self.ledger.record(here, keys.asked(name), RecordType.INPUT_REQUESTED, dump(asked)))
        return made


def decided(here: OpenRun, step: int) -> Planned | None:
    """What is stored of a step already, or of the run's end."""
    if step < len(here.journal.plans) and here.ended is None:
        plan = here.journal.plans[step].decided
        waiting = {call_id for call_id in plan.call_ids if here.journal.waits(call_id)}
        return Planned(
            call_ids=tuple(call_id for call_id in plan.call_ids if call_id not in waiting),
            waiting=bool(waiting) or plan.kind == "await_input",
            synthesize_after_tools=plan.synthesize_after_tools,
        )
    return Planned(ended=here.ended) if here.ended is not None else None


def end_record(ledger: Ledger, here: OpenRun, status: RunStatus, failure: Failure | None) -> NewRecord:
    """The record of a completed or failed end."""
    failed = status is RunStatus.FAILED
    payload = makers.run_completed(status="failed" if failed else "completed", failure=failure, labels=here.run.labels)
    return ledger.record(here, keys.END, RecordType.RUN_COMPLETED, payload)


def _out_of_time(answer: OutOfTime, draft: Draft) -> PlanResult:
    """How a plan failed that took too long; the text of its answer until then is kept."""
    begun = draft.unfinished or Unfinished()
    says = f"The planner did not answer within {answer.within_s:g} seconds and was stopped."
    return PlanResult.failed(
        FailureKind.TIMEOUT, says, remainder=begun.remainder, usage=begun.usage, response_id=begun.response_id
    )


def _message(result: PlanResult) -> Message | None:
    """The assistant message that a plan adds to the transcript; one is made of a final tool result."""
    if result.final_tool_result is None:
        remainder = result.remainder
        if remainder is not None and remainder.meta is None:
            return Message(role=Role.ASSISTANT, parts=remainder.parts, meta={"partial": True})
        return result.message
    return saying(result.final_tool_result)
