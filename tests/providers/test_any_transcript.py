"""Whatever a lawful transcript holds, a provider's body of it is lawful there too, or the report refuses it."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actum.base.value import replace
from actum.messages.message import Message, Role, assistant, system, user
from actum.messages.parts import (
    CacheCheckpointPart,
    CitationsPart,
    DocumentPart,
    ImagePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolResultPart,
)
from actum.model.projection import Fate
from actum.providers.accept import words_of
from actum.testing.provider_contract import ProviderContract
from tests.contracts.test_providers import ALL
from tests.support.strategies import json_values, texts, tool_uses, transcripts, values_of

PROVIDERS = st.sampled_from([None, "somebody-else", *(each.name for each in ALL)])


def said() -> st.SearchStrategy[Part]:
    return st.builds(TextPart, text=texts()) | st.just(CacheCheckpointPart())


def shown() -> st.SearchStrategy[Part]:
    return st.one_of(*(values_of(kind) for kind in (ImagePart, DocumentPart, CitationsPart)))


def thought() -> st.SearchStrategy[Part]:
    known = st.sampled_from([part for contract in ALL for part in contract.thinking()])
    return known | st.builds(lambda part, by: replace(part, provider=by), values_of(ThinkingPart), PROVIDERS)


@st.composite
def wild(draw: st.DrawFn) -> tuple[Message, ...]:
    """A lawful transcript, each part of it as strange as it may be."""
    messages: list[Message] = [system(*draw(st.lists(said(), max_size=2)))] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, 3))):
        messages.append(user(*draw(st.lists(said() | shown(), max_size=3))))
        spoken = draw(st.lists(said() | thought() | values_of(CitationsPart), max_size=3))
        uses = draw(st.lists(tool_uses(), max_size=2, unique_by=lambda use: use.id))
        uses = [replace(use, provider=draw(PROVIDERS)) for use in uses]
        if spoken or uses:
            messages.append(assistant(*draw(st.permutations([*spoken, *uses]))))
        if uses:
            answers = [draw(results(use.id)) for use in uses]
            messages.append(user(*answers, *draw(st.lists(said() | shown(), max_size=1))))
    return tuple(messages)


def results(id: str) -> st.SearchStrategy[ToolResultPart]:
    attached = st.lists(values_of(ImagePart) | values_of(DocumentPart), max_size=1).map(tuple)
    return st.builds(
        ToolResultPart,
        tool_use_id=st.just(id),
        content=json_values(),
        attachments=attached,
        is_error=st.booleans(),
    )


def held(contract: ProviderContract, messages: tuple[Message, ...]) -> None:
    """The body is lawful where the report says so, the same twice, and nothing but what is reported is missing."""
    project, request = words_of(contract.name).project, contract.request(*messages)
    made = project(request)
    assert project(request).data == made.data
    assert made.report == project(request).report
    for each in made.report.projections:
        assert each.message_index is None or each.message_index < len(messages)
    if made.report.accepted:
        assert contract.breaches(json.loads(made.data)) == []
    else:
        assert made.report.of(Fate.REFUSED)[0].rule


@pytest.mark.slow
@pytest.mark.parametrize("contract", ALL, ids=lambda contract: contract.name)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(messages=wild())
def test_any_parts(contract: ProviderContract, messages: tuple[Message, ...]) -> None:
    held(contract, messages)


@pytest.mark.parametrize("contract", ALL, ids=lambda contract: contract.name)
@settings(deadline=None)
@given(messages=transcripts())
def test_any_order(contract: ProviderContract, messages: tuple[Message, ...]) -> None:
    held(contract, messages)


def texts_of(value: Any) -> list[str]:
    return [part.text for message in value for part in message.parts if isinstance(part, TextPart)]


@pytest.mark.parametrize("contract", ALL, ids=lambda contract: contract.name)
@settings(deadline=None)
@given(drawn=st.lists(st.tuples(st.sampled_from([Role.USER, Role.ASSISTANT]), st.integers(1, 3)), max_size=8))
def test_texts_keep_their_order(contract: ProviderContract, drawn: list[tuple[Role, int]]) -> None:
    numbers = iter(range(100))
    messages = tuple(
        Message(role=role, parts=tuple(TextPart(text=f"mark-{next(numbers):02}") for _ in range(count)))
        for role, count in ((Role.USER, 1), *drawn)
    )
    made = contract.projected(*messages)
    assert made.report.accepted
    text = made.data.decode()
    places = [text.index(each) for each in texts_of(messages)]
    assert places == sorted(places)
