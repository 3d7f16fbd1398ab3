from datetime import UTC, datetime

import pytest

from actum.model.failing import classed_status, retry_after

NOW = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "status, kind, retryable",
    [
        (400, "model_request", False),
        (402, "quota", False),
        (408, "timeout", True),
        (418, "unexpected_status", False),
        (429, "rate_limited", True),
        (500, "unavailable", True),
        (599, "unavailable", True),
    ],
)
def test_a_status_has_a_kind(status: int, kind: str, *, retryable: bool) -> None:
    assert classed_status(status) == (kind, retryable)


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Wed, 01 Jan 2025 00:01:00 GMT"}, 60.0),
        ({"retry-after": "Tue, 31 Dec 2024 00:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "-3"}, 0.0),
        ({"retry-after-ms": "soon"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_a_providers_wait_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds
