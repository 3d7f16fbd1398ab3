"""botocore's own description of Bedrock as the judge of what we send and of what we pretend to receive.

Its validators look at fields, types and unions; enums, patterns and least numbers are looked at here.
"""

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

import botocore.session
from botocore.validate import ParamValidator

from actum.base.value import spelled


@functools.cache
def _service() -> Any:
    return botocore.session.get_session().get_service_model("bedrock-runtime")


def converse_request_breaches(body: Any) -> list[str]:
    """What is wrong with a body for Converse, whatever the model."""
    shape = _service().operation_model("Converse").input_shape
    plain = json.loads(spelled(body))
    return [*_breaches({"modelId": "anthropic.some-model-v1:0", **plain}, shape), *_said(plain, "")]


def converse_answer_breaches(answer: Any) -> list[str]:
    """What is wrong with a whole answer of Converse."""
    return _breaches(json.loads(spelled(answer)), _service().operation_model("Converse").output_shape)


def converse_event_breaches(event: Any) -> list[str]:
    """What is wrong with one event of a stream."""
    return _breaches(event, _service().operation_model("ConverseStream").output_shape.members["stream"])


def _breaches(value: Any, shape: Any) -> list[str]:
    report = ParamValidator().validate(value, shape)
    found = report.generate_report().splitlines() if report.has_errors() else []
    return [*found, *_finer(value, shape, "")]


def _finer(value: Any, shape: Any, path: str) -> Iterator[str]:
    match shape.type_name:
        case "structure" if isinstance(value, dict) and not shape.is_document_type:
            for name, each in value.items():
                if name in shape.members:
                    yield from _finer(each, shape.members[name], f"{path}.{name}")
        case "list" if isinstance(value, list):
            most = shape.metadata.get("max")
            if most is not None and len(value) > most:
                yield f"{path}: more than {most}"
            for i, each in enumerate(value):
                yield from _finer(each, shape.member, f"{path}[{i}]")
        case "string" if isinstance(value, str):
            yield from _finer_text(value, shape, path)
        case "integer" | "float" if isinstance(value, int | float):
            most = shape.metadata.get("max")
            if most is not None and value > most:
                yield f"{path}: above {most}"


def _finer_text(value: str, shape: Any, path: str) -> Iterator[str]:
    if shape.enum and value not in shape.enum:
        yield f"{path}: {value!r} is none of {shape.enum}"
    pattern, most = shape.metadata.get("pattern"), shape.metadata.get("max")
    if pattern is not None and re.fullmatch(pattern, value) is None:
        yield f"{path}: {value!r} does not match {pattern}"
    if most is not None and len(value) > most:
        yield f"{path}: longer than {most}"


def _said(value: Any, path: str) -> Iterator[str]:
    """What the documentation says of a request and the description does not."""
    if isinstance(value, list):
        for i, each in enumerate(value):
            yield from _said(each, f"{path}[{i}]")
    elif isinstance(value, dict):
        for name, each in value.items():
            if name in ("input", "json", "schema", "reasoningText"):
                continue
            if name == "text" and isinstance(each, str) and not each.strip():
                yield f"{path}.text: blank"
            if name == "document" and re.fullmatch(r"(?!.*  )[A-Za-z0-9 ()\[\]-]{1,200}", each["name"]) is None:
                yield f"{path}: {each['name']!r} is no document's name"
            yield from _said(each, f"{path}.{name}")
    if path.endswith(".content") and isinstance(value, list):
        kinds = [next(iter(each)) for each in value]
        if kinds[0] == "cachePoint" or ("document" in kinds and ".toolResult" not in path and "text" not in kinds):
            yield f"{path}: begins with a cache point, or has a document without text"
    if path == ".messages":
        roles = [each["role"] for each in value]
        if roles != [("user", "assistant")[i % 2] for i in range(len(roles))]:
            yield f"roles do not take turns: {roles}"
