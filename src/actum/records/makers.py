"""A maker for each payload: its fields as keywords, its JSON bytes as the answer.

Each raises InvalidValue, with the path of the field, for what its payload does not allow.
"""

from collections.abc import Callable
from typing import ParamSpec

from actum.base.value import Value, dump
from actum.records import kinds

P = ParamSpec("P")


def _maker(kind: Callable[P, Value], name: str) -> Callable[P, bytes]:
    def make(*args: P.args, **kwargs: P.kwargs) -> bytes:
        return dump(kind(*args, **kwargs))

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"The payload bytes of a `{name}` record. {kind.__doc__}"
    return make


run_started = _maker(kinds.RunStarted, "run_started")
run_suspended = _maker(kinds.RunSuspended, "run_suspended")
run_completed = _maker(kinds.RunCompleted, "run_completed")
child_run_linked = _maker(kinds.ChildRunLinked, "child_run_linked")
cancellation_intent = _maker(kinds.CancellationIntent, "cancellation_intent")
transcript_messages_seeded = _maker(kinds.MessagesSeeded, "transcript_messages_seeded")
transcript_messages_appended = _maker(kinds.MessagesAppended, "transcript_messages_appended")
run_requested = _maker(kinds.RunRequested, "run_requested")
run_phase_changed = _maker(kinds.RunPhaseChanged, "run_phase_changed")
plan_decided = _maker(kinds.PlanDecided, "plan_decided")
model_responded = _maker(kinds.ModelResponded, "model_responded")
tool_call_scheduled = _maker(kinds.ToolCallScheduled, "tool_call_scheduled")
tool_call_started = _maker(kinds.ToolCallStarted, "tool_call_started")
tool_result_received = _maker(kinds.ToolResultReceived, "tool_result_received")
tool_authorization = _maker(kinds.ToolAuthorization, "tool_authorization")
input_requested = _maker(kinds.InputRequested, "input_requested")
input_answered = _maker(kinds.InputAnswered, "input_answered")
turn_superseded = _maker(kinds.TurnSuperseded, "turn_superseded")
prompt_rendered = _maker(kinds.PromptRendered, "prompt_rendered")
history_compressed = _maker(kinds.HistoryCompressed, "history_compressed")
policy_decision = _maker(kinds.PolicyDecision, "policy_decision")
planner_note = _maker(kinds.PlannerNote, "planner_note")
usage = _maker(kinds.UsageCounted, "usage")
