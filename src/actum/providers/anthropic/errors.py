"""What went wrong between us and Anthropic, as one typed error. No key ever stands in it."""

from datetime import datetime
from typing import Final

import anthropic
import httpx2

from actum.base.errors import ProviderError
from actum.model.failing import classed_status, retry_after
from actum.providers.anthropic.encode import PROVIDER
from actum.records.failures import cut_message

# Anthropic's own words; they come in the middle of a stream too, where there is no status of their own.
_BY_TYPE: Final[dict[str, tuple[str, bool]]] = {
    "invalid_request_error": ("model_request", False),
    "request_too_large": ("model_request", False),
    "authentication_error": ("authentication", False),
    "billing_error": ("quota", False),
    "permission_error": ("permission", False),
    "not_found_error": ("not_found", False),
    "rate_limit_error": ("rate_limited", True),
    "timeout_error": ("timeout", True),
    "api_error": ("unavailable", True),
    "overloaded_error": ("unavailable", True),
}
_FIRST_BAD_STATUS: Final = 400


def provider_error(error: Exception, *, operation: str, secret: str, now: datetime) -> ProviderError:
    """The typed error behind what the SDK or the network raised. `secret` is struck out of every text."""
    says = cut_message((str(error) or type(error).__name__).replace(secret, "***"))
    if isinstance(error, anthropic.APIStatusError):
        code, status = error.type, error.status_code
        kind, retryable = _classed(code, status)
        return ProviderError(
            kind=kind,
            message=says,
            provider=PROVIDER,
            operation=operation,
            provider_code=code,
            http_status=status if status >= _FIRST_BAD_STATUS else None,
            request_id=error.request_id,
            retryable=retryable,
            retry_after=retry_after(error.response.headers, now) if retryable else None,
        )
    kind, retryable = "malformed_response", False
    if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException):
        kind, retryable = "timeout", True
    elif isinstance(error, anthropic.APIConnectionError | httpx2.HTTPError):
        kind, retryable = "connection", True
    return ProviderError(kind=kind, message=says, provider=PROVIDER, operation=operation, retryable=retryable)


def _classed(code: str | None, status: int) -> tuple[str, bool]:
    if status < _FIRST_BAD_STATUS:
        # An error event in a stream that began well; one that nobody knows may pass.
        return _BY_TYPE.get(code or "", ("unavailable", True))
    return _BY_TYPE["billing_error"] if code == "billing_error" else classed_status(status)
