"""The deterministic event key of every step: a step finds its record before it works."""

from typing import Final

START: Final = "run_started"
END: Final = "run_completed"
CANCELLATION: Final = "cancellation_intent"
REQUESTED: Final = "run_requested"
SEED: Final = "transcript:seed"
INPUT: Final = "transcript:input"
PROMPTED: Final = "phase:prompted"
SUSPENDED: Final = "run_suspended"
SUPERSEDED: Final = "turn_superseded"
CLOSING: Final = "transcript:closing"

# The step of the calls that a continuation inherited from the suspended run before it.
INHERITED: Final = -1


def plan(step: int) -> str:
    """What the planner decided at a step."""
    return f"plan:{step}"


def message(step: int) -> str:
    """The assistant message of a step."""
    return f"plan:{step}:message"


def usage(step: int, index: int) -> str:
    """The tokens of one model call of a step."""
    return f"plan:{step}:usage:{index}"


def compressed(step: int) -> str:
    """The summary that was made for the planner's view at a step."""
    return f"plan:{step}:history"


def compression_usage(step: int) -> str:
    """The tokens of the model call that made that summary."""
    return f"plan:{step}:history:usage"


def policy(step: int, index: int) -> str:
    """One decision of a policy at a step."""
    return f"plan:{step}:policy:{index}"


def prompt(step: int, index: int) -> str:
    """One prompt that was rendered at a step."""
    return f"plan:{step}:prompt:{index}"


def spent(step: int, index: int) -> str:
    """The tokens of a model call at a step whose answer was not waited for."""
    return f"plan:{step}:spent:{index}"


def note(step: int, index: int) -> str:
    """One note of the planner at a step."""
    return f"plan:{step}:note:{index}"


def results(step: int) -> str:
    """The one user message that answers the tool uses of a step."""
    return f"plan:{_name(step)}:results"


def phase(step: int, name: str) -> str:
    """The run entered a phase at a step."""
    return f"plan:{_name(step)}:phase:{name}"


def scheduled(call_id: str) -> str:
    """A call was accepted."""
    return f"call:scheduled:{call_id}"


def started(call_id: str, attempt: int) -> str:
    """The `attempt`th try of a call, counted from 1."""
    return f"call:started:{attempt}:{call_id}"


def linked(call_id: str) -> str:
    """A child run answers a call."""
    return f"call:linked:{call_id}"


def child(call_id: str) -> str:
    """A child run answers a call."""
    return f"call:child:{call_id}"


def result(call_id: str) -> str:
    """The answer of a call."""
    return f"call:result:{call_id}"


def asked(item_id: str) -> str:
    """The run asks for an item."""
    return f"input:asked:{item_id}"


def answered(item_id: str) -> str:
    """An item was answered."""
    return f"input:answered:{item_id}"


def authorized(call_id: str) -> str:
    """A person or a rule decided about a call."""
    return f"call:authorized:{call_id}"


def _name(step: int) -> str:
    return "inherited" if step == INHERITED else str(step)
