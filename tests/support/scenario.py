"""A language for stories of runs: what the planner says, what the tools do, and the workers that play it.

A `Cast` is shared by all workers of a story, so that what ran how often is counted over all of them, crashed ones
included. Its planner speaks by step, not by count: whoever asks again for a step hears the same.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from actum.engines.local import LocalEngine
from actum.loop.world import RunRequest
from actum.messages.message import Message, Role, assistant, user
from actum.messages.parts import tool_use
from actum.planning.history import HistoryPolicy
from actum.planning.planner import PlanInput, PlanResult, PlanResumeInput
from actum.runtime.agent import Agent
from actum.runtime.runtime import AgentClient, Runtime
from actum.storage.backend import Backend
from actum.storage.contract import OwnedStore, Store
from actum.storage.local import LocalStore
from actum.testing.samples import T0
from actum.testing.script import ManualClock
from actum.tools.define import tool
from actum.tools.spec import ToolContext, ToolSpec
from tests.support.frail import Gate

__all__ = [
    "AGENT",
    "RUN",
    "SESSION",
    "WATCH_S",
    "Cast",
    "Gate",
    "Waits",
    "Worker",
    "asks",
    "begun",
    "onward",
    "playing",
    "request",
    "uses",
]

AGENT = "helper"
SESSION = "s1"
RUN = "run-1"
# Long enough to be told from every pause: a wait of so many seconds is the watch for a stop from elsewhere.
WATCH_S = 1000.0

Plan: TypeAlias = "str | Message | PlanResult | BaseException | object"
PlanStep: TypeAlias = "Plan | Callable[[PlanInput], Awaitable[Plan]]"


def uses(*names: str) -> Message:
    """An assistant message that uses these tools; `id=name` for an id that is not the tool's name."""
    pairs = [name.rpartition("=") for name in names]
    return assistant(*[tool_use(call_id or name, name, {}) for call_id, _, name in pairs])


def asks(*names: str) -> Message:
    """An assistant message that asks these agents, each with the id of its call; `id=name` as in `uses`."""
    pairs = [name.rpartition("=") for name in names]
    return assistant(
        *[tool_use(call_id or name, name, {"message": f"do {call_id or name}"}) for call_id, _, name in pairs]
    )


def onward(*plans: "Plan") -> "Callable[[PlanInput], Awaitable[Plan]]":
    """Plans by how far the transcript has come, also through the runs that it goes on from.

    Each message of the user's side, the results of a group included, takes the story one plan on.
    """

    async def plan(plan_input: PlanInput) -> Plan:
        messages = await plan_input.prepare_messages()
        said = sum(message.role is Role.USER for message in messages)
        return plans[min(said, len(plans)) - 1]

    return plan


