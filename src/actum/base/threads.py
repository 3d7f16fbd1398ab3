"""Threads that a store or a memory starts as they are needed."""

import threading
from collections.abc import Callable

from actum.base.errors import StoreUnavailable


def hire(threads: list[threading.Thread], work: Callable[[], object], name: str) -> None:
    """Starts a thread for `work` and puts it among these.

    Where the system starts none, those that are there do its work too. Raises StoreUnavailable where there are none.
    """
    thread = threading.Thread(target=work, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        if not threads:
            raise StoreUnavailable(reason=f"no thread could be started: {error}") from error
        return
    threads.append(thread)
