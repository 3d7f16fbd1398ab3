"""Why a run or a tool call failed, as values that records carry."""

from enum import StrEnum

from actum.base.checks import refuse, text, utf8
from actum.base.limits import FAILURE_MESSAGE_BYTES
from actum.base.value import Json, Value

_CUT_MARK = "… [cut]"


class FailureKind(StrEnum):
    """What a run failed of."""

    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    LENGTH = "length"
    LIMIT = "limit"
    TIMEOUT = "timeout"
    PLANNER = "planner"
    PROVIDER = "provider"
    MODEL_REQUEST = "model_request"
    TOOL = "tool"
    RECOVERY = "recovery"
    INTERNAL = "internal"


class ToolFailureKind(StrEnum):
    """What a tool call failed of."""

    INVALID_CALL = "invalid_call"
    DOMAIN_REJECTION = "domain_rejection"
    UNAVAILABLE = "unavailable"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    MALFORMED_RESULT = "malformed_result"
    INTERNAL = "internal"
    CANCELED = "canceled"
    DENIED = "denied"
    OUTCOME_UNKNOWN = "outcome_unknown"


class Recovery(StrEnum):
    """What the planner is asked to do about a tool failure; `finish` beats `correct_call` beats `replan`."""

    FINISH = "finish"
    CORRECT_CALL = "correct_call"
    REPLAN = "replan"


def failure_message(path: str, value: object) -> str:
    """Text of at most 4,096 UTF-8 bytes; `cut_message` makes such a text of any other."""
    data = utf8(path, value)
    if len(data) > FAILURE_MESSAGE_BYTES:
        raise refuse(path, value, f"has at most {FAILURE_MESSAGE_BYTES} UTF-8 bytes; cut_message shortens it")
    return text(path, value)


def cut_message(text: str) -> str:
    """`text` as a failure's message: at most 4,096 UTF-8 bytes, cut at a character and marked.

    Lone surrogates are shown as `?`.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= FAILURE_MESSAGE_BYTES:
        return data.decode()
    room = FAILURE_MESSAGE_BYTES - len(_CUT_MARK.encode())
    return data[:room].decode("utf-8", "ignore") + _CUT_MARK


class Failure(Value):
    """Why a run failed. `message` is for people; `code` is the stable name of the error behind it."""

    kind: FailureKind
    message: str
    code: str | None = None

    def __post_init__(self) -> None:
        failure_message("message", self.message)


class Issue(Value):
    """One field of a tool's input that was wrong, and the rule that it broke."""

    path: str
    rule: str


class ToolFailure(Value):
    """Why a tool call failed, and what the planner should do about it."""

    kind: ToolFailureKind
    message: str
    recovery: Recovery = Recovery.REPLAN
    issues: tuple[Issue, ...] = ()

    def __post_init__(self) -> None:
        failure_message("message", self.message)

    @property
    def content(self) -> Json:
        """The failure as the content of an `is_error` tool result: what the model reads."""
        shown: dict[str, Json] = {"error": str(self.kind), "message": self.message}
        if self.issues:
            shown["issues"] = [{"path": issue.path, "rule": issue.rule} for issue in self.issues]
        return shown
