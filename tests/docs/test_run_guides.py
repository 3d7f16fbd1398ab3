"""The examples of the pages about runs run, in their order, and print what they say."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from tests.support.project import ROOT, text_of

PAGES = ["policies.md", "history.md", "prompts.md", "suspending.md", "approving.md", "children.md", "cancelling.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
async def test_the_examples_run_and_print_what_they_say(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    path: Path = ROOT / "docs" / page
    blocks = BLOCK.findall(text_of(path))
    assert len(blocks) >= 3
    names: dict[str, object] = {"__name__": page}
    for block in blocks:
        ran = eval(compile(block, str(path), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)  # noqa: S307 - the page's own examples
        if inspect.isawaitable(ran):
            await ran
        assert capsys.readouterr().out.splitlines() == PRINTED.findall(block), block
