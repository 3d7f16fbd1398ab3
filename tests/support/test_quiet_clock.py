import asyncio
import subprocess
import sys
import time
from queue import Empty, Queue

import pytest

from tests.support.quiet_clock import SleptInTestError, quiet_clock
from tests.support.waiting import wait_until


@pytest.fixture
def caught(no_real_waiting: None) -> list[str]:
    return quiet_clock.waits


async def test_a_test_that_sleeps_is_caught(caught: list[str]) -> None:
    with pytest.raises(SleptInTestError, match=r"test_quiet_clock\.py:\d+ calls asyncio\.sleep\(5\)"):
        await asyncio.sleep(5)
    with pytest.raises(SleptInTestError, match=r"calls time\.sleep\(5\)"):
        time.sleep(5)  # noqa: ASYNC251 - it never gets to block
    assert len(caught) == 2
    caught.clear()


async def test_letting_others_run_is_no_wait(caught: list[str]) -> None:
    await asyncio.sleep(0)
    assert caught == []


def test_libraries_wait_as_they_like(caught: list[str]) -> None:
    listening = [sys.executable, "-c", "input()"]
    with (
        subprocess.Popen(listening, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as child,
        pytest.raises(subprocess.TimeoutExpired),
    ):
        child.wait(timeout=0.01)
    with pytest.raises(Empty):
        Queue[str]().get(timeout=0.001)
    assert caught == []


def test_wait_until_returns_the_answer_or_times_out(caught: list[str]) -> None:
    answers = iter([None, None, "ready"])
    assert wait_until(lambda: next(answers)) == "ready"
    with pytest.raises(TimeoutError, match=r"still said False after 0\.02 s"):
        wait_until(lambda: False, timeout_s=0.02)
    assert caught == []
