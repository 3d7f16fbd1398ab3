"""Names say what a thing is, nothing is left half done, and no file knows the machine it was written on."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.project import ROOT, SRC, TESTS, name_of, python_files, text_of, tracked_files, tree_of

VAGUE = re.compile(
    r"manager|helper|(?<![a-z])utils?(?![a-z])|_impl(?![a-z])|(?<=[a-z])Impl(?![a-z])|(?<=[a-z])Utils?(?![a-z])"
)
VAGUE_ANY_CASE = re.compile(r"manager|helper", re.IGNORECASE)
# Spelt in two halves, here and below, so that this file does not contain what it looks for.
UNFINISHED = re.compile(
    "|".join([r"\bTO" + "DO", r"\bFIX" + "ME", r"\bX" + r"XX\b", r"\bst" + r"ub(bed)?\b", "NotImplemented" + "Error"])
)

REGISTRIES = [
    "pypi" + ".org",
    "python" + "hosted.org",
    "npm" + "js.org",
    "npm" + "js.com",
    "yarn" + "pkg.com",
    "deb" + "ian.org/debian",
]
MACHINE_PATH = re.compile(r"(?<![\w.:/-])/(?:home|Users|root|work|opt|mnt)/\w")
NEIGHBOURS = ["../sha" + "red", ".lib" + "rary/"]


def vague(name: str) -> bool:
    return bool(VAGUE.search(name) or VAGUE_ANY_CASE.search(name))


def declared_names(path: Path) -> list[str]:
    """Name the file, its folder, and the classes and functions in it."""
    declarations = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    declared = [node.name for node in ast.walk(tree_of(path)) if isinstance(node, declarations)]
    return [path.stem, path.parent.name, *declared]


@pytest.mark.parametrize("path", python_files(SRC), ids=name_of)
def test_names_are_nouns_and_verbs_of_this_field(path: Path) -> None:
    assert [name for name in declared_names(path) if vague(name)] == []


@pytest.mark.parametrize("name", ["utils", "store_util", "SessionManager", "json_helpers", "run_impl", "StoreImpl"])
def test_a_vague_name_is_seen(name: str) -> None:
    assert vague(name)


@pytest.mark.parametrize("name", ["utility", "simplify", "Implied", "context", "fold"])
def test_a_plain_name_is_left_alone(name: str) -> None:
    assert not vague(name)


@pytest.mark.parametrize("path", python_files(SRC), ids=name_of)
def test_nothing_is_left_half_done(path: Path) -> None:
    found = [line.strip() for line in text_of(path).splitlines() if UNFINISHED.search(line)]
    assert found == []


def test_a_test_file_says_what_it_tests() -> None:
    """A file that pytest would not collect is support, and lives where support lives."""
    homes = {TESTS / "support", TESTS / "typing"}
    strays = [
        name_of(path)
        for path in python_files(TESTS)
        if not path.name.startswith("test_") and path.name != "conftest.py" and not homes.intersection(path.parents)
    ]
    assert strays == []


def test_no_file_names_a_registry_or_a_path_of_this_machine() -> None:
    """The project installs from wherever the reader's machine does, and lives wherever the reader put it."""
    here = [str(ROOT) + "/", str(Path.home()) + "/"]
    found: list[str] = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", "replace")
        words = [word for word in (*REGISTRIES, *here) if word in text]
        if not path.is_relative_to(TESTS) and path.parent != ROOT / ".ci":
            words += [word for word in NEIGHBOURS if word in text]
        words += MACHINE_PATH.findall(text)
        found += [f"{name_of(path)}: {word}" for word in words]
    assert found == []
