"""Measures Actum against the raw limits and against its peers, in one run, and prints ratios.

    python -m bench [--repeats 3] [--only appends start] [--no-peers] [--lines FILE]
    python -m bench --smoke        only proves that it runs
    BENCH_POSTGRES=postgresql://... python -m bench        also the peers that can store there

Every workload is a command that prints one line of JSON. The commands of ours and of the peers take turns, round after
round; the table shows medians. Peers live in virtual environments of their own under bench/.venvs, made from the pinned
bench/requirements when they are not there; nothing of them comes near Actum's own environment.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.plan import ELSEWHERE, LACKS, PEERS, WORKLOADS, Workload

_HERE = Path(__file__).parent
_BARE = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"

Lines = dict[tuple[str, str], list[dict[str, float]]]
Command = tuple[Workload, str, tuple[str | Path, Sequence[str]]]


def _environment() -> dict[str, str]:
    """Ours without what would make a start slower than it is for a user, and without telemetry."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "AGNO_TELEMETRY": "false"}


def _line(python: str | Path, arguments: Sequence[str]) -> dict[str, float]:
    """The figures that one command prints."""
    done = subprocess.run(  # noqa: S603 - commands of this folder
        [str(python), "-m", *arguments],
        cwd=_HERE.parent,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _python_of(peer: str) -> Path:
    """The interpreter of a peer's own environment, which is made when it is not there."""
    place = _HERE / ".venvs" / peer
    python, stamp = place / "bin" / "python", place / "installed"
    if not stamp.exists():
        print(f"making {place} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)  # noqa: S603 - as above
        wanted = _HERE / "requirements" / f"{peer}.txt"
        subprocess.run(  # noqa: S603 - as above
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", wanted],
            check=True,
            stdout=sys.stderr,
        )
        stamp.touch()
    return python


def _bare_rss_mb() -> float:
    done = subprocess.run([sys.executable, "-c", _BARE], capture_output=True, text=True, check=True)  # noqa: S603 - as above
    return float(done.stdout)


def _variants(peer: str) -> Sequence[str]:
    variant, variable = ELSEWHERE.get(peer, ("", ""))
    return (*PEERS[peer], variant) if os.environ.get(variable) else PEERS[peer]


def _commands(workloads: Sequence[Workload], *, peers: bool, smoke: bool) -> Iterator[Command]:
    """Workload, who, and what is to be run, in the order of one round."""
    for each in workloads:
        yield each, "actum", (sys.executable, each.smoke if smoke else each.command)
        for peer in PEERS if peers and each.peers else ():
            for variant in _variants(peer) if each.name not in LACKS.get(peer, ()) else ():
                arguments = (f"bench.peers.{peer}", *each.peers, "--variant", variant)
                yield each, f"{peer} {variant}", (_python_of(peer), arguments)


def _measure(commands: Sequence[Command], repeats: int, kept: Path | None) -> Lines:
    """The lines of all commands, round after round; each is kept as soon as it is there."""
    lines: Lines = {}
    bare = _bare_rss_mb()
    for _ in range(repeats):
        for each, who, (python, arguments) in commands:
            line = {**_line(python, arguments), "bare_rss_mb": bare}
            lines.setdefault((each.name, who), []).append(line)
            if kept is not None:
                with kept.open("a") as file:
                    file.write(json.dumps({"workload": each.name, "who": who, **line}) + "\n")
    return lines


def _median(lines: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: statistics.median(line[name] for line in lines) for name in lines[0]}


def _bars(workloads: Sequence[Workload], lines: Lines) -> list[str]:
    rows = ["| what | ratio | bar | |", "|---|---|---|---|"]
    for each in workloads:
        rounds = lines[each.name, "actum"]
        for bar in each.bars:
            # The ratio within each round, then the median: both sides of it saw the same machine.
            value = statistics.median(bar.ratio(line) for line in rounds)
            met = "met" if bar.met(value) else "**not met**"
            rows.append(f"| {each.name}: {bar.name} | {value:.2f} | {bar.text} | {met} |")
    return rows


def _peers(workloads: Sequence[Workload], lines: Lines) -> list[str]:
    rows = ["| workload | who | figure | Actum is better by, times | |", "|---|---|---|---|---|"]
    for each in workloads:
        for ours, theirs, unit in each.shown:
            best = _median(lines[each.name, "actum"])[ours]
            rows.append(f"| {each.name} | **actum** | {best:,.1f} {unit} | | |")
            for (name, who), found in lines.items():
                if name == each.name and who != "actum":
                    value = _median(found)[theirs]
                    factor = best / value if each.more else value / best
                    better = "" if factor > 1 else "**not better**"
                    rows.append(f"| {each.name} | {who} | {value:,.1f} {unit} | {factor:.2f} | {better} |")
    return rows


def main() -> None:
    """Runs what is asked and prints the tables."""
    options = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--only", nargs="+", help="workloads whose name begins with one of these words")
    options.add_argument("--no-peers", action="store_true")
    options.add_argument("--smoke", action="store_true", help="small counts, no peers, once: proves that it runs")
    options.add_argument("--lines", type=Path, help="where to append every line of JSON")
    given = options.parse_args()
    chosen = [each for each in WORKLOADS if given.only is None or each.name.startswith(tuple(given.only))]
    if not chosen:
        sys.exit(f"no workload begins so; there are: {', '.join(each.name for each in WORKLOADS)}")
    peers = not (given.no_peers or given.smoke)
    commands = list(_commands(chosen, peers=peers, smoke=given.smoke))
    lines = _measure(commands, 1 if given.smoke else given.repeats, given.lines)
    print("\n".join(_bars(chosen, lines)))
    if given.smoke:
        print("\nSo few rounds measure nothing; this only shows that every workload runs.")
    if peers:
        print("\n" + "\n".join(_peers(chosen, lines)))


if __name__ == "__main__":
    main()
