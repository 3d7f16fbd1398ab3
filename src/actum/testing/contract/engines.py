"""What every engine promises: it accepts a run once, brings it to its one end, and lets go of it when it closes."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import pytest

from actum.base.errors import HeadMoved, RunConflict, RunNotFound
from actum.engines.contract import Engine
from actum.lifecycle.states import RunStatus
from actum.messages.message import assistant, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.planning.planner import PlanInput, PlanResult, PlanResumeInput
from actum.records.record import Follows
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.runtime import Runtime
from actum.runtime.transcripts import build_messages_from_run_log
from actum.storage.contract import OwnedStore
from actum.storage.opening import open_store
from actum.testing.history import findings, read_everything
from actum.testing.samples import T0
from actum.tools.define import tool
from actum.tools.spec import ToolContext
from actum.transcript.validate import validate_planner_transcript

Made: TypeAlias = Callable[[], Engine]

AGENT: Final = "helper"
SESSION: Final = "s1"
RUN: Final = "run-1"
GO: Final = (user("go"),)


class Story:
    """Calls `quick` and `slow` side by side, then answers `done`. `slow` waits until `opened`; `ran` counts by tool.

    Several runtimes may play one story: the planner speaks by step, so whoever asks again hears the same.
    """

    def __init__(self, *, error: Exception | None = None) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()
        self.ran = Counter[str]()
        self.planned = Counter[int]()
        self._error = error

    def agent(self) -> Agent:
        """The agent of the story."""

        @tool
        async def quick(_context: ToolContext) -> str:
            self.ran["quick"] += 1
            return "quickly done"

        @tool
        async def slow(_context: ToolContext) -> str:
            self.ran["slow"] += 1
            self.reached.set()
            await self.opened.wait()
            return "slowly done"

        return Agent(AGENT, planner=self, tools=[quick, slow])

    async def plan_start(self, plan_input: PlanInput, /) -> PlanResult:
        """The two calls, or the story's error."""
        self.planned[plan_input.run.step] += 1
        if self._error is not None:
            raise self._error
        return PlanResult.calls(assistant(tool_use("quick", "quick", {}), tool_use("slow", "slow", {})))

    async def plan_resume(self, plan_input: PlanResumeInput, /) -> PlanResult:
        """The answer."""
        self.planned[plan_input.run.step] += 1
        return PlanResult.final("done")


