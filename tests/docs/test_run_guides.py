"""The examples of the pages run, block by block and as the one program that the README makes of them.

They print what the pages say; a block, or a page, that says nothing of it may print what it likes.
"""

from pathlib import Path

import pytest

from actum import ContractError
from tests.support.pages import blocks_of, frame, printed_by, run_block, run_program
from tests.support.project import ROOT

# A page that starts a run under an id of its own, or erases what it made, is refused on a file that knows it already.
NEEDS_A_NEW_FOLDER = ["conversations.md", "memory.md", "store.md"]
AS_OFTEN_AS_YOU_LIKE = [
    "tools.md",
    "suspending.md",
    "approving.md",
    "children.md",
    "cancelling.md",
    "policies.md",
    "history.md",
    "prompts.md",
    "interchange.md",
]
PAGES = [*NEEDS_A_NEW_FOLDER, *AS_OFTEN_AS_YOU_LIKE]
HERE = f"{frame().partition('with ')[0]}asyncio.run(main())\n"


@pytest.mark.parametrize("page", PAGES)
async def test_the_examples_run_and_print_what_they_say(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(ROOT / "docs" / page)
    assert len(blocks) >= 2
    names: dict[str, object] = {"__name__": page}
    for block in blocks:
        await run_block(block, names)
        assert printed_by(block) in ([], capsys.readouterr().out.splitlines()), block


def runs_and_keeps_its_word(page: Path, around: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_program(page, around)
    promised = [line for block in blocks_of(page) for line in printed_by(block)]
    assert promised in ([], capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_one_program_that_runs_as_often_as_a_reader_likes(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Path.cwd()
    for _ in range(2):
        runs_and_keeps_its_word(ROOT / "docs" / page, frame(), capsys)
    assert Path.cwd() == here


@pytest.mark.parametrize("page", AS_OFTEN_AS_YOU_LIKE)
def test_such_a_page_runs_also_in_a_folder_that_has_seen_it(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        runs_and_keeps_its_word(ROOT / "docs" / page, HERE, capsys)


@pytest.mark.parametrize("page", NEEDS_A_NEW_FOLDER)
def test_a_page_that_finds_its_own_file_is_refused_and_told_why(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    runs_and_keeps_its_word(ROOT / "docs" / page, HERE, capsys)
    with pytest.raises(ContractError):
        run_program(ROOT / "docs" / page, HERE)
