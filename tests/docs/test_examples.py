import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project import ROOT

EXAMPLES = ROOT / "examples"

PRINTED = {
    "first_conversation.py": "That is question 1; the first one was: How does this begin?\n"
    "That is question 2; the first one was: How does this begin?\n",
    "tools_in_parallel.py": "The first has ",
    "exact_retry.py": "order 1 is placed\norder 1 is placed\nrun_conflict\n",
    "watching.py": "-- back again\n",
}


def run(name: str, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_every_example_is_run_here() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(PRINTED)


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_an_example_prints_what_it_promises(name: str, tmp_path: Path) -> None:
    assert PRINTED[name] in run(name, tmp_path)


def test_a_conversation_goes_on_where_it_stood(tmp_path: Path) -> None:
    run("first_conversation.py", tmp_path, "sqlite:///kept.db")
    assert "That is question 4" in run("first_conversation.py", tmp_path, "sqlite:///kept.db")


def test_a_watcher_that_comes_back_misses_nothing_and_gets_nothing_twice(tmp_path: Path) -> None:
    before, after = run("watching.py", tmp_path).split("-- back again\n")
    whole = [*before.split(), *after.split()]
    assert whole.count("tool_start") == whole.count("tool_end") == whole.count("assistant_turn") - 1 == 1
    assert whole[-1] == "run_stream_end"
