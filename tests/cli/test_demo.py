import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.crash]


def demo(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "actum.cli.main", "demo", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "COLUMNS": "80"},
    )


def test_every_claim_of_the_demo_holds() -> None:
    told = demo("--root", str(ROOT))
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stderr == ""
    for claim in (
        "was killed by signal 9",
        "completed 'second-turn'",
        "only the call that was cut short ran again",
        "the exact retry gets the first answer",
        "it is refused: the conversation has moved on",
        "the guide answered in a child run",
        "agreed twice, the note is kept once",
        "the clerk and its child are canceled, for the same reason",
        "nothing is missing and nothing disagrees",
        "not one byte of the conversation is left in the file",
        "32 of 32 claims hold.",
    ):
        assert claim in " ".join(told.stdout.split()), claim


def test_piped_it_is_plain_text_in_whole_lines(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# [bold]Hostile[/bold] \x1b[2J name\n", encoding="utf-8")
    told = demo("--root", str(tmp_path))
    assert told.returncode == 0, told.stdout + told.stderr
    assert "\x1b" not in told.stdout
    assert "[bold]Hostile[/bold] \\x1b[2J name" in told.stdout
    says = "It works on a real SQLite file; each line with a mark was checked before it was printed.\n"
    assert says in told.stdout
    assert [line for line in told.stdout.splitlines() if line != line.rstrip()] == []


def test_what_it_keeps_can_be_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "kept.db"
    told = demo("--root", str(tmp_path), "--keep", str(file))
    assert told.returncode == 0, told.stdout + told.stderr
    command = next(line for line in told.stdout.splitlines() if line.startswith("   actum transcript"))
    shown = subprocess.run(
        [sys.executable, "-m", "actum.cli.main", *command.split()[1:]], capture_output=True, text=True, check=True
    )
    assert "What is here?" in shown.stdout
    again = demo("--keep", str(file))
    assert again.returncode == 2
    assert "does not exist yet" in again.stderr


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    told = demo("--root", str(tmp_path / "nowhere"))
    assert told.returncode == 2
    assert told.stdout == ""
