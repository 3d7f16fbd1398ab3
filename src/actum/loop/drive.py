"""The loop: plan, tools in parallel, resume, finish. It decides what comes next and nothing else.

Deterministic and safe to run again from the top: every step first looks for its record, so a repeated loop goes quickly
through what was done. Cancelling the task that runs it parks the run: nothing is stored, and recovery goes on with it.
"""

import asyncio
from collections.abc import Awaitable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from actum.base.errors import CancellationRequested, ContractError, RunNotRunning
from actum.base.limits import LOOP_STEPS, PARALLEL_TOOLS
from actum.lifecycle.states import RunStatus
from actum.loop import keys
from actum.loop.world import (
    Called,
    CallStep,
    ChildStep,
    Collected,
    CollectStep,
    FinishStep,
    OpenStep,
    PlanStep,
    RunRequest,
    Stop,
    SuspendStep,
    WorkflowContext,
)
from actum.records.failures import Failure, FailureKind, Recovery, cut_message

T = TypeVar("T")


@dataclass(frozen=True)
class _Group:
    """Calls that one message will answer: those that can be answered now, and whether others wait for a person."""

    step: int
    call_ids: tuple[str, ...]
    waiting: bool


@dataclass(frozen=True)
class _Going:
    """A run that is driven: `stopping` is done once it shall stop."""

    ctx: WorkflowContext
    run_id: str
    stopping: asyncio.Future[Stop]
    presumed_dead: bool


class _Stopped(Exception):
    """The run shall start nothing more."""


async def drive(ctx: WorkflowContext, request: RunRequest) -> RunStatus:
    """A run from its start to its end. Returns the status that is stored."""
    begun = await ctx.begin(request)
    if begun.ended is not None:
        return begun.ended
    return await resume(ctx, request.run_id, stop=begun.stop)


async def drive_child(ctx: WorkflowContext, step: ChildStep) -> RunStatus:
    """A child run from its start to its end; nothing when its parent may start nothing more."""
    try:
        begun = await ctx.begin_child(step)
    except (CancellationRequested, RunNotRunning):
        # The parent's own next step meets the same and says why; no child exists.
        return RunStatus.CANCELED
    if begun.ended is not None:
        return begun.ended
    return await resume(ctx, step.child_run_id, stop=begun.stop)


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
    return await _finished(ctx, ending)


async def give_up(ctx: WorkflowContext, run_id: str, *, stop: Stop | None = None) -> RunStatus:
    """Ends a run that nobody drives any more without going on with it: failed, unless it was to be canceled.

    `stop` is why it was, as far as that is known before its records are read. No step of it needs the run's agent.
    """
    opened = await ctx.open(OpenStep(run_id=run_id))
    if opened.ended is not None:
        return opened.ended
    if stop is not None or opened.stop is not None:
        return await _finished(ctx, FinishStep(run_id=run_id, status="canceled", presumed_dead=True))
    says = "the process that ran it is gone, and runs are not gone on with here"
    failure = Failure(kind=FailureKind.RECOVERY, message=says)
    return await _finished(ctx, FinishStep(run_id=run_id, status="failed", failure=failure, presumed_dead=True))


async def _steps(ctx: WorkflowContext, run_id: str, *, presumed_dead: bool) -> RunStatus:
    """A started run to its end, under one watch for a stop."""
    stopping = asyncio.ensure_future(ctx.cancel_requested())
    try:
        return await _from_where_it_stands(_Going(ctx, run_id, stopping, presumed_dead))
    finally:
        await _ended(stopping)


async def _from_where_it_stands(going: _Going) -> RunStatus:
    ctx, run_id = going.ctx, going.run_id
    opened = await ctx.open(OpenStep(run_id=run_id))
    if opened.ended is not None:
        return opened.ended
    _check(opened.stop)
    finalize = False
    if opened.inherited:
        settled = await _settled(going, _Group(keys.INHERITED, opened.call_ids, opened.waiting))
        if isinstance(settled, RunStatus):
            return settled
        finalize = opened.synthesize_after_tools or settled.recovery is Recovery.FINISH
    for step in range(LOOP_STEPS):
        # The world takes nothing but an end from a last plan, so the loop is bounded.
        finalize = finalize or step == LOOP_STEPS - 1
        planned = await _unless_stopped(going, ctx.plan(PlanStep(run_id=run_id, step=step, finalize=finalize)))
        if planned.ended is not None:
            return planned.ended
        _check(planned.stop)
        settled = await _settled(going, _Group(step, planned.call_ids, planned.waiting))
        if isinstance(settled, RunStatus):
            return settled
        finalize = planned.synthesize_after_tools or settled.recovery is Recovery.FINISH
    failure = Failure(kind=FailureKind.LIMIT, message=f"the run took {LOOP_STEPS} steps without coming to an end")
    return await _finished(ctx, FinishStep(run_id=run_id, status="failed", failure=failure))


async def _settled(going: _Going, group: _Group) -> Collected | RunStatus:
    """The answers of a group as they are stored; or the run's end, where it waits for a person or a tool ended it."""
    ctx, run_id, waiting = going.ctx, going.run_id, group.waiting
    calls = [CallStep(run_id=run_id, call_id=each, presumed_dead=going.presumed_dead) for each in group.call_ids]
    for first in range(0, len(calls), PARALLEL_TOOLS):
        some = calls[first : first + PARALLEL_TOOLS]
        for called in await _unless_stopped(going, _together([_called(ctx, each) for each in some])):
            _check(called.stop, ended=called.ended)
            waiting = waiting or called.waiting
    if waiting:
        suspended = await ctx.suspend(SuspendStep(run_id=run_id, step=group.step))
        _check(suspended.stop)
        return suspended.ended or RunStatus.SUSPENDED
    collected = await ctx.collect(CollectStep(run_id=run_id, step=group.step))
    _check(collected.stop, ended=collected.ended)
    if collected.terminal:
        return await _finished(ctx, FinishStep(run_id=run_id, status="completed"))
    return collected


async def _called(ctx: WorkflowContext, step: CallStep) -> Called:
    """The answer of one call; where a child run gives it, after that has come to its end."""
    called = await ctx.call(step)
    while called.child is not None:
        await ctx.start_child(ChildStep(run_id=step.run_id, call_id=step.call_id, child_run_id=called.child))
        called = await ctx.call(step)
    return called


async def _finished(ctx: WorkflowContext, step: FinishStep) -> RunStatus:
    """The run's end as it is stored; its children come to their ends before it does."""
    finished = await ctx.finish(step)
    while finished.children:
        await ctx.end_children(finished.children)
        finished = await ctx.finish(step)
    return finished.status


def _check(stop: Stop | None, *, ended: bool = False) -> None:
    if stop is not None or ended:
        raise _Stopped


async def _unless_stopped(going: _Going, work: Coroutine[Any, Any, T]) -> T:
    """`work`, unless the run is to stop first; then the work is cancelled and waited for."""
    doing = asyncio.ensure_future(work)
    either: set[asyncio.Future[Any]] = {doing, going.stopping}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        going.stopping.result()  # a watch that broke is no answer
        raise _Stopped
    finally:
        if not doing.done():
            await _ended(doing)
        elif not doing.cancelled():
            doing.exception()  # heard, also where this task was canceled and nobody is to be told any more


async def _together(work: list[Coroutine[Any, Any, T]]) -> list[T]:
    """All of `work` at once, answers in order; the first error ends the others, and none is left running."""
    if len(work) == 1:
        return [await work[0]]
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
