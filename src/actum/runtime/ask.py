"""Asking a planner: what it is given, and an answer in every case, whatever it raises or returns."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields

from actum.base.checks import refuse
from actum.base.errors import InvalidValue, StoreUnavailable, TooLarge
from actum.base.value import conform
from actum.lifecycle.states import Run
from actum.loop.journal import Journal, recovery_of
from actum.memory.view import MemoryView
from actum.messages.message import Message
from actum.model.client import ModelClient
from actum.model.response import Chunk
from actum.planning.failures import failure_of
from actum.planning.planner import PlanInput, Planner, PlanResult, PlanResumeInput, RunInfo, Unfinished
from actum.planning.policy import Terms
from actum.planning.prompt import PromptRegistry
from actum.records.failures import FailureKind
from actum.runtime.agent import Agent
from actum.runtime.apart import OutOfTime, apart
from actum.runtime.ledger import OpenRun
from actum.runtime.views import Views

Sink = Callable[[Chunk], None]
MemoryOf = Callable[[Run, dict[str, str]], MemoryView | None]


@dataclass(frozen=True)
class Asked:
    """What a planner is asked: a step, the last one with `finalize`, and within so many seconds.

    `terms` say which tools it may see, `limit` why it is the last step.
    """

    step: int
    metadata: dict[str, str]
    terms: Terms
    finalize: bool = False
    limit: str | None = None
    within_s: float | None = None


@dataclass(frozen=True)
class Asking:
    """What a planner is asked with.

    `listener` gives a sink for a step's deltas, or None when nobody looks; `memory` the entries that a run may see.
    """

    views: Views
    models: Callable[[str], ModelClient]
    listener: Callable[[OpenRun, int], Sink | None]
    memory: MemoryOf
    prompts: PromptRegistry | None = None

    async def ask(self, agent: Agent, here: OpenRun, asked: Asked) -> PlanResult | OutOfTime:
        """The planner's decision, its failures included; what it used besides is noted in the step's draft.

        Raises StoreUnavailable when the transcript cannot be read.
        """
        troubles: list[StoreUnavailable] = []

        async def prepare() -> tuple[Message, ...]:
            try:
                return await self.views.view(agent.history, here, asked.step)
            except StoreUnavailable as error:
                troubles.append(error)
                raise

        given = self._input(agent, here, asked, prepare)
        planner = agent.planner
        answer = await apart(_plan(planner, given), asked.within_s)
        if isinstance(answer, OutOfTime):
            return answer
        if isinstance(answer, BaseException):
            if troubles:
                # The store's trouble, however the planner tells it: the step is asked again, nothing has failed.
                raise troubles[0]
            return PlanResult(failure=failure_of(answer))
        return _taken(answer, finalize=asked.finalize, waits=here.run.session_id is not None)

    def _input(
        self, agent: Agent, here: OpenRun, asked: Asked, prepare: Callable[[], Awaitable[tuple[Message, ...]]]
    ) -> PlanInput:
        run, journal, draft = here.run, here.journal, here.drafts[asked.step]
        info = RunInfo(
            run_id=run.run_id,
            agent_id=run.agent_id,
            session_id=run.session_id,
            turn_id=journal.turn_id,
            labels=run.labels,
            session_metadata=asked.metadata,
            step=asked.step,
        )

        def rendered(prompt_id: str, values: Mapping[str, str]) -> str:
            if self.prompts is None:
                raise refuse("prompt_id", prompt_id, "names a prompt; this runtime was given no prompts")
            text, record = self.prompts.render(prompt_id, info, values)
            draft.rendered.append(record)
            return text

        def unfinished(what: Unfinished) -> None:
            draft.unfinished = what

        offered = () if asked.finalize else tuple(each.definition for each in agent.tools if asked.terms.allows(each))
        given = PlanInput(
            run=info,
            tools=offered,
            finalize=asked.finalize,
            limit=asked.limit,
            prepare=prepare,
            models=self.models,
            sink=self.listener(here, asked.step),
            prompts=rendered,
            unfinished=unfinished,
            memory=self.memory(run, asked.metadata),
        )
        if journal.last_plan is None and journal.checkpoint is None:
            return given
        return PlanResumeInput(
            **{each.name: getattr(given, each.name) for each in fields(given)},
            results=journal.messages[-1].tool_results if journal.messages else (),
            recovery=recovery_of(journal, _answered_calls(journal)),
        )


async def _plan(planner: Planner, given: PlanInput) -> object:
    return await (planner.plan_resume(given) if isinstance(given, PlanResumeInput) else planner.plan_start(given))


def _answered_calls(journal: Journal) -> tuple[str, ...]:
    """The calls whose answers a planner has just received: of its last plan, or of the one that a suspension broke."""
    if journal.last_plan is not None:
        return journal.last_plan.decided.call_ids
    return journal.inherited.call_ids if journal.inherited is not None else ()


def _taken(answer: object, *, finalize: bool, waits: bool) -> PlanResult:
    """The decision, if it is one that this runtime takes; otherwise how it failed."""
    if not isinstance(answer, PlanResult):
        says = f"the planner gave a {type(answer).__name__}, not a PlanResult"
        return PlanResult.failed(FailureKind.PLANNER, says)
    try:
        result = conform(answer)
    except (InvalidValue, TooLarge) as error:
        return PlanResult(failure=failure_of(error))
    if result.await_input and (finalize or not waits):
        says = "the last plan of a run asks nothing" if finalize else "a run without a session cannot wait for a person"
        kind = FailureKind.LIMIT if finalize else FailureKind.PLANNER
        return PlanResult.failed(kind, f"the planner awaits input, and {says}", usage=result.usage, notes=result.notes)
    if finalize and result.tool_calls is not None:
        says = "the last plan of a run calls nothing, and this one called tools"
        return PlanResult.failed(
            FailureKind.LIMIT, says, usage=result.usage, notes=result.notes, response_id=result.response_id
        )
    return result
