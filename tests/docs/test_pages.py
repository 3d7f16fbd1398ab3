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
    """To a file that is there, and where it names a heading, to one that the page has."""
    for link in LINK.findall(text_of(page)):
        if "://" not in link:
            path, _, heading = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not heading or heading in headings(target), link


def headings(page: Path) -> list[str]:
    """The headings of a page as links name them: in small letters, with `-` for a space and no other signs."""
    titles = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text_of(page), flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    return [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("**/*.md")), ids=name_of)
def test_a_page_with_examples_says_how_they_are_run(page: Path) -> None:
    if python_blocks(page):
        assert "README.md#run-what-a-page-shows" in text_of(page).partition("```")[0]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_ends_with_its_last_line(page: Path) -> None:
    assert text_of(page).endswith("\n")
    assert not text_of(page).endswith("\n\n")