class EnginePromises:
    """The fixture `make_engine` gives engines, each as another process would have it, over one `store`."""

    @pytest.fixture
    async def store(self) -> AsyncIterator[OwnedStore]:
        """A store with an active session; in memory unless an engine needs another."""
        async with open_store("memory:") as store:
            await store.create_session(SESSION, T0)
            yield store

    async def test_a_run_comes_to_its_end(self, store: OwnedStore, make_engine: Made) -> None:
        story = Story()
        story.opened.set()
        async with _runtime(store, make_engine, story) as runtime:
            out = await runtime.client(AGENT).run(SESSION, GO, run_id=RUN)
            completion = await runtime.engine.completion(RUN)
            assert completion == await runtime.engine.wait(RUN)
        run = await store.load_run(RUN)
        assert (out.status, out.text) == (RunStatus.COMPLETED, "done")
        assert completion is not None
        assert (completion.run_id, completion.status, completion.completed_at) == (RUN, run.status, run.ended_at)
        assert story.ran == {"quick": 1, "slow": 1}
        await sound(store)

    async def test_a_run_that_fails_says_why(self, store: OwnedStore, make_engine: Made) -> None:
        async with _runtime(store, make_engine, Story(error=ValueError("no idea"))) as runtime:
            out = await runtime.client(AGENT).run(SESSION, GO, run_id=RUN)
        assert out.status is RunStatus.FAILED
        assert out.failure is not None
        assert "no idea" in out.failure.message
        await sound(store)

    async def test_a_start_is_durable_when_it_returns(self, store: OwnedStore, make_engine: Made) -> None:
        async with _runtime(store, make_engine, Story()) as runtime:
            handle = await runtime.client(AGENT).start(SESSION, GO)
            assert (await store.load_run(handle.run_id)).status is RunStatus.RUNNING
            assert await runtime.engine.completion(handle.run_id) is None

    async def test_an_exact_repeat_is_the_same_run(self, store: OwnedStore, make_engine: Made) -> None:
        story = Story()
        async with _runtime(store, make_engine, story) as runtime, _runtime(store, make_engine, story) as other:
            starts = [each.client(AGENT).start(SESSION, GO, run_id=RUN) for each in (runtime, runtime, other)]
            handles = await asyncio.gather(*starts)
            story.opened.set()
            outs = [await handle.wait() for handle in handles]
            outs.append(await other.client(AGENT).run(SESSION, GO, run_id=RUN))
        assert all(out == outs[0] for out in outs)
        assert story.ran == {"quick": 1, "slow": 1}
        assert story.planned == {0: 1, 1: 1}
        await sound(store)

    async def test_another_request_under_its_id_is_a_conflict(self, store: OwnedStore, make_engine: Made) -> None:
        story = Story()
        async with _runtime(store, make_engine, story) as runtime, _runtime(store, make_engine, story) as other:
            handle = await runtime.client(AGENT).start(SESSION, GO, run_id=RUN)
            for each in (runtime, other):
                with pytest.raises(RunConflict):
                    await each.client(AGENT).start(SESSION, [user("else")], run_id=RUN)
            story.opened.set()
            assert (await handle.wait()).text == "done"
        await sound(store)

    async def test_a_refused_start_leaves_no_run_and_a_new_try_works(
        self, store: OwnedStore, make_engine: Made
    ) -> None:
        story = Story()
        story.opened.set()
        async with _runtime(store, make_engine, story) as runtime:
            client = runtime.client(AGENT)
            await client.run(SESSION, GO, run_id=RUN, follows=Follows(run_id=None))
            with pytest.raises(HeadMoved):
                await client.start(SESSION, GO, run_id="run-2", follows=Follows(run_id=None))
            with pytest.raises(RunNotFound):
                await runtime.engine.completion("run-2")
            with pytest.raises(RunNotFound):
                await runtime.engine.wait("run-2")
            out = await client.run(SESSION, GO, run_id="run-3", follows=Follows(run_id=RUN))
        assert out.text == "done"
        await sound(store)

    async def test_leaving_a_wait_leaves_the_run_alone(self, store: OwnedStore, make_engine: Made) -> None:
        story = Story()
        async with _runtime(store, make_engine, story) as runtime:
            waiting = asyncio.ensure_future(runtime.client(AGENT).run(SESSION, GO, run_id=RUN))
            await story.reached.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            story.opened.set()
            assert (await runtime.output(RUN)).text == "done"
        await sound(store)

    @pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
    async def test_a_cancellation_is_heard_and_closes_what_is_open(
        self, store: OwnedStore, make_engine: Made, *, elsewhere: bool
    ) -> None:
        story = Story()
        async with _runtime(store, make_engine, story) as runtime, _runtime(store, make_engine, story) as other:
            await runtime.client(AGENT).start(SESSION, GO, run_id=RUN)
            await story.reached.wait()
            await (other if elsewhere else runtime).cancel_run(RUN, "user_stop")
            out = await runtime.output(RUN)
            assert await other.output(RUN) == out
        assert (out.status, out.cancellation) == (RunStatus.CANCELED, "user_stop")
        result = (await _results(store))["slow"]
        assert result.is_error
        assert result.content["error"] == "canceled"
        assert story.planned == {0: 1}
        await sound(store)

    async def test_an_engines_own_cancel_says_so(self, store: OwnedStore, make_engine: Made) -> None:
        story = Story()
        async with _runtime(store, make_engine, story) as runtime:
            await runtime.client(AGENT).start(SESSION, GO, run_id=RUN)
            await story.reached.wait()
            await runtime.engine.cancel(RUN, "maintenance")
            out = await runtime.output(RUN)
        assert out.cancellation == "engine_canceled"
        assert (await store.load_run(RUN)).cancellation_reason is None
        await sound(store)

    async def test_what_is_parked_goes_on_elsewhere(self, store: OwnedStore, make_engine: Made) -> None:
        story = Story()
        async with _runtime(store, make_engine, story) as runtime:
            await runtime.client(AGENT).start(SESSION, GO, run_id=RUN)
            await story.reached.wait()
            async with _runtime(store, make_engine, story) as other:
                assert await other.recover() == ()
        assert (await store.load_run(RUN)).status is RunStatus.RUNNING
        story.opened.set()
        async with _runtime(store, make_engine, story) as second, _runtime(store, make_engine, story) as third:
            taken = await asyncio.gather(second.recover(), third.recover())
            outs = [await each.output(RUN) for each in (second, third)]
        assert sorted(taken) == [(), (RUN,)]
        assert [out.text for out in outs] == ["done", "done"]
        assert (await _results(store))["slow"].content["error"] == "outcome_unknown"
        assert story.ran["slow"] == 1
        assert story.planned == {0: 1, 1: 1}
        await sound(store)

    async def test_an_engine_belongs_to_one_runtime(self, store: OwnedStore, make_engine: Made) -> None:
        engine = make_engine()
        async with Runtime(store, engine):
            with pytest.raises(RuntimeError):
                Runtime(store, engine)


@asynccontextmanager
async def _runtime(store: OwnedStore, make_engine: Made, story: Story) -> AsyncIterator[Runtime]:
    async with Runtime(store, make_engine()) as runtime:
        runtime.register(story.agent())
        yield runtime


async def _results(store: OwnedStore) -> dict[str, ToolResultPart]:
    messages = await build_messages_from_run_log(store, RUN)
    return {part.tool_use_id: part for message in messages for part in message.tool_results}


async def sound(store: OwnedStore) -> None:
    """Everything that the store shows can be true; each run has one end and a lawful transcript."""
    kept = await read_everything(store)
    assert findings(kept) == []
    for run in kept.runs:
        assert [record.type for record in kept.of(run)].count(RecordType.RUN_COMPLETED) == 1
        validate_planner_transcript(await build_messages_from_run_log(store, run.run_id))
