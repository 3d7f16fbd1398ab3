"""What a run has done so far, folded from its own records: the run log is the journal. Pure.

Every step asks the journal before it works. A journal is read on, never rewritten, so a page of new records is all that
a step must look at.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from actum.base.checks import identifier
from actum.base.errors import InvalidValue, RunCorrupt
from actum.base.limits import IDENTIFIER_BYTES
from actum.loop import keys
from actum.loop.checkpoint import AskedItem, Checkpoint
from actum.messages.message import Message
from actum.messages.parts import ToolUsePart
from actum.records import kinds
from actum.records.failures import Recovery
from actum.records.record import Record

# What stands beside a call's id in its longest event key.
_KEY_BYTES: Final = 64


@dataclass(slots=True)
class Call:
    """One tool use of a plan: its part, the attempts that were stored, and its result once there is one."""

    call_id: str
    part: ToolUsePart
    attempts: list[str] = field(default_factory=list)
    result: kinds.ToolResultReceived | None = None


@dataclass(slots=True)
class Group:
    """Calls that one message answers: those of a plan, or those that a suspended run left to its continuation.

    `answered` once that message is stored. `results_from` names, by call, the earlier run whose log holds a result.
    """

    step: int
    call_ids: tuple[str, ...]
    synthesize_after_tools: bool = False
    answered: bool = False
    results_from: dict[str, str] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        """Whether its calls still lack their message of results."""
        return bool(self.call_ids) and not self.answered


@dataclass(slots=True)
class Plan:
    """One decision of the planner, with the group of its calls."""

    decided: kinds.PlanDecided
    message: Message | None
    group: Group


@dataclass(slots=True)
class Journal:
    """A run's own facts. `messages` are those that the run added; what it goes on from is not among them.

    `placed` tells of each record that seeded or added messages its id and how many those were. `foreign` are the calls
    of the run before it that this log answers without having inherited them: their keys are taken.
    """

    run_id: str
    cursor: str | None = None
    started: kinds.RunStarted | None = None
    requested: kinds.RunRequested | None = None
    turn_id: str | None = None
    seeded: list[Message] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    placed: list[tuple[str, int]] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)
    children: dict[str, kinds.ChildRunLinked] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None
    inherited: Group | None = None
    asked: dict[str, kinds.InputRequested] = field(default_factory=dict)
    answers: dict[str, kinds.InputAnswered] = field(default_factory=dict)
    authorizations: dict[str, kinds.ToolAuthorization] = field(default_factory=dict)
    opening: bool = True
    usage: list[kinds.UsageCounted] = field(default_factory=list)
    decisions: list[kinds.PolicyDecision] = field(default_factory=list)
    rendered: list[kinds.PromptRendered] = field(default_factory=list)
    compressed: kinds.HistoryCompressed | None = None
    intent: str | None = None
    suspended: kinds.RunSuspended | None = None
    ended: kinds.RunCompleted | None = None

    def inherit(
        self, checkpoint: Checkpoint, parts: Iterable[ToolUsePart], results: Mapping[str, kinds.ToolResultReceived]
    ) -> None:
        """What the suspended run before this one left open, told before the first record is read."""
        self.checkpoint = checkpoint
        self.inherited = Group(
            step=keys.INHERITED,
            call_ids=tuple(left.tool_call_id for left in checkpoint.calls),
            synthesize_after_tools=checkpoint.synthesize_after_tools,
            results_from={left.tool_call_id: left.result_run_id for left in checkpoint.calls if left.result_run_id},
        )
        for call_id, part in zip(self.inherited.call_ids, parts, strict=True):
            self.calls[call_id] = Call(call_id, part, result=results.get(call_id))

    def read(self, records: Iterable[Record], cursor: str) -> "Journal":
        """Reads on with records that follow all read before; gives itself back. Raises DurableDataError, RunCorrupt."""
        for record in records:
            self._fold(record)
        self.cursor = cursor
        return self

    @property
    def last_plan(self) -> Plan | None:
        """The newest decision."""
        return self.plans[-1] if self.plans else None

    @property
    def open_group(self) -> Group | None:
        """The calls that still lack their message of results."""
        if self.inherited is not None and self.inherited.open:
            return self.inherited
        last = self.last_plan
        return last.group if last is not None and last.group.open else None

    def group(self, step: int) -> Group:
        """The calls of a step, or those that were inherited."""
        if step != keys.INHERITED:
            return self.plans[step].group
        if self.inherited is None:
            raise RunCorrupt(run_id=self.run_id, reason="the run inherited no calls")
        return self.inherited

    def group_of(self, call_id: str) -> Group:
        """The group that this call belongs to."""
        groups = [self.inherited, *(plan.group for plan in self.plans)]
        return next(group for group in groups if group is not None and call_id in group.call_ids)

    def item_of(self, call_id: str) -> AskedItem | None:
        """What an earlier run of the chain asked about a call; None when nobody was asked."""
        items = self.checkpoint.items if self.checkpoint is not None else ()
        return next((each for each in items if each.tool_call_id == call_id and each.through is None), None)

    def left_child(self, call_id: str) -> str | None:
        """The suspended child run that answers an inherited call; None for a call without one."""
        calls = self.checkpoint.calls if self.checkpoint is not None else ()
        return next((each.child_run_id for each in calls if each.tool_call_id == call_id), None)

    def waits(self, call_id: str) -> bool:
        """Whether a call has no answer because a person must say something first.

        In the run that asks, an answer cannot come: it starts another run.
        """
        if self.calls[call_id].result is not None:
            return False
        if any(item.tool_call_id == call_id and item.run_id is None for item in self.asked.values()):
            return True
        if self.checkpoint is None or self.inherited is None or call_id not in self.inherited.call_ids:
            return False
        own = self.item_of(call_id)
        if own is not None:
            return own.item_id not in self.answers
        below = [item.item_id for item in self.checkpoint.items if item.through == call_id]
        return bool(below) and not any(each in self.answers for each in below)

    @property
    def questions_wait(self) -> bool:
        """Whether the planner of an earlier run of the chain asked something that is not answered yet."""
        if self.checkpoint is None or self.checkpoint.kind != "input":
            return False
        return any(item.item_id not in self.answers for item in self.checkpoint.items)

    def _fold(self, record: Record) -> None:
        payload = kinds.payload_of(record)
        match payload:
            case kinds.MessagesSeeded(messages=messages):
                self.seeded += messages
                self.placed.append((record.id, len(messages)))
            case kinds.MessagesAppended(messages=messages):
                self.messages += messages
                self.placed.append((record.id, len(messages)))
                group = self.open_group
                if group is not None and record.event_key == keys.results(group.step):
                    group.answered = True
            case kinds.PlanDecided() as decided:
                self._decide(decided)
            case kinds.ToolCallStarted(tool_call_id=call_id, attempt=attempt):
                self._call(call_id).attempts.append(attempt)
            case kinds.ToolResultReceived() as result:
                self._call(result.tool_call_id).result = result
            case kinds.UsageCounted() as usage:
                self.usage.append(usage)
            case kinds.PolicyDecision() as decision:
                self.decisions.append(decision)
            case kinds.PromptRendered() as rendered:
                self.rendered.append(rendered)
            case kinds.HistoryCompressed() as compressed:
                self.compressed = compressed
            case _:
                self._fold_life(record, payload)

    def _fold_life(self, record: Record, payload: object) -> None:
        match payload:
            case kinds.RunStarted():
                self.started, self.turn_id = payload, record.turn_id
            case kinds.RunRequested():
                self.requested = payload
            case kinds.RunPhaseChanged():
                self.opening = False
            case kinds.InputRequested():
                self.asked[payload.item_id] = payload
            case kinds.InputAnswered() | kinds.ToolAuthorization() if self.opening:
                self._said(payload)
            case kinds.ChildRunLinked(tool_call_id=call_id) as linked:
                self.children[call_id] = linked
            case kinds.CancellationIntent(reason=reason):
                self.intent = reason
            case kinds.RunSuspended():
                self.suspended = payload
            case kinds.RunCompleted():
                self.ended = payload
            case _:
                pass

    def _said(self, payload: kinds.InputAnswered | kinds.ToolAuthorization) -> None:
        # Only what came with the start counts: the store judged that start against the suspended run. Whatever is
        # written into a running run's log afterwards is nobody's approval.
        if isinstance(payload, kinds.InputAnswered):
            self.answers[payload.item_id] = payload
        else:
            self.authorizations[payload.tool_call_id] = payload

    def _decide(self, decided: kinds.PlanDecided) -> None:
        if decided.step != len(self.plans):
            raise RunCorrupt(run_id=self.run_id, reason=f"plan {decided.step} follows plan {len(self.plans) - 1}")
        adds = decided.kind in ("tool_calls", "final_response", "final_tool_result")
        message = self.messages[-1] if adds and self.messages else None
        uses = message.tool_uses if message is not None else ()
        if len(uses) != len(decided.call_ids):
            raise RunCorrupt(run_id=self.run_id, reason=f"plan {decided.step} names other calls than its message")
        group = Group(decided.step, decided.call_ids, decided.synthesize_after_tools)
        self.plans.append(Plan(decided, message, group))
        for call_id, part in zip(decided.call_ids, uses, strict=True):
            self.calls[call_id] = Call(call_id, part)

    def _call(self, call_id: str) -> Call:
        call = self.calls.get(call_id)
        if call is None and self._foreign():
            self.foreign.add(call_id)
            return Call(call_id, ToolUsePart(id=call_id, name=call_id, input_text=call_id))
        if call is None:
            raise RunCorrupt(run_id=self.run_id, reason=f"a record names the unknown call {call_id!r}")
        return call

    def _foreign(self) -> bool:
        """Whether this log may name calls of the run before it, of which this journal was told nothing."""
        if self.started is None or self.inherited is not None:
            return False
        follows = self.started.follows
        superseding = follows is not None and follows.supersede and self.opening
        return self.started.predecessor_run_id is not None or superseding


def recovery_of(journal: Journal, calls: Iterable[str]) -> Recovery | None:
    """What the failures among these calls ask for: finish beats correct_call beats replan; None when none failed."""
    results = [journal.calls[each].result for each in calls]
    asked = {result.failure.recovery for result in results if result is not None and result.failure is not None}
    return next((each for each in (Recovery.FINISH, Recovery.CORRECT_CALL, Recovery.REPLAN) if each in asked), None)


def call_ids(journal: Journal, message: Message) -> tuple[str, ...]:
    """The run's own ids for the tool uses of a new message: the model's, or a numbered one where that cannot be.

    Models are free to use an id again in a later answer, and to choose one that names no record; a run's calls are told
    apart by these.
    """
    taken = {*journal.calls, *journal.foreign}
    chosen = []
    for part in message.tool_uses:
        given = part.id if _usable(part.id) else "call"
        name, count = given, 1
        while name in taken:
            count += 1
            name = f"{given}#{count}"
        taken.add(name)
        chosen.append(name)
    return tuple(chosen)


def _usable(call_id: str) -> bool:
    """Whether the id fits into the event keys of its call, with the words before it and a number behind it."""
    try:
        return len(identifier("call_id", call_id).encode()) <= IDENTIFIER_BYTES - _KEY_BYTES
    except InvalidValue:
        return False
