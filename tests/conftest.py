"""What holds for every test: no real waiting, a strange time zone, and properties that replay."""

import os
import time
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.quiet_clock import quiet_clock

# Twelve hours and three quarters off, with no data files needed: whoever mixes local time and UTC finds out.
os.environ.setdefault("TZ", "ACT-12:45")
time.tzset()

# `quick` is for the desk; `ci` finds the same on every run; `long` searches: ACTUM_HYPOTHESIS=long make test.
# No deadline in any: a slow machine is no defect. A failing example prints the line that replays it.
settings.register_profile("quick", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.register_profile(
    "long",
    deadline=None,
    print_blob=True,
    max_examples=5_000,
    stateful_step_count=200,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("ACTUM_HYPOTHESIS") or ("ci" if os.environ.get("CI") else "quick"))

quiet_clock.install()


@pytest.fixture(autouse=True)
def no_real_waiting() -> Generator[None]:
    """Fail a test that waited for real, even where the error was swallowed on its way up."""
    quiet_clock.begin()
    yield
    if quiet_clock.waits:
        pytest.fail("a test never sleeps: " + "; ".join(quiet_clock.waits), pytrace=False)
