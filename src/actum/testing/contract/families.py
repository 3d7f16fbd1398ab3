"""What every engine promises of runs with children: they end first, wait together, and are found again."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from actum.lifecycle.states import RunStatus
from actum.messages.message import Role
from actum.messages.parts import ToolUsePart, tool_use
from actum.planning.planner import PlanInput, PlanResult
from actum.runtime.agent import Agent
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore
from actum.testing.contract.engines import AGENT, GO, RUN, SESSION, Made, sound
from actum.tools.define import tool
from actum.tools.spec import ToolContext

CHILD_AGENT: Final = "worker"


class _Says:
    """A planner that makes its calls, then, once they are answered, says `done`."""

    def __init__(self, *uses: ToolUsePart) -> None:
        self._uses = uses

    async def plan_start(self, plan_input: PlanInput, /) -> PlanResult:
        """The calls, unless the run goes on from where they were answered."""
        messages = await plan_input.prepare_messages()
        answered = messages[-1].role is Role.USER and messages[-1].tool_results
        return PlanResult.final("done") if answered else PlanResult.calls(*self._uses)

    async def plan_resume(self, plan_input: PlanInput, /) -> PlanResult:
        """The answer."""
        return await self.plan_start(plan_input)


class Family:
    """An agent that asks another one, whose tool waits until `opened`; with `confirm` it waits for a person first."""

    def __init__(self, *, confirm: bool = False) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()
        self.ran = Counter[str]()
        self._confirm = confirm

    def agents(self) -> tuple[Agent, Agent]:
        """The parent's agent, and the child's."""

        @tool(confirm=self._confirm, idempotent=True)
        async def work(context: ToolContext) -> str:
            self.ran[context.tool_call_id] += 1
            self.reached.set()
            await self.opened.wait()
            return "worked"

        child = Agent(CHILD_AGENT, planner=_Says(tool_use("work-1", "work", {})), tools=[work])
        asks = tool_use("ask-1", CHILD_AGENT, {"message": "work"})
        return Agent(AGENT, planner=_Says(asks), tools=[child.as_tool()]), child


class FamilyPromises:
    """Uses the fixtures `make_engine` and `store` of `EnginePromises`."""

    async def test_a_child_answers_its_parents_call(self, store: OwnedStore, make_engine: Made) -> None:
        family = Family()
        family.opened.set()
        async with _runtime(store, make_engine, family) as runtime:
            out = await runtime.client(AGENT).run(SESSION, GO, run_id=RUN)
            shot = await runtime.snapshot(RUN)
        assert (out.status, out.text) == (RunStatus.COMPLETED, "done")
        assert [(child.agent_id, child.status) for child in shot.children] == [(CHILD_AGENT, RunStatus.COMPLETED)]
        assert family.ran == {"work-1": 1}
        await sound(store)

    async def test_a_canceled_parent_ends_after_its_child(self, store: OwnedStore, make_engine: Made) -> None:
        family = Family()
        async with _runtime(store, make_engine, family) as runtime, _runtime(store, make_engine, family) as other:
            await runtime.client(AGENT).start(SESSION, GO, run_id=RUN)
            await family.reached.wait()
            await other.cancel_run(RUN, "user_stop")
            await runtime.output(RUN)
            shot = await runtime.snapshot(RUN)
        assert [each.cancellation for each in (shot, *shot.children)] == ["user_stop", "user_stop"]
        page = await store.list_session_run_records(SESSION, limit=1000, types=["run_completed"])
        assert [record.run_id == RUN for record in page.items] == [False, True]
        await sound(store)

    async def test_a_parked_family_goes_on_elsewhere(self, store: OwnedStore, make_engine: Made) -> None:
        family = Family()
        async with _runtime(store, make_engine, family) as runtime:
            await runtime.client(AGENT).start(SESSION, GO, run_id=RUN)
            await family.reached.wait()
        family.opened.set()
        async with _runtime(store, make_engine, family) as second:
            out = await second.ensure_run_completion(RUN)
            shot = await second.snapshot(RUN)
        assert out.text == "done"
        assert len(shot.children) == 1
        await sound(store)

    async def test_an_answer_to_the_parent_resumes_the_child(self, store: OwnedStore, make_engine: Made) -> None:
        family = Family(confirm=True)
        family.opened.set()
        async with _runtime(store, make_engine, family) as runtime:
            first = await runtime.client(AGENT).run(SESSION, GO, run_id=RUN)
        async with _runtime(store, make_engine, family) as second:
            (item,) = await second.pending(SESSION)
            out = await second.continue_run(RUN, {item.item_id: True}, by="somebody")
        assert (first.status, out.status, out.text) == (RunStatus.SUSPENDED, RunStatus.COMPLETED, "done")
        assert family.ran == {"work-1": 1}


@asynccontextmanager
async def _runtime(store: OwnedStore, make_engine: Made, family: Family) -> AsyncIterator[Runtime]:
    async with Runtime(store, make_engine()) as runtime:
        for agent in family.agents():
            runtime.register(agent)
        yield runtime
