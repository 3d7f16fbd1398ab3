"""The loop: plan, tools in parallel, resume, finish. It decides what comes next and nothing else.

Deterministic and safe to run again from the top: every step first looks for its record, so a repeated loop goes quickly
through what was done. Cancelling the task that runs it parks the run: nothing is stored, and recovery goes on with it.
"""

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

from actum.base.errors import ContractError
from actum.base.limits import LOOP_STEPS, PARALLEL_TOOLS
from actum.lifecycle.states import RunStatus
from actum.loop.world import CallStep, CollectStep, FinishStep, PlanStep, RunRequest, Stop, WorkflowContext
from actum.records.failures import Failure, FailureKind, Recovery, cut_message

T = TypeVar("T")


class _Stopped(Exception):
    """The run shall start nothing more."""


async def drive(ctx: WorkflowContext, request: RunRequest) -> RunStatus:
    """A run from its start to its end. Returns the status that is stored."""
    begun = await ctx.begin(request)
    if begun.ended is not None:
        return begun.ended
    return await resume(ctx, request.run_id, stop=begun.stop)


async def resume(
    ctx: WorkflowContext, run_id: str, *, stop: Stop | None = None, presumed_dead: bool = False
) -> RunStatus:
    """A started run to its end, from wherever its records say it stands.

    `presumed_dead`: nobody else drives it any more, so a call that was started and has no result is lost.
    """
    try:
        _check(stop)
        return await _steps(ctx, run_id, presumed_dead=presumed_dead)
    except _Stopped:
        ending = FinishStep(run_id=run_id, status="canceled", presumed_dead=presumed_dead)
    except ContractError as error:
        # Repeating a refused step cannot help; without an end the run would be taken up again and again.
        failure = Failure(kind=FailureKind.INTERNAL, message=cut_message(str(error)), code=error.code)
        ending = FinishStep(run_id=run_id, status="failed", failure=failure, presumed_dead=presumed_dead)
    return (await ctx.finish(ending)).status


async def _steps(ctx: WorkflowContext, run_id: str, *, presumed_dead: bool) -> RunStatus:
    finalize = False
    for step in range(LOOP_STEPS):
        # The world takes nothing but an end from a last plan, so the loop is bounded.
        finalize = finalize or step == LOOP_STEPS - 1
        planned = await _unless_stopped(ctx, ctx.plan(PlanStep(run_id=run_id, step=step, finalize=finalize)))
        if planned.ended is not None:
            return planned.ended
        _check(planned.stop)
        calls = [CallStep(run_id=run_id, call_id=each, presumed_dead=presumed_dead) for each in planned.call_ids]
        for first in range(0, len(calls), PARALLEL_TOOLS):
            some = calls[first : first + PARALLEL_TOOLS]
            for called in await _unless_stopped(ctx, _together([ctx.call(each) for each in some])):
                _check(called.stop, ended=called.ended)
        collected = await ctx.collect(CollectStep(run_id=run_id, step=step))
        _check(collected.stop, ended=collected.ended)
        if collected.terminal:
            return (await ctx.finish(FinishStep(run_id=run_id, status="completed"))).status
        finalize = planned.synthesize_after_tools or collected.recovery is Recovery.FINISH
    failure = Failure(kind=FailureKind.LIMIT, message=f"the run took {LOOP_STEPS} steps without coming to an end")
    return (await ctx.finish(FinishStep(run_id=run_id, status="failed", failure=failure))).status


def _check(stop: Stop | None, *, ended: bool = False) -> None:
    if stop is not None or ended:
        raise _Stopped


async def _unless_stopped(ctx: WorkflowContext, work: Coroutine[Any, Any, T]) -> T:
    """`work`, unless the run is to stop first; then the work is cancelled and waited for."""
    doing = asyncio.ensure_future(work)
    asking = asyncio.ensure_future(ctx.cancel_requested())
    try:
        await asyncio.wait({doing, asking}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        asking.result()  # a question that broke is no answer
        raise _Stopped
    finally:
        await _ended(doing, asking)


async def _together(work: list[Coroutine[Any, Any, T]]) -> list[T]:
    """All of `work` at once, answers in order; the first error ends the others, and none is left running."""
    doing = [asyncio.ensure_future(each) for each in work]
    try:
        return await asyncio.gather(*doing)
    finally:
        await _ended(*doing)


async def _ended(*work: Awaitable[object]) -> None:
    """Cancels what still runs and waits until it has ended."""
    tasks = [each for each in work if isinstance(each, asyncio.Future)]
    for task in tasks:
        if not task.done():
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
