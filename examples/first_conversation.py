"""Two turns of a conversation, kept in a file. The planner is plain code: no model and no key are needed.

Run it twice: the conversation goes on where it stood.
"""

import asyncio
import sys

from actum import Agent, Host, PlanInput, PlanResult, PlanResumeInput


class Counting:
    """A planner that knows how many questions the conversation holds."""

    async def plan_start(self, plan_input: PlanInput) -> PlanResult:
        """Answer from the transcript, as any planner does."""
        messages = await plan_input.prepare_messages()
        asked = [message.text for message in messages if message.role == "user"]
        return PlanResult.final(f"That is question {len(asked)}; the first one was: {asked[0]}")

    async def plan_resume(self, _: PlanResumeInput) -> PlanResult:
        """Never asked: this planner calls no tools."""
        raise AssertionError("no tool was called")


async def main(url: str) -> None:
    """Two more questions in the session `first-conversation`."""
    async with Host.open(url, agents=[Agent("counter", planner=Counting())]) as host:
        session = await host.create_session("first-conversation", metadata={"user_id": "user-123"})
        for question in ("How does this begin?", "And how does it go on?"):
            result = await host.run("counter", question, session_id=session.session_id)
            print(result.text)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///first.db"))
