"""docs/cli.md against the command tree: every command, option in an example, check and exit code."""

import re
import shlex

import pytest
from typer import main as typer_main

from actum.cli.exits import EXITS
from actum.cli.main import app
from actum.host.verify import Check
from tests.support.project import ROOT, text_of

PAGE = ROOT / "docs" / "cli.md"
COMMANDS = getattr(typer_main.get_command(app), "commands")  # noqa: B009 - a group's commands, which its type does not show


def examples() -> list[list[str]]:
    lines = re.findall(r"^\$ (actum .*)$", text_of(PAGE), re.MULTILINE)
    return [shlex.split(line)[1:] for line in lines]


def table(heading: str) -> dict[str, str]:
    """The rows of the first table behind a heading of this text: first column to second."""
    part = text_of(PAGE).partition(heading)[2]
    rows = re.search(r"^\|---.*\n((?:\|.*\n)+)", part, re.MULTILINE)
    assert rows is not None
    cells = [[each.strip(" `") for each in row.strip("|\n").split("|")] for row in rows[1].splitlines()]
    return {row[0]: row[1] for row in cells}


def test_every_command_has_its_heading() -> None:
    headings = re.findall(r"^### `actum (\w+)`$", text_of(PAGE), re.MULTILINE)
    assert headings == list(COMMANDS)


def test_every_command_has_an_example() -> None:
    assert {example[0] for example in examples()} == set(COMMANDS)


@pytest.mark.parametrize("example", examples(), ids=" ".join)
def test_an_example_is_a_command_line_that_parses(example: list[str]) -> None:
    name, *arguments = example
    COMMANDS[name].make_context(name, arguments)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_says_what_it_is(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    assert [each.name for each in command.params if not each.help] == []


def test_every_exit_code_is_on_the_page() -> None:
    assert table("## Exit codes") == {str(code): says for code, says in EXITS.items()}


def test_every_check_is_on_the_page() -> None:
    assert list(table("### `actum verify`")) == [str(check) for check in Check]
