"""Asking a planner: what it is given, and an answer in every case, whatever it raises or returns."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from actum.base.errors import InvalidValue, StoreUnavailable, TooLarge
from actum.base.value import conform
from actum.lifecycle.states import Run
from actum.loop.journal import recovery_of
from actum.loop.world import PlanStep
from actum.memory.view import MemoryView
from actum.messages.message import Message
from actum.model.client import ModelClient
from actum.model.response import Chunk
from actum.planning.failures import failure_of
from actum.planning.planner import PlanInput, PlanResult, PlanResumeInput, RunInfo
from actum.records.failures import FailureKind
from actum.runtime.agent import Agent
from actum.runtime.ledger import OpenRun
from actum.runtime.transcripts import Histories
from actum.transcript.validate import validate_planner_transcript

Sink = Callable[[Chunk], None]
MemoryOf = Callable[[Run, dict[str, str]], MemoryView | None]

# How long a planner that was told to stop may take to do so, before it is let go.
STOPPING_S: Final = 5.0


@dataclass(frozen=True)
class Asking:
    """What a planner is asked with.

    `listener` gives a sink for a step's deltas, or None when nobody looks; `memory` the entries that a run may see.
    """

    histories: Histories
    models: Callable[[str], ModelClient]
    listener: Callable[[OpenRun, int], Sink | None]
    memory: MemoryOf

    async def ask(self, agent: Agent, here: OpenRun, step: PlanStep, metadata: dict[str, str]) -> PlanResult:
        """The planner's decision, its failures included. Raises StoreUnavailable when the transcript cannot be read."""
        troubles: list[StoreUnavailable] = []

        async def prepare() -> tuple[Message, ...]:
            try:
                return await self._prepared(agent, here)
            except StoreUnavailable as error:
                troubles.append(error)
                raise

        given = self._input(agent, here, step, metadata, prepare)
        planner = agent.planner
        asked = planner.plan_resume(given) if isinstance(given, PlanResumeInput) else planner.plan_start(given)
        answer = await _apart(asked)
        if isinstance(answer, BaseException):
            if troubles:
                # The store's trouble, however the planner tells it: the step is asked again, nothing has failed.
                raise troubles[0]
            return PlanResult(failure=failure_of(answer))
        return _taken(answer, finalize=step.finalize)

    def _input(
        self,
        agent: Agent,
        here: OpenRun,
        step: PlanStep,
        metadata: dict[str, str],
        prepare: Callable[[], Awaitable[tuple[Message, ...]]],
    ) -> PlanInput:
        run, journal = here.run, here.journal
        info = RunInfo(
            run_id=run.run_id,
            agent_id=run.agent_id,
            session_id=run.session_id,
            turn_id=journal.turn_id,
            labels=run.labels,
            session_metadata=metadata,
            step=step.step,
        )
        tools = () if step.finalize else agent.tools.definitions()
        sink = self.listener(here, step.step)
        memory = self.memory(run, metadata)
        last = journal.last_plan
        if last is None:
            return PlanInput(
                run=info,
                tools=tools,
                finalize=step.finalize,
                prepare=prepare,
                models=self.models,
                sink=sink,
                memory=memory,
            )
        return PlanResumeInput(
            run=info,
            tools=tools,
            finalize=step.finalize,
            prepare=prepare,
            models=self.models,
            sink=sink,
            memory=memory,
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


async def _apart(asked: Awaitable[object]) -> object:
    """What the planner returned or raised. It runs in a task of its own, so that neither can end the other.

    Raises CancelledError when the asking task is cancelled; then the planner is too, and let go if it will not stop.
    """
    asking = asyncio.ensure_future(_answer(asked))
    try:
        await asyncio.wait({asking})
    finally:
        if not asking.done():
            asking.cancel()
            await asyncio.wait({asking}, timeout=STOPPING_S)
    # A planner may cancel the task that it finds itself in; that is how its plan failed and stops nobody else.
    answer: object = asyncio.CancelledError() if asking.cancelled() else asking.result()
    if isinstance(answer, KeyboardInterrupt | SystemExit):
        raise answer
    return answer


async def _answer(asked: Awaitable[object]) -> object:
    try:
        return await asked
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        return error


def _taken(answer: object, *, finalize: bool) -> PlanResult:
    """The decision, if it is one that this runtime takes; otherwise how it failed."""
    if not isinstance(answer, PlanResult):
        says = f"the planner gave a {type(answer).__name__}, not a PlanResult"
        return PlanResult.failed(FailureKind.PLANNER, says)
    try:
        result = conform(answer)
    except (InvalidValue, TooLarge) as error:
        return PlanResult(failure=failure_of(error))
    if result.await_input:
        says = "the planner awaits input, which this runtime does not serve"
        return PlanResult.failed(FailureKind.PLANNER, says, usage=result.usage)
    if finalize and result.tool_calls is not None:
        says = "the last plan of a run calls nothing, and this one called tools"
        return PlanResult.failed(
            FailureKind.LIMIT, says, usage=result.usage, notes=result.notes, response_id=result.response_id
        )
    return result
