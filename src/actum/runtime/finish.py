"""The last steps: the message that answers a step's calls, and the end that closes whatever is still open."""

from collections.abc import Callable, Mapping

from actum.base.errors import CancellationConflict, RunNotRunning
from actum.base.value import dump
from actum.lifecycle.commands import RunCancellation, RunTerminal
from actum.lifecycle.states import ENGINE_CANCELED, SESSION_ENDED, RunStatus, SessionStatus
from actum.loop import keys
from actum.loop.journal import Call, recovery_of
from actum.loop.world import Collected, CollectStep, Finished, FinishStep
from actum.messages.message import tool_results
from actum.model.fold import remainder_of
from actum.planning.planner import Unfinished
from actum.records import makers
from actum.records.failures import ToolFailure, ToolFailureKind
from actum.records.kinds import Cancellation, ToolResultReceived
from actum.records.record import NewRecord
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.call import received
from actum.runtime.children import Children
from actum.runtime.ledger import Ledger, OpenRun, no_plan, stop_of
from actum.runtime.plan import end_record
from actum.runtime.results import answering
from actum.tools.spec import ToolSpec


async def collect(ledger: Ledger, agent: Agent, here: OpenRun, step: CollectStep) -> Collected:
    """Stores the one message that answers a step's calls, in their order, unless the last result brought it along."""
    if here.ended is not None:
        return Collected(ended=True)
    group = here.journal.group(step.step)
    calls = [here.journal.calls[each] for each in group.call_ids]
    told = Collected(
        recovery=recovery_of(here.journal, group.call_ids),
        terminal=any(_ends_the_run(agent, call) for call in calls),
    )
    if group.answered:
        return told
    answers = await ledger.append(here, answering(ledger, here, group))
    return Collected(recovery=told.recovery, terminal=told.terminal, stop=stop_of(*answers))


async def finish(children: Children, here: OpenRun, step: FinishStep) -> Finished:
    """Closes every open call with a typed result and stores the end, in one write; children end first."""
    ledger = children.ledger
    if here.ended is not None:
        return Finished(status=here.ended)
    reason = None
    if step.status == "canceled":
        reason = here.journal.intent or await _session_ended(ledger, here) or ENGINE_CANCELED
    running = await children.end(here, reason)
    if running:
        return Finished(status=RunStatus.RUNNING, children=running)
    status = RunStatus(step.status)
    if reason is not None:
        payload = makers.run_completed(
            status="canceled", cancellation=Cancellation(reason=reason), labels=here.run.labels
        )
        end = ledger.record(here, keys.END, RecordType.RUN_COMPLETED, payload)
    else:
        end = end_record(ledger, here, status, step.failure)
    answers = await children.answers(here)
    closing = _closing(ledger, here, answers, _why(here, step, reason))
    closing = closing or [*_unfinished(ledger, here), no_plan(ledger, here, _ends(step, reason))]
    await ledger.end(here, RunTerminal(run_id=here.run.run_id, status=status, record=end, records=tuple(closing)))
    return Finished(status=status)


def _closing(
    ledger: Ledger, here: OpenRun, answers: Mapping[str, ToolResultReceived], why: Callable[[Call], ToolFailure]
) -> list[NewRecord]:
    """A result for each call that has none, and the message that answers the whole group: nothing if none is open.

    `answers` are those that children gave whose parent did not come to store them.
    """
    group = here.journal.open_group
    if group is None:
        return []
    records, parts = [], []
    for call_id in group.call_ids:
        call = here.journal.calls[call_id]
        result = call.result
        if result is None:
            result = (
                answers.get(call_id)
                or _last_word(here, call)
                or ToolResultReceived(tool_call_id=call_id, call_run_id=here.run.run_id, failure=why(call))
            )
            records.append(ledger.record(here, keys.result(call_id), RecordType.TOOL_RESULT_RECEIVED, dump(result)))
        parts.append(result.part(call.part.id))
    payload = makers.transcript_messages_appended(messages=(tool_results(*parts),))
    key = keys.results(group.step)
    return [*records, ledger.record(here, key, RecordType.TRANSCRIPT_MESSAGES_APPENDED, payload)]


def _unfinished(ledger: Ledger, here: OpenRun) -> list[NewRecord]:
    """What there is of a plan that did not come to be stored: the text of its answer, marked, and what it cost."""
    step = len(here.journal.plans)
    draft, made = here.drafts.get(step), here.plans.get(step)
    if draft is None:
        return []
    begun = draft.unfinished or Unfinished()
    if made is not None:
        rest = remainder_of(made.message) if made.message is not None else None
        begun = Unfinished(remainder=rest, usage=made.usage, response_id=made.response_id)
    records = []
    if begun.remainder is not None:
        payload = makers.transcript_messages_appended(messages=(begun.remainder,), response_id=begun.response_id)
        records.append(ledger.record(here, keys.message(step), RecordType.TRANSCRIPT_MESSAGES_APPENDED, payload))
    for i, used in enumerate([*draft.spent, *begun.usage]):
        records.append(ledger.record(here, keys.usage(step, i), RecordType.USAGE, dump(used.counted(step))))
    return records


def _last_word(here: OpenRun, call: Call) -> ToolResultReceived | None:
    """What the tool answered here, when only the writing of it did not come about."""
    own = here.tries.get(call.call_id)
    if own is None or own.outcome is None or call.attempts[-1:] != [own.attempt]:
        return None
    return received(here, call.call_id, own.outcome, own.took_ms)


def _ends(step: FinishStep, reason: str | None) -> str:
    return f"the run was canceled: {reason}" if reason is not None else f"the run ended {step.status}"


def _why(here: OpenRun, step: FinishStep, reason: str | None) -> Callable[[Call], ToolFailure]:
    """Why a call that has no result will never have one."""

    def failure(call: Call) -> ToolFailure:
        if call.attempts and step.presumed_dead:
            says = f"{call.part.name} was started and its result was lost; it may have done its work or not"
            return ToolFailure(kind=ToolFailureKind.OUTCOME_UNKNOWN, message=says)
        asked = call.call_id in here.journal.children or here.journal.left_child(call.call_id) is not None
        begun = "was stopped" if call.attempts or asked else "was not started"
        says = f"{call.part.name} {begun}; {_ends(step, reason)}"
        return ToolFailure(kind=ToolFailureKind.CANCELED, message=says[:1000])

    return failure


async def _session_ended(ledger: Ledger, here: OpenRun) -> str | None:
    """Records `session_ended` as the run's reason when its session has ended; None when that is not why."""
    session_id = here.run.session_id
    if session_id is None or await ledger.store.load_session_status(session_id) is not SessionStatus.ENDED:
        return None
    payload = makers.cancellation_intent(reason=SESSION_ENDED)
    record = ledger.record(here, keys.CANCELLATION, RecordType.CANCELLATION_INTENT, payload)
    try:
        await ledger.cancel(here.run, RunCancellation(run_id=here.run.run_id, reason=SESSION_ENDED, record=record))
    except (CancellationConflict, RunNotRunning):
        run = await ledger.store.load_run(here.run.run_id)
        return run.cancellation_reason
    # A call that was started until this moment must show in the journal; from now on none is.
    await ledger.open(here.run.run_id)
    return SESSION_ENDED


def _ends_the_run(agent: Agent, call: Call) -> bool:
    spec = agent.tools.find(call.part.name)
    return isinstance(spec, ToolSpec) and spec.terminal and call.result is not None and call.result.failure is None
