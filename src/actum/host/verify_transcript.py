"""Proofs of a run's transcript and of its tool results, record by record.

Only the last group of a transcript is kept: whether a prefix is lawful depends on nothing before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from actum.base.errors import TranscriptError
from actum.base.value import Value, dump
from actum.host.verify_report import Check, Say
from actum.messages.message import Message, Role
from actum.messages.parts import ToolResultPart, ToolUsePart
from actum.records import kinds
from actum.records.record import Record
from actum.records.types import TRANSCRIPT_TYPES, RecordType
from actum.transcript.delta import extends
from actum.transcript.validate import last_group, open_calls

# The records that tell a proof something. Whatever else cannot be read, a transcript is judged as ever.
TOLD_TYPES: Final = (
    RecordType.TRANSCRIPT_MESSAGES_SEEDED,
    RecordType.TRANSCRIPT_MESSAGES_APPENDED,
    RecordType.PLAN_DECIDED,
    RecordType.TOOL_CALL_SCHEDULED,
    RecordType.TOOL_RESULT_RECEIVED,
)
_CALL_TYPES: Final = (RecordType.TOOL_CALL_SCHEDULED, RecordType.TOOL_RESULT_RECEIVED)


@dataclass
class Calls:
    """The tool uses of the newest group: which were scheduled, and which results wait for their part.

    `partial` tells that a call or a result of the group cannot be read, so that none can be said to be missing.
    """

    uses: dict[str, ToolUsePart] = field(default_factory=dict)
    scheduled: dict[str, str] = field(default_factory=dict)  # the part's id -> our call id
    received: dict[str, tuple[kinds.ToolResultReceived, Record]] = field(default_factory=dict)
    partial: bool = False

    def asked(self, message: Message) -> None:
        """An assistant message adds its tool uses to the group."""
        self.uses.update((part.id, part) for part in message.tool_uses)

    def schedule(self, call: kinds.ToolCallScheduled, record: Record, say: Say) -> None:
        """A call is scheduled: exactly the tool use that stands in the transcript."""
        use_id = call.model_tool_call_id or call.tool_call_id
        self.scheduled[use_id] = call.tool_call_id
        use = self.uses.get(use_id)
        if use is None:
            say(Check.TOOL_CALL, f"call {call.tool_call_id!r} is scheduled, but the transcript has no such use", record)
        elif use.name != call.tool_name or bytes(use.input) != bytes(call.input):
            says = f"call {call.tool_call_id!r} is scheduled with another name or input than its tool use has"
            say(Check.TOOL_CALL, says, record)

    def planned(self, plan: kinds.PlanDecided, record: Record, say: Say) -> None:
        """A plan names as many calls as its message has tool uses."""
        if plan.kind == "tool_calls" and len(plan.call_ids) != len(self.uses):
            says = f"plan {plan.step} names {len(plan.call_ids)} calls, its message has {len(self.uses)} tool uses"
            say(Check.TOOL_CALL, says, record)

    def receive(self, result: kinds.ToolResultReceived, record: Record, say: Say) -> None:
        """A result waits for the message that shows it."""
        if result.tool_call_id in self.received:
            say(Check.TOOL_RESULT, f"call {result.tool_call_id!r} has a second result", record)
        self.received[result.tool_call_id] = result, record

    def answered(self, parts: Sequence[ToolResultPart], record: Record, say: Say) -> None:
        """The message that answers the group: each part equals the result that was received."""
        for part in parts:
            call_id = self.scheduled.get(part.tool_use_id, part.tool_use_id)
            got = self.received.pop(call_id, None)
            if got is None:
                if part.tool_use_id in self.scheduled and not self.partial:
                    says = f"the transcript answers call {call_id!r}, but no tool_result_received proves that"
                    say(Check.TOOL_RESULT, says, record)
            elif dump(got[0].part(part.tool_use_id)) != dump(part):
                says = f"the result of call {call_id!r} differs from its part in the transcript ({record.event_key!r})"
                say(Check.TOOL_RESULT, says, got[1])
        self.uses.clear()
        self.scheduled.clear()
        if self.partial:
            self.received.clear()
            self.partial = False

    def unanswered(self, say: Say) -> None:
        """At the end of a run: a result that no message shows."""
        for call_id, (_, record) in self.received.items() if not self.partial else ():
            say(Check.TOOL_RESULT, f"the result of call {call_id!r} stands nowhere in the transcript", record)


class TranscriptProof:
    """One run's transcript, from what it goes on from (`tail`, with the group that is open there) to its end."""

    def __init__(self, say: Say, tail: Sequence[Message] = (), calls: Calls | None = None) -> None:
        self._say = say
        self.tail = tuple(tail)
        self._broken = False
        self.calls = calls or Calls()

    def read(self, payload: Value, record: Record) -> None:
        """The next record of the run, decoded."""
        match payload:
            case kinds.MessagesSeeded(messages=messages) | kinds.MessagesAppended(messages=messages):
                self._extend(messages, record)
                self._follow(messages, record)
            case _ if self._broken:
                pass  # the uses that it belongs to cannot be told
            case kinds.ToolCallScheduled():
                self.calls.schedule(payload, record, self._say)
            case kinds.PlanDecided():
                self.calls.planned(payload, record, self._say)
            case kinds.ToolResultReceived():
                self.calls.receive(payload, record, self._say)
            case _:
                pass

    def undecoded(self, record: Record) -> None:
        """The payload of this record cannot be decoded, and that is named already: what it told is not judged."""
        if record.type in TRANSCRIPT_TYPES:
            self.unreadable()
        elif record.type in _CALL_TYPES:
            self.calls.partial = True

    def unreadable(self) -> None:
        """Nobody knows what stands here: what follows cannot be judged, and the damage is named already."""
        self._broken = True

    def close(self, *, may_be_open: bool) -> None:
        """The run has ended, or still runs and may leave its last group open."""
        if may_be_open or self._broken:
            return
        for call in open_calls(self.tail):
            self._say(Check.TRANSCRIPT, f"the run has ended and its tool use {call.id!r} has no result", None)
        self.calls.unanswered(self._say)

    def _extend(self, messages: Sequence[Message], record: Record) -> None:
        if not self._broken:
            try:
                extends(self.tail, messages)
            except TranscriptError as error:
                for each in error.findings:
                    at = each.message_index - len(self.tail)
                    where = f"message {at} of the record" if at >= 0 else "the group before the record"
                    use = f", tool use {each.tool_use_id!r}" if each.tool_use_id is not None else ""
                    self._say(Check.TRANSCRIPT, f"{where}{use}: {each.rule}", record)
        self.tail = tail_of([*self.tail, *messages])

    def _follow(self, messages: Sequence[Message], record: Record) -> None:
        for message in messages:
            if message.role is Role.ASSISTANT:
                self.calls.asked(message)
            elif message.tool_results and not self._broken:
                self.calls.answered(message.tool_results, record, self._say)


def tail_of(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The last group, and the message before it, which tells whether system messages may still come."""
    return tuple(messages[max(last_group(messages) - 1, 0) :])
