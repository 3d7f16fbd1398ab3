"""A model's answer as a value of a type: one call, the shape enforced by the provider, the rest checked here.

The provider is shown the shape of the type: its fields, all of them required, and nothing else. Bounds, patterns and
formats it does not enforce; pydantic holds the answer to them. What does not fit is an error; nothing is asked again.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from actum.base.checks import refuse
from actum.base.errors import InvalidValue, ModelError
from actum.base.value import Json, dump_json, load_json
from actum.messages.message import Message, user
from actum.model.client import ModelClient
from actum.model.request import ModelRequest, ModelSettings, OutputSchema
from actum.model.response import ModelResponse, StopReason
from actum.providers.pick import pick
from actum.records.failures import cut_message

T = TypeVar("T")

_COMPLETE: Final = (StopReason.END_TURN, StopReason.STOP_SEQUENCE)
# What providers enforce alike; everything else in a schema is for pydantic alone.
_KEPT: Final = ("type", "enum", "const", "description", "$ref")
# A type that is no object is the one field of one.
_WRAPPED: Final = "value"


async def complete(
    model: ModelClient | str,
    kind: type[T],
    messages: Sequence[Message] | str,
    *,
    settings: ModelSettings = ModelSettings(),  # noqa: B008 - a frozen value
) -> T:
    """The model's answer to these messages (a text is the user's) as a `kind`: whatever pydantic makes of a type.

    Raises InvalidValue for a type whose fields are not known in advance, before anything is sent; ModelError for an
    answer that is none: kind `malformed_response` where it does not fit, otherwise the reason for which it stopped
    (`refusal`, `content_filter`, `length`, `interrupted`, `unknown`); ProviderError for a call that failed.
    """
    client = pick(model) if isinstance(model, str) else model
    adapter, schema, wrapped = _schema_of(kind)
    said = (user(messages),) if isinstance(messages, str) else tuple(messages)
    output = OutputSchema(json_schema=schema)
    request = ModelRequest(model=client.model, messages=said, settings=settings, output=output)
    return _value(adapter, await client.complete(request), wrapped=wrapped)


def _value(adapter: TypeAdapter[T], response: ModelResponse, *, wrapped: bool) -> T:
    if response.stop not in _COMPLETE:
        says = response.refusal or f"the answer stopped for this reason: {response.provider_stop or response.stop}"
        raise ModelError(kind=str(response.stop), message=cut_message(says))
    text = response.message.text
    try:
        given = load_json(text.encode())
        inside = given[_WRAPPED] if wrapped else given
        return adapter.validate_json(dump_json(inside), strict=True)
    except (InvalidValue, ValidationError, KeyError, TypeError) as error:
        says = f"the answer is not what was asked for: {error}"
        raise ModelError(kind="malformed_response", message=cut_message(says)) from None


def _schema_of(kind: type[T]) -> tuple[TypeAdapter[T], dict[str, Json], bool]:
    try:
        adapter = TypeAdapter(kind)
        made = adapter.json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise refuse("kind", str(error), "is a type that JSON can spell") from None
    named = made.pop("$defs", {})
    # A type that names itself stands among the definitions; a provider wants the object itself at the top.
    root = named[made["$ref"].rpartition("/")[2]] if "$ref" in made else made
    shaped = _shape(root, "kind")
    wrapped = shaped.get("type") != "object"
    if wrapped:
        shaped = _object({_WRAPPED: shaped})
    if named:
        shaped["$defs"] = {name: _shape(each, name) for name, each in named.items()}
    return adapter, shaped, wrapped


def _shape(schema: Mapping[str, Any], path: str) -> dict[str, Json]:
    """The part of a schema that providers enforce."""
    if schema.get("type") == "object":
        if "properties" not in schema or schema.get("additionalProperties") not in (None, False):
            raise refuse(path, "an object of any fields", "has fields that are known in advance")
        shaped = _object({name: _shape(each, f"{path}.{name}") for name, each in schema["properties"].items()})
        return shaped | {name: schema[name] for name in _KEPT if name in schema}
    kept: dict[str, Json] = {name: schema[name] for name in _KEPT if name in schema}
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        kept["anyOf"] = [_shape(each, path) for each in choices]
    if schema.get("type") == "array":
        if "items" not in schema or "prefixItems" in schema:
            raise refuse(path, "a list of any items", "has items of one known type")
        kept["items"] = _shape(schema["items"], f"{path}[]")
    if not kept.keys() - {"description"}:
        raise refuse(path, "any value", "has a known type")
    return kept


def _object(properties: dict[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
