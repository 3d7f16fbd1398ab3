import os
import queue
import threading

import pytest

from actum.tools import threads
from actum.tools.threads import in_thread
from tests.support.programs import end_of, program
from tests.support.waiting import wait_until


class Done:
    """Work that tells which thread did it, after its gate is open."""

    def __init__(self, *, open_: bool = True) -> None:
        self.told: queue.SimpleQueue[threading.Thread] = queue.SimpleQueue()
        self.gate = threading.Event()
        if open_:
            self.gate.set()

    def __call__(self) -> None:
        assert self.gate.wait(30)
        self.told.put(threading.current_thread())


def idle() -> int:
    return len(threads._idle)  # noqa: SLF001 - what is kept is seen from nowhere else


def test_a_thread_serves_one_work_after_another() -> None:
    first = Done()
    in_thread(first)
    thread = first.told.get(timeout=30)
    assert thread.daemon
    assert thread is not threading.current_thread()
    wait_until(idle)
    again = Done()
    in_thread(again)
    again.told.get(timeout=30)


def test_work_never_waits_for_other_work() -> None:
    held = [Done(open_=False) for _ in range(40)]
    for each in held:
        in_thread(each)
    free = Done()
    in_thread(free)
    free.told.get(timeout=30)
    for each in held:
        each.gate.set()
    assert len({each.told.get(timeout=30).ident for each in held}) == 40
    wait_until(lambda: sum(thread.name == "actum-tool" for thread in threading.enumerate()) <= 8)


def test_a_thread_without_work_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_IDLE_S", 0.0)
    gone = []
    for _ in range(200):  # some are given work in the very moment in which they go
        done = Done()
        in_thread(done)
        gone.append(done.told.get(timeout=30))
    wait_until(lambda: not any(thread.is_alive() for thread in gone))


def test_a_forked_child_has_threads_of_its_own() -> None:
    done = Done()
    in_thread(done)
    done.told.get(timeout=30)
    wait_until(idle)
    child = os.fork()
    if not child:
        code = 1
        try:
            own = Done()
            in_thread(own)
            own.told.get(timeout=10)
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_work_that_never_ends_does_not_hold_up_the_exit() -> None:
    code = "import threading; from actum.tools.threads import in_thread; in_thread(threading.Event().wait)"
    assert end_of(program(code)) == ""
