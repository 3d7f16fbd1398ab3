"""What a loop may ask of the world, and the context in which an engine runs it.

The loop is one engine-neutral async function over `WorkflowContext`. Whatever touches the world is an activity: named,
with one value in and one value out, safe to repeat. Values carry ids and decisions, never conversations, so an engine's
own history stays small.
"""

from collections.abc import Awaitable
from datetime import datetime
from typing import Final, Literal, Protocol, TypeVar

from actum.base.checks import Identifier, Instant, Labels
from actum.base.value import Json, Value
from actum.lifecycle.states import RunStatus
from actum.messages.message import Message
from actum.records import kinds
from actum.records.failures import Failure, Recovery
from actum.records.record import Follows, HistoryRef

T = TypeVar("T")

# Why a child is canceled whose parent came to its end for no reason of its own: it failed, or its engine stopped it.
PARENT_ENDED: Final = "parent_ended"


class ParentCall(Value):
    """The tool call of a parent run that a child run answers."""

    run_id: Identifier
    agent_id: Identifier
    tool_call_id: Identifier
    tool_name: Identifier


class Opening(Value):
    """What a start says about the calls that the run before it left open, stored in the start's own write.

    A continuation brings the answers of a person: `answered` items, `authorizations` of calls, `results` of external
    tools. A run that supersedes one names it, with a result for each call that had none, and `closing` is the one
    message that answers the group.
    """

    answered: tuple[kinds.InputAnswered, ...] = ()
    authorizations: tuple[kinds.ToolAuthorization, ...] = ()
    results: tuple[kinds.ToolResultReceived, ...] = ()
    superseded: kinds.TurnSuperseded | None = None
    closing: Message | None = None


class RunRequest(Value):
    """Everything that an engine accepts for a run. `request_digest` covers what the caller gave, and that alone.

    `seeded` is what existed before, beyond `history`; `messages` are the run's new input. `predecessor_run_id` is the
    suspended run that this one continues, `parent` the call that it answers as a child. `agent_version`, `options` and
    the digest are stored with the start: all that recovery needs. `owner` is who drives the run from its first moment.
    """

    run_id: Identifier
    agent_id: Identifier
    agent_version: str
    session_id: Identifier | None = None
    tenant: Identifier | None = None
    turn_id: Identifier | None = None
    parent: ParentCall | None = None
    predecessor_run_id: Identifier | None = None
    opening: Opening | None = None
    history: HistoryRef | None = None
    follows: Follows | None = None
    labels: Labels = {}
    seeded: tuple[Message, ...] = ()
    messages: tuple[Message, ...]
    requested_at: Instant
    request_digest: str
    options: dict[str, Json] = {}
    owner: Identifier | None = None


class Stop(Value):
    """Why a run shall start nothing more: somebody canceled it, or its session has ended."""

    reason: str


class Begun(Value):
    """A run's start as it is stored. `ended` when the run has an end already: at once, or before this repeat.

    `owner` is who owns the run now.
    """

    ended: RunStatus | None = None
    stop: Stop | None = None
    owner: Identifier | None = None


class OpenStep(Value):
    """Look where a started run stands, before its first step here."""

    run_id: Identifier


class Opened(Value):
    """Where a started run stands: at an end, at a stop, or before the group of calls that it inherited.

    `inherited` says that a suspended run left a group of calls, or questions, that this run must settle before it
    plans. Of these calls `call_ids` can be answered now; `waiting` says that something still waits for a person.
    """

    ended: RunStatus | None = None
    stop: Stop | None = None
    inherited: bool = False
    call_ids: tuple[str, ...] = ()
    waiting: bool = False
    synthesize_after_tools: bool = False


class PlanStep(Value):
    """Ask the planner for a step. `finalize` asks for the last one, which may call nothing."""

    run_id: Identifier
    step: int
    finalize: bool = False


class Planned(Value):
    """What a step decided: calls to make now, or the end that is stored by now.

    `waiting` says that the plan also has calls, or questions, that wait for a person.
    """

    call_ids: tuple[str, ...] = ()
    waiting: bool = False
    synthesize_after_tools: bool = False
    ended: RunStatus | None = None
    stop: Stop | None = None


class CallStep(Value):
    """Answer one call. `presumed_dead`: whoever started it before cannot be alive, so it is not waited for."""

    run_id: Identifier
    call_id: str
    presumed_dead: bool = False


