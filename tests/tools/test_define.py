import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from actum.base.errors import InvalidValue
from actum.tools.define import tool
from actum.tools.docstrings import described
from actum.tools.failures import ToolError
from actum.tools.spec import ToolContext, ToolSpec


class Unit(StrEnum):
    C = "c"
    F = "f"


class Place(BaseModel):
    name: str
    lat: float


def test_a_bare_function_becomes_a_tool_and_stays_a_function() -> None:
    @tool
    def word_count(text: str) -> int:
        """Count the words of a text.

        Anything between blanks is a word.
        """
        return len(text.split())

    assert isinstance(word_count, ToolSpec)
    assert word_count("a b c") == 3
    assert word_count.name == "word_count"
    assert word_count.description == "Count the words of a text."
    assert word_count.input_schema == {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    }
    assert word_count.output_schema == {"type": "integer"}


def test_options_stand_on_the_tool() -> None:
    @tool(
        name="fs.read",
        title="Read a file",
        tags=["files"],
        confirm=True,
        timeout=2.5,
        idempotent=True,
        terminal=True,
        bookkeeping=True,
        examples=[{"path": "a.txt"}],
    )
    async def read(path: str) -> str:
        """Read a file."""
        return path

    assert (read.name, read.title, read.tags, read.confirm) == ("fs.read", "Read a file", ("files",), True)
    assert (read.timeout, read.idempotent, read.terminal, read.bookkeeping) == (2.5, True, True, True)
    assert read.definition.description == 'Read a file.\nExample input: {"path":"a.txt"}'
    assert read.definition.name == "fs.read"


def test_types_defaults_and_descriptions_reach_the_schema() -> None:
    @tool
    def forecast(
        place: Place,
        days: Annotated[int, Field(ge=1, le=7, description="From the hint.")] = 3,
        unit: Unit = Unit.C,
        mode: Literal["short", "long"] | None = None,
    ) -> list[Place]:
        """Look ahead.

        Args:
            place: Where,
                in words.
            unit (Unit): The unit of the answer.

        Returns:
            place: Not a parameter.
        """
        return [place] * days + [Place(name=f"{unit}{mode}", lat=0)]

    shown = forecast.input_schema["properties"]
    assert shown["place"]["description"] == "Where, in words."
    assert shown["days"] == {
        "default": 3,
        "description": "From the hint.",
        "maximum": 7,
        "minimum": 1,
        "type": "integer",
    }
    assert shown["unit"]["description"] == "The unit of the answer."
    assert forecast.input_schema["required"] == ["place"]
    assert forecast.decode({"place": {"name": "Ulm", "lat": 48}, "unit": "f"}) == {
        "place": Place(name="Ulm", lat=48),
        "unit": Unit.F,
    }


def test_a_parameter_may_have_any_name() -> None:
    @tool
    def strange(schema: str, _x: int, model_config: bool, copy: int = 1) -> str:  # noqa: FBT001 - the names are the point
        return f"{schema}{_x}{model_config}{copy}"

    assert list(strange.input_schema["properties"]) == ["schema", "_x", "model_config", "copy"]
    assert strange.decode({"schema": "s", "_x": 1, "model_config": True}) == {
        "schema": "s",
        "_x": 1,
        "model_config": True,
    }


@pytest.mark.parametrize(
    "arguments, path",
    [
        ({"count": "1"}, "count"),
        ({"count": 1.5}, "count"),
        ({"count": True}, "count"),
        ({"count": None}, "count"),
        ({}, "count"),
        ({"count": 1, "colour": "red"}, "colour"),
        ({"count": 1, "flag": "yes"}, "flag"),
        ({"count": 1, "when": "soon"}, "when"),
        ({"count": 1, "places": [{"name": "Ulm", "lat": "north"}]}, "places[0].lat"),
    ],
)
def test_arguments_are_strict(arguments: dict[str, Any], path: str) -> None:
    @tool
    def count(count: int, flag: bool = False, when: date = date.min, places: list[Place] | None = None) -> str:  # noqa: FBT001, FBT002 - a tool's parameters come by name
        return f"{count}{flag}{when}{places}"

    assert count.decode({"count": 1, "when": "2025-01-02"}) == {"count": 1, "when": date(2025, 1, 2)}
    with pytest.raises(ToolError) as refused:
        count.decode(arguments)
    failure = refused.value.failure
    assert (failure.kind, failure.recovery) == ("invalid_call", "correct_call")
    assert [issue.path for issue in failure.issues] == [path]
    assert path in failure.message


