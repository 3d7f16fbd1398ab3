from pathlib import Path
from typing import Any

import pytest

from actum.base.clock import now
from actum.base.errors import InvalidValue
from actum.lifecycle.states import RunStatus
from actum.messages.message import user
from actum.messages.parts import tool_use
from actum.runtime.agent import Agent
from actum.runtime.runtime import Runtime
from actum.runtime.transcripts import build_messages_from_run_log
from actum.storage.opening import open_store
from actum.testing.script import ScriptedModel, ScriptedPlanner
from actum.tools.define import tool
from actum.transcript.validate import validate_planner_transcript


@tool
def word_count(path: str) -> int:
    """Count the words of a text file."""
    return len(Path(path).read_text(encoding="utf-8").split())


async def test_a_planner_of_plain_code_answers() -> None:
    async with open_store("memory:") as store:
        await store.create_session("chat-session-123", now())
        runtime = Runtime(store)
        runtime.register(Agent("chat", planner=ScriptedPlanner(["hello"])))
        out = await runtime.client("chat").run("chat-session-123", [user("hi")], turn_id="turn-1")
        messages = await build_messages_from_run_log(store, out.run_id)
        validate_planner_transcript(messages)
        page = await store.list_run_records(out.run_id)
        assert out.status is RunStatus.COMPLETED
        assert out.text == "hello"
        assert [message.text for message in messages] == ["hi", "hello"]
        assert page.items[0].type == "run_started"
        assert page.items[-1].type == "run_completed"


async def test_a_model_uses_a_tool(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("three short words", encoding="utf-8")
    model = ScriptedModel([tool_use("c1", "word_count", {"path": str(page)}), "It has 3 words."])
    async with open_store(f"sqlite:///{tmp_path}/chat.db") as store:
        await store.create_session("s", now())
        runtime = Runtime(store)
        runtime.register(Agent("helper", model=model, instructions="Be brief.", tools=[word_count]))
        out = await runtime.client("helper").run("s", [user("How long is README.md?")])
        messages = await build_messages_from_run_log(store, out.run_id)
        await runtime.close()
    assert out.text == "It has 3 words."
    validate_planner_transcript(messages)
    assert messages[2].tool_results[0].content == 3


@pytest.mark.parametrize("wrong", [None, 5, "", [], {}])
async def test_what_names_no_run_agent_or_prepared_run_is_refused(wrong: Any) -> None:
    async with open_store("memory:") as store:
        runtime = Runtime(store)
        with pytest.raises(InvalidValue):
            runtime.register(wrong)
        with pytest.raises(InvalidValue):
            runtime.client(wrong)
        for verb in (
            runtime.output,
            runtime.snapshot,
            runtime.continuations,
            runtime.prompt_refs,
            runtime.ensure_run_completion,
            runtime.start_prepared,
        ):
            with pytest.raises(InvalidValue):
                await verb(wrong)
