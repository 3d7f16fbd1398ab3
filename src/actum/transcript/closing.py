"""How open calls are closed: by one user message that answers the whole group, never by two."""

from collections.abc import Callable, Iterable, Sequence

from actum.base.checks import refuse
from actum.messages.message import Message, tool_results
from actum.messages.parts import ToolResultPart, ToolUsePart
from actum.records.failures import ToolFailure
from actum.transcript.validate import open_calls, refuse_findings, scan


def failed_result(call: ToolUsePart, failure: ToolFailure) -> ToolResultPart:
    """The typed error result of a call that has no other."""
    return ToolResultPart(tool_use_id=call.id, content=failure.content, is_error=True)


def close_open_calls(
    messages: Sequence[Message],
    failure_of: Callable[[ToolUsePart], ToolFailure],
    *,
    results: Iterable[ToolResultPart] = (),
) -> Message | None:
    """The one user message that answers the group at the end of the transcript; None if no call is open.

    Its results stand in the order of the calls. A call with one of the given `results` keeps it; every other gets the
    failure that `failure_of` names. Raises TranscriptError for a transcript that breaks the law in another way than by
    this open group: above all one whose group already has a message behind it, for a second message could not repair
    it. Raises InvalidValue for a result of a call that is not open, or a second one of the same call.
    """
    refuse_findings(scan(messages, may_end_open=True))
    calls = open_calls(messages)
    kept: dict[str, ToolResultPart] = {}
    for result in results:
        if result.tool_use_id in kept or result.tool_use_id not in {call.id for call in calls}:
            raise refuse("results", result.tool_use_id, "hold one result each of calls that are open")
        kept[result.tool_use_id] = result
    if not calls:
        return None
    return tool_results(*(kept.get(call.id) or failed_result(call, failure_of(call)) for call in calls))
