"""Prompts of the registry in runs: which words a model was given, and which version that was."""

import pytest

from actum.base.errors import InvalidValue
from actum.messages.message import user
from actum.messages.parts import tool_use
from actum.planning.planner import PlanInput
from actum.planning.prompt import PromptRegistry, PromptUse
from actum.records.failures import FailureKind
from actum.records.kinds import PromptRendered
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.output import RunOutput
from actum.runtime.runtime import Runtime
from actum.storage.contract import OwnedStore
from actum.storage.memory import MemoryBackend
from actum.testing.script import ScriptedModel
from tests.support.runlogs import RunLog, proven
from tests.support.scenario import AGENT, RUN, SESSION, Cast, begun, playing, uses


@pytest.fixture
async def store() -> OwnedStore:
    return await begun(MemoryBackend())


@pytest.fixture
def prompts() -> PromptRegistry:
    return PromptRegistry({"polite": "You speak to {who}. Be polite."})


def rendered(log: RunLog) -> list[PromptRendered]:
    return [each for each in log.payloads(RecordType.PROMPT_RENDERED) if isinstance(each, PromptRendered)]


async def _asked(store: OwnedStore, prompts: PromptRegistry | None, model: ScriptedModel) -> RunOutput:
    instructions = PromptUse("polite", lambda run: {"who": run.session_metadata.get("name", "a guest")})
    runtime = Runtime(store, prompts=prompts)
    runtime.register(Agent(AGENT, model=model, instructions=instructions, tools=Cast().returns("a").tools))
    out = await runtime.client(AGENT).run(SESSION, [user("hi")], run_id=RUN)
    await runtime.close()
    return out


async def test_instructions_are_rendered_for_the_run_and_recorded_once(
    store: OwnedStore, prompts: PromptRegistry
) -> None:
    await store.set_session_metadata(SESSION, {"name": "Ada"})
    model = ScriptedModel([tool_use("c1", "a", {}), "hello"])
    await _asked(store, prompts, model)
    assert [request.messages[0].text for request in model.requests] == ["You speak to Ada. Be polite."] * 2
    version = prompts.get("polite").version
    assert rendered(await proven(store, RUN)) == [PromptRendered(prompt_id="polite", version=version)]


async def test_a_session_that_is_held_to_a_version_gets_that_one(store: OwnedStore, prompts: PromptRegistry) -> None:
    old = prompts.get("polite").version
    prompts.add("polite", "Be rude to {who}.")
    await store.set_session_metadata(SESSION, prompts.overridden({"name": "Ada"}, "polite", old))
    model = ScriptedModel(["hello"])
    await _asked(store, prompts, model)
    assert model.requests[0].messages[0].text == "You speak to Ada. Be polite."
    record = PromptRendered(prompt_id="polite", version=old, scope=f"session:{SESSION}")
    assert rendered(await proven(store, RUN)) == [record]


async def test_a_runtime_without_prompts_fails_the_plan_that_uses_one(store: OwnedStore) -> None:
    model = ScriptedModel(["never"])
    out = await _asked(store, None, model)
    assert out.failure is not None
    assert (out.failure.kind, out.failure.code) == (FailureKind.PLANNER, "invalid_value")
    assert model.left == 1


async def test_a_planner_renders_prompts_and_each_version_is_recorded(
    store: OwnedStore, prompts: PromptRegistry
) -> None:
    async def plan(plan_input: PlanInput) -> object:
        said = plan_input.prompt("polite", {"who": f"step {plan_input.run.step}"})
        if plan_input.run.step == 0:
            prompts.add("polite", "{who}")
            return uses("a")
        return said

    async with playing(store, Cast(plan).returns("a"), prompts=prompts) as worker:
        await worker.play()
    log = await proven(store, RUN)
    assert log.messages[-1].text == "step 1"
    assert [each.version for each in rendered(log)] == [each.version for each in prompts.versions("polite")]


async def test_a_planner_that_asks_for_what_is_not_there_is_told(store: OwnedStore, prompts: PromptRegistry) -> None:
    async def plan(plan_input: PlanInput) -> object:
        with pytest.raises(InvalidValue):
            plan_input.prompt("nobody")
        with pytest.raises(InvalidValue):
            plan_input.prompt("polite")
        return "told"

    async with playing(store, Cast(plan), prompts=prompts) as worker:
        await worker.play()
    assert (await proven(store, RUN)).messages[-1].text == "told"
