"""The provider's promise, over every provider. A new one is a class with its words, and a line in `ALL`."""

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import pytest

from actum.base.value import Verbatim, dump_json, load_json, spelled
from actum.messages.parts import CacheCheckpointPart, ThinkingPart
from actum.model.calls import StreamDecoder
from actum.model.encoded import Encoded
from actum.model.projection import Fate
from actum.model.response import Chunk, ModelResponse, Usage
from actum.providers.anthropic.decode import MessagesDecoder
from actum.providers.anthropic.decode import decode as decode_messages
from actum.providers.bedrock.decode import ConverseDecoder, decode_converse
from actum.providers.gemini.decode import GeminiDecoder, decode_gemini
from actum.providers.openai.decode import ChatDecoder, decode_chat
from actum.providers.openai.responses_decode import ResponsesDecoder, decode_responses
from actum.testing.provider_contract import ProviderContract
from actum.testing.provider_samples import SPELLED, standard_conversation
from tests.support.answers_anthropic import messages_answer, messages_events
from tests.support.answers_bedrock import converse_answer, converse_events
from tests.support.answers_gemini import gemini_answer, gemini_events
from tests.support.answers_openai_chat import chat_answer, chat_events
from tests.support.answers_openai_responses import responses_answer, responses_events
from tests.support.judge_bedrock import converse_answer_breaches, converse_event_breaches, converse_request_breaches
from tests.support.judge_gemini import gemini_answer_breaches, gemini_request_breaches
from tests.support.own_thinking import OWN_THINKING
from tests.support.vendor_types import breaches

COUNTED = Usage(input=25, output=15, cache_read=10, cache_write=5)


def chunks(decoder: StreamDecoder, events: Iterable[Any]) -> Iterator[Chunk]:
    """What a client gives on from a stream of these events."""
    yield from decoder.begin()
    for event in events:
        yield from decoder.event(event)


class TestOpenAIChat(ProviderContract):
    name = "openai-chat"
    usage = COUNTED

    def answer(self, response: ModelResponse, encoded: Encoded) -> Any:
        answer = chat_answer(response, encoded)
        assert breaches(self.name, "answer", answer) == []
        return answer

    def events(self, response: ModelResponse, encoded: Encoded, size: int) -> list[Any]:
        events = chat_events(response, encoded, size)
        if size > 100:
            assert [breaches(self.name, "event", event) for event in events] == [[]] * len(events)
        return events

    def decode(self, answer: Any, encoded: Encoded) -> ModelResponse:
        return decode_chat(answer, encoded)

    def streamed(self, events: Iterable[Any], encoded: Encoded) -> Iterable[Chunk]:
        return chunks(ChatDecoder(encoded), events)

    def breaches(self, body: Any) -> list[str]:
        return breaches(self.name, "request", body)


class TestOpenAIResponses(ProviderContract):
    name = "openai"
    usage = COUNTED

    def answer(self, response: ModelResponse, encoded: Encoded) -> Any:
        answer = responses_answer(response, encoded)
        assert breaches(self.name, "answer", answer) == []
        return answer

    def events(self, response: ModelResponse, encoded: Encoded, size: int) -> list[Any]:
        events = responses_events(response, encoded, size)
        if size > 100:
            assert [breaches(self.name, "event", event) for event in events] == [[]] * len(events)
        return events

    def decode(self, answer: Any, encoded: Encoded) -> ModelResponse:
        return decode_responses(answer, encoded)

    def streamed(self, events: Iterable[Any], encoded: Encoded) -> Iterable[Chunk]:
        return chunks(ResponsesDecoder(encoded), events)

    def thinking(self) -> tuple[ThinkingPart, ...]:
        return OWN_THINKING[self.name]

    def breaches(self, body: Any) -> list[str]:
        return breaches(self.name, "request", body)


class TestAnthropic(ProviderContract):
    name = "anthropic"
    usage = COUNTED

    def answer(self, response: ModelResponse, encoded: Encoded) -> Any:
        answer = messages_answer(response, encoded)
        assert breaches(self.name, "answer", json.loads(answer)) == []
        return answer

    def events(self, response: ModelResponse, encoded: Encoded, size: int) -> list[Any]:
        events = messages_events(response, encoded, size)
        if size > 100:
            assert [breaches(self.name, "event", event) for event in events] == [[]] * len(events)
        return events

    def decode(self, answer: Any, encoded: Encoded) -> ModelResponse:
        return decode_messages(answer, encoded)

    def streamed(self, events: Iterable[Any], encoded: Encoded) -> Iterable[Chunk]:
        return chunks(MessagesDecoder(encoded), events)

    def thinking(self) -> tuple[ThinkingPart, ...]:
        return OWN_THINKING[self.name]

    def breaches(self, body: Any) -> list[str]:
        return breaches(self.name, "request", body)


class TestBedrock(ProviderContract):
    name = "bedrock"
    model = "anthropic.claude-x-v1:0"

    def thinking(self) -> tuple[ThinkingPart, ...]:
        return OWN_THINKING[self.name]

    def answer(self, response: ModelResponse, encoded: Encoded) -> Any:
        answer = converse_answer(response, encoded)
        assert converse_answer_breaches(answer) == []
        return answer

    def events(self, response: ModelResponse, encoded: Encoded, size: int) -> list[Any]:
        events = converse_events(response, encoded, size)
        assert [converse_event_breaches(event) for event in events] == [[]] * len(events)
        return events

    def decode(self, answer: Any, encoded: Encoded) -> ModelResponse:
        return decode_converse(spelled(answer), encoded)

    def streamed(self, events: Iterable[Any], encoded: Encoded) -> Iterable[Chunk]:
        return chunks(ConverseDecoder(encoded), events)

    def breaches(self, body: Any) -> list[str]:
        return converse_request_breaches(body)


class TestGemini(ProviderContract):
    name = "gemini"
    model = "gemini-2.5-pro"
    # Gemini gives a tool's arguments as a value, not as text.
    spelled: ClassVar[Verbatim] = Verbatim(dump_json(load_json(bytes(SPELLED))))

    def thinking(self) -> tuple[ThinkingPart, ...]:
        return OWN_THINKING[self.name]

    def answer(self, response: ModelResponse, encoded: Encoded) -> Any:
        answer = gemini_answer(response, encoded)
        assert gemini_answer_breaches(answer) == []
        return answer

    def events(self, response: ModelResponse, encoded: Encoded, size: int) -> list[Any]:
        events = gemini_events(response, encoded, size)
        assert [gemini_answer_breaches(event) for event in events] == [[]] * len(events)
        return events

    def decode(self, answer: Any, encoded: Encoded) -> ModelResponse:
        return decode_gemini(spelled(answer), encoded)

    def streamed(self, events: Iterable[Any], encoded: Encoded) -> Iterable[Chunk]:
        return chunks(GeminiDecoder(encoded), events)

    def breaches(self, body: Any) -> list[str]:
        return gemini_request_breaches(body)


ALL: tuple[ProviderContract, ...] = (
    TestOpenAIChat(),
    TestOpenAIResponses(),
    TestAnthropic(),
    TestBedrock(),
    TestGemini(),
)


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
    assert after.breaches(json.loads(made.data)) == []
