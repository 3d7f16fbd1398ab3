"""One call of a tool: arguments in, outcome out. Whatever the tool does, the caller gets a value.

Only two things pass through: the cancellation of the task that called, told by that task's own cancel state and not by
the type of an exception; and an interpreter on its way out (KeyboardInterrupt, SystemExit). No task is left behind.
"""

from actum.base.limits import PAYLOAD_BYTES
from actum.base.value import Json, Value
from actum.messages.parts import DocumentPart, ImagePart, ToolResultPart, ToolUsePart
from actum.records.failures import ToolFailure
from actum.tools.spec import ToolContext, ToolSpec

# The record of a result needs a little more than the result: ids, times, the names of its fields.
RESULT_BYTES = PAYLOAD_BYTES - 16 * 1024


class ToolOutcome(Value):
    """How a call ended: with JSON `content` and `attachments`, or with a `failure`."""

    content: Json = None
    attachments: tuple[ImagePart | DocumentPart, ...] = ()
    failure: ToolFailure | None = None

    def part(self, tool_use_id: str) -> ToolResultPart:
        """The part that answers the tool use with this id."""
        if self.failure is not None:
            return ToolResultPart(tool_use_id=tool_use_id, content=self.failure.content, is_error=True)
        return ToolResultPart(tool_use_id=tool_use_id, content=self.content, attachments=self.attachments)


async def call_tool(
    spec: ToolSpec,
    tool_use: ToolUsePart,
    context: ToolContext,
    *,
    timeout: float | None = None,  # noqa: ASYNC109 - the bound is a rule of the call, its breach an outcome
    max_bytes: int = RESULT_BYTES,
) -> ToolOutcome:
    """Run one call to its outcome.

    `timeout` (seconds) tightens the tool's own. A result above `max_bytes` of JSON is a failure, never cut.
    Raises nothing but CancelledError of the calling task, KeyboardInterrupt and SystemExit.
    """
    raise AssertionError(spec, tool_use, context, timeout, max_bytes)


def invalid_call(spec: ToolSpec, tool_use: ToolUsePart) -> ToolFailure | None:
    """The failure that this tool use would be answered with before anything runs; None when its arguments fit."""
    raise AssertionError(spec, tool_use)
