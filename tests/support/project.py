"""The project as a shape test sees it: its files, their text and their syntax trees."""

import ast
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "actum"
TESTS = ROOT / "tests"

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def python_files(*folders: Path) -> list[Path]:
    """Every Python file under the folders, in the order of their paths, without environments and other hidden folders.

    A folder that is not there has none.
    """
    found: list[Path] = []
    for folder in folders:
        for here, inside, names in os.walk(folder):
            inside[:] = [name for name in inside if not name.startswith((".", "__pycache__"))]
            found += [Path(here, name) for name in names if name.endswith(".py")]
    return sorted(found)


def name_of(path: Path) -> str:
    """Name a file the way a reader would look for it: from the root of the project."""
    return path.relative_to(ROOT).as_posix()


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path), filename=str(path))


def functions_of(tree: ast.Module) -> Iterator[FunctionNode]:
    """Every function and method, however deep."""
    return (node for node in ast.walk(tree) if isinstance(node, FunctionNode))


def tracked_files() -> list[Path]:
    """Every file that git keeps; skips the test where there is no repository, as in an unpacked archive."""
    if not (ROOT / ".git").exists():
        pytest.skip("no git repository here, so no list of tracked files")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    paths = (ROOT / name for name in listed.stdout.decode().split("\0") if name)
    return sorted(path for path in paths if path.is_file())
