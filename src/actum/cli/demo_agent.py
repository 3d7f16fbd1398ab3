"""The demo's agent: three tools over a folder, and a planner of plain code. Planners need not be language models."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from actum.base.clock import wait
from actum.base.value import Json
from actum.messages.parts import ToolResultPart, ToolUsePart, tool_use
from actum.planning.planner import PlanInput, PlanResult, PlanResumeInput
from actum.records.failures import ToolFailureKind
from actum.runtime.agent import Agent
from actum.tools.define import tool
from actum.tools.failures import ToolError

AGENT: Final = "guide"

MOMENT_S: Final = 0.2

_QUOTED: Final = re.compile(r'"([^"]+)"')
_FILE: Final = re.compile(r"[\w./-]+\.(?:md|toml|py|txt)\b")
_READABLE: Final = {".md", ".toml", ".py", ".txt", ".sql", ".cfg"}
_FILES: Final = 2000
_FILE_BYTES: Final = 200_000
_PLACES: Final = 5


def guide(root: Path, *, search_takes_s: float = MOMENT_S) -> Agent:
    """The agent for the files under `root`.

    `search_takes_s` makes its search slow, so that it can be interrupted; every other call takes a moment as well, so
    that it shows when calls run in parallel.
    """

    @tool(idempotent=True)
    async def list_files(folder: str) -> dict[str, Json]:
        """Count the text files of a folder and name its first ones."""
        await wait(MOMENT_S)
        names = [path.relative_to(root).as_posix() for path in _files(_inside(root, folder))]
        return {"count": len(names), "first": names[:3]}

    @tool(idempotent=True)
    async def read_file(path: str) -> dict[str, Json]:
        """Read the beginning of a text file and count its lines."""
        await wait(MOMENT_S)
        lines = _text(_inside(root, path)).splitlines()
        return {"lines": len(lines), "begins": next((line for line in lines if line.strip()), "")[:100]}

    @tool(idempotent=True)
    async def search_text(text: str) -> dict[str, Json]:
        """Find where a text stands in the files."""
        await wait(search_takes_s)
        places = [
            f"{path.relative_to(root).as_posix()}:{number}"
            for path in _files(root)
            for number, line in enumerate(_text(path).splitlines(), 1)
            if text in line
        ]
        return {"count": len(places), "first": places[:_PLACES]}

    return Agent(AGENT, planner=GuidePlanner(), tools=[list_files, read_file, search_text])


class GuidePlanner:
    """Looks for file names and quoted words in a question, asks the tools about all of them at once, and reports."""

    async def plan_start(self, plan_input: PlanInput, /) -> PlanResult:
        """The calls that the newest question needs; they run in parallel."""
        question = (await plan_input.prepare_messages())[-1].text
        uses = [tool_use("list", "list_files", {"folder": "."})]
        uses += [
            tool_use(f"read-{n}", "read_file", {"path": name}) for n, name in enumerate(_FILE.findall(question), 1)
        ]
        uses += [
            tool_use(f"search-{n}", "search_text", {"text": t}) for n, t in enumerate(_QUOTED.findall(question), 1)
        ]
        return PlanResult.calls(*uses)

    async def plan_resume(self, plan_input: PlanResumeInput, /) -> PlanResult:
        """The answer, out of the results and of what was asked before in this conversation."""
        messages = await plan_input.prepare_messages()
        asked = [each.text for each in messages if each.role == "user" and not each.tool_results]
        uses = messages[-2].tool_uses
        says = [_told(use, result) for use, result in zip(uses, plan_input.results, strict=True)]
        if len(asked) > 1:
            says.append(f"This was question {len(asked)}; the first one was: {asked[0]}")
        return PlanResult.final("\n".join(says))


def _told(use: ToolUsePart, result: ToolResultPart) -> str:
    found = result.content
    if result.is_error:
        return f"{use.name} failed: {found['message']}"
    match use.name:
        case "list_files":
            return f"There are {found['count']} text files, such as {', '.join(found['first'])}."
        case "read_file":
            return f"{use.arguments['path']} has {found['lines']} lines and begins: {found['begins']}"
        case _:
            where = f": {', '.join(found['first'])}" if found["first"] else ""
            return f"{use.arguments['text']!r} stands in {found['count']} places{where}"


def _inside(root: Path, name: str) -> Path:
    """The path of a name under the root. Raises ToolError for one that leads out of it, or nowhere."""
    path = (root / name).resolve()
    if not path.is_relative_to(root) or not path.exists():
        raise ToolError(ToolFailureKind.DOMAIN_REJECTION, f"there is no {name!r} in this folder")
    return path


def _files(folder: Path) -> Iterator[Path]:
    """The text files below a folder in the order of their paths, hidden folders left out; a bounded number."""
    waiting, given = [folder], 0
    while waiting and given < _FILES:
        here = waiting.pop(0)
        for path in sorted(here.iterdir()):
            if path.name.startswith((".", "__")):
                continue
            if path.is_dir():
                waiting.append(path)
            elif path.suffix in _READABLE and given < _FILES:
                given += 1
                yield path


def _text(path: Path) -> str:
    """The beginning of a file as text."""
    with path.open("rb") as file:
        return file.read(_FILE_BYTES).decode("utf-8", "replace")
