"""Measuring, for workloads and peers alike: places for files, times, the line that tells them. Standard library."""

import json
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

now = time.perf_counter
# Seconds that this process has computed: what others do on the same machine hardly touches them.
computed = time.process_time


@contextmanager
def place(folder: str | None = None) -> Iterator[Path]:
    """An empty folder on the disk that is measured, gone at the end; beside the working directory unless told."""
    root = Path(folder or ".bench")
    root.mkdir(parents=True, exist_ok=True)
    here = Path(tempfile.mkdtemp(dir=root))
    try:
        yield here
    finally:
        shutil.rmtree(here)


def tell(**figures: Any) -> None:  # noqa: ANN401 - whatever was measured
    """Prints the figures as one line of JSON."""
    sys.stdout.write(json.dumps(figures) + "\n")


def timed(work: Callable[[], object]) -> float:
    """How many seconds `work` takes."""
    begun = now()
    work()
    return now() - begun


async def timed_async(work: Callable[[], Awaitable[object]]) -> float:
    """How many seconds `work` takes."""
    begun = now()
    await work()
    return now() - begun


def median_us(seconds: Sequence[float]) -> float:
    """The median in microseconds."""
    return round(statistics.median(seconds) * 1e6, 1)


def median_ms(seconds: Sequence[float]) -> float:
    """The median in milliseconds."""
    return round(statistics.median(seconds) * 1e3, 3)


def around(seconds: Sequence[float], at: int, width: int = 25) -> float:
    """The median of the samples around sample `at`, counted from 1."""
    return statistics.median(seconds[max(at - width - 1, 0) : at + width])


def rss_mb() -> float:
    """The largest resident memory of this process so far, in MiB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def size_of(path: Path) -> int:
    """The bytes of a database and of the files beside it."""
    return sum(each.stat().st_size for each in path.parent.glob(path.name + "*") if each.is_file())
