"""The promise of a planner: given where a run stands, say the next step.

Any object with `plan_start` and `plan_resume` is a planner: a model, a rule, a person's script. The loop calls
`plan_start` once, at the run's new input, and `plan_resume` each time its tools have answered.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, Self, TypeAlias, runtime_checkable

from actum.base.checks import Count, Identifier, Labels, refuse
from actum.base.value import Json, Value, dump, dump_json, load, load_json
from actum.memory.view import MemoryView
from actum.messages.message import Message, Role, assistant
from actum.messages.parts import ToolResultPart, ToolUsePart
from actum.model.client import ModelClient
from actum.model.response import Chunk, Usage
from actum.records.failures import Failure, FailureKind, Recovery, cut_message
from actum.records.kinds import PendingKind, UsageCounted
from actum.tools.call import ToolOutcome
from actum.tools.spec import ToolDefinition

PlanKind: TypeAlias = Literal["tool_calls", "final_response", "final_tool_result", "await_input"]


class RunInfo(Value):
    """Which run is planned, and the how-manieth plan of it this is (`step`, from 0)."""

    run_id: Identifier
    agent_id: Identifier
    session_id: Identifier | None = None
    turn_id: Identifier | None = None
    labels: Labels = {}
    session_metadata: Labels = {}
    step: Count = 0


@dataclass(frozen=True, kw_only=True)
class PlanInput:
    """What a planner may look at and use.

    `tools` are those that the run may still call; `finalize` says that no further call will be run (a limit was
    reached, or the planner asked for a synthesis) and only a final answer is taken; `limit` is the limit that was
    reached, by its name in the policy. `prepare`, `models`, `sink`, `prompts`, `unfinished` are the runtime's ends of
    `prepare_messages`, `model`, `emit`, `prompt` and `keep`. `memory` is the entries of
    the run's session, user and agent, or None where the runtime was given none.
    """

    run: RunInfo
    tools: tuple[ToolDefinition, ...] = ()
    finalize: bool = False
    limit: str | None = None
    prepare: Callable[[], Awaitable[tuple[Message, ...]]]
    models: Callable[[str], ModelClient]
    sink: Callable[[Chunk], None] | None = None
    prompts: Callable[[str, Mapping[str, str]], str] | None = None
    unfinished: Callable[["Unfinished"], None] | None = None
    memory: MemoryView | None = None

    async def prepare_messages(self) -> tuple[Message, ...]:
        """The run's transcript as the history policy shows it; the stored one stays as it is.

        Raises TranscriptError when it breaks the planner's law, and what the policy or the store raises.
        """
        return await self.prepare()

    def model(self, name: str) -> ModelClient:
        """The client for a model by name, such as `openai-chat:gpt-4.1`. Raises InvalidValue for an unknown one."""
        return self.models(name)

    @property
    def listened_to(self) -> bool:
        """Whether somebody watches the answer while it grows; then a planner streams and emits."""
        return self.sink is not None

    def emit(self, chunk: Chunk) -> None:
        """Show a piece of an answer to those who watch. Ephemeral: the plan's message is what counts."""
        if self.sink is not None:
            self.sink(chunk)

    def prompt(self, prompt_id: str, values: Mapping[str, str] | None = None) -> str:
        """A prompt of the runtime's registry, rendered; which version it was is recorded with the plan.

        Raises InvalidValue for an unknown prompt, and for values that do not fit its places.
        """
        if self.prompts is None:
            raise refuse("prompt_id", prompt_id, "names a prompt; this runtime has no registry of prompts")
        return self.prompts(prompt_id, values or {})

    def keep(self, unfinished: "Unfinished") -> None:
        """Say what there is of an answer when the plan is stopped. The text is kept in the transcript, and marked."""
        if self.unfinished is not None:
            self.unfinished(unfinished)


@dataclass(frozen=True, kw_only=True)
class PlanResumeInput(PlanInput):
    """A plan's input after tools have answered.

    `results` are the answers just received, in the order of their calls, as the transcript has them. `recovery` is what
    their failures ask for, the strongest over the batch; None when none failed.
    """

    results: tuple[ToolResultPart, ...]
    recovery: Recovery | None = None


