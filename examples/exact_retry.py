"""A client that lost the answer sends the same turn again: it gets the first answer, and nothing is done twice."""

import asyncio

from actum import Agent, Host, PlanInput, PlanResult, PlanResumeInput, RunConflict


class Ordering:
    """A planner with an effect that must not happen twice."""

    def __init__(self) -> None:
        self.orders = 0

    async def plan_start(self, _: PlanInput) -> PlanResult:
        """Order once for each time that it is asked."""
        self.orders += 1
        return PlanResult.final(f"order {self.orders} is placed")

    async def plan_resume(self, _: PlanResumeInput) -> PlanResult:
        """Never asked: this planner calls no tools."""
        raise AssertionError("no tool was called")


async def main() -> None:
    """The same request twice, and then another one under its id."""
    async with Host.open("memory:", agents=[Agent("shop", planner=Ordering())]) as host:
        session = await host.create_session()
        for _ in range(2):
            result = await host.run("shop", "one lamp", session_id=session.session_id, run_id="request-7")
            print(result.text)
        try:
            await host.run("shop", "two lamps", session_id=session.session_id, run_id="request-7")
        except RunConflict as error:
            print(error.code)


if __name__ == "__main__":
    asyncio.run(main())
