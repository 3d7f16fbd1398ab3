from typing import Any

import pytest

from actum.base.errors import InvalidValue
from actum.tools.define import tool
from actum.tools.failures import ToolFailure
from actum.tools.registry import ToolRegistry


@tool(name="fs.read")
def read(path: str) -> str:
    """Read a file."""
    return path


def write(path: str) -> str:
    """Write a file."""
    return path


def test_tools_are_found_by_their_exact_name() -> None:
    registry = ToolRegistry([read, write])
    assert registry.find("fs.read") is read
    assert [spec.name for spec in registry] == ["fs.read", "write"]
    assert [each.name for each in registry.definitions()] == ["fs.read", "write"]
    assert "write" in registry
    assert len(registry) == 2


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidValue, match="share"):
        ToolRegistry([write, tool(name="write")(write)])


@pytest.mark.parametrize(
    "name, hint",
    [
        ("fs.raed", "fs.read"),
        ("FS.READ", "fs.read, write"),
        ("zzz", "fs.read, write"),
        ("", "write"),
        ("x" * 9000, "write"),
    ],
)
def test_an_unknown_name_is_an_invalid_call_that_names_the_nearest(name: str, hint: str) -> None:
    failure = ToolRegistry([read, write]).find(name)
    assert isinstance(failure, ToolFailure)
    assert (failure.kind, failure.recovery) == ("invalid_call", "correct_call")
    assert hint in failure.message


def test_an_agent_without_tools_says_so() -> None:
    failure = ToolRegistry().find("fs.read")
    assert isinstance(failure, ToolFailure)
    assert "no tools" in failure.message


@pytest.mark.parametrize("wrong", [None, 5, "read", read, [None], ["read"], [5]])
def test_what_are_no_tools_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidValue, match="tools"):
        ToolRegistry(wrong)