class ModelUsage(Value):
    """What one model call of a plan cost."""

    model: str
    usage: Usage = Usage()

    def counted(self, step: int) -> UsageCounted:
        """The payload of its usage record at this step."""
        used = self.usage
        return UsageCounted(
            model=self.model,
            input=used.input,
            output=used.output,
            cache_read=used.cache_read,
            cache_write=used.cache_write,
            step=step,
        )


class Unfinished(Value):
    """What a plan had when it was stopped: the text of its answer so far, and what that cost."""

    remainder: Message | None = None
    usage: tuple[ModelUsage, ...] = ()
    response_id: Identifier | None = None


class Question(Value):
    """One question with its `options`: a person chooses one, or as many as they like where it is `multiple`."""

    id: Identifier
    text: str
    options: tuple[str, ...]
    multiple: bool = False


class AwaitInput(Value):
    """One thing to ask before the run can go on. `prompt` is for the person, `data` what the form needs.

    A planner asks for a clarification, or questions; that a call is confirmed, or answered from outside, is its tool's
    to say. Each answer becomes a message of the user's.
    """

    kind: PendingKind
    prompt: str | None = None
    data: dict[str, Json] | None = None

    def __post_init__(self) -> None:
        if self.kind not in (PendingKind.CLARIFICATION, PendingKind.QUESTIONS):
            raise refuse("await_input.kind", self.kind, "is clarification or questions; calls have rules of their own")
        if self.kind is PendingKind.QUESTIONS:
            questions_of(self.data)

    @classmethod
    def clarification(cls, prompt: str, *, data: dict[str, Json] | None = None) -> Self:
        """Ask in words; any answer is one."""
        return cls(kind=PendingKind.CLARIFICATION, prompt=prompt, data=data)

    @classmethod
    def questions(cls, *questions: Question, prompt: str | None = None) -> Self:
        """Ask these questions on one form; the answer gives each question's id its choice, or a list of choices."""
        asked: list[Json] = [load_json(dump(each)) for each in questions]
        return cls(kind=PendingKind.QUESTIONS, prompt=prompt, data={"questions": asked})


