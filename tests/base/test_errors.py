import ast
import copy
import pickle
import re
import tomllib
from dataclasses import fields

import pytest

from actum.base import errors
from actum.base.errors import (
    ActumError,
    ContractError,
    DurableDataError,
    Finding,
    InvalidValue,
    NotFound,
    ProviderError,
    RunNotFound,
    TooLarge,
    TranscriptError,
    shortened,
)
from actum.base.limits import SHOWN_CHARS
from tests.support.project import ROOT, SRC, python_files, text_of

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ActumError)]
MADE_UP: dict[str, object] = {"str": "x", "int": 1, "bool": False, "float | None": 0.5, "tuple": ()}


def example(kind: type[ActumError]) -> ActumError:
    return kind(
        **{field.name: MADE_UP.get(str(getattr(field.type, "__name__", field.type)), "x") for field in fields(kind)}
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_is_data_with_a_stable_code(kind: type[ActumError]) -> None:
    error = example(kind)
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.code)
    assert kind.code.replace("_", "") == kind.__name__.lower()
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - bytes that this test wrote
        assert type(twin) is kind
        assert twin.fields() == error.fields()
        assert str(twin) == str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_of_an_error_says_what_is_wrong_and_shows_its_fields(kind: type[ActumError]) -> None:
    error = example(kind)
    assert kind.__doc__
    assert str(error)
    for name in error.fields():
        assert f"{name}=" in repr(error)


def test_every_error_is_drawn_in_the_tree() -> None:
    drawn = set(re.findall(r"\b[A-Z][A-Za-z]+\b", errors.__doc__ or ""))
    assert {kind.__name__ for kind in KINDS} <= drawn


def test_codes_are_unique() -> None:
    assert len({kind.code for kind in KINDS}) == len(KINDS)


def test_the_tree_tells_what_may_be_tried_again() -> None:
    assert issubclass(RunNotFound, NotFound)
    assert issubclass(NotFound, ContractError)
    assert not issubclass(errors.StoreUnavailable, ContractError)
    assert not issubclass(DurableDataError, ContractError)
    assert issubclass(InvalidValue, ValueError)
    assert issubclass(ProviderError, errors.ModelError)


def test_a_field_without_a_value_is_not_shown() -> None:
    error = DurableDataError(path="labels", rule="is text")
    assert (
        str(error) == "Stored bytes do not fit their type; the record is kept as it is (path='labels', rule='is text')"
    )


def test_a_size_error_names_size_and_limit() -> None:
    assert str(TooLarge(field="payload", size=17, limit=16)).endswith(
        "(field='payload', size=17, limit=16, unit='bytes')"
    )


def test_no_error_that_reading_raises_speaks_of_writing() -> None:
    for kind in (InvalidValue, TooLarge, errors.StoreUnavailable):
        assert "written" not in str(example(kind))


def test_a_missing_part_is_told_with_the_command_that_installs_this_very_part() -> None:
    extra = errors.MissingExtra(extra="embeddings", needed_for="offline embeddings")
    assert "`pip install 'actum[embeddings]'`" in str(extra)
    other = errors.MissingExtra(extra="model", needed_for="the demo", command="make demo-model")
    assert str(other).endswith("needed for the demo: `make demo-model` installs it")


def test_every_extra_that_is_missed_without_a_command_of_its_own_can_be_installed() -> None:
    offered = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    missed = {
        ast.literal_eval(given["extra"])
        for path in python_files(SRC)
        for call in ast.walk(ast.parse(text_of(path)))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "MissingExtra"
        for given in [{each.arg: each.value for each in call.keywords}]
        if "command" not in given
    }
    assert missed == {"anthropic", "bedrock", "embeddings", "gemini", "openai"}
    assert missed <= set(offered)


def test_a_transcript_error_lists_every_finding() -> None:
    error = TranscriptError(
        findings=(
            Finding(rule="first", message_index=0),
            Finding(rule="second", message_index=3, part_index=1, tool_use_id="t1"),
        )
    )
    assert str(error).splitlines() == [
        "The transcript breaks the law of its shape:",
        "  message 0: first",
        "  message 3, part 1, tool use 't1': second",
    ]
    assert pickle.loads(pickle.dumps(error)).findings == error.findings  # noqa: S301 - bytes that this test wrote


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Huge:
    def __repr__(self) -> str:
        return "h" * 10**6


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10**6,
        b"x" * 10**6,
        Hostile(),
        Huge(),
        [Hostile()],
        nested(100_000),
        pytest.param(10**5000, id="huge integer"),
        {"k" * 1000: "v" * 1000},
        "\ud800",
        None,
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_value_can_be_shown_in_short(value: object) -> None:
    shown = shortened(value)
    assert 0 < len(shown) <= SHOWN_CHARS
    shown.encode()


def test_what_is_short_is_shown_whole() -> None:
    assert shortened({"a": [1, "b"]}) == "{'a': [1, 'b']}"
    assert shortened(nested(100_000)).startswith("[[[")
    assert shortened("it's") == '"it\'s"'


def test_what_actum_says_itself_is_never_cut() -> None:
    path = "records[17].messages[4].parts[2].content." + "deeply." * 30 + "nested"
    error = InvalidValue(field=path, value=shortened("x" * 500), rule="is a finite number")
    assert path in str(error)
    assert "x" * 100 not in str(error)
