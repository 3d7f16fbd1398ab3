"""The deterministic event key of every step: a step finds its record before it works."""

from typing import Final

START: Final = "run_started"
END: Final = "run_completed"
CANCELLATION: Final = "cancellation_intent"
REQUESTED: Final = "run_requested"
SEED: Final = "transcript:seed"
INPUT: Final = "transcript:input"
PROMPTED: Final = "phase:prompted"


def plan(step: int) -> str:
    """What the planner decided at a step."""
    return f"plan:{step}"


def message(step: int) -> str:
    """The assistant message of a step."""
    return f"plan:{step}:message"


def usage(step: int, index: int) -> str:
    """The tokens of one model call of a step."""
    return f"plan:{step}:usage:{index}"


def note(step: int, index: int) -> str:
    """One note of the planner at a step."""
    return f"plan:{step}:note:{index}"


def results(step: int) -> str:
    """The one user message that answers the tool uses of a step."""
    return f"plan:{step}:results"


def phase(step: int, name: str) -> str:
    """The run entered a phase at a step."""
    return f"plan:{step}:phase:{name}"


def scheduled(call_id: str) -> str:
    """A call was accepted."""
    return f"call:scheduled:{call_id}"


def started(call_id: str, attempt: int) -> str:
    """The `attempt`th try of a call, counted from 1."""
    return f"call:started:{attempt}:{call_id}"


def result(call_id: str) -> str:
    """The answer of a call."""
    return f"call:result:{call_id}"
