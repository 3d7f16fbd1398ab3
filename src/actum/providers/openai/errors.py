"""What went wrong between us and the provider, as one typed error. No key ever stands in it."""

from datetime import datetime
from typing import Final

import httpx2
import openai

from actum.base.errors import ProviderError
from actum.model.failing import classed_status, retry_after
from actum.providers.openai.codes import BY_CODE, of_code
from actum.records.failures import cut_message

# Codes that say more than the status they come with.
_FINER: Final = ("insufficient_quota", "content_filter", "content_policy_violation")


def provider_error(error: Exception, *, provider: str, operation: str, secret: str, now: datetime) -> ProviderError:
    """The typed error behind what the SDK or the network raised. `secret` is struck out of every text."""
    says = cut_message((str(error) or type(error).__name__).replace(secret, "***"))
    if isinstance(error, openai.APIStatusError):
        kind, retryable = BY_CODE[error.code] if error.code in _FINER else classed_status(error.status_code)
        return ProviderError(
            kind=kind,
            message=says,
            provider=provider,
            operation=operation,
            provider_code=error.code or error.type,
            http_status=error.status_code,
            request_id=error.request_id,
            retryable=retryable,
            retry_after=retry_after(error.response.headers, now) if retryable else None,
        )
    kind, retryable, code = "malformed_response", False, None
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
        kind, retryable = "timeout", True
    elif isinstance(error, openai.APIConnectionError | httpx2.HTTPError):
        kind, retryable = "connection", True
    elif isinstance(error, openai.APIError):
        # An error event in the middle of a stream: there is no status, only the provider's own code.
        code = error.code or error.type
        kind, retryable = of_code(code)
    return ProviderError(
        kind=kind, message=says, provider=provider, operation=operation, provider_code=code, retryable=retryable
    )
