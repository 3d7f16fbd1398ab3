"""An agent: who plans, what it may use, and the version that tells one from another."""

from typing import Any

import pytest

from actum.base.errors import InvalidValue, RunConflict
from actum.messages.message import system, user
from actum.model.request import ModelSettings
from actum.planning.history import KeepNewestTurns
from actum.records.record import HistoryRef
from actum.runtime.agent import Agent
from actum.runtime.runtime import Ask
from actum.storage.memory import MemoryBackend
from actum.testing import samples
from actum.testing.script import ScriptedModel, ScriptedPlanner
from actum.tools.define import tool
from tests.support.scenario import AGENT, SESSION, Cast, begun, playing


def look(path: str) -> str:
    """Look at a file."""
    return path


@tool(confirm=True)
def erase(path: str) -> str:
    """Erase a file."""
    return path


BAD: dict[str, dict[str, Any]] = {
    "no id": {"agent_id": "", "model": "openai:gpt"},
    "neither model nor planner": {"agent_id": "a"},
    "a model without its provider": {"agent_id": "a", "model": "gpt-4.1"},
    "a provider that is not known": {"agent_id": "a", "model": "opnai:gpt-4.1"},
    "both": {"agent_id": "a", "model": "openai:gpt", "planner": ScriptedPlanner()},
    "instructions for a planner": {"agent_id": "a", "planner": ScriptedPlanner(), "instructions": "x"},
    "settings for a planner": {"agent_id": "a", "planner": ScriptedPlanner(), "settings": ModelSettings()},
    "no planner at all": {"agent_id": "a", "planner": object()},
    "two tools of one name": {"agent_id": "a", "model": "openai:gpt", "tools": [look, look]},
}


@pytest.mark.parametrize("given", BAD.values(), ids=BAD)
def test_an_agent_that_cannot_be_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        Agent(**given)


@pytest.mark.parametrize("turns", [0, -1, 1.5, True])
def test_a_policy_keeps_whole_turns_from_one_on(turns: Any) -> None:
    with pytest.raises(InvalidValue):
        KeepNewestTurns(turns)


def test_a_version_tells_agents_apart_and_is_the_same_again() -> None:
    def version(**given: Any) -> str:
        return Agent("a", **{"model": ScriptedModel(model="m"), "instructions": "x", "tools": [look], **given}).version

    others = [
        version(instructions="y"),
        version(model=ScriptedModel(model="n")),
        version(tools=[]),
    ]
    assert version() == version()
    assert len({version(), *others}) == 4
    assert repr(Agent("a", model="openai:gpt", tools=[look])) == "Agent('a', tools=['look'])"


async def test_a_run_that_was_begun_by_hand_is_nobodys_repeat() -> None:
    store = await begun(MemoryBackend())
    await store.start_root_run(samples.root("by-hand", SESSION))
    async with playing(store, Cast("done")) as worker:
        with pytest.raises(RunConflict):
            await worker.client.start(SESSION, [user("go")], run_id="by-hand")


async def test_what_an_application_asks_of_the_runtime_itself_is_checked_too() -> None:
    store = await begun(MemoryBackend())
    async with playing(store, Cast("done")) as worker:
        with pytest.raises(InvalidValue):
            await worker.runtime.start(Ask(agent_id="nobody", messages=(user("go"),)))
        beside = HistoryRef(run_id="r", through="x")
        with pytest.raises(InvalidValue):
            await worker.runtime.start(
                Ask(agent_id=AGENT, session_id=SESSION, messages=(system("late"), user("go")), history=beside)
            )
