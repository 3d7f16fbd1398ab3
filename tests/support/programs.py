"""Programs in processes of their own, for what only a second process can show: locks, crashes, forks."""

import subprocess
import sys
from pathlib import Path

from tests.support.project import ROOT


def program(code: str, *arguments: str | Path) -> "subprocess.Popen[str]":
    """Starts Python on `code`, which finds its arguments in `sys.argv[1:]` and talks by lines."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def line_of(running: "subprocess.Popen[str]") -> str:
    """The next line that the program says; fails with its errors when it says none."""
    assert running.stdout is not None
    line = running.stdout.readline()
    if not line:
        _, errors = running.communicate(timeout=60)
        raise AssertionError(f"the program ended with {running.returncode} instead: {errors}")
    return line.strip()


def rest_of(running: "subprocess.Popen[str]") -> str:
    """What a program that was killed had still said; `communicate` would lose what `line_of` has read ahead."""
    assert running.stdout is not None
    rest = running.stdout.read()
    running.communicate(timeout=60)
    return rest


def end_of(running: "subprocess.Popen[str]", said: str | None = None) -> str:
    """What the program still says until it ends well, after it was told `said`."""
    output, errors = running.communicate(None if said is None else said + "\n", timeout=120)
    assert running.returncode == 0, errors
    return output
