"""The step before a run's first: where it stands, and what a suspended run before it left to settle."""

from actum.base.clock import Clock
from actum.lifecycle.states import RunStatus
from actum.loop.world import PARENT_ENDED, Opened, Stop
from actum.runtime.children import cancel
from actum.runtime.ledger import Ledger, OpenRun
from actum.runtime.openings import WITHDRAWN


async def opened(ledger: Ledger, clock: Clock, here: OpenRun) -> Opened:
    """Where the run stands. One that was started to withdraw its predecessor stops here, for that reason."""
    journal = here.journal
    if here.ended is not None:
        return Opened(ended=here.ended)
    if journal.intent is not None:
        return Opened(stop=Stop(reason=journal.intent))
    withdrawn = journal.requested.options.get(WITHDRAWN) if journal.requested is not None else None
    if withdrawn is not None:
        await cancel(ledger, here.run, str(withdrawn), clock)
        return Opened(stop=Stop(reason=str(withdrawn)))
    parent_id = here.run.parent_run_id
    parent = await ledger.store.load_run(parent_id) if parent_id is not None else None
    if parent is not None and (parent.status is not RunStatus.RUNNING or parent.cancellation_reason is not None):
        # Whoever ended the parent, or died before it told its children: nobody waits for this answer any more.
        reason = parent.cancellation_reason or PARENT_ENDED
        await cancel(ledger, here.run, reason, clock)
        return Opened(stop=Stop(reason=reason))
    group = journal.inherited
    if group is None:
        return Opened()
    if not group.call_ids:
        return Opened(inherited=journal.questions_wait, waiting=journal.questions_wait)
    waiting = {call_id for call_id in group.call_ids if journal.waits(call_id)}
    return Opened(
        inherited=True,
        call_ids=tuple(each for each in group.call_ids if each not in waiting),
        waiting=bool(waiting),
        synthesize_after_tools=group.synthesize_after_tools,
    )
