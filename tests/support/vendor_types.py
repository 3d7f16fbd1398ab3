"""Two strict judges of what we send and pretend to receive: the vendors' documents, and the types of their own SDKs."""

import functools
from collections.abc import Callable
from typing import Any, Final

from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.message_create_params import MessageCreateParams
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParams
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParams
from pydantic import TypeAdapter, ValidationError

from tests.support import vendor_specs

_TYPES: Final[dict[tuple[str, str], Any]] = {
    ("openai-chat", "request"): CompletionCreateParams,
    ("openai-chat", "answer"): ChatCompletion,
    ("openai-chat", "event"): ChatCompletionChunk,
    ("openai", "request"): ResponseCreateParams,
    ("openai", "answer"): Response,
    ("openai", "event"): ResponseStreamEvent,
    ("anthropic", "request"): MessageCreateParams,
    ("anthropic", "answer"): Message,
    ("anthropic", "event"): RawMessageStreamEvent,
}

_PUBLISHED: Final[dict[tuple[str, str], Callable[[Any], list[str]]]] = {
    ("openai-chat", "request"): vendor_specs.chat_request_breaches,
    ("openai-chat", "answer"): vendor_specs.chat_answer_breaches,
    ("openai-chat", "event"): vendor_specs.chat_event_breaches,
    ("openai", "request"): vendor_specs.responses_request_breaches,
    ("openai", "answer"): vendor_specs.responses_answer_breaches,
    ("openai", "event"): vendor_specs.responses_event_breaches,
    ("anthropic", "request"): vendor_specs.messages_request_breaches,
    ("anthropic", "answer"): vendor_specs.messages_answer_breaches,
    ("anthropic", "event"): vendor_specs.messages_event_breaches,
}


@functools.cache
def _adapter(provider: str, kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(_TYPES[provider, kind])


def breaches(provider: str, kind: str, value: Any) -> list[str]:
    """What the vendor's published document and its SDK's types find wrong with a `request`, an `answer`, an `event`."""
    found = _PUBLISHED[provider, kind](value)
    try:
        _adapter(provider, kind).validate_python(value)
    except ValidationError as error:
        found += [f"{each['loc']}: {each['msg']}" for each in error.errors()]
    return found
