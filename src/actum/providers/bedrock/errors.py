"""What went wrong between us and Bedrock, as one typed error. No secret ever stands in it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import aiohttp
from botocore import exceptions as aws

from actum.base.errors import ProviderError
from actum.model.failing import classed_status, retry_after
from actum.providers.bedrock.messages import PROVIDER
from actum.records.failures import cut_message

# In the middle of a stream there is no status, only the code of an event.
_BY_CODE: Final[dict[str, tuple[str, bool]]] = {
    "accessdeniedexception": ("permission", False),
    "internalserverexception": ("unavailable", True),
    "modelerrorexception": ("unavailable", True),
    "modelnotreadyexception": ("unavailable", True),
    "modelstreamerrorexception": ("unavailable", True),
    "modeltimeoutexception": ("timeout", True),
    "resourcenotfoundexception": ("not_found", False),
    "servicequotaexceededexception": ("quota", False),
    "serviceunavailableexception": ("unavailable", True),
    "throttlingexception": ("rate_limited", True),
    "unrecognizedclientexception": ("authentication", False),
    "expiredtokenexception": ("authentication", False),
    "invalidsignatureexception": ("authentication", False),
    "validationexception": ("model_request", False),
}
_NO_CREDENTIALS: Final = (
    aws.NoCredentialsError,
    aws.PartialCredentialsError,
    aws.CredentialRetrievalError,
    aws.TokenRetrievalError,
    aws.NoAuthTokenError,
    aws.ProfileNotFound,
)
_TIMEOUTS: Final = (aws.ConnectTimeoutError, aws.ReadTimeoutError, TimeoutError)
_CONNECTIONS: Final = (
    aws.HTTPClientError,
    aws.ConnectionError,
    aws.ResponseStreamingError,
    aws.IncompleteReadError,
    aiohttp.ClientError,
    OSError,
)


def provider_error(error: Exception, *, operation: str, secrets: Sequence[str], now: datetime) -> ProviderError:
    """The typed error behind what the SDK or the network raised. `secrets` are struck out of every text."""
    says = str(error) or type(error).__name__
    for secret in secrets:
        says = says.replace(secret, "***")
    if isinstance(error, aws.ClientError):
        return _told(error, cut_message(says), operation, now)
    kind, retryable = _classed(error)
    return ProviderError(
        kind=kind, message=cut_message(says), provider=PROVIDER, operation=operation, retryable=retryable
    )


def _told(error: aws.ClientError, says: str, operation: str, now: datetime) -> ProviderError:
    """The service's own refusal; a stream's has no status."""
    about = error.response.get("ResponseMetadata") or {}
    code = error.response.get("Error", {}).get("Code")
    status = about.get("HTTPStatusCode")
    kind, retryable = _BY_CODE.get((code or "").lower()) or (
        ("unavailable", True) if status is None else classed_status(status)
    )
    headers = {name.lower(): value for name, value in (about.get("HTTPHeaders") or {}).items()}
    return ProviderError(
        kind=kind,
        message=says,
        provider=PROVIDER,
        operation=operation,
        provider_code=code,
        http_status=status,
        request_id=about.get("RequestId"),
        retryable=retryable,
        retry_after=retry_after(headers, now) if retryable else None,
    )


def _classed(error: Exception) -> tuple[str, bool]:
    if isinstance(error, _NO_CREDENTIALS):
        return "authentication", False
    if isinstance(error, aws.ParamValidationError | aws.NoRegionError):
        return "model_request", False
    if isinstance(error, _TIMEOUTS):
        return "timeout", True
    if isinstance(error, _CONNECTIONS):
        return "connection", True
    return "malformed_response", False
