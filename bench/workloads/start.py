"""The start of a process: importing Actum, and a first run with a scripted model in a new file."""

import time

_BEGUN, _SINCE = time.perf_counter(), time.process_time()

import actum  # noqa: E402, F401 - the import is what is measured

_IMPORTED = time.process_time()

import asyncio  # noqa: E402 - as above
import sys  # noqa: E402 - as above
import tempfile  # noqa: E402 - as above

from actum import Agent, Runtime, now, open_store, user  # noqa: E402 - as above
from actum.testing import ScriptedModel  # noqa: E402 - as above


async def _run(path: str) -> None:
    async with open_store(f"sqlite:///{path}") as store:
        await store.create_session("session-1", now())
        async with Runtime(store) as runtime:
            runtime.register(Agent("agent", model=ScriptedModel(["Hello."])))
            out = await runtime.client("agent").run("session-1", [user("hi")])
            assert out.text == "Hello.", out


def main() -> None:
    """Prints milliseconds for the import, and for import and run together, and the memory."""
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        asyncio.run(_run(f"{folder}/actum.db"))
    ended, computed = time.perf_counter(), time.process_time()

    from bench.measure import rss_mb, tell  # noqa: PLC0415 - the figures must not contain it

    tell(
        import_computed_ms=round((_IMPORTED - _SINCE) * 1e3, 2),
        first_run_computed_ms=round((computed - _SINCE) * 1e3, 2),
        first_run_ms=round((ended - _BEGUN) * 1e3, 2),
        rss_mb=rss_mb(),
    )


if __name__ == "__main__":
    main()
