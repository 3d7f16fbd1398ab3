"""What went wrong between us and the provider, as one typed error. No key ever stands in it."""

from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

import httpx2
import openai

from actum.base.errors import ModelError, ProviderError
from actum.records.failures import cut_message

_BY_STATUS: dict[int, tuple[str, bool]] = {
    400: ("model_request", False),
    401: ("authentication", False),
    403: ("permission", False),
    404: ("not_found", False),
    408: ("timeout", True),
    409: ("conflict", True),
    413: ("model_request", False),
    422: ("model_request", False),
    429: ("rate_limited", True),
}
_BY_CODE: dict[str, tuple[str, bool]] = {
    "insufficient_quota": ("quota", False),
    "content_filter": ("content_filter", False),
    "content_policy_violation": ("content_filter", False),
    "server_error": ("unavailable", True),
    "rate_limit_exceeded": ("rate_limited", True),
}
_SERVER_ERRORS = 500


def provider_error(error: Exception, *, operation: str, secret: str, now: datetime) -> ModelError:
    """The typed error behind what the SDK or the network raised. `secret` is struck out of every text."""
    says = cut_message((str(error) or type(error).__name__).replace(secret, "***"))
    if isinstance(error, openai.APIStatusError):
        kind, retryable = _classed(error.status_code, error.code)
        return ProviderError(
            kind=kind,
            message=says,
            provider="openai-chat",
            operation=operation,
            provider_code=error.code or error.type,
            http_status=error.status_code,
            request_id=error.request_id,
            retryable=retryable,
            retry_after=_retry_after(error.response.headers, now) if retryable else None,
        )
    kind, retryable, code = "malformed_response", False, None
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
        kind, retryable = "timeout", True
    elif isinstance(error, openai.APIConnectionError | httpx2.HTTPError):
        kind, retryable = "connection", True
    elif isinstance(error, openai.APIError):
        # An error event in the middle of a stream: there is no status, only the provider's own code.
        code = error.code or error.type
        kind, retryable = _BY_CODE.get(code or "", ("unavailable", True))
    return ProviderError(
        kind=kind, message=says, provider="openai-chat", operation=operation, provider_code=code, retryable=retryable
    )


def _classed(status: int, code: str | None) -> tuple[str, bool]:
    if status >= _SERVER_ERRORS:
        return "unavailable", True
    if code in ("insufficient_quota", "content_filter", "content_policy_violation"):
        return _BY_CODE[code]
    return _BY_STATUS.get(status, ("unexpected_status", False))


def _retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that the provider asks to wait."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        given = headers.get("retry-after")
        if given is None:
            return None
        return max(0.0, float(given) if given.strip().replace(".", "", 1).isdigit() else _until(given, now))
    except ValueError:
        return None


def _until(date: str, now: datetime) -> float:
    return (parsedate_to_datetime(date) - now).total_seconds()
