"""docs/interchange.md: its examples hold, its table names every format."""

import re

import pytest

from actum.providers.interchange.formats import FORMATS
from tests.support.project import ROOT, text_of

PAGE = text_of(ROOT / "docs" / "interchange.md")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_holds(example: str) -> None:
    assert "assert " in example
    exec(compile(example, "interchange.md", "exec"), {})  # noqa: S102 - what the page tells a reader to run


def test_every_format_is_in_the_table() -> None:
    assert re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE) == sorted(FORMATS)
