"""What went wrong between us and Gemini, as one typed error. No key ever stands in it."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

import httpx2
from google.genai import errors

from actum.base.errors import ProviderError
from actum.base.value import Json
from actum.model.failing import classed_status, retry_after
from actum.providers.gemini.contents import PROVIDER
from actum.records.failures import cut_message

_SECONDS: Final = re.compile(r"(\d+(?:\.\d+)?)s")
# The service says this of a wrong key with the status of a malformed request.
_WRONG_KEY: Final = ("API_KEY_INVALID", "API_KEY_EXPIRED")


def provider_error(error: Exception, *, operation: str, secret: str, now: datetime) -> ProviderError:
    """The typed error behind what the SDK or the network raised. `secret` is struck out of every text."""
    says = cut_message((str(error) or type(error).__name__).replace(secret, "***"))
    if isinstance(error, errors.APIError):
        return _told(error, says, operation, now)
    kind, retryable = "malformed_response", False
    if isinstance(error, httpx2.TimeoutException):
        kind, retryable = "timeout", True
    elif isinstance(error, httpx2.HTTPError | httpx2.StreamError):
        kind, retryable = "connection", True
    return ProviderError(kind=kind, message=says, provider=PROVIDER, operation=operation, retryable=retryable)


def _told(error: errors.APIError, says: str, operation: str, now: datetime) -> ProviderError:
    """The service's own refusal."""
    details = list(_details(error.details))
    status = error.code if type(error.code) is int else None
    kind, retryable = ("unavailable", True) if status is None else classed_status(status)
    if any(each.get("reason") in _WRONG_KEY for each in details):
        kind, retryable = "authentication", False
    headers = getattr(error.response, "headers", None) or {}
    wait = next(
        (float(found[1]) for each in details if (found := _SECONDS.fullmatch(str(each.get("retryDelay"))))), None
    )
    return ProviderError(
        kind=kind,
        message=says,
        provider=PROVIDER,
        operation=operation,
        provider_code=error.status,
        http_status=status,
        retryable=retryable,
        retry_after=(wait if wait is not None else retry_after(headers, now)) if retryable else None,
    )


def _details(given: Json) -> Iterator[Mapping[str, Json]]:
    """The details of an error, which the service gives as a list of objects."""
    error = given.get("error") if isinstance(given, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    yield from (each for each in details or [] if isinstance(each, dict))
