"""Why a run stops. How it is canceled, suspended and ended is the store's promise, in `actum.testing.contract`."""

import pytest

from actum.lifecycle.states import SESSION_ENDED, SessionStatus
from actum.lifecycle.stops import reason_to_stop


@pytest.mark.parametrize(
    "reason, status, stops",
    [
        (None, None, None),
        (None, SessionStatus.ACTIVE, None),
        (None, SessionStatus.ENDED, SESSION_ENDED),
        ("user_stop", None, "user_stop"),
        ("user_stop", SessionStatus.ACTIVE, "user_stop"),
        ("user_stop", SessionStatus.ENDED, "user_stop"),
    ],
)
def test_a_reason_of_its_own_comes_before_the_end_of_the_session(
    reason: str | None, status: SessionStatus | None, stops: str | None
) -> None:
    assert reason_to_stop(reason, status) == stops
