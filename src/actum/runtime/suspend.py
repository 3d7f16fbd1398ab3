"""The step that suspends a run: its checkpoint, and one list of everything that it waits for, in one write.

A suspended run asks for each of its items in its own log, also for those that an earlier run or a child asked first;
so one run's records tell all that there is to answer.
"""

from actum.base.errors import RunCorrupt
from actum.base.value import dump, replace
from actum.lifecycle.commands import RunSuspension
from actum.lifecycle.states import SESSION_ENDED, RunStatus, SessionStatus
from actum.loop import keys
from actum.loop.checkpoint import VERSION, AskedItem, Checkpoint, LeftCall, suspension_of
from actum.loop.journal import Group
from actum.loop.world import Stop, Suspended, SuspendStep
from actum.planning.policy import Terms
from actum.records import makers
from actum.records.kinds import InputRequested, payload_of
from actum.records.record import NewRecord
from actum.records.types import RecordType
from actum.runtime.consent import asked_item
from actum.runtime.inherit import load_checkpoint
from actum.runtime.ledger import Ledger, OpenRun


async def suspend(ledger: Ledger, here: OpenRun, step: SuspendStep, terms: Terms) -> Suspended:
    """Suspends the run with all that is open at this step; nothing when it has ended or shall stop.

    `terms` are those that its continuation goes on with.
    """
    if here.ended is not None:
        return Suspended(ended=here.ended)
    if here.journal.intent is not None:
        return Suspended(stop=Stop(reason=here.journal.intent))
    status, _ = await ledger.session(here)
    if status is SessionStatus.ENDED:
        return Suspended(stop=Stop(reason=SESSION_ENDED))
    checkpoint = await _checkpoint(ledger, here, step.step, terms)
    suspension = suspension_of(checkpoint)
    payload = makers.run_suspended(
        suspension_id=suspension.suspension_id,
        version=VERSION,
        pending=checkpoint.pending(),
        required_tools=tuple(sorted(_tools(here, checkpoint))),
    )
    record = ledger.record(here, keys.SUSPENDED, RecordType.RUN_SUSPENDED, payload)
    records = await _asked_again(ledger, here, checkpoint)
    await ledger.suspend(
        here, RunSuspension(run_id=here.run.run_id, suspension=suspension, record=record, records=records)
    )
    return Suspended(ended=RunStatus.SUSPENDED)


async def _checkpoint(ledger: Ledger, here: OpenRun, step: int, terms: Terms) -> Checkpoint:
    journal, before = here.journal, here.journal.checkpoint
    inherited = step == keys.INHERITED
    group = journal.group(step)
    items = _questions(here, inherited=inherited)
    calls = []
    for call_id in group.call_ids:
        left, asked = await _left(ledger, here, group, call_id)
        calls.append(left)
        items += asked
    if not items:
        raise RunCorrupt(run_id=here.run.run_id, reason="the run would be suspended and wait for nothing")
    return Checkpoint(
        run_id=here.run.run_id,
        kind="tools" if calls else "input",
        planned_by=before.planned_by if inherited and before is not None else here.run.run_id,
        step=before.step if inherited and before is not None else step,
        calls=tuple(calls),
        items=tuple(items),
        synthesize_after_tools=group.synthesize_after_tools,
        terms=terms,
    )


def _questions(here: OpenRun, *, inherited: bool) -> list[AskedItem]:
    """What the planner asked and nobody has answered: in this run, or in an earlier one of the chain."""
    journal = here.journal
    if not inherited:
        asked = [item for item in journal.asked.values() if item.tool_call_id is None and item.run_id is None]
        return [asked_item(here.run.run_id, item) for item in asked]
    items = journal.checkpoint.items if journal.checkpoint is not None else ()
    own = [item for item in items if item.tool_call_id is None and item.through is None]
    return [item for item in own if item.item_id not in journal.answers]


async def _left(ledger: Ledger, here: OpenRun, group: Group, call_id: str) -> tuple[LeftCall, list[AskedItem]]:
    """How one call of the group stands, and what must be said before it can have its answer."""
    journal = here.journal
    if journal.calls[call_id].result is not None:
        from_run = group.results_from.get(call_id, here.run.run_id)
        return LeftCall(tool_call_id=call_id, result_run_id=from_run), []
    own = [item for item in journal.asked.values() if item.tool_call_id == call_id and item.run_id is None]
    if own:
        return LeftCall(tool_call_id=call_id), [asked_item(here.run.run_id, each) for each in own]
    before = journal.item_of(call_id)
    if before is not None and before.item_id not in journal.answers:
        return LeftCall(tool_call_id=call_id), [before]
    child = _child(here, call_id)
    if child is None:
        raise RunCorrupt(run_id=here.run.run_id, reason=f"call {call_id!r} has no result and waits for nobody")
    below = (await load_checkpoint(ledger.store, child)).items
    left = LeftCall(tool_call_id=call_id, child_run_id=child)
    return left, [replace(item, through=call_id) for item in below]


def _child(here: OpenRun, call_id: str) -> str | None:
    """The newest child run that answers the call."""
    linked = here.journal.children.get(call_id)
    return linked.child_run_id if linked is not None else here.journal.left_child(call_id)


async def _asked_again(ledger: Ledger, here: OpenRun, checkpoint: Checkpoint) -> tuple[NewRecord, ...]:
    """What this run waits for and did not ask first, as records of its own."""
    made = []
    for item in checkpoint.items:
        if item.item_id in here.journal.asked:
            continue
        payload = payload_of(await ledger.store.load_run_record(item.run_id, keys.asked(item.item_id)))
        if not isinstance(payload, InputRequested):
            raise RunCorrupt(run_id=here.run.run_id, reason=f"item {item.item_id!r} was never asked")
        again = dump(replace(payload, run_id=item.run_id))
        made.append(ledger.record(here, keys.asked(item.item_id), RecordType.INPUT_REQUESTED, again))
    return tuple(made)


def _tools(here: OpenRun, checkpoint: Checkpoint) -> set[str]:
    """The tools that must be there when the run goes on."""
    open_calls = [left.tool_call_id for left in checkpoint.calls if left.result_run_id is None]
    return {here.journal.calls[each].part.name for each in open_calls}
