"""What a planner's error means for its run."""

from actum.base.errors import ActumError, ModelError, ProviderError
from actum.records.failures import Failure, FailureKind, cut_message

# A provider's kinds of error that have a kind of failure of their own; the rest are failures of the provider.
_KINDS = {
    "model_request": FailureKind.MODEL_REQUEST,
    "content_filter": FailureKind.CONTENT_FILTER,
    "refusal": FailureKind.REFUSAL,
}


def failure_of(error: BaseException) -> Failure:
    """The failure with which a run ends when its planner raised `error`."""
    if isinstance(error, ProviderError):
        says = f"{error.provider}: {error.message}"
        return _failure(_KINDS.get(error.kind, FailureKind.PROVIDER), says, error.provider_code or error.kind)
    if isinstance(error, ModelError):
        return _failure(_KINDS.get(error.kind, FailureKind.PROVIDER), error.message, error.kind)
    if isinstance(error, TimeoutError):
        return _failure(FailureKind.TIMEOUT, f"The planner ran out of time. {error}".rstrip(), None)
    if isinstance(error, ActumError):
        return _failure(FailureKind.PLANNER, str(error), error.code)
    return _failure(FailureKind.PLANNER, _words(error), None)


def _words(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - an exception whose text cannot be made still has a type, and that is what is told
        return type(error).__name__


def _failure(kind: FailureKind, says: str, code: str | None) -> Failure:
    return Failure(kind=kind, message=cut_message(says), code=code)