class Called(Value):
    """A call has its answer, unless `stop` says that it must not be run any more, or `ended` that its run is over.

    `waiting`: it has none yet, because a person must say something first, here or in the child run that answers it.
    `child`: it has none yet, because the child run of this id, which answers it, has not come to its end.
    """

    ended: bool = False
    waiting: bool = False
    child: Identifier | None = None
    stop: Stop | None = None


class ChildStep(Value):
    """Start the child run that answers a call, unless it was started before; `owner` is who drives it."""

    run_id: Identifier
    call_id: str
    child_run_id: Identifier
    owner: Identifier | None = None


class CollectStep(Value):
    """Store the one message that answers all calls of a step; the step of an inherited group is `keys.INHERITED`."""

    run_id: Identifier
    step: int


class Collected(Value):
    """The message is stored, unless the run has `ended` by another hand.

    `recovery` is what the failures among its results ask for, the strongest of them; `terminal` when a result of a
    terminal tool is among them, which ends the run.
    """

    ended: bool = False
    recovery: Recovery | None = None
    terminal: bool = False
    stop: Stop | None = None


class SuspendStep(Value):
    """Suspend the run: what could be answered at this step is, and the rest waits for a person."""

    run_id: Identifier
    step: int


class Suspended(Value):
    """The run's end as it is stored, by this step or by another; or why it shall stop instead."""

    ended: RunStatus | None = None
    stop: Stop | None = None


class FinishStep(Value):
    """End the run: failed with `failure`, completed by a terminal tool, or canceled for the reason that is recorded.

    `presumed_dead`: whoever started its calls cannot be alive, so what became of them is unknown.
    """

    run_id: Identifier
    status: Literal["completed", "failed", "canceled"]
    failure: Failure | None = None
    presumed_dead: bool = False


class Finished(Value):
    """The run's end as it is stored, by this step or by another; or the `children` that must come to their end first.

    Then nothing is stored yet but the reason why those children shall stop.
    """

    status: RunStatus
    children: tuple[str, ...] = ()


class World(Protocol):
    """The steps of a loop. Each looks for its record before it works and writes it before it returns.

    A step may raise StoreUnavailable, and is then repeated with the same value; ContractError is final.
    """

    async def begin(self, step: RunRequest) -> Begun:
        """Store the start with all that recovery needs."""
        ...

    async def open(self, step: OpenStep) -> Opened:
        """Look where the run stands, before its first step here; a withdrawal stores its reason."""
        ...

    async def plan(self, step: PlanStep) -> Planned:
        """Ask the planner, and store what it decides; a final answer or a failure ends the run in the same write."""
        ...

    async def call(self, step: CallStep) -> Called:
        """Run one call's tool at most once, and store its answer."""
        ...

    async def begin_child(self, step: ChildStep) -> Begun:
        """Store the start of a child run with the parent's link to it, in one write.

        Raises CancellationRequested and RunNotRunning when the parent may start nothing more.
        """
        ...

    async def collect(self, step: CollectStep) -> Collected:
        """Store the answers of a step as one message."""
        ...

    async def suspend(self, step: SuspendStep) -> Suspended:
        """Store the checkpoint and all that the run waits for, in one write."""
        ...

    async def finish(self, step: FinishStep) -> Finished:
        """Close every open call and store the end, in one write."""
        ...


class WorkflowContext(World, Protocol):
    """What an engine gives to a loop: the world's steps, made durable in its own way, and time and cancellation.

    The loop must be deterministic: it reads time, and waits, only through this.
    """

    def now(self) -> datetime:
        """The present instant, the same again when the loop is replayed."""
        ...

    async def start_child(self, step: ChildStep) -> None:
        """Runs a child to its end, or until it waits for a person; a child is driven by one engine, like any run.

        Leaving this wait leaves the child alone; `end_children` stops it.
        """
        ...

    async def end_children(self, run_ids: tuple[str, ...]) -> None:
        """Tells these children to stop, as is stored already, and returns once each has come to its end."""
        ...

    async def cancel_requested(self) -> Stop:
        """Returns once the run's cancellation is asked for, or its session has ended; waits for ever otherwise."""
        ...

    async def shielded(self, work: Awaitable[T]) -> T:
        """`work` to its end, also when the loop itself is being canceled by its engine."""
        ...
