"""Schemas and checks out of type hints, by pydantic: a model's arguments coming in, a function's result going out.

Both are strict. A text is no number and a number is no truth value, whatever they look like; what JSON cannot spell (a
date, an enumeration, a set) is read from the JSON form that the schema shows. Unknown arguments are refused.
"""

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema, PydanticSerializationError

from actum.base.checks import refuse
from actum.base.errors import InvalidValue
from actum.base.limits import TOOL_ISSUES
from actum.base.value import Json, dump_json
from actum.tools.failures import Issue, Recovery, ToolError, ToolFailureKind, cut_message
from actum.tools.spec import ToolOutput

ABSENT: Final = inspect.Parameter.empty

Decode = Callable[[Mapping[str, Json]], Mapping[str, object]]
Encode = Callable[[object], ToolOutput]


class _PlainSchema(GenerateJsonSchema):
    """JSON Schema without the titles that pydantic makes of names, silent about defaults that JSON cannot show."""

    ignored_warning_kinds = frozenset({"skipped-choice", "non-serializable-default"})  # type: ignore[assignment]  # read only, so a frozen one will do

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - the base class's own signature
        return False

    def generate(self, schema: CoreSchema, mode: typing.Literal["validation", "serialization"] = "validation") -> Any:  # noqa: ANN401 - a JSON Schema
        made = super().generate(schema, mode)
        made.pop("title", None)
        return made


def input_of(
    name: str, parameters: Iterable[inspect.Parameter], hints: Mapping[str, Any], told: Mapping[str, str]
) -> tuple[dict[str, Json], Decode]:
    """The JSON Schema of a tool's arguments, and the function that makes keyword arguments of a model's arguments."""
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    for position, parameter in enumerate(parameters):
        # Parameters may have names that pydantic keeps for itself, so its fields are numbered and carry aliases.
        field = f"argument_{position}"
        names[field] = parameter.name
        info: Any = Field(alias=parameter.name)
        if parameter.name in told:
            info = Field(alias=parameter.name, description=told[parameter.name])
        default = ... if parameter.default is ABSENT else parameter.default
        fields[field] = (Annotated[hints[parameter.name], info], default)
    try:
        arguments: type[BaseModel] = create_model(
            "Arguments", __config__=ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=False), **fields
        )
        schema = arguments.model_json_schema(schema_generator=_PlainSchema)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise refuse(f"tool {name}: parameters", str(error), "have types that JSON can spell") from None

    def decode(given: Mapping[str, Json]) -> Mapping[str, object]:
        try:
            made = arguments.model_validate_json(dump_json(dict(given)))
        except ValidationError as error:
            raise _invalid_call(name, _issues(error)) from None
        # Defaults are the function's own business; only what was given is handed over.
        return {names[field]: getattr(made, field) for field in names if field in made.model_fields_set}

    return schema, decode


def output_of(name: str, hint: Any) -> tuple[dict[str, Json] | None, Encode]:  # noqa: ANN401 - a type form
    """The JSON Schema of a tool's result, None where any JSON may stand, and the function that makes JSON of one."""
    hint = _without_output(hint)
    if _is_open(hint):
        return None, lambda result: _output(name, result, _open_content)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hint)
        schema = adapter.json_schema(mode="serialization", schema_generator=_PlainSchema)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise refuse(f"tool {name}: result", str(error), "has a type that JSON can spell") from None
    return schema, lambda result: _output(name, result, lambda content: _typed_content(adapter, content))


def _output(name: str, result: object, to_json: Callable[[object], Json]) -> ToolOutput:
    given = result if isinstance(result, ToolOutput) else ToolOutput(result)
    try:
        content = to_json(given.content)
        dump_json(content)
    except ValidationError as error:
        raise _malformed(name, _issues(error)) from None
    except InvalidValue as error:
        raise _malformed(name, [Issue(path=error.field, rule=error.rule)]) from None
    except (PydanticSerializationError, RecursionError) as error:
        raise _malformed(name, [Issue(path="result", rule=f"is JSON ({error})")]) from None
    return ToolOutput(content, tuple(given.attachments))


def _typed_content(adapter: TypeAdapter[Any], content: object) -> Json:
    exact = adapter.validate_python(content, strict=True)
    return adapter.dump_python(exact, mode="json", by_alias=True, warnings="error")


def _open_content(content: object) -> Json:
    # Where any JSON may stand nothing is put into form: a tuple, a set, a date would come back as something else.
    if isinstance(content, BaseModel) or (dataclasses.is_dataclass(content) and not isinstance(content, type)):
        return _typed_content(TypeAdapter(type(content)), content)
    return content


def _is_open(hint: Any) -> bool:  # noqa: ANN401 - see output_of
    """Whether a value of this type may hold JSON of any kind."""
    if hint in (Any, object, ABSENT, dict, list):
        return True
    return typing.get_origin(hint) in (dict, list, typing.Union, types.UnionType) and any(
        _is_open(inside) for inside in typing.get_args(hint)
    )


def _without_output(hint: Any) -> Any:  # noqa: ANN401 - see output_of
    """The type of the content where a hint names ToolOutput."""
    if hint is ToolOutput:
        return Any
    if typing.get_origin(hint) in (typing.Union, types.UnionType) and ToolOutput in typing.get_args(hint):
        return typing.Union[tuple(inside for inside in typing.get_args(hint) if inside is not ToolOutput)]  # noqa: UP007 - built from a tuple
    return hint


def _issues(error: ValidationError) -> list[Issue]:
    wrong = error.errors(include_url=False, include_context=False, include_input=False)
    return [Issue(path=_path(each["loc"]), rule=each["msg"]) for each in wrong]


def _path(where: Iterable[int | str]) -> str:
    path = ""
    for step in where:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path or "value"


def _invalid_call(name: str, issues: list[Issue]) -> ToolError:
    return _with_issues(
        ToolFailureKind.INVALID_CALL, f"The arguments do not fit the input of {name}", issues, Recovery.CORRECT_CALL
    )


def _malformed(name: str, issues: list[Issue]) -> ToolError:
    return _with_issues(
        ToolFailureKind.MALFORMED_RESULT, f"The result of {name} is not what it promises", issues, Recovery.REPLAN
    )


def _with_issues(kind: ToolFailureKind, says: str, issues: list[Issue], recovery: Recovery) -> ToolError:
    shown = [Issue(path=cut_message(each.path), rule=cut_message(each.rule)) for each in issues[:TOOL_ISSUES]]
    lines = "; ".join(f"{each.path}: {each.rule}" for each in shown)
    more = f"; and {len(issues) - len(shown)} more" if len(issues) > len(shown) else ""
    return ToolError(kind, f"{says}: {lines}{more}", recovery, shown)
