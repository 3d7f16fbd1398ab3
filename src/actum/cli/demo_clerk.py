"""The demo's second agent: it asks the first one as a tool, and keeps a note once a person has agreed."""

from typing import Final

from actum.messages.parts import tool_use
from actum.planning.planner import PlanInput, PlanResult, PlanResumeInput
from actum.runtime.agent import Agent
from actum.tools.define import tool

CLERK: Final = "clerk"
ASK: Final = "ask_guide"
KEEP: Final = "keep_note"


def clerk(guide: Agent, kept: list[str]) -> Agent:
    """The agent that asks `guide` and notes its answer in `kept`, after a person has agreed."""

    @tool(name=KEEP, confirm=True)
    def keep_note(text: str) -> str:
        """Keep a note."""
        kept.append(text)
        return f"kept: {text}"

    return Agent(CLERK, planner=ClerkPlanner(), tools=[guide.as_tool(ASK, "Ask about the files."), keep_note])


class ClerkPlanner:
    """Asks the guide, notes what it says, and answers."""

    async def plan_start(self, plan_input: PlanInput, /) -> PlanResult:
        """One call: the question is the child's whole input."""
        question = (await plan_input.prepare_messages())[-1].text
        return PlanResult.calls(tool_use("ask-1", ASK, {"message": question}))

    async def plan_resume(self, plan_input: PlanResumeInput, /) -> PlanResult:
        """A note of the first line that the guide said, and then the answer."""
        uses = (await plan_input.prepare_messages())[-2].tool_uses
        [result] = plan_input.results
        if uses[0].name == ASK and not result.is_error:
            first = str(result.content).splitlines()[0]
            return PlanResult.calls(tool_use("keep-1", KEEP, {"text": first}))
        return PlanResult.final(str(result.content))
