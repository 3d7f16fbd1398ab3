"""Strict, with reasons: whoever turns a rule off says why, on the same line."""

import io
import itertools
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.project import ROOT, SRC, TESTS, name_of, python_files, text_of

# At least two words: "why" alone is no reason.
REASON = r"\s*(?:-|#|:)\s*\S+\s+\S+"
EXCUSED = re.compile(
    rf"# noqa: [A-Z]+[0-9]+(?:, ?[A-Z]+[0-9]+)*{REASON}"
    rf"|# type: ignore\[[a-z-]+(?:, ?[a-z-]+)*\]{REASON}"
    rf"|# pragma: no cover{REASON}"
)
EXCUSES = re.compile(r"#\s*(noqa|ruff:|type:\s*ignore|mypy:|pyright:|pragma:|fmt:)", re.IGNORECASE)

FOLDERS = (SRC, TESTS, ROOT / "bench", ROOT / "examples", ROOT / "docs", ROOT / "tools")
RULE = re.compile(r"\"[A-Z]+[0-9]*\"")


def comments_of(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def without_reason(text: str) -> list[tuple[int, str]]:
    """Every comment that turns a rule off and says no reason, or says it in a form that this file does not know."""
    return [
        (line, comment)
        for line, comment in comments_of(text)
        if EXCUSES.search(comment) and not EXCUSED.search(comment)
    ]


@pytest.mark.parametrize("path", python_files(*FOLDERS), ids=name_of)
def test_every_exception_in_the_code_has_a_reason(path: Path) -> None:
    assert without_reason(text_of(path)) == []


@pytest.mark.parametrize(
    "comment, excused",
    [
        ("# noqa: SLF001 - the table is what this is about", True),
        ("# noqa: SLF001, B010  # the table is what this is about", True),
        ("# type: ignore[arg-type]  # the wrong type is the point", True),
        ("# noqa: SLF001", False),
        ("# noqa", False),
        ("# noqa: SLF001 - why", False),
        ("# type: ignore", False),
        ("# type: ignore  # the wrong type is the point", False),
        ("# type: ignore[arg-type]", False),
        ("# ruff: noqa", False),
        ("# mypy: ignore-errors", False),
        ("# fmt: off", False),
        ("# an ordinary remark", True),
    ],
)
def test_the_reader_of_reasons_can_tell(comment: str, *, excused: bool) -> None:
    assert (without_reason(f"x = 1  {comment}\n") == []) is excused


def test_every_ignore_of_the_linter_has_a_reason() -> None:
    """In pyproject.toml, a line that names a rule to be ignored ends in a comment."""
    bare: list[str] = []
    inside = False
    for line in text_of(ROOT / "pyproject.toml").splitlines():
        if line.startswith("["):
            inside = line == "[tool.ruff.lint.per-file-ignores]"
        opens = line.startswith("ignore = [")
        inside = inside or opens
        if inside and RULE.search(line) and not re.search(r"# \S+ \S+", line):
            bare.append(line)
    assert bare == []


def test_every_tolerated_warning_has_a_reason() -> None:
    """A line of `filterwarnings` other than "error" has a comment above or beside it."""
    lines = text_of(ROOT / "pyproject.toml").splitlines()
    tolerated = [
        (above, line) for above, line in itertools.pairwise(lines) if re.match(r"\s*\"(ignore|default):", line)
    ]
    assert [line for above, line in tolerated if "# " not in above + line] == []
