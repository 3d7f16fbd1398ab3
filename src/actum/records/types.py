"""The names of all record types. A product's own types begin with `x.`."""

import re
from enum import StrEnum
from typing import Final

_OWN = re.compile(r"x\.[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}", re.ASCII)


class RecordType(StrEnum):
    """Every record type that is Actum's own."""

    RUN_STARTED = "run_started"
    RUN_SUSPENDED = "run_suspended"
    RUN_COMPLETED = "run_completed"
    CHILD_RUN_LINKED = "child_run_linked"
    CANCELLATION_INTENT = "runtime.cancellation_intent"
    TRANSCRIPT_MESSAGES_SEEDED = "transcript_messages_seeded"
    TRANSCRIPT_MESSAGES_APPENDED = "transcript_messages_appended"
    RUN_REQUESTED = "run_requested"
    RUN_PHASE_CHANGED = "run_phase_changed"
    PLAN_DECIDED = "plan_decided"
    MODEL_RESPONDED = "model_responded"
    TOOL_CALL_SCHEDULED = "tool_call_scheduled"
    TOOL_CALL_STARTED = "tool_call_started"
    TOOL_RESULT_RECEIVED = "tool_result_received"
    TOOL_AUTHORIZATION = "tool_authorization"
    INPUT_REQUESTED = "input_requested"
    INPUT_ANSWERED = "input_answered"
    TURN_SUPERSEDED = "turn_superseded"
    PROMPT_RENDERED = "prompt_rendered"
    HISTORY_COMPRESSED = "history_compressed"
    POLICY_DECISION = "policy_decision"
    PLANNER_NOTE = "planner_note"
    USAGE = "usage"


# The type of the record that proves a cancellation was asked for.
CANCELLATION_RECORD_TYPE: Final = RecordType.CANCELLATION_INTENT

LIFECYCLE_TYPES: Final = frozenset(
    {
        RecordType.RUN_STARTED,
        RecordType.RUN_SUSPENDED,
        RecordType.RUN_COMPLETED,
        RecordType.CHILD_RUN_LINKED,
        RecordType.CANCELLATION_INTENT,
    }
)

# The types of the record that ends a run; it is the run's last.
END_TYPES: Final = frozenset({RecordType.RUN_COMPLETED, RecordType.RUN_SUSPENDED})

TRANSCRIPT_TYPES: Final = frozenset({RecordType.TRANSCRIPT_MESSAGES_SEEDED, RecordType.TRANSCRIPT_MESSAGES_APPENDED})

_KNOWN: Final = frozenset(str(kind) for kind in RecordType)


def is_record_type(name: str) -> bool:
    """Whether a record may have this type."""
    return name in _KNOWN or _OWN.fullmatch(name) is not None
