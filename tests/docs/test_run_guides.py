"""The examples of the pages about a host, its runs and its store run, in their order, and print what they say."""

from pathlib import Path

import pytest

from tests.support.pages import blocks_of, printed_by, run_block
from tests.support.project import ROOT

PAGES = [
    "conversations.md",
    "tools.md",
    "suspending.md",
    "approving.md",
    "children.md",
    "cancelling.md",
    "policies.md",
    "history.md",
    "prompts.md",
    "store.md",
]


@pytest.mark.parametrize("page", PAGES)
async def test_the_examples_run_and_print_what_they_say(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(ROOT / "docs" / page)
    assert len(blocks) >= 3
    names: dict[str, object] = {"__name__": page}
    for block in blocks:
        await run_block(block, names)
        assert capsys.readouterr().out.splitlines() == printed_by(block), block
