"""The workloads as peers meet them: the same conversation and counts, one line of JSON. Standard library.

A peer's program declares one `Peer` and hands it to `main`; what it imports, it imports in `load`, so that a start can
be timed. Its verbs are coroutines, or plain functions with `sync = True`; then each run of `many` has a thread.
"""

import argparse
import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.measure import around, median_us, now, place, rss_mb, tell


class Peer:
    """A store of conversations. `variants` are its stores; the first is the one of a plain run."""

    variants: tuple[str, ...] = ("default",)
    sync = False

    def __init__(self, path: Path, variant: str, window: int | None) -> None:
        self.path = path
        self.variant = variant
        self.window = window

    def load(self) -> None:
        """Imports what the peer is made of."""

    def open(self) -> Any:  # noqa: ANN401 - a coroutine or nothing
        """Opens the store in the file `path`."""

    def close(self) -> Any:  # noqa: ANN401 - a coroutine or nothing
        """Closes it."""

    def conversation(self, name: str) -> Any:  # noqa: ANN401 - a peer's own handle
        """Begins a conversation."""
        return name

    def append(self, conversation: Any, i: int) -> Any:  # noqa: ANN401 - a peer's own handle
        """Stores the message `i` durably."""
        raise NotImplementedError

    def turn(self, conversation: Any, turn: int) -> Any:  # noqa: ANN401 - a peer's own handle
        """One turn with one tool call, stored durably."""
        raise NotImplementedError


async def _done(given: Any) -> Any:  # noqa: ANN401 - whatever a peer's verb gives
    return await given if inspect.isawaitable(given) else given


async def _appends(peer: Peer, count: int) -> dict[str, Any]:
    here = await _done(peer.conversation("conversation"))
    took = []
    for i in range(count):
        begun = now()
        await _done(peer.append(here, i))
        took.append(now() - begun)
    return {"us": median_us(took), "mean_us": round(sum(took) / count * 1e6, 1), "appends": count}


async def _many(peer: Peer, runs: int, each: int) -> dict[str, Any]:
    handles = [await _done(peer.conversation(f"conversation-{k}")) for k in range(runs)]
    errors = 0

    async def writing(here: Any) -> None:  # noqa: ANN401 - a peer's own handle
        nonlocal errors
        for i in range(each):
            try:
                await peer.append(here, i)
            except Exception:  # noqa: BLE001 - whatever reaches a caller is counted
                errors += 1

    def writing_apart(here: Any) -> None:  # noqa: ANN401 - a peer's own handle
        nonlocal errors
        for i in range(each):
            try:
                peer.append(here, i)
            except Exception:  # noqa: BLE001 - as above
                errors += 1

    begun = now()
    if peer.sync:
        with ThreadPoolExecutor(runs) as pool:
            list(pool.map(writing_apart, handles))
    else:
        await asyncio.gather(*map(writing, handles))
    return {"rows_s": round(runs * each / (now() - begun)), "errors": errors, "rows": runs * each}


async def _turns(peer: Peer, count: int) -> dict[str, Any]:
    here = await _done(peer.conversation("conversation"))
    took = []
    for turn in range(count):
        begun = now()
        await _done(peer.turn(here, turn))
        took.append(now() - begun)
    late = count - min(25, count // 4)
    return {
        "early_ms": round(around(took, 10, 5) * 1e3, 3),
        "late_ms": round(around(took, late) * 1e3, 3),
        "mean_ms": round(sum(took) / count * 1e3, 3),
        "turns": count,
    }


async def _start(peer: Peer) -> dict[str, Any]:
    here = await _done(peer.conversation("conversation"))
    await _done(peer.turn(here, 0))
    return {}


async def _measured(peer: Peer, work: Callable[[Peer], Any]) -> dict[str, Any]:
    begun = now()
    peer.load()
    loaded = now() - begun
    await _done(peer.open())
    figures: dict[str, Any] = await work(peer)
    first = now() - begun
    await _done(peer.close())
    return {
        **figures,
        "import_ms": round(loaded * 1e3, 1),
        "first_run_ms": round(first * 1e3, 1),
        "rss_mb": rss_mb(),
    }


def main(kind: type[Peer]) -> None:
    """Measures one workload and prints its line."""
    options = argparse.ArgumentParser(description=kind.__doc__)
    options.add_argument("workload", choices=["appends", "many", "turns", "start"])
    options.add_argument("--variant", choices=kind.variants, default=kind.variants[0])
    options.add_argument("--count", type=int, default=2000)
    options.add_argument("--runs", type=int, default=64)
    options.add_argument("--each", type=int, default=20)
    options.add_argument("--turns", type=int, default=100)
    options.add_argument("--window", type=int)
    options.add_argument("--folder")
    given = options.parse_args()
    works: dict[str, Callable[[Peer], Any]] = {
        "appends": lambda peer: _appends(peer, given.count),
        "many": lambda peer: _many(peer, given.runs, given.each),
        "turns": lambda peer: _turns(peer, given.turns),
        "start": _start,
    }
    with place(given.folder) as here:
        peer = kind(here / "peer.db", given.variant, given.window)
        tell(**asyncio.run(_measured(peer, works[given.workload])))
