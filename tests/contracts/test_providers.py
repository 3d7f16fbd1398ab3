"""The provider's promise, over every provider. A new one is a class with its words, and a line in `ALL`."""

import itertools
from collections.abc import Iterable
from typing import Any

import pytest

from actum.messages.parts import CacheCheckpointPart, ThinkingPart
from actum.model.encoded import Encoded
from actum.model.projection import Fate
from actum.model.response import Chunk, ModelResponse
from actum.providers.openai.decode import ChatDecoder, decode_chat
from actum.testing.provider_contract import ProviderContract
from actum.testing.provider_samples import standard_conversation
from tests.support.answers_openai_chat import chat_answer, chat_events
from tests.support.vendor_specs import chat_answer_breaches, chat_event_breaches, chat_request_breaches


class TestOpenAIChat(ProviderContract):
    name = "openai-chat"

    def answer(self, response: ModelResponse, encoded: Encoded) -> Any:
        answer = chat_answer(response, encoded)
        assert chat_answer_breaches(answer) == []
        return answer

    def events(self, response: ModelResponse, encoded: Encoded, size: int) -> list[Any]:
        events = chat_events(response, encoded, size)
        assert chat_event_breaches(events[-1]) == []
        return events

    def decode(self, answer: Any, encoded: Encoded) -> ModelResponse:
        return decode_chat(answer, encoded)

    def streamed(self, events: Iterable[Any], encoded: Encoded) -> Iterable[Chunk]:
        decoder = ChatDecoder(encoded)
        yield from decoder.begin()
        for event in events:
            yield from decoder.event(event)

    def breaches(self, body: Any) -> list[str]:
        return chat_request_breaches(body)


ALL: tuple[ProviderContract, ...] = (TestOpenAIChat(),)


@pytest.mark.parametrize(
    "before, after", list(itertools.product(ALL, ALL)), ids=lambda contract: getattr(contract, "name", None)
)
def test_a_conversation_moves_from_any_provider_to_any_other(before: ProviderContract, after: ProviderContract) -> None:
    """In the middle of it: what one model thought and called goes on at another, and nothing but thought is lost."""
    messages = standard_conversation(before.thinking())
    made = after.projected(*messages)
    assert made.report.of(Fate.REFUSED) == ()
    for each in made.report.of(Fate.LEFT_OUT):
        assert each.message_index is not None
        assert each.part_index is not None
        part = messages[each.message_index].parts[each.part_index]
        assert isinstance(part, ThinkingPart | CacheCheckpointPart)
        assert isinstance(part, CacheCheckpointPart) or before is not after or not before.thinking()
    assert after.breaches(made.body) == []
