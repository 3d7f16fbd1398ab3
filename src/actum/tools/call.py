"""One call of a tool: arguments in, outcome out. Whatever the tool does, the caller gets a value.

Only two things pass through: the cancellation of the task that called, told by that task's own cancel state and not by
the type of an exception; and an interpreter on its way out (KeyboardInterrupt, SystemExit). No task is left behind.
What cannot be stopped is let go: a sync function's thread, and a task that goes on after it was told to stop; their
late results reach nobody.
"""

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

from actum.base.errors import InvalidValue
from actum.base.limits import PAYLOAD_BYTES
from actum.base.value import Json, Value, conform, dump, dump_json
from actum.messages.parts import DocumentPart, ImagePart, ToolResultPart, ToolUsePart
from actum.tools.failures import Issue, Recovery, ToolError, ToolFailure, ToolFailureKind, cut_message
from actum.tools.spec import ToolContext, ToolOutput, ToolSpec
from actum.tools.threads import in_thread

# The record of a result needs a little more than the result: ids, times, the names of its fields.
RESULT_BYTES: Final = PAYLOAD_BYTES - 16 * 1024
# How long a tool that was told to stop may take to do so, before it is let go.
STOPPING_S: Final = 5.0


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


@dataclass(frozen=True)
class _Returned:
    value: object


@dataclass(frozen=True)
class _Raised:
    error: BaseException


_Ended: TypeAlias = _Returned | _Raised


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
    try:
        arguments = _arguments(spec, tool_use)
    except BaseException as error:  # noqa: BLE001 - a check of the tool's author may raise anything; nothing waits here
        return _failed(spec, error)
    if spec.context_parameter is not None:
        arguments = {**arguments, spec.context_parameter: context}
    bounds = [bound for bound in (spec.timeout, timeout) if bound is not None]
    ended = await _run(spec, arguments, min(bounds, default=None))
    if isinstance(ended, _Raised):
        return _failed(spec, ended.error)
    try:
        return _outcome(spec, spec.encode(ended.value), max_bytes)
    except BaseException as error:  # noqa: BLE001 - the same: a result's own type may say how it is written
        return _failed(spec, error)


def invalid_call(spec: ToolSpec, tool_use: ToolUsePart) -> ToolFailure | None:
    """The failure that this tool use would be answered with before anything runs; None when its arguments fit."""
    try:
        _arguments(spec, tool_use)
    except BaseException as error:  # noqa: BLE001 - see call_tool
        return _failed(spec, error).failure
    return None


def _arguments(spec: ToolSpec, tool_use: ToolUsePart) -> Mapping[str, object]:
    try:
        given = tool_use.arguments
    except InvalidValue as error:
        issue = Issue(path=error.field, rule=error.rule)
        says = f"The input of {spec.name} was no JSON object: {error.field} {error.rule}"
        raise ToolError(ToolFailureKind.INVALID_CALL, says, Recovery.CORRECT_CALL, [issue]) from None
    return spec.decode(given)


async def _run(spec: ToolSpec, arguments: Mapping[str, object], within: float | None) -> _Ended:
    """Run the function apart from this task, so that neither can end the other."""
    if spec.waits:
        work: asyncio.Future[_Ended] = asyncio.ensure_future(_awaited(spec.function, arguments))
    else:
        work = _in_thread(spec.function, arguments)
    try:
        await asyncio.wait({work}, timeout=within)
        in_time = work.done()
    finally:
        if not work.done():
            work.cancel()
            await asyncio.wait({work}, timeout=STOPPING_S)
    if not in_time:
        return _Raised(
            ToolError(ToolFailureKind.TIMEOUT, f"{spec.name} did not answer within {within:g} seconds and was stopped")
        )
    # A tool may cancel the task that it finds itself in; that is its own failure and stops nobody else.
    return _Raised(asyncio.CancelledError()) if work.cancelled() else work.result()


async def _awaited(function: Callable[..., object], arguments: Mapping[str, object]) -> _Ended:
    try:
        # A decorator may have made a plain function of an async one, or the reverse.
        made = function(**arguments)
        return _Returned(await made if inspect.isawaitable(made) else made)
    except asyncio.CancelledError:
        # Told to stop, or raised by the tool itself: this task is cancelled either way, and the caller knows which.
        raise
    except BaseException as error:  # noqa: BLE001 - the caller's task decides about it
        return _Raised(error)


def _in_thread(function: Callable[..., object], arguments: Mapping[str, object]) -> asyncio.Future[_Ended]:
    """Run a sync function in a thread that does nothing else meanwhile."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Ended] = loop.create_future()
    context = contextvars.copy_context()

    def settle(ended: _Ended) -> None:
        if not future.done():
            future.set_result(ended)

    def work() -> None:
        ended: _Ended
        try:
            ended = _Returned(context.run(function, **arguments))
        except BaseException as error:  # noqa: BLE001 - the caller's task decides about it
            ended = _Raised(error)
        # The loop may be closed by now; then nobody waits for this result.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, ended)

    in_thread(work)
    return future


def _outcome(spec: ToolSpec, output: ToolOutput, max_bytes: int) -> ToolOutcome:
    try:
        outcome = conform(ToolOutcome(content=output.content, attachments=output.attachments))
    except InvalidValue as error:
        raise ToolError(ToolFailureKind.MALFORMED_RESULT, f"The result of {spec.name} is refused: {error}") from None
    size = len(dump_json(outcome.content)) + sum(len(dump(each)) for each in outcome.attachments)
    if size > max_bytes:
        says = f"The result of {spec.name} has {size} bytes of JSON; at most {max_bytes} are taken"
        raise ToolError(ToolFailureKind.MALFORMED_RESULT, says)
    return outcome


def _failed(spec: ToolSpec, error: BaseException) -> ToolOutcome:
    """The outcome of what a tool, or its own check, raised. An interpreter on its way out is let go."""
    if isinstance(error, KeyboardInterrupt | SystemExit):
        raise error
    if isinstance(error, ToolError):
        return ToolOutcome(failure=error.failure)
    kind = ToolFailureKind.TIMEOUT if isinstance(error, TimeoutError) else ToolFailureKind.INTERNAL
    try:
        says = str(error)
    except Exception:  # noqa: BLE001 - an exception whose text cannot be made still has a type, and that is what is told
        says = ""
    words = f"{type(error).__name__}: {says}" if says else type(error).__name__
    return ToolOutcome(failure=ToolFailure(kind=kind, message=cut_message(f"{spec.name} failed: {words}")))
