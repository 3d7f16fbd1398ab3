"""The floors hold: every import points down, each room says where it stands, and a breach is caught."""

import ast
import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project import ROOT, SRC, tree_of

CONFIG = ROOT / ".importlinter"


def floors() -> dict[str, int]:
    """Read the picture: room -> floor, the ground being 0."""
    picture = configparser.ConfigParser()
    picture.read(CONFIG, encoding="utf-8")
    lines = picture["importlinter:contract:floors"]["layers"].split("\n")
    bottom_up = [line for line in reversed(lines) if line.strip()]
    return {room: number for number, line in enumerate(bottom_up) for room in re.findall(r"\w+", line)}


FLOORS = floors()
BUILT = sorted(path.parent.name for path in SRC.glob("*/__init__.py"))


def lint(folder: Path) -> tuple[int, str]:
    """Run the import linter on the package `actum` in a folder; return its exit code and what it printed."""
    script = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", script, "--no-cache", "--no-logo", str(CONFIG)],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy the package, so that a test may spoil it."""
    shutil.copytree(SRC, tmp_path / "actum", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "actum"


def test_the_house_stands() -> None:
    code, printed = lint(SRC.parent)
    assert code == 0, printed


@pytest.mark.parametrize("room", BUILT)
def test_a_room_says_where_it_stands(room: str) -> None:
    number = FLOORS[room]
    doc = " ".join((ast.get_docstring(tree_of(SRC / room / "__init__.py")) or "").split())
    assert doc.startswith(f"Floor {number}. "), (
        f"actum.{room} stands on floor {number}; its docstring says: {doc[:60]!r}"
    )
    if number:
        below = "floor 0" if number == 1 else f"floors 0-{number - 1}"
        assert f"May import {below}." in doc


@pytest.mark.slow
@pytest.mark.parametrize(
    "file, line, contract",
    [
        ("base/limits.py", "import actum.records", "Every import points down"),
        ("messages/__init__.py", "import actum.cli", "Every import points down"),
        ("model/__init__.py", "import actum.stream", "Every import points down"),
        ("runtime/__init__.py", "import actum.testing", "Every import points down"),
        ("newroom/__init__.py", "x = 1", "Every import points down"),
        ("lifecycle/newrule.py", "import sqlite3", "Words, rules and the loop touch no world"),
        ("transcript/newrule.py", "import asyncio", "Words and rules never wait"),
        ("storage/newstore.py", "from actum.lifecycle.decide import decide", "Only LocalStore calls the rules"),
    ],
)
def test_a_breach_is_caught(copy: Path, file: str, line: str, contract: str) -> None:
    spoilt = copy / file
    spoilt.parent.mkdir(exist_ok=True)
    with spoilt.open("a", encoding="utf-8") as more:
        more.write(f"\n{line}\n")
    code, printed = lint(copy.parent)
    assert code == 1
    assert f"{contract} BROKEN" in printed, printed
