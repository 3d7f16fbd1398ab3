"""A conversation that moves between providers in the middle of a tool loop, and back again.

Each answer is read by the adapter of the provider that gave it, from that provider's own form; each request is judged
by the vendor's own description. So what moves is what would really have been recorded.
"""

import itertools
import json

import pytest

from actum.base.value import replace
from actum.messages.message import Message, assistant, system, user
from actum.messages.parts import (
    CacheCheckpointPart,
    DocumentPart,
    ImagePart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
    tool_use,
)
from actum.model.fold import fold
from actum.model.projection import Fate
from actum.model.request import ModelRequest
from actum.model.response import ModelResponse, StopReason, Usage
from actum.providers.accept import words_of, would_accept
from actum.testing.provider_contract import ProviderContract
from actum.testing.provider_samples import PDF, PNG, TOOLS
from tests.contracts.test_providers import ALL

IMAGE = ImagePart(bytes=PNG, format="png")
ASKED = (
    system("mark-01", CacheCheckpointPart()),
    user("mark-02", IMAGE, DocumentPart(format="pdf", bytes=PDF, name="Q1: plan.pdf"), CacheCheckpointPart()),
)
# Ids as each provider makes them.
IDS = {"anthropic": "toolu_01", "bedrock": "tooluse_", "gemini": "", "openai": "call_", "openai-chat": "chatcmpl-tool-"}


def asked(of: ProviderContract, messages: tuple[Message, ...]) -> ModelRequest:
    """The request, which loses nothing at this provider but what others thought, and marks for caches."""
    made = of.projected(*messages)
    assert made.report.of(Fate.REFUSED) == ()
    assert of.breaches(json.loads(made.data)) == []
    for each in made.report.of(Fate.LEFT_OUT):
        assert each.message_index is not None
        assert each.part_index is not None
        part = messages[each.message_index].parts[each.part_index]
        if isinstance(part, ThinkingPart):
            assert part not in of.thinking()
        elif isinstance(part, ToolUsePart):
            assert part.signature is not None
        else:
            assert isinstance(part, CacheCheckpointPart)
    text = made.data.decode()
    marks = [f"mark-{number:02}" for number in range(1, 20) if f"mark-{number:02}" in text]
    assert [text.index(mark) for mark in marks] == sorted(text.index(mark) for mark in marks)
    return of.request(*messages)


def said(by: ProviderContract, messages: tuple[Message, ...], message: Message) -> tuple[Message, ...]:
    """The conversation with this answer, as the provider's adapter reads it whole and streamed."""
    encoded = words_of(by.name).project(asked(by, messages))
    stop = StopReason.TOOL_USE if message.tool_uses else StopReason.END_TURN
    response = ModelResponse(message=message, stop=stop, usage=Usage(input=1, output=1, cache_read=0, cache_write=0))
    whole = by.decode(by.answer(response, encoded), encoded)
    assert whole.message == message
    assert fold(by.streamed(by.events(response, encoded, 4), encoded)) == whole
    return (*messages, whole.message)


def answered(messages: tuple[Message, ...], *results: ToolResultPart) -> tuple[Message, ...]:
    uses = messages[-1].tool_uses
    named = (replace(result, tool_use_id=use.id) for result, use in zip(results, uses, strict=True))
    return (*messages, user(*named))


OK = ToolResultPart(tool_use_id="?", content={"says": "mark-05"}, attachments=(IMAGE,))
FAILED = ToolResultPart(tool_use_id="?", content="mark-06", is_error=True)
THIRD = ToolResultPart(tool_use_id="?", content="mark-09")


@pytest.mark.parametrize(
    "first, second", list(itertools.product(ALL, ALL)), ids=lambda contract: getattr(contract, "name", None)
)
def test_another_provider_takes_over_in_a_tool_loop_and_gives_back(
    first: ProviderContract, second: ProviderContract
) -> None:
    calls = (
        ToolUsePart(id=f"{IDS[first.name]}mark-03", name="weather.lookup", input=first.spelled),
        tool_use(f"{IDS[first.name]}mark-04", "plain_tool", {}),
    )
    running = answered(said(first, ASKED, assistant(*first.thinking(), "Two.", *calls)), OK, FAILED)
    call = tool_use(f"{IDS[second.name]}mark-08", "weather.lookup", {"city": "Ulm ☂"})
    running = said(second, running, assistant(*second.thinking(), "mark-07", call))
    running = said(first, answered(running, THIRD), assistant(*first.thinking(), "mark-10"))
    running = (*running, user("mark-11", IMAGE))
    for each in (first, second):
        asked(each, running)
        assert would_accept(running, each.name, tools=TOOLS).accepted
        # Whoever asks without any tools at hand is understood as well.
        assert would_accept(running, each.name).accepted
