"""What a run has done so far, folded from its own records: the run log is the journal. Pure.

Every step asks the journal before it works. A journal is read on, never rewritten, so a page of new records is all that
a step must look at.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from actum.base.checks import identifier
from actum.base.errors import InvalidValue, RunCorrupt
from actum.base.limits import IDENTIFIER_BYTES
from actum.loop import keys
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
class Plan:
    """One decision of the planner. `answered` once the message with the results of its calls is stored."""

    decided: kinds.PlanDecided
    message: Message | None
    answered: bool = False

    @property
    def open(self) -> bool:
        """Whether its calls still lack their message of results."""
        return bool(self.decided.call_ids) and not self.answered


@dataclass(slots=True)
class Journal:
    """A run's own facts. `messages` are those that the run added; what it goes on from is not among them."""

    run_id: str
    cursor: str | None = None
    started: kinds.RunStarted | None = None
    requested: kinds.RunRequested | None = None
    turn_id: str | None = None
    seeded: list[Message] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    usage: list[kinds.UsageCounted] = field(default_factory=list)
    decisions: list[kinds.PolicyDecision] = field(default_factory=list)
    compressed: kinds.HistoryCompressed | None = None
    intent: str | None = None
    suspended: kinds.RunSuspended | None = None
    ended: kinds.RunCompleted | None = None

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
    def open_plan(self) -> Plan | None:
        """The decision whose calls still lack their message of results."""
        last = self.last_plan
        return last if last is not None and last.open else None

    def _fold(self, record: Record) -> None:
        payload = kinds.payload_of(record)
        match payload:
            case kinds.MessagesSeeded(messages=messages):
                self.seeded += messages
            case kinds.MessagesAppended(messages=messages):
                self.messages += messages
                last = self.last_plan
                if last is not None and record.event_key == keys.results(last.decided.step):
                    last.answered = True
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

    def _decide(self, decided: kinds.PlanDecided) -> None:
        if decided.step != len(self.plans):
            raise RunCorrupt(run_id=self.run_id, reason=f"plan {decided.step} follows plan {len(self.plans) - 1}")
        adds = decided.kind in ("tool_calls", "final_response", "final_tool_result")
        message = self.messages[-1] if adds and self.messages else None
        uses = message.tool_uses if message is not None else ()
        if len(uses) != len(decided.call_ids):
            raise RunCorrupt(run_id=self.run_id, reason=f"plan {decided.step} names other calls than its message")
        self.plans.append(Plan(decided, message))
        for call_id, part in zip(decided.call_ids, uses, strict=True):
            self.calls[call_id] = Call(call_id, part)

    def _call(self, call_id: str) -> Call:
        call = self.calls.get(call_id)
        if call is None:
            raise RunCorrupt(run_id=self.run_id, reason=f"a record names the unknown call {call_id!r}")
        return call


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
    taken = set(journal.calls)
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
