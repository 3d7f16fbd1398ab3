"""Watch a turn as it happens, leave in the middle, and come back without missing or repeating an event."""

import asyncio

from actum import Agent, Host, PlanInput, PlanResult, PlanResumeInput, RunStreamEnd, tool, tool_use


@tool
def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: a word"


class Looking:
    """A planner that looks one word up."""

    async def plan_start(self, plan_input: PlanInput) -> PlanResult:
        """Look the last word up."""
        messages = await plan_input.prepare_messages()
        return PlanResult.calls(tool_use("call-1", "look_up", {"word": messages[-1].text.split()[-1]}))

    async def plan_resume(self, plan_input: PlanResumeInput) -> PlanResult:
        """Answer with what was found."""
        return PlanResult.final(str(plan_input.results[0].content))


async def main() -> None:
    """The first two events from one watcher, the rest from another."""
    agent = Agent("looking", planner=Looking(), tools=[look_up])
    async with Host.open("memory:", agents=[agent]) as host:
        session = await host.create_session()
        last = None
        events = host.stream(agent, "What is ledger", session_id=session.session_id, run_id="turn-1")
        async for event in events:
            last = getattr(event, "id", None) or last
            print(event.type)
            if event.type == "tool_start":
                break
        await events.aclose()  # leaving detaches; the run goes on
        print("-- back again")
        async for event in host.events("turn-1", after=last):
            print(event.type)
            if isinstance(event, RunStreamEnd):
                break


if __name__ == "__main__":
    asyncio.run(main())
