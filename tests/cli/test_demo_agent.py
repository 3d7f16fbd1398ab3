from pathlib import Path
from typing import Any

import pytest

from actum.cli import demo_agent
from actum.cli.demo_agent import guide
from actum.messages.parts import tool_use
from actum.tools.call import call_tool
from actum.tools.spec import ToolContext, ToolSpec

CONTEXT = ToolContext(run_id="r", tool_call_id="c", attempt="a", idempotency_key="r/c")


@pytest.fixture(autouse=True)
def no_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_agent, "MOMENT_S", 0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    (folder / "deep").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / "a.md").write_text("\n\n# A\nneedle\n", encoding="utf-8")
    (folder / "deep" / "b.py").write_text("x = 'needle'\n", encoding="utf-8")
    (folder / "deep" / "c.bin").write_bytes(b"needle")
    (folder / ".hidden" / "d.md").write_text("needle", encoding="utf-8")
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    return folder


async def called(root: Path, name: str, **arguments: Any) -> Any:
    spec = guide(root, search_takes_s=0).tools.find(name)
    assert isinstance(spec, ToolSpec)
    outcome = await call_tool(spec, tool_use("c", name, arguments), CONTEXT)
    return outcome.content if outcome.failure is None else str(outcome.failure.kind)


async def test_text_files_are_listed_and_hidden_folders_are_not(root: Path) -> None:
    assert await called(root, "list_files", folder=".") == {"count": 2, "first": ["a.md", "deep/b.py"]}


async def test_a_file_is_read(root: Path) -> None:
    assert await called(root, "read_file", path="a.md") == {"lines": 4, "begins": "# A"}


@pytest.mark.parametrize("path", ["../secret.md", "/etc/hostname", "nowhere.md"])
async def test_nothing_outside_the_folder_is_read(root: Path, path: str) -> None:
    assert await called(root, "read_file", path=path) == "domain_rejection"


async def test_a_text_is_found_by_file_and_line(root: Path) -> None:
    found = await called(root, "search_text", text="needle")
    assert found == {"count": 2, "first": ["a.md:4", "deep/b.py:1"]}
