"""What a failed call means, whoever failed it: the kind of a status, and the wait that a provider asks for."""

from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final

_BY_STATUS: Final[dict[int, tuple[str, bool]]] = {
    400: ("model_request", False),
    401: ("authentication", False),
    402: ("quota", False),
    403: ("permission", False),
    404: ("not_found", False),
    408: ("timeout", True),
    409: ("conflict", True),
    413: ("model_request", False),
    422: ("model_request", False),
    429: ("rate_limited", True),
}
_SERVER_ERRORS: Final = 500


def classed_status(status: int) -> tuple[str, bool]:
    """The kind of error behind an HTTP status, and whether the same call may succeed later."""
    if status >= _SERVER_ERRORS:
        return "unavailable", True
    return _BY_STATUS.get(status, ("unexpected_status", False))


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that the provider asks to wait; None when it does not say, or not so that anybody could tell."""
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