class Cast:
    """Planner and tools of a story. `ran` counts tools by call id, `planned` plans by step.

    The casts that it asks, as tools of its own, are registered with it.
    """

    def __init__(self, *plans: PlanStep, agent_id: str = AGENT) -> None:
        self.agent_id = agent_id
        self.asked: list[Cast] = []
        self._plans = plans
        self._tools: list[ToolSpec] = []
        self.ran = Counter[str]()
        self.planned = Counter[int]()
        self.inputs: list[PlanInput] = []
        self.contexts: list[ToolContext] = []

    def returns(self, name: str, value: object = "ok", **options: Any) -> "Cast":
        """A tool that returns this, or passes this gate; a tool that raises, where an error is given."""

        async def act(context: ToolContext) -> Any:
            self._enter(context)
            if isinstance(value, Gate):
                return await value.passed()
            if isinstance(value, BaseException):
                raise value
            return value

        self._tools.append(tool(name=name, **options)(act))
        return self

    def sync(self, name: str, value: object = "ok", **options: Any) -> "Cast":
        """The same as a sync function, which runs in a thread."""

        def act(context: ToolContext) -> Any:
            self._enter(context)
            if isinstance(value, BaseException):
                raise value
            return value

        self._tools.append(tool(name=name, **options)(act))
        return self

    def does(self, name: str, work: Callable[[], Awaitable[object]], **options: Any) -> "Cast":
        """A tool that does what the test wrote."""

        async def act(context: ToolContext) -> Any:
            self._enter(context)
            return await work()

        self._tools.append(tool(name=name, **options)(act))
        return self

    def asking(self, other: "Cast", name: str | None = None, **options: Any) -> "Cast":
        """Another cast's agent as a tool, under its agent's id unless named."""
        self.asked.append(other)
        self._tools.append(other.agent().as_tool(name, **options))
        return self

    def takes(self, function: Callable[..., object]) -> "Cast":
        """A plain function, or a tool made of one, which is not counted."""
        self._tools.append(function if isinstance(function, ToolSpec) else tool(function))
        return self

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools so far."""
        return tuple(self._tools)

    def agent(self, history: HistoryPolicy | None = None) -> Agent:
        """The agent of the story."""
        return Agent(self.agent_id, planner=self, tools=self._tools, history=history)

    @property
    def agents(self) -> dict[str, Agent]:
        """The agents of all casts that are asked in this story, by id."""
        found: dict[str, Agent] = {}
        for other in self.asked:
            found |= {other.agent_id: other.agent(), **other.agents}
        return found

    async def plan_start(self, plan_input: PlanInput, /) -> PlanResult:
        """What the script says for the first step."""
        return await self._plan(plan_input)

    async def plan_resume(self, plan_input: PlanResumeInput, /) -> PlanResult:
        """What the script says for this step."""
        return await self._plan(plan_input)

    def _enter(self, context: ToolContext) -> None:
        self.ran[context.tool_call_id] += 1
        self.contexts.append(context)

    async def _plan(self, plan_input: PlanInput) -> PlanResult:
        self.inputs.append(plan_input)
        self.planned[plan_input.run.step] += 1
        plan = self._plans[min(plan_input.run.step, len(self._plans) - 1)]
        said: Any = await plan(plan_input) if callable(plan) else plan
        if isinstance(said, BaseException):
            raise said
        if isinstance(said, str):
            return PlanResult.final(said)
        if isinstance(said, Message):
            return PlanResult.calls(said) if said.tool_uses else PlanResult.final(said)
        wrong: PlanResult = said  # nonsense on purpose, in the tests of nonsense
        return wrong


class Waits:
    """Waiting as an argument: pauses pass at once, the watch for a stop from elsewhere looks when the test says so."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self.watching = asyncio.Event()
        self._look = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        """Waits for so many seconds of the story."""
        if seconds == WATCH_S:
            self.watching.set()
            await self._look.wait()
            await asyncio.sleep(0)
            return
        self.pauses.append(seconds)
        await asyncio.sleep(0)

    def look(self) -> None:
        """The watch looks into the store, now and from now on at every turn."""
        self._look.set()

    def look_away(self) -> None:
        """The watch waits again."""
        self._look.clear()


class Worker:
    """One process of a story: a runtime with an engine of its own over a store that others may share."""

    def __init__(
        self,
        store: Store,
        cast: Cast,
        *,
        history: HistoryPolicy | None = None,
        waits: Waits | None = None,
        clock: ManualClock | None = None,
        **options: Any,
    ) -> None:
        self.store = store
        self.waits = waits or Waits()
        self.clock = clock or ManualClock(T0)
        self.engine = LocalEngine(clock=self.clock, wait=self.waits, watch_s=WATCH_S)
        self.runtime = Runtime(store, self.engine, clock=self.clock, wait=self.waits, **options)
        self.runtime.register(cast.agent(history))
        for agent in cast.agents.values():
            self.runtime.register(agent)

    @property
    def client(self) -> AgentClient:
        """The client of the story's agent."""
        return self.runtime.client(AGENT)

    async def start(self, run_id: str = RUN, text: str = "go", **options: Any) -> None:
        """Starts the story's run."""
        await self.client.start(SESSION, [user(text)], run_id=run_id, **options)

    async def play(self, run_id: str = RUN, text: str = "go", **options: Any) -> None:
        """Starts the story's run and waits for its end."""
        await self.start(run_id, text, **options)
        await self.runtime.output(run_id)

    async def recover(self) -> tuple[str, ...]:
        """Takes up what is there, and waits for its end."""
        taken = await self.runtime.recover()
        for run_id in taken:
            await self.runtime.output(run_id)
        return taken


@asynccontextmanager
async def playing(
    store: Store, cast: Cast, *, history: HistoryPolicy | None = None, **options: Any
) -> AsyncIterator[Worker]:
    """A worker, closed on leaving; its runs are then parked. `options` are its runtime's."""
    worker = Worker(store, cast, history=history, **options)
    try:
        yield worker
    finally:
        await worker.runtime.close()


def request(run_id: str = RUN, text: str = "go") -> RunRequest:
    """What an engine accepts for the story's run."""
    return RunRequest(
        run_id=run_id,
        agent_id=AGENT,
        agent_version="1",
        session_id=SESSION,
        messages=(user(text),),
        requested_at=T0,
        request_digest=text,
        options={"engine": "local"},
    )


async def begun(backend: Backend) -> OwnedStore:
    """A store over this backend, in which the story's session is active."""
    store = LocalStore(backend)
    await store.create_session(SESSION, T0)
    return store