class PlanResult(Value):
    """What a planner decided: exactly one of the first four, or the `failure` with which the run ends.

    `tool_calls` is the assistant message with the tool uses, `final_response` the one that ends the run, both verbatim
    as the model gave them. Beside a `failure`, `remainder` is the text that was answered before it. `response_id` names
    the model's response that the message came from; `usage` counts every model call made for this plan. With
    `synthesize_after_tools` the plan after these calls is the run's last and may call nothing. `notes` are for people.
    """

    tool_calls: Message | None = None
    final_response: Message | None = None
    final_tool_result: ToolOutcome | None = None
    await_input: tuple[AwaitInput, ...] = ()
    failure: Failure | None = None
    remainder: Message | None = None
    synthesize_after_tools: bool = False
    notes: tuple[str, ...] = ()
    usage: tuple[ModelUsage, ...] = ()
    response_id: Identifier | None = None

    def __post_init__(self) -> None:
        ways = {
            "tool_calls": self.tool_calls is not None,
            "final_response": self.final_response is not None,
            "final_tool_result": self.final_tool_result is not None,
            "await_input": bool(self.await_input),
            "failure": self.failure is not None,
        }
        taken = [way for way, given in ways.items() if given]
        if len(taken) != 1:
            raise refuse("plan", taken, "is exactly one of " + ", ".join(ways))
        if self.tool_calls is not None:
            _calls(self.tool_calls)
        for path, message in (("final_response", self.final_response), ("remainder", self.remainder)):
            if message is not None:
                _answers(f"plan.{path}", message)
        if self.remainder is not None and self.failure is None:
            raise refuse("plan.remainder", "a message", "stands beside a failure")
        if self.synthesize_after_tools and self.tool_calls is None:
            raise refuse("plan.synthesize_after_tools", True, "stands beside tool_calls")  # noqa: FBT003 - the value shown

    @property
    def kind(self) -> PlanKind | None:
        """The decision's name in the record `plan_decided`; None for a failure."""
        if self.tool_calls is not None:
            return "tool_calls"
        if self.final_response is not None:
            return "final_response"
        if self.final_tool_result is not None:
            return "final_tool_result"
        return "await_input" if self.await_input else None

    @property
    def message(self) -> Message | None:
        """The assistant message that the plan adds to the transcript, stored exactly so; None when it adds none."""
        return self.tool_calls or self.final_response or self.remainder

    @classmethod
    def calls(
        cls,
        *given: Message | ToolUsePart,
        synthesize_after_tools: bool = False,
        notes: tuple[str, ...] = (),
        usage: tuple[ModelUsage, ...] = (),
        response_id: str | None = None,
    ) -> Self:
        """Call tools: one assistant message with its tool uses, or the tool uses alone."""
        message = given[0] if len(given) == 1 and isinstance(given[0], Message) else None
        if message is None:
            uses = tuple(part for part in given if isinstance(part, ToolUsePart))
            if len(uses) != len(given):
                raise refuse("plan.tool_calls", given, "is one assistant message, or tool uses")
            message = assistant(*uses)
        return cls(
            tool_calls=message,
            synthesize_after_tools=synthesize_after_tools,
            notes=notes,
            usage=usage,
            response_id=response_id,
        )

    @classmethod
    def final(
        cls,
        answer: Message | str,
        *,
        notes: tuple[str, ...] = (),
        usage: tuple[ModelUsage, ...] = (),
        response_id: str | None = None,
    ) -> Self:
        """End the run with this answer."""
        message = assistant(answer) if isinstance(answer, str) else answer
        return cls(final_response=message, notes=notes, usage=usage, response_id=response_id)

    @classmethod
    def tool_result(cls, outcome: ToolOutcome, *, notes: tuple[str, ...] = ()) -> Self:
        """End a child run with the result that its parent's call gets."""
        return cls(final_tool_result=outcome, notes=notes)

    @classmethod
    def awaiting(cls, *items: AwaitInput, notes: tuple[str, ...] = ()) -> Self:
        """Suspend the run until these are answered."""
        return cls(await_input=items, notes=notes)

    @classmethod
    def failed(
        cls,
        kind: FailureKind,
        message: str,
        *,
        code: str | None = None,
        remainder: Message | None = None,
        notes: tuple[str, ...] = (),
        usage: tuple[ModelUsage, ...] = (),
        response_id: str | None = None,
    ) -> Self:
        """End the run failed; a long message is cut and marked."""
        failure = Failure(kind=kind, message=cut_message(message), code=code)
        return cls(failure=failure, remainder=remainder, notes=notes, usage=usage, response_id=response_id)


@runtime_checkable
class Planner(Protocol):
    """Says the next step of a run. May raise: the run then ends failed, as `planning.failures.failure_of` puts it."""

    async def plan_start(self, plan_input: PlanInput, /) -> PlanResult:
        """The first step after the run's new input."""
        ...

    async def plan_resume(self, plan_input: PlanResumeInput, /) -> PlanResult:
        """The next step after tools have answered."""
        ...


def questions_of(data: dict[str, Json] | None) -> tuple[Question, ...]:
    """The questions in the data of an item. Raises InvalidValue for data that holds none."""
    asked = (data or {}).get("questions")
    if not isinstance(asked, list) or not asked:
        raise refuse("await_input.data", data, "holds a list of `questions`")
    questions = tuple(load(Question, dump_json(each)) for each in asked)
    ids = [each.id for each in questions]
    if len(set(ids)) != len(ids) or not all(each.options for each in questions):
        raise refuse("await_input.data.questions", ids, "have ids of their own, and options")
    return questions


def _calls(message: Message) -> None:
    if message.role is not Role.ASSISTANT:
        raise refuse("plan.tool_calls.role", message.role, "is assistant")
    ids = [part.id for part in message.tool_uses]
    if not ids:
        raise refuse("plan.tool_calls", message.parts, "holds at least one tool use")
    if len(set(ids)) != len(ids) or not all(ids):
        raise refuse("plan.tool_calls", ids, "has tool uses with ids, each its own")


def _answers(path: str, message: Message) -> None:
    if message.role is not Role.ASSISTANT:
        raise refuse(f"{path}.role", message.role, "is assistant")
    if message.tool_uses or message.tool_results:
        raise refuse(path, message.parts, "holds no tool uses and no results")
    if not message.parts:
        raise refuse(path, message.parts, "has at least one part")
