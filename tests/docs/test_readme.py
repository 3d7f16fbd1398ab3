"""The README: its example is a script that runs, its commands are there, and every page can be reached from it."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.support.pages import README, blocks_of, frame
from tests.support.project import ROOT, name_of, text_of

MODEL = '"openai:gpt-4.1"'
BY_HEART = 'ScriptedModel([tool_use("call-1", "word_count", {"path": "README.md"}), "It has %d words."])'
PLAIN_CODE = """
class Counting:
    async def plan_start(self, plan_input):
        return PlanResult.calls(tool_use("call-1", "word_count", {"path": "README.md"}))

    async def plan_resume(self, plan_input):
        return PlanResult.final(f"It has {plan_input.results[0].content} words.")

"""


def example() -> str:
    [block] = [block for block in blocks_of(README) if block != frame()]
    return block


def replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"the README's example no longer has {old!r}"
    return text.replace(old, new)


def printed_by_script(script: str, folder: Path) -> str:
    (folder / "README.md").write_text("five words are counted here", encoding="utf-8")
    (folder / "example.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "example.py"], cwd=folder, check=True, capture_output=True, text=True
    )
    assert done.stderr == ""
    return done.stdout


def test_the_example_runs_with_a_model_that_answers_by_heart(tmp_path: Path) -> None:
    script = "from actum import tool_use\nfrom actum.testing import ScriptedModel\n" + example()
    assert printed_by_script(replaced(script, MODEL, BY_HEART % 5), tmp_path) == "It has 5 words.\n"
    assert (tmp_path / "chat.db").exists()


def test_the_example_runs_with_a_planner_of_plain_code(tmp_path: Path) -> None:
    script = "from actum import PlanResult, tool_use\n" + PLAIN_CODE + example()
    planned = replaced(script, f'model={MODEL}, instructions="Be brief."', "planner=Counting()")
    assert printed_by_script(planned, tmp_path) == "It has 5 words.\n"


def answered(folder: Path, command: str) -> str:
    """What a command that the README shows answers in this folder, where `ID` is the only session's."""
    done = subprocess.run(
        [sys.executable, "-m", "actum.cli.main", *shlex.split(command)[1:]],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def test_what_the_example_wrote_is_shown_by_the_commands_behind_it(tmp_path: Path) -> None:
    script = "from actum import tool_use\nfrom actum.testing import ScriptedModel\n" + example()
    printed_by_script(replaced(script, MODEL, BY_HEART % 5), tmp_path)
    shown = re.findall(r"`(?:\.venv/bin/)?(actum \w+ [^`]+)`", text_of(README))
    assert [command.split()[1] for command in shown] == ["sessions", "transcript", "records"]
    listed, *others = shown
    [session_id] = re.findall(r"session-\w+", answered(tmp_path, listed))
    transcript, records = (answered(tmp_path, command.replace("ID", session_id)) for command in others)
    assert "How long is README.md?" in transcript
    assert "It has 5 words." in transcript
    assert "run_completed" in records


def test_what_is_installed_by_name_is_there_to_install() -> None:
    extras = set(tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]) - {"dev"}
    [line] = re.findall(r"^\$ pip install 'actum\[(.*)$", text_of(README), re.MULTILINE)
    assert set(re.findall(r"[a-z]+", line)) - {"or"} == extras


def test_how_to_install_is_said_in_one_place() -> None:
    """No page has a form of its own: a form that lacks the first line of the README asks a registry."""
    pages = [*(ROOT / "docs").glob("**/*.md"), *(ROOT / "examples").glob("*")]
    assert [name_of(page) for page in pages if page.is_file() and "pip install" in text_of(page)] == []


def test_the_commands_that_pages_name_are_targets_of_make() -> None:
    targets = set(re.findall(r"^(\w+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    for page in (README, ROOT / "CONTRIBUTING.md"):
        assert set(re.findall(r"^\$ make (\w+)", text_of(page), re.MULTILINE)) <= targets


def test_every_page_can_be_reached() -> None:
    """From the README by links, in any number of steps; a page that nothing leads to is read by nobody."""
    reached: set[Path] = set()
    ahead = [README]
    while ahead:
        page = ahead.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            ahead += [(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#:]+)\)", text_of(page))]
    pages = {*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "providers").glob("*.md")}
    assert sorted(map(name_of, pages - reached)) == []
