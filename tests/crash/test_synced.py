"""Nothing is acknowledged before it is synced: the disk was told to keep what was written since the one before."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project import ROOT

pytestmark = [pytest.mark.crash, pytest.mark.slow]

TIMES = 50
PROGRAM = """
import sys
from tests.support.store_writers import acknowledge_one_by_one
acknowledge_one_by_one(sys.argv[1], int(sys.argv[2]))
"""


@pytest.fixture
def strace() -> str:
    found = shutil.which("strace")
    if found is None:
        pytest.skip("strace is not installed, so the system calls of a commit cannot be seen")
    probe = subprocess.run([found, "-f", "true"], check=False, capture_output=True, text=True)
    if probe.returncode != 0:
        pytest.skip(f"strace may not watch a process here: {probe.stderr.strip().splitlines()[-1]}")
    return found


def test_every_acknowledgement_follows_a_sync_of_its_own_record(strace: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    calls = "trace=fsync,fdatasync,write,pwrite64"
    watched = [strace, "-f", "-y", "-s", "64", "-e", calls, "-o", str(trace)]
    program = [sys.executable, "-c", PROGRAM, f"sqlite:///{tmp_path}/actum.db", str(TIMES)]
    done = subprocess.run([*watched, *program], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    log = list(completed_calls(trace.read_text(encoding="utf-8", errors="replace").splitlines()))
    assert [each for each in log if each.startswith("ACK")] == ["ACK begin", *(f"ACK {n}" for n in range(TIMES))]
    written = synced = False
    for each in log:
        if each.startswith("ACK"):
            assert each == "ACK begin" or (written and synced), f"{each} came before its sync: {log}"
            written = synced = False
        elif each == "write":
            # What is written after a sync needs another one.
            written, synced = True, False
        else:
            synced = written


def completed_calls(lines: list[str]) -> list[str]:
    """The calls in the order of their completion: `write` and `sync` of the database's files, and acknowledgements.

    A call that another thread interrupts in the log is written in two lines; it counts where it ends. Acknowledgements
    count where they begin, for somebody may read them from then on.
    """
    begun: dict[str, str] = {}
    calls = []
    for line in lines:
        thread, _, rest = line.partition(" ")
        rest = rest.strip()
        told = re.search(r'write\(1<[^"]*"(ACK [a-z0-9]+)', rest)
        if told:
            calls.append(told[1])
        elif rest.endswith("<unfinished ...>"):
            begun[thread] = rest
        else:
            call = begun.pop(thread) if "resumed>" in rest else rest
            kind = re.match(r"(fsync|fdatasync|write|pwrite64)\(\d+<[^>]*actum\.db(?:-wal|-journal)?>", call)
            if kind:
                calls.append("sync" if kind[1].endswith("sync") else "write")
    return calls


def test_the_reader_of_traces_can_tell() -> None:
    lines = [
        '7 pwrite64(5</x/actum.db-wal>, "abc", 3, 0) = 3',
        "7 fdatasync(5</x/actum.db-wal> <unfinished ...>",
        '8 write(1<pipe:[1]>, "ACK 0\\n", 6) = 6',
        "7 <... fdatasync resumed>) = 0",
        '8 write(1<pipe:[1]>, "ACK 1\\n", 6 <unfinished ...>',
        '8 write(4</x/other>, "n", 1) = 1',
    ]
    assert completed_calls(lines) == ["write", "ACK 0", "sync", "ACK 1"]
