"""Scripts and clocks for tests: a model and a planner that answer by heart, time and ids that a test holds.

A script is a list of steps; each call takes the next one, and a call beyond the last is an error that says so.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from inspect import isawaitable
from typing import TypeAlias, TypeVar

from actum.base.checks import instant
from actum.messages.message import Message, assistant
from actum.messages.parts import ToolUsePart
from actum.model.fold import chunks_of, fold
from actum.model.request import ModelRequest
from actum.model.response import Chunk, ModelResponse, StopReason
from actum.planning.planner import PlanInput, PlanResult, PlanResumeInput

Answer: TypeAlias = (
    "str | ToolUsePart | Message | ModelResponse | BaseException | Sequence[ToolUsePart | Chunk | BaseException]"
)
ModelStep: TypeAlias = "Answer | Callable[[ModelRequest], Answer | Awaitable[Answer]]"
Plan: TypeAlias = "str | ToolUsePart | Message | PlanResult | BaseException"
PlanStep: TypeAlias = "Plan | Callable[[PlanInput], Plan | Awaitable[Plan]]"

S = TypeVar("S")


class ScriptedModel:
    """A model client that answers from a script.

    A step is a text, a tool use or several, an assistant message, a whole ModelResponse, an error to raise, a list of
    chunks (with an error where the stream shall break; without a StopChunk it is interrupted), or a function of the
    request, sync or async, that gives one of these. `requests` are the requests so far, `left` the steps not yet taken.
    Both verbs take from the one script, which is read whole at first; a streamed answer is the chunks of the whole one.
    """

    def __init__(self, script: Iterable[ModelStep] = (), *, model: str = "scripted") -> None:
        self._script = list(script)
        self._model = model
        self.requests: list[ModelRequest] = []

    @property
    def model(self) -> str:
        """The name that requests carry."""
        return self._model

    @property
    def left(self) -> int:
        """How many steps no call has taken yet."""
        return len(self._script)

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The next step as a whole answer."""
        return fold([chunk async for chunk in self.stream(request)])

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The next step in chunks."""
        self.requests.append(request)
        step = _next(self._script, len(self.requests), "model")
        answer = step(request) if callable(step) else step
        if isawaitable(answer):
            answer = await answer
        for chunk in _chunks(answer):
            if isinstance(chunk, BaseException):
                raise chunk
            yield chunk


class ScriptedPlanner:
    """A planner that answers from a script.

    A step is a text or message (the final response), a tool use (a message with tool uses calls them), a PlanResult, an
    error to raise, or a function of the plan's input, sync or async, that gives one of these. `inputs` are the inputs
    so far, `left` the steps not yet taken.
    """

    def __init__(self, script: Iterable[PlanStep] = ()) -> None:
        self._script = list(script)
        self.inputs: list[PlanInput] = []

    @property
    def left(self) -> int:
        """How many steps no plan has taken yet."""
        return len(self._script)

    async def plan_start(self, plan_input: PlanInput, /) -> PlanResult:
        """The next step."""
        return await self._plan(plan_input)

    async def plan_resume(self, plan_input: PlanResumeInput, /) -> PlanResult:
        """The next step."""
        return await self._plan(plan_input)

    async def _plan(self, plan_input: PlanInput) -> PlanResult:
        self.inputs.append(plan_input)
        step = _next(self._script, len(self.inputs), "planner")
        plan = step(plan_input) if callable(step) else step
        if isawaitable(plan):
            plan = await plan
        if isinstance(plan, BaseException):
            raise plan
        if isinstance(plan, PlanResult):
            return plan
        if isinstance(plan, ToolUsePart) or (isinstance(plan, Message) and plan.tool_uses):
            return PlanResult.calls(plan)
        return PlanResult.final(plan)


class ManualClock:
    """Time that stands still until a test moves it. Begins at 2025-01-01T00:00:00Z unless told otherwise."""

    def __init__(self, start: datetime = datetime(2025, 1, 1, tzinfo=UTC)) -> None:
        self._now = instant("start", start)
        self._begun = self._now
        self.waits: list[float] = []

    def now(self) -> datetime:
        """The instant that the test has set."""
        return self._now

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return (self._now - self._begun).total_seconds()

    def advance(self, seconds: float = 0.0, **parts: float) -> datetime:
        """Move on, by seconds or by what `timedelta` takes (`minutes=5`), and return the new instant."""
        self._now = instant("now", self._now + timedelta(seconds=seconds, **parts))
        return self._now

    async def wait(self, seconds: float) -> None:
        """Wait by moving on at once; `waits` lists the seconds that were waited for."""
        self.waits.append(seconds)
        self._now += timedelta(milliseconds=round(seconds * 1000))


class CountingIds:
    """Identifiers that count, each kind for itself: `run-1`, `run-2`, `session-1`."""

    def __init__(self) -> None:
        self._given = Counter[str]()

    def new(self, kind: str) -> str:
        """The next identifier of this kind."""
        self._given[kind] += 1
        return f"{kind}-{self._given[kind]}"


def _next(script: list[S], call: int, who: str) -> S:
    if not script:
        message = f"the script of this {who} is over: call {call} has no step left"
        raise AssertionError(message)
    return script.pop(0)


def _chunks(answer: Answer) -> Iterable[Chunk | BaseException]:
    if isinstance(answer, BaseException):
        return [answer]
    if isinstance(answer, ModelResponse):
        return chunks_of(answer)
    if isinstance(answer, str | Message):
        message = assistant(answer) if isinstance(answer, str) else answer
        stop = StopReason.TOOL_USE if message.tool_uses else StopReason.END_TURN
        return chunks_of(ModelResponse(message=message, stop=stop))
    given = [answer] if isinstance(answer, ToolUsePart) else list(answer)
    uses = [each for each in given if isinstance(each, ToolUsePart)]
    if uses:
        return chunks_of(ModelResponse(message=assistant(*uses), stop=StopReason.TOOL_USE))
    return [each for each in given if not isinstance(each, ToolUsePart)]
