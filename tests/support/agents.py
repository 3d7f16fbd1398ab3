"""Agents for tests of a host: one that speaks by heart, and one whose tool comes back when it is told to."""

import asyncio

from actum.messages.parts import tool_use
from actum.runtime.agent import Agent
from actum.testing.script import ScriptedModel
from actum.tools.define import tool


class Errand:
    """A tool that does not come back until it is told to."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.back = asyncio.Event()
        self.canceled = False

    async def wait(self) -> str:
        """Go and come back."""
        self.begun.set()
        try:
            await self.back.wait()
        except asyncio.CancelledError:
            self.canceled = True
            raise
        return "done"

    @property
    def agent(self) -> Agent:
        model = ScriptedModel([tool_use("c1", "errand", {}), "It is done."])
        return Agent("runner", model=model, tools=[tool(name="errand")(self.wait)])


def speaker(*answers: str) -> Agent:
    return Agent("speaker", model=ScriptedModel(answers))
