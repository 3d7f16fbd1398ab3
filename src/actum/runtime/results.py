"""The one message that answers a group of calls, in their order, with the phase that follows."""

from actum.loop import keys
from actum.loop.journal import Group
from actum.messages.message import tool_results
from actum.records import makers
from actum.records.kinds import Phase, ToolResultReceived
from actum.records.record import NewRecord
from actum.records.types import RecordType
from actum.runtime.ledger import Ledger, OpenRun, not_running


def lacking(here: OpenRun, group: Group, last: ToolResultReceived) -> bool:
    """Whether a call of the group has no result yet, as far as the journal was read, when `last` is one."""
    names = (each for each in group.call_ids if each != last.tool_call_id)
    return any(here.journal.calls[each].result is None for each in names)


def answering(ledger: Ledger, here: OpenRun, group: Group, last: ToolResultReceived | None = None) -> list[NewRecord]:
    """The records that answer a group whose calls all have results; `last` is one that the journal has not read yet.

    Raises RunNotRunning when one has none: whoever asked saw the run before its end.
    """
    parts = []
    for call_id in group.call_ids:
        call = here.journal.calls[call_id]
        result = last if last is not None and last.tool_call_id == call_id else call.result
        if result is None:
            raise not_running(here)
        parts.append(result.part(call.part.id))
    answers = makers.transcript_messages_appended(messages=(tool_results(*parts),))
    phase = makers.run_phase_changed(phase=Phase.SYNTHESIZING if group.synthesize_after_tools else Phase.PLANNING)
    return [
        ledger.record(here, keys.results(group.step), RecordType.TRANSCRIPT_MESSAGES_APPENDED, answers),
        ledger.record(here, keys.phase(group.step, "answered"), RecordType.RUN_PHASE_CHANGED, phase),
    ]
