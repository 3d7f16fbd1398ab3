"""The Python of a page, run as a reader would run it: block after block, and what it prints held against the page."""

import ast
import inspect
import re
from pathlib import Path

from tests.support.project import text_of

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


def blocks_of(page: Path) -> list[str]:
    """The blocks of Python on a page, in their order."""
    return _BLOCK.findall(text_of(page))


def printed_by(block: str) -> list[str]:
    """The lines that a block says it prints: each stands behind its `print`."""
    return _PRINTED.findall(block)


async def run_block(block: str, names: dict[str, object]) -> None:
    """Runs a block, which may await, with these names; what it defines is among them afterwards."""
    ran = eval(compile(block, "a page", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)  # noqa: S307 - the project's own page
    if inspect.isawaitable(ran):
        await ran
