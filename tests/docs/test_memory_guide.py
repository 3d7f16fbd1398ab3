"""The examples of docs/memory.md run, in their order, and print what the page says that they print."""

import ast
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from actum.memory.opening import open_memory
from tests.support.project import ROOT, text_of

PAGE = ROOT / "docs" / "memory.md"
BLOCK = re.compile(r"(<!-- needs the extra -->\n)?```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


async def test_the_examples_run_and_print_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(text_of(PAGE))
    assert len(blocks) > 8
    async with open_memory("memory:") as memory:
        names: dict[str, object] = {}
        for extra, block in blocks:
            names["memory"] = memory
            if extra and importlib.util.find_spec("onnxruntime") is None:
                continue
            code = compile(block, str(PAGE), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            ran = eval(code, names)  # noqa: S307 - the page's own examples
            if inspect.isawaitable(ran):
                await ran
            assert capsys.readouterr().out.splitlines() == PRINTED.findall(block), block
            names.pop("entry", None)
