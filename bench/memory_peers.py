"""The entries of Actum beside the stores of other projects, in one run, where they do the same.

    python bench/memory_peers.py [--rounds 5] [--entries 10000] [--users 100]

Prints one JSON line for each row of `memory_peer.py`, which says what is measured and what a row does for a put: the
medians over the rounds, with the slowest and fastest of `puts_per_second`. In a round the rows take turns, each in a
process of its own, and each round begins with another, so that what else the machine does hits all alike. A row runs in
an environment of its own under `bench/.venvs`, made when it is not there from `bench/requirements`; one that cannot be
installed says so in its line.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROWS = ("actum", "langgraph", "actum+vectors", "langgraph+vectors", "agno", "mem0")
FIGURES = ("puts_per_second", "put_ms", "get_ms", "page_of_100_ms", "search_ms", "bytes_per_entry")
PATIENCE_S = 600


def python_of(row: str) -> str:
    """The Python in which the row's peer is installed."""
    peer, _, _ = row.partition("+")
    if row == "actum":
        return sys.executable
    python = HERE / ".venvs" / row.replace("+", "_") / "bin" / "python"
    if not python.exists():
        # Langgraph's vectors are an extension of SQLite, which only some builds of Python can load: Debian's can.
        base = "/usr/bin/python3" if row == "langgraph+vectors" else sys.executable
        needed = ["-e", f"{HERE.parent}[vectors]"] if peer == "actum" else ["-r", f"{HERE}/requirements/{peer}.txt"]
        _done([base, "-m", "venv", str(python.parent.parent)])
        _done([str(python), "-m", "pip", "install", "-q", *needed])
    return str(python)


def _done(command: list[str]) -> str:
    """What a command printed. Raises CalledProcessError, TimeoutExpired."""
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)  # noqa: S603 - the rows named here
    return done.stdout


def once(row: str, entries: int, users: int) -> dict[str, Any]:
    """One round of a row: its line, or why there is none."""
    try:
        asked = ["--entries", str(entries), "--users", str(users)]
        said = _done([python_of(row), str(HERE / "memory_peer.py"), row, *asked])
    except subprocess.CalledProcessError as error:
        return {"bench": "memory_peers", "row": row, "failed": (error.stderr or str(error)).strip().splitlines()[-1]}
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"bench": "memory_peers", "row": row, "failed": str(error)}
    result: dict[str, Any] = json.loads(said.splitlines()[-1])
    return result


def together(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The medians of a row's rounds."""
    good = [each for each in rounds if "failed" not in each]
    if not good:
        return rounds[-1]
    result = {**good[0], "rounds": len(good)}
    for name in FIGURES:
        values = [each[name] for each in good if each[name] is not None]
        result[name] = round(statistics.median(values), 3) if values else None
    speeds = [each["puts_per_second"] for each in good]
    result["puts_per_second_range"] = [min(speeds), max(speeds)]
    return result


def main() -> None:
    """Measures every row, in turns."""
    parser = argparse.ArgumentParser(description="Actum's entries beside other stores.")
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=ROWS)
    asked = parser.parse_args()
    rounds: dict[str, list[dict[str, Any]]] = {row: [] for row in asked.rows}
    for number in range(asked.rounds):
        first = number % len(asked.rows)
        for row in asked.rows[first:] + asked.rows[:first]:
            rounds[row].append(once(row, asked.entries, asked.users))
    for results in rounds.values():
        print(json.dumps(together(results)), flush=True)


if __name__ == "__main__":
    main()
