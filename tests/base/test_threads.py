"""Threads that do not start: done without where there are others."""

import threading
from unittest.mock import Mock

import pytest

from actum.base.errors import StoreUnavailable
from actum.base.threads import hire


def test_a_thread_that_starts_stands_among_the_others() -> None:
    threads: list[threading.Thread] = []
    done = threading.Event()
    hire(threads, done.set, "worker")
    (thread,) = threads
    thread.join()
    assert done.is_set()
    assert (thread.name, thread.daemon) == ("worker", True)


def test_one_that_does_not_start_is_missed_only_where_there_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
    nobody: list[threading.Thread] = []
    with pytest.raises(StoreUnavailable, match="can't start new thread"):
        hire(nobody, lambda: None, "worker")
    assert nobody == []
    others = [threading.Thread()]
    hire(others, lambda: None, "worker")
    assert len(others) == 1
