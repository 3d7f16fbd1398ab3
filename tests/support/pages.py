"""The Python of a page, run as a reader would run it, and what it prints held against the page.

Block after block, so that a failure names its block; or all of them in the frame that the README shows.
"""

import ast
import importlib.util
import inspect
import re
import textwrap
from pathlib import Path
from typing import Final

from tests.support.project import ROOT, text_of

README: Final = ROOT / "README.md"
_BLOCK = re.compile(r"^(?:<!-- needs (\w+) -->\n)?```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)
_PLACE = "    pass  # the page's blocks\n"


def blocks_of(page: Path) -> list[str]:
    """The blocks of Python on a page, in their order, without those that need a package which is not installed."""
    return [
        block for package, block in _BLOCK.findall(text_of(page)) if not package or importlib.util.find_spec(package)
    ]


def printed_by(block: str) -> list[str]:
    """The lines that a block says it prints: each stands behind its `print`."""
    return _PRINTED.findall(block)


async def run_block(block: str, names: dict[str, object]) -> None:
    """Runs a block, which may await, with these names; what it defines is among them afterwards."""
    ran = eval(compile(block, "a page", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)  # noqa: S307 - the project's own page
    if inspect.isawaitable(ran):
        await ran


def frame() -> str:
    """The program around a page's blocks, as the README shows it."""
    [shown] = [block for block in blocks_of(README) if _PLACE in block]
    return shown


def run_program(page: Path, around: str) -> None:
    """Runs a page as one program: its blocks, in their order, in the place that the frame leaves for them."""
    blocks = textwrap.indent("\n".join(blocks_of(page)), "    ")
    names = {"__name__": page.name}
    exec(compile(around.replace(_PLACE, blocks), page.name, "exec"), names)  # noqa: S102 - the project's own page
