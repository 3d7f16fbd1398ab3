"""`make demo-model`: a real language model leads an agent, over OpenAI's and Anthropic's wire.

The model and its server are 130 MB, so that test runs only where `make demo-model` ran before, or with
ACTUM_REAL_MODEL=1, which installs them. The rest looks at what stands around the model.
"""

import os
import subprocess

import pytest

from actum.base.errors import MissingExtra
from actum.cli.demo_model import ForcedModel, examples, served
from actum.messages.message import assistant, tool_results, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.model.request import ModelRequest, ToolDefinition
from actum.testing.script import ScriptedModel
from actum.transcript.validate import validate_planner_transcript
from tests.support.project import ROOT

INSTALLED = (ROOT / ".venv-model" / "model.stamp").exists() or os.environ.get("ACTUM_REAL_MODEL") == "1"
TOOL = ToolDefinition(name="look", input_schema={"type": "object", "properties": {}})
ASKED = (user("hi"), assistant(tool_use("t1", "look", {})), tool_results(ToolResultPart(tool_use_id="t1", content=1)))


@pytest.mark.real_model
@pytest.mark.skipif(not INSTALLED, reason="no real model here: run `make demo-model` once, or set ACTUM_REAL_MODEL=1")
def test_a_real_model_calls_the_right_tool_over_both_wires() -> None:
    make = ["make", "--no-print-directory", "demo-model"]
    told = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.count("[{'path': 'README.md'}]") == 2


def test_the_examples_are_a_lawful_transcript() -> None:
    validate_planner_transcript((*examples(), user("and now?")))


async def test_the_model_must_call_a_tool_when_asked_and_has_none_when_answered() -> None:
    scripted = ScriptedModel(["so", "so"])
    forced = ForcedModel(scripted)
    await forced.complete(ModelRequest(model=forced.model, messages=ASKED[:1], tools=(TOOL,)))
    assert [chunk async for chunk in forced.stream(ModelRequest(model="m", messages=ASKED, tools=(TOOL,)))]
    first, second = scripted.requests
    assert (first.tools, first.tool_choice and first.tool_choice.mode) == ((TOOL,), "any")
    assert (second.tools, second.tool_choice) == ((), None)


def test_without_the_model_the_demo_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match="make demo-model"), served():
        pass
