import os
import time
from collections.abc import Generator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given

from actum.base.checks import identifier, instant
from actum.base.clock import (
    EPOCH,
    SystemClock,
    SystemIds,
    chance,
    from_millis,
    now,
    random_token,
    to_millis,
    wait,
)
from tests.support.strategies import instants


@pytest.fixture(params=["UTC", "EST5EDT", "IST-5:30", "ACT-12:45"])
def local_zone(request: pytest.FixtureRequest) -> Generator[str]:
    """This process in another time zone, spelled so that no data files are needed."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield request.param
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def test_the_present_is_an_instant_of_whole_milliseconds_in_utc(local_zone: str) -> None:
    before, present, after = time.time(), now(), time.time()
    assert instant("now", present) is present
    assert before - 0.001 <= present.timestamp() <= after


def test_no_local_time_zone_moves_an_instant(local_zone: str) -> None:
    assert to_millis(datetime(2025, 6, 5, 13, 0, 0, 123_000, tzinfo=UTC)) == 1_749_128_400_123
    there = datetime(2025, 6, 5, 18, 30, 0, 123_000, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert to_millis(there) == 1_749_128_400_123
    assert from_millis(1_749_128_400_123) == there
    assert from_millis(1_749_128_400_123).tzinfo is UTC


@given(instants())
def test_milliseconds_are_exact_in_every_year(moment: datetime) -> None:
    assert from_millis(to_millis(moment)) == moment


def test_milliseconds_are_exact_at_the_ends_of_time() -> None:
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)
    assert [from_millis(to_millis(moment)) for moment in (first, EPOCH, last)] == [first, EPOCH, last]
    assert to_millis(EPOCH) == 0
    assert to_millis(EPOCH - timedelta(milliseconds=1)) == -1


def test_the_system_clock_tells_the_present_and_never_goes_back() -> None:
    clock = SystemClock()
    assert abs(clock.now() - now()) < timedelta(minutes=1)
    assert clock.monotonic() <= clock.monotonic()


def test_ids_are_fresh_and_begin_with_their_kind() -> None:
    ids = SystemIds()
    made = {ids.new("run") for _ in range(1000)}
    assert len(made) == 1000
    assert all(identifier("run_id", name).startswith("run-") for name in made)


def test_tokens_and_chances_differ() -> None:
    assert len({random_token() for _ in range(100)}) == 100
    drawn = [chance() for _ in range(100)]
    assert all(0 <= each < 1 for each in drawn)
    assert len(set(drawn)) > 90


async def test_waiting_for_nothing_lets_others_run() -> None:
    await wait(0)
