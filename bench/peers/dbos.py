"""DBOS: a step's recorded output is its durable unit; it keeps no transcript. A turn is a workflow of three steps."""

import asyncio
from typing import Any

from bench import content
from bench.peers.driver import Peer, main


class Dbos(Peer):
    """Steps of DBOS in SQLite. It hands no history on, so its turns cannot grow."""

    variants = ("sqlite",)

    def load(self) -> None:
        """Imports DBOS."""
        import dbos

        self.dbos = dbos

    def open(self) -> None:
        """Declares the workflows and launches."""
        self.dbos.DBOS(
            config={
                "name": "bench",
                "system_database_url": f"sqlite:///{self.path}",
                "log_level": "ERROR",
                "console_log_level": "ERROR",
                "application_version": "1",
            }
        )

        @self.dbos.DBOS.step()  # type: ignore[untyped-decorator]  # of the peer
        def recorded(i: int) -> dict[str, Any]:
            return content.message(i)

        @self.dbos.DBOS.workflow()  # type: ignore[untyped-decorator]  # of the peer
        def turn(i: int) -> dict[str, Any]:
            return [recorded(4 * i + k) for k in (1, 2, 3)][-1]

        self.workflow = turn
        self.dbos.DBOS.launch()

    def close(self) -> None:
        """Ends DBOS."""
        self.dbos.DBOS.destroy(workflow_completion_timeout_sec=0)

    async def turn(self, conversation: str, turn: int) -> None:
        """Runs one workflow."""
        with self.dbos.SetWorkflowID(f"{conversation}-{turn}"):
            await asyncio.to_thread(self.workflow, turn)


if __name__ == "__main__":
    main(Dbos)
