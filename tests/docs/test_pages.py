"""What the pages show is Python, and what they point at is there."""

import ast
import re
import textwrap
from pathlib import Path

import pytest

from tests.support.project import ROOT, name_of, text_of

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "tests" / "README.md"])
FENCE = re.compile(r"^([ ]*)```(\w*)[^\n]*\n(.*?)^\1```\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


def python_blocks(page: Path) -> list[str]:
    return [textwrap.dedent(body) for _, language, body in FENCE.findall(text_of(page)) if language == "python"]


def parsed(block: str, page: Path) -> ast.Module:
    """The syntax tree of a block, which may stand inside a function that the page does not show."""
    return ast.parse(f"async def shown():\n{textwrap.indent(block, '    ')}\n    pass\n", name_of(page))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_on_a_page_is_python(page: Path) -> None:
    for block in python_blocks(page):
        parsed(block, page)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_imports_what_is_public(page: Path) -> None:
    """Deeper paths than `actum` and `actum.testing` are private, and a reader copies what a page shows."""
    shown = (node for block in python_blocks(page) for node in ast.walk(parsed(block, page)))
    rooms = [node.module or "" for node in shown if isinstance(node, ast.ImportFrom)]
    assert [room for room in rooms if room.startswith("actum.") and not room.startswith("actum.testing")] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_link_leads_somewhere(page: Path) -> None:
    targets = [link.partition("#")[0] for link in LINK.findall(text_of(page)) if "://" not in link]
    assert [target for target in targets if target and not (page.parent / target).exists()] == []
