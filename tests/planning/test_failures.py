import pytest

from actum.base.errors import ModelError, ProviderError, TranscriptError
from actum.planning.failures import failure_of


def provider(kind: str) -> ProviderError:
    return ProviderError(kind=kind, message="says no", provider="p", operation="complete")


@pytest.mark.parametrize(
    "error, kind, code",
    [
        (provider("model_request"), "model_request", "model_request"),
        (provider("content_filter"), "content_filter", "content_filter"),
        (provider("rate_limited"), "provider", "rate_limited"),
        (ModelError(kind="malformed_response", message="x"), "provider", "malformed_response"),
        (TimeoutError(), "timeout", None),
        (TranscriptError(findings=()), "planner", "transcript_error"),
        (ZeroDivisionError("oh"), "planner", None),
    ],
)
def test_an_error_becomes_the_runs_failure(error: BaseException, kind: str, code: str | None) -> None:
    failure = failure_of(error)
    assert (failure.kind, failure.code) == (kind, code)
    assert failure.message


def test_a_long_text_is_cut() -> None:
    assert failure_of(ValueError("ж" * 9000)).message.endswith("[cut]")
