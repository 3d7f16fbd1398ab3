"""The benchmarks run. What they measure is not judged here: a test that waits for a quick machine fails by chance."""

import subprocess
import sys

import pytest

from tests.support.project import ROOT


@pytest.mark.slow
def test_every_workload_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--smoke"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for workload in ("durable appends", "64 runs at once", "reading", "turns", "start", "paging", "memory"):
        assert f"| {workload}" in done.stdout
