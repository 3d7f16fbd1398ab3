"""The demo's other processes: one that takes a turn and is killed in the middle of it, one that finishes the turn.

python -m actum.cli.demo_process ask    URL ROOT SESSION_ID RUN_ID QUESTION
python -m actum.cli.demo_process finish URL ROOT RUN_ID
"""

import asyncio
import sys
from pathlib import Path
from typing import Final

from actum.cli.demo_agent import AGENT, guide
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


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ask", url, root, session_id, run_id, question]:
            sys.exit(asyncio.run(ask(url, root, session_id, run_id, question)))
        case ["finish", url, root, run_id]:
            sys.exit(asyncio.run(finish(url, root, run_id)))
        case _:
            sys.exit(2)