def test_a_long_list_of_wrong_fields_is_counted() -> None:
    @tool
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    with pytest.raises(ToolError) as refused:
        total.decode({"numbers": ["x"] * 500})
    assert len(refused.value.failure.issues) == 32
    assert "and 468 more" in refused.value.failure.message


def test_a_context_parameter_is_not_in_the_schema() -> None:
    @tool
    def who(context: ToolContext, name: str) -> str:
        return f"{context.run_id} {name}"

    @tool
    def maybe(name: str, context: ToolContext | None = None) -> str:
        return f"{context} {name}"

    for spec in (who, maybe):
        assert list(spec.input_schema["properties"]) == ["name"]
        assert spec.context_parameter == "context"
        with pytest.raises(ToolError):
            spec.decode({"name": "x", "context": {}})


def test_the_version_follows_the_schemas_alone() -> None:
    def one(n: int) -> int:
        """First words."""
        return n

    def other(n: int) -> int:
        """Other words."""
        return n

    def wider(n: int | str) -> int:
        return int(n)

    versions = [tool(name="t")(each).version for each in (one, other, wider)]
    assert versions[0] == versions[1] != versions[2]
    assert tool(name="u")(one).version != versions[0]


def test_any_kind_of_callable_may_be_a_tool() -> None:
    class Counter:
        def __call__(self, by: int) -> int:
            return by

        async def method(self, by: int) -> int:
            return by

    def scaled(by: int, factor: int) -> int:
        return by * factor

    assert tool(name="counter")(Counter()).input_schema["required"] == ["by"]
    assert tool(Counter().method).waits
    partial = tool(name="double")(functools.partial(scaled, factor=2))
    assert partial.input_schema["required"] == ["by"]


def _starred(*names: str) -> str:
    return "".join(names)


def _positional(name: str, /) -> str:
    return name


def _bare(name) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001 - the missing hint is the point
    return str(name)


def _stream(name: str) -> Iterator[str]:
    yield name


def _unspeakable(name: Callable[[], int]) -> str:
    return str(name)


def _returns_unspeakable(name: str) -> Callable[[], str]:
    return lambda: name


def _two_contexts(one: ToolContext, two: ToolContext) -> str:
    return f"{one}{two}"


def _unknown(name: "Nowhere") -> str:  # type: ignore[name-defined]  # noqa: F821 - the missing type is the point
    return str(name)


@pytest.mark.parametrize(
    "function",
    [_starred, _positional, _bare, _stream, _unspeakable, _returns_unspeakable, _two_contexts, _unknown, Place, "text"],
)
def test_what_cannot_be_a_tool_is_refused(function: Callable[..., object]) -> None:
    with pytest.raises(InvalidValue):
        tool(name="t")(function)


@pytest.mark.parametrize("name", ["", "a b", ".x", "x.", "a..b", "ä", "a" * 129, "a\n"])
def test_a_name_is_letters_digits_and_dots(name: str) -> None:
    def here() -> str:
        return "here"

    with pytest.raises(InvalidValue, match=r"tool\.name"):
        ToolSpec(name=name, description="", input_schema={}, function=here, decode=dict, encode=tool(here).encode)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_is_above_zero(timeout: float) -> None:
    with pytest.raises(InvalidValue, match="timeout"):
        tool(name="t", timeout=timeout)(lambda: "x")


def test_an_example_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidValue, match="example 1"):

        @tool(examples=[{"n": 1}, {"n": "1"}])
        def double(n: int) -> int:
            return 2 * n


@dataclass
class Pair:
    left: int
    right: list[str]


@pytest.mark.parametrize(
    "docstring, description, parameters",
    [
        (None, "", {}),
        ("One line.", "One line.", {}),
        ("Two\n    lines.\n\n    More.", "Two lines.", {}),
        (
            "Does.\n\nArgs:\n    a: First.\n    b (int): Second,\n        longer.\n    **c: Third.",
            "Does.",
            {"a": "First.", "b": "Second, longer.", "c": "Third."},
        ),
        ("Does.\nArgs:\n  a: First.\n\nReturns:\n  b: no.", "Does.", {"a": "First."}),
        ("\nArgs:\n  a:\n    Below.", "", {"a": "Below."}),
        ("Does.\n\nArgs:\n", "Does.", {}),
    ],
)
def test_docstrings(docstring: str | None, description: str, parameters: dict[str, str]) -> None:
    assert described(docstring) == (description, parameters)


def test_a_tool_that_is_answered_from_outside_asks_nobody_besides() -> None:
    def sign(document: str) -> bool:
        """Sign."""
        raise AssertionError(document)

    assert tool(external=True)(sign).external
    assert tool(external=True)(sign).version == tool(sign).version
    with pytest.raises(InvalidValue):
        tool(external=True, confirm=True)(sign)
