"""How a tool says no: a `ToolFailure` as a value, and as an exception that carries one."""

from collections.abc import Iterable

from actum.records.failures import Issue, Recovery, ToolFailure, ToolFailureKind, cut_message

__all__ = ["Issue", "Recovery", "ToolError", "ToolFailure", "ToolFailureKind", "cut_message"]


class ToolError(Exception):
    """Raised by a tool to answer its call with a failure of this kind, in words for the model.

    Long messages are cut and marked. `kind` and `recovery` may be given by their text.
    """

    def __init__(
        self,
        kind: ToolFailureKind | str,
        message: str,
        recovery: Recovery | str = Recovery.REPLAN,
        issues: Iterable[Issue] = (),
    ) -> None:
        self.failure = ToolFailure(
            kind=ToolFailureKind(kind), message=cut_message(message), recovery=Recovery(recovery), issues=tuple(issues)
        )
        super().__init__(self.failure.kind, self.failure.message, self.failure.recovery, self.failure.issues)

    def __str__(self) -> str:
        return f"{self.failure.kind}: {self.failure.message}"
