"""The facade is a list, and this test reads it: sorted, complete, unique, documented."""

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import actum
from tests.support.project import ROOT, SRC, python_files, text_of, tree_of

FACADE = SRC / "__init__.py"
STUB = SRC / "__init__.pyi"
EXPORTS: dict[str, str] = vars(actum)["_EXPORTS"]
ROOMS: dict[str, str] = vars(actum)["_ROOMS"]
NAMES = sorted(EXPORTS)


def reading_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest; each by the alphabet: the order in which ruff sorts `__all__`."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def imports_for_type_checkers() -> dict[str, str]:
    """Read what the stub re-exports, as name -> module."""
    found: dict[str, str] = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign):
            continue
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, f"{alias.name}: write `import {alias.name} as {alias.name}`"
            found[alias.name] = node.module or ""
    return found


def has_comment_or_docstring(name: str, module: str) -> bool:
    """Tell whether an assigned name is explained: a string right below its assignment, or a comment above or beside."""
    path = Path(import_module(module).__file__ or "")
    body, lines = tree_of(path).body, text_of(path).splitlines()
    for node, after in zip(body, [*body[1:], None], strict=True):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if name not in [target.id for target in targets if isinstance(target, ast.Name)]:
            continue
        below = (
            isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str)
        )
        return below or lines[node.lineno - 2].lstrip().startswith("#") or "#" in lines[node.lineno - 1]
    return False


def test_each_room_lists_its_names_once_and_in_order() -> None:
    rooms = {room: names.split() for room, names in ROOMS.items()}
    assert {room: names for room, names in rooms.items() if names != sorted(set(names), key=reading_order)} == {}
    assert Counter(name for names in rooms.values() for name in names).most_common(1)[0][1] == 1


def test_the_table_and_the_stub_agree() -> None:
    assert set(vars(actum)["__all__"]) == {*EXPORTS, "__version__"}
    assert imports_for_type_checkers() == EXPORTS


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_what_its_module_defines(name: str) -> None:
    value = getattr(actum, name)
    assert value is getattr(import_module(EXPORTS[name]), name)
    assert not name.startswith("_")
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__module__ == EXPORTS[name], "export a name from the file that defines it"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_documented(name: str) -> None:
    value = getattr(actum, name)
    if inspect.isclass(value):
        assert (vars(value).get("__doc__") or "").strip(), f"class {name} has no docstring of its own"
    elif inspect.isroutine(value):
        assert (value.__doc__ or "").strip(), f"{name}() has no docstring"
    else:
        assert has_comment_or_docstring(name, EXPORTS[name]), f"say above {name}, or below it, what it is"


def test_one_thing_has_one_name() -> None:
    things = [value for name in NAMES if inspect.isclass(value := getattr(actum, name)) or inspect.isroutine(value)]
    assert [thing for thing, times in Counter(map(id, things)).items() if times > 1] == []


def twins_among(names: set[str]) -> set[str]:
    """Find names that stand with and without a mark of one world; `run_sync` beside `run` is the one that may."""
    public = {each for each in names if not each.startswith("_")}
    marked = {
        (each, form) for each in public for form in (f"a{each}", f"async_{each}", f"{each}_async", f"{each}_sync")
    }
    return {form for _, form in marked if form in public} - {"run_sync"}


def test_no_name_has_an_async_twin() -> None:
    assert twins_among(set(vars(actum)["__all__"])) == set()
    classes = {name: value for name in NAMES if inspect.isclass(value := getattr(actum, name))}
    assert {name: twins for name, value in classes.items() if (twins := twins_among(set(vars(value))))} == {}


def test_twins_are_seen() -> None:
    assert twins_among({"get", "aget", "put", "put_sync", "run", "run_sync"}) == {"aget", "put_sync"}


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'actum' has no attribute 'Sesion'"):
        getattr(actum, "Sesion")  # noqa: B009 - a dotted misspelling would not type-check


def test_importing_actum_loads_no_room() -> None:
    script = "import sys, actum; print(*sorted(name for name in sys.modules if name.startswith('actum.')))"
    printed = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert printed.split() == []


def test_nothing_inside_goes_in_by_the_front_door() -> None:
    front = re.compile(r"^\s*(from actum import|import actum$|import actum as)", re.MULTILINE)
    assert [path.name for path in python_files(SRC) if front.search(text_of(path)) and path != FACADE] == []


def test_the_version_is_the_package_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == actum.__version__
