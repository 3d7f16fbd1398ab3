"""The program as a shell sees it: a pipe that nobody reads to its end, a terminal, wrong words."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from actum.cli.exits import ABANDONED, INTERRUPTED, UNWRITTEN
from tests.cli.test_commands import LONG, filled, url

__all__ = ["filled", "url"]

PROGRAM = (sys.executable, "-m", "actum.cli.main")


def abandoned(*words: str, stream: str = "stdout") -> "subprocess.CompletedProcess[bytes]":
    """The program, when whoever should read this stream of it has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    out, err = (writing, subprocess.PIPE) if stream == "stdout" else (subprocess.PIPE, writing)
    try:
        return subprocess.run(
            [*PROGRAM, *words], check=False, timeout=60, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
    finally:
        os.close(writing)


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "--version",
        "runs --help",
        "sessions",
        "sessions --json",
        "runs",
        "runs --json",
        "records turn-1",
        "records turn-1 --json",
        "transcript turn-1",
        "transcript turn-1 --json",
        "tail turn-1 --follow",
        "cancel side",
        "end talk",
        "purge quiet --yes",
        "verify",
        "verify --json",
    ],
)
def test_a_reader_who_leaves_is_no_error(filled: str, words: str) -> None:
    store = [] if words.startswith("-") else ["--store", filled]
    done = abandoned(*words.split(), *store)
    assert done.returncode == ABANDONED
    assert done.stderr == b""


def test_errors_that_nobody_reads_are_no_problem_in_a_store(filled: str) -> None:
    for words in (["end", "nowhere"], ["odd"]):
        done = abandoned(*words, "--store", filled, stream="stderr")
        assert (done.returncode, done.stdout) == (ABANDONED, b"")


def test_a_check_that_nobody_reads_ends_quietly(tmp_path: Path) -> None:
    talk = tmp_path / "talk.json"
    talk.write_text('[{"role":"user","parts":[{"type":"text","text":"hi"}]}]', encoding="utf-8")
    done = abandoned("check", str(talk), "--provider", "openai")
    assert (done.returncode, done.stderr) == (ABANDONED, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["sessions", "sessions --json", "transcript turn-1", "verify", "end talk"])
def test_an_output_that_cannot_be_written_is_told(filled: str, words: str, unbuffered: str) -> None:
    command = [*PROGRAM, *words.split(), "--store", filled]
    own = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, check=False, timeout=60, stdout=full, stderr=subprocess.PIPE, env=own)
    assert done.returncode == UNWRITTEN
    assert b"the output could not be written: No space left on device" in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("words, code", [("sessions", 0), ("sessions --json", 0), ("purge quiet", 4), ("odd", 2)])
def test_streams_that_were_closed_are_no_error(filled: str, words: str, code: int) -> None:
    shell = 'exec "$@" <&- >&- 2>&-'
    done = subprocess.run(
        ["sh", "-c", shell, "sh", *PROGRAM, *words.split(), "--store", filled], check=False, timeout=60
    )
    assert done.returncode == code


def test_what_was_asked_is_done_though_nobody_reads_the_answer(filled: str) -> None:
    assert abandoned("end", "talk", "--store", filled).returncode == ABANDONED
    told = subprocess.run(
        [*PROGRAM, "sessions", "--status", "ended", "--store", filled], capture_output=True, text=True, check=True
    )
    assert told.stdout.endswith("2 sessions\n")


def test_who_is_asked_may_interrupt(filled: str) -> None:
    words = [*PROGRAM, "purge", "quiet", "--store", filled]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stderr is not None
        asked = running.stderr.read(len(b"Erase "))
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == INTERRUPTED
        assert asked + running.stderr.read() == b"Erase session quiet with 0 runs and 0 records for ever? [y/N] \n"


def test_a_terminal_gets_a_table_that_fits_it_and_hides_no_id(filled: str) -> None:
    ours, theirs = pty.openpty()
    words = [*PROGRAM, "runs", "talk", "--store", filled]
    with subprocess.Popen(words, stdout=theirs, env={**os.environ, "COLUMNS": "80", "TERM": "dumb"}) as running:
        os.close(theirs)
        shown = _all_of(ours)
    assert running.returncode == 0
    lines = [line.rstrip("\r") for line in shown.split("\n")]
    assert max(len(line) for line in lines) <= 80
    assert LONG in "".join(line.split("  ")[0].strip() for line in lines)
    assert "…" not in shown


def _all_of(terminal: int) -> str:
    """What a terminal was sent until its last writer went."""
    found = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux says so that nobody writes any more
            piece = b""
        if not piece:
            os.close(terminal)
            return found.decode()
        found += piece
