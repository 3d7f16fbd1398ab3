"""The demo's other processes: one that is killed in the middle of a turn, one that finishes it, and a clerk's.

python -m actum.cli.demo_process ask    URL ROOT SESSION_ID RUN_ID QUESTION
python -m actum.cli.demo_process finish URL ROOT RUN_ID
python -m actum.cli.demo_process clerk  URL ROOT SESSION_ID RUN_ID QUESTION quick|slow
"""

import asyncio
import sys
from pathlib import Path
from typing import Final

from actum.cli.demo_agent import AGENT, MOMENT_S, guide
from actum.cli.demo_clerk import CLERK, clerk
from actum.host.host import Host
from actum.lifecycle.states import RunStatus

# Longer than the demo waits before it gives up: the process shall be killed, never be quicker.
SEARCH_TAKES_S: Final = 600.0


async def ask(url: str, root: str, session_id: str, run_id: str, question: str) -> int:
    """Takes a turn, with a search so slow that there is time to kill this process."""
    async with Host.open(url, agents=[guide(Path(root), search_takes_s=SEARCH_TAKES_S)]) as host:
        await host.run(AGENT, question, session_id=session_id, run_id=run_id)
    return 1  # it was to be killed before


async def finish(url: str, root: str, run_id: str) -> int:
    """Opens the store, which goes on with whatever a dead process left, and waits for the run's end."""
    async with Host.open(url, agents=[guide(Path(root))]) as host:
        output = await host.output(run_id)
    return 0 if output.status is RunStatus.COMPLETED else 1


async def wait_or_stop(url: str, root: str, session_id: str, run_id: str, question: str, pace: str) -> int:
    """Lets the clerk work until it waits for a person, or, at the pace `slow`, until it is canceled."""
    guiding = guide(Path(root), search_takes_s=SEARCH_TAKES_S if pace == "slow" else MOMENT_S)
    async with Host.open(url, agents=[guiding, clerk(guiding, [])]) as host:
        output = await host.run(CLERK, question, session_id=session_id, run_id=run_id)
    return 0 if output.status in (RunStatus.SUSPENDED, RunStatus.CANCELED) else 1


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ask", url, root, session_id, run_id, question]:
            sys.exit(asyncio.run(ask(url, root, session_id, run_id, question)))
        case ["finish", url, root, run_id]:
            sys.exit(asyncio.run(finish(url, root, run_id)))
        case ["clerk", url, root, session_id, run_id, question, pace]:
            sys.exit(asyncio.run(wait_or_stop(url, root, session_id, run_id, question, pace)))
        case _:
            sys.exit(2)
