"""What a run's log proves, read from the store alone."""

from collections import Counter
from dataclasses import dataclass

from actum.lifecycle.states import Run, RunStatus
from actum.messages.message import Message
from actum.messages.parts import ToolResultPart
from actum.records.failures import ToolFailureKind
from actum.records.kinds import (
    MessagesAppended,
    PlanDecided,
    PolicyDecision,
    ToolCallScheduled,
    ToolResultReceived,
    payload_of,
)
from actum.records.record import Record
from actum.records.types import RecordType
from actum.runtime.transcripts import build_messages_from_run_log
from actum.storage.contract import OwnedStore, Store
from actum.testing.history import all_items, findings, read_everything
from actum.transcript.delta import check_prefix
from actum.transcript.replay import replay_run_log_events
from actum.transcript.validate import open_calls, validate_planner_transcript


@dataclass(frozen=True)
class RunLog:
    """A run, its records, and its transcript with its history."""

    run: Run
    records: tuple[Record, ...]
    messages: tuple[Message, ...]
    before: tuple[Message, ...]

    @property
    def types(self) -> Counter[str]:
        """How many records of each type there are."""
        return Counter(record.type for record in self.records)

    @property
    def results(self) -> dict[str, ToolResultPart]:
        """The results in the transcript by tool use id."""
        return {part.tool_use_id: part for message in self.messages for part in message.tool_results}

    def payloads(self, kind: str) -> list[object]:
        """The payloads of the records of this type."""
        return [payload_of(record) for record in self.records if record.type == kind]


async def log_of(store: Store, run_id: str) -> RunLog:
    """The run as the store has it."""
    run = await store.load_run(run_id)
    records = await all_items(lambda *, cursor: store.list_run_records(run_id, cursor=cursor, limit=1000))
    before = await build_messages_from_run_log(store, run.history.run_id) if run.history is not None else ()
    return RunLog(run, records, await build_messages_from_run_log(store, run_id), before)


async def proven(store: OwnedStore, run_id: str) -> RunLog:
    """The log of a run that has ended, after every law was tried on it.

    All that the store shows can be true, every prefix has a lawful transcript or ends in the one open group of its last
    plan, there is one start and one end, and each result in the transcript is the recorded one.
    """
    assert findings(await read_everything(store)) == []
    log = await log_of(store, run_id)
    never_poisoned(log)
    assert log.run.status is not RunStatus.RUNNING
    validate_planner_transcript(log.messages)
    assert log.records[0].type == RecordType.RUN_STARTED
    assert log.records[-1].type == RecordType.RUN_COMPLETED
    assert log.types[RecordType.RUN_COMPLETED] == 1
    assert log.types[RecordType.CANCELLATION_INTENT] <= 1
    _results_are_the_recorded_ones(log)
    return log


def never_poisoned(log: RunLog) -> None:
    """At every prefix the transcript is lawful, or ends in the one open group that the last plan decided.

    Where the run has not planned yet, that group is the one which the suspended run before it left open.
    """
    for end in range(len(log.records) + 1):
        messages = replay_run_log_events(log.records[:end], log.before)
        check_prefix(messages)
        asked = [use.id for use in open_calls(messages)]
        if asked:
            assert messages[-1].tool_uses
            # The message and its plan are one batch: the plan is the next record.
            plans = [payload_of(each) for each in log.records[: end + 1] if each.type == RecordType.PLAN_DECIDED]
            if not plans:
                # Inherited from a suspended run, exactly as that one left it.
                assert asked == [use.id for use in open_calls(log.before)]
                continue
            last = plans[-1]
            assert isinstance(last, PlanDecided)
            assert len(last.call_ids) == len(asked)


def _added(log: RunLog) -> list[Message]:
    """The messages that the run itself added, without its history and its seed."""
    added = log.payloads(RecordType.TRANSCRIPT_MESSAGES_APPENDED)
    return [message for payload in added if isinstance(payload, MessagesAppended) for message in payload.messages]


def _results_are_the_recorded_ones(log: RunLog) -> None:
    calls = [each for each in log.payloads(RecordType.TOOL_CALL_SCHEDULED) if isinstance(each, ToolCallScheduled)]
    received = {
        each.tool_call_id: each
        for each in log.payloads(RecordType.TOOL_RESULT_RECEIVED)
        if isinstance(each, ToolResultReceived)
    }
    assert sorted(received) == sorted(call.tool_call_id for call in calls)
    expected = [received[each.tool_call_id].part(each.model_tool_call_id or each.tool_call_id) for each in calls]
    own = _added(log)
    assert expected == [part for message in own for part in message.tool_results]


def failures(log: RunLog) -> dict[str, ToolFailureKind | None]:
    """How each call that was answered failed, None for one that did not."""
    results = [each for each in log.payloads(RecordType.TOOL_RESULT_RECEIVED) if isinstance(each, ToolResultReceived)]
    return {each.tool_call_id: each.failure.kind if each.failure is not None else None for each in results}


def decisions(log: RunLog) -> list[tuple[str, str]]:
    """What policies decided, by rule; without the marks that keep a run to one end."""
    made = [each for each in log.payloads(RecordType.POLICY_DECISION) if isinstance(each, PolicyDecision)]
    return [(each.rule, each.decision) for each in made if each.rule != "one_end"]
