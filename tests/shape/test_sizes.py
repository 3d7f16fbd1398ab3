"""Small rooms with a hard wall: a module is read in one sitting, a function fits on one screen."""

import ast
from pathlib import Path

import pytest

from tests.support.project import SRC, TESTS, FunctionNode, functions_of, name_of, python_files, text_of, tree_of

MODULE_LINES = 500
FUNCTION_LINES = 60


def lines_of_code(function: FunctionNode) -> int:
    """Count from `def` to the last line. A docstring is not counted: nobody shall gain by writing a shorter one."""
    length = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        length -= (first.end_lineno or first.lineno) - first.lineno + 1
    return length


@pytest.mark.parametrize("path", python_files(SRC, TESTS), ids=name_of)
def test_a_module_is_read_in_one_sitting(path: Path) -> None:
    assert len(text_of(path).splitlines()) <= MODULE_LINES


@pytest.mark.parametrize("path", python_files(SRC), ids=name_of)
def test_a_function_fits_on_one_screen(path: Path) -> None:
    long = {each.name: size for each in functions_of(tree_of(path)) if (size := lines_of_code(each)) > FUNCTION_LINES}
    assert long == {}


def test_a_docstring_is_not_counted() -> None:
    tree = ast.parse('def f() -> int:\n    """One.\n\n    Two.\n    """\n    return 1\n')
    assert [lines_of_code(each) for each in functions_of(tree)] == [2]
