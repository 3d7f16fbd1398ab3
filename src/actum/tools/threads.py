"""Threads for sync functions: as many as run at a time, each kept a while for the next one.

They are daemons, and there is no bound on them: a function that never returns holds up nobody, not even the exit.
"""

import os
import queue
import threading
from collections.abc import Callable
from typing import Final

# So many threads without work are kept, each for so many seconds: a start costs as much as many a tool.
_KEPT: Final = 8
_IDLE_S: Final = 10.0

_Work = Callable[[], None]
_idle: "list[queue.SimpleQueue[_Work]]" = []

# A forked child has none of its parent's threads.
os.register_at_fork(after_in_child=_idle.clear)


def in_thread(work: _Work) -> None:
    """Runs `work`, which raises nothing, in a thread that does nothing else meanwhile; does not wait for it."""
    try:
        waiting = _idle.pop()
    except IndexError:
        threading.Thread(target=_serve, args=(work,), name="actum-tool", daemon=True).start()
    else:
        waiting.put(work)


def _serve(work: _Work) -> None:
    """Work after work, until none has come for a while or enough others wait."""
    given: queue.SimpleQueue[_Work] = queue.SimpleQueue()
    while True:
        work()
        # What was done is not kept alive while the thread waits.
        del work
        if len(_idle) >= _KEPT:
            return
        _idle.append(given)
        try:
            work = given.get(timeout=_IDLE_S)
        except queue.Empty:
            try:
                _idle.remove(given)
            except ValueError:
                work = given.get()  # it was taken in this very moment, so its work is on the way
            else:
                return
