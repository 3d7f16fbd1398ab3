"""A tool is a typed function. Both calls of this plan run at once; each result is on record before the plan goes on."""

import asyncio
import sys
from pathlib import Path

from actum import Agent, Host, PlanInput, PlanResult, PlanResumeInput, tool, tool_use


@tool
def word_count(path: str) -> int:
    """Count the words of a text file."""
    return len(Path(path).read_text(encoding="utf-8").split())


class Comparing:
    """A planner that counts two files and names the longer one."""

    async def plan_start(self, plan_input: PlanInput) -> PlanResult:
        """Two calls in one plan."""
        messages = await plan_input.prepare_messages()
        first, second = messages[-1].text.split(" and ")
        return PlanResult.calls(
            tool_use("first", "word_count", {"path": first}), tool_use("second", "word_count", {"path": second})
        )

    async def plan_resume(self, plan_input: PlanResumeInput) -> PlanResult:
        """The results stand in the order of the calls; a tool that failed says so, and nothing is raised."""
        first, second = plan_input.results
        if first.is_error or second.is_error:
            return PlanResult.final("One of them cannot be read.")
        return PlanResult.final(f"The first has {first.content} words, the second {second.content}.")


async def main(first: str, second: str) -> None:
    """Compare two files in a run without a session."""
    agent = Agent("comparing", planner=Comparing(), tools=[word_count])
    async with Host.open("memory:", agents=[agent]) as host:
        print((await host.run(agent, f"{first} and {second}")).text)


if __name__ == "__main__":
    asyncio.run(main(*(sys.argv[1:] if len(sys.argv) > 2 else [__file__, __file__])))  # noqa: PLR2004 - two files
