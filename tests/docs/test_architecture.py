"""ARCHITECTURE.md points at what is there: every file and folder that it names, and every name of code."""

import re

import pytest

from tests.support.project import ROOT, SRC, python_files, text_of

PAGE = ROOT / "ARCHITECTURE.md"
SPANS = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text_of(PAGE), flags=re.DOTALL))
FILES = sorted({span for span in SPANS if re.fullmatch(r"[\w./<>-]+(/|\.py|\.md|\.toml)|[\w-]+(/[\w.<>-]+)+", span)})
NAMES = sorted({span.removesuffix("()") for span in SPANS if re.fullmatch(r"[A-Za-z_]\w+(\(\))?", span)})


def test_the_page_names_files_and_code() -> None:
    assert len(FILES) > 60
    assert len(NAMES) > 10


@pytest.mark.parametrize("path", FILES)
def test_a_file_that_the_page_names_is_there(path: str) -> None:
    """From the root of the project or of the package; one that is named without its folder, anywhere in the package."""
    sought = re.sub(r"<\w+>", "*", path.rstrip("/")).removeprefix("actum/")
    found = [*ROOT.glob(sought), *SRC.glob(sought)]
    if "/" not in sought:
        found += SRC.rglob(sought)
    assert found, f"{path} is nowhere"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_code_that_the_page_uses_is_in_the_code(name: str) -> None:
    word = re.compile(rf"\b{name}\b")
    assert any(word.search(text_of(path)) for path in python_files(SRC)), f"{name} stands in no file of the package"


def test_every_row_of_a_change_names_a_place() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", text_of(PAGE).partition("## To change X")[2], re.MULTILINE)
    changes = [row for row in rows if "---" not in row[0] and row[0] != "to change"]
    assert len(changes) > 25
    assert [row[0] for row in changes if "`" not in row[1]] == []
