"""What is measured, and against what: the workloads, their commands, the bars. One table; the runner only walks it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Figures = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A ratio of figures of one run, and what it must be: at least (`least`) or at most (`most`)."""

    name: str
    ratio: Callable[[Figures], float]
    least: float | None = None
    most: float | None = None

    def met(self, value: float) -> bool:
        """Whether this value keeps to the bar."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    @property
    def text(self) -> str:
        """The bar as the table shows it."""
        return f"≥ {self.least:g}" if self.least is not None else f"≤ {self.most:g}"


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A command of ours and, where peers do the same, theirs.

    `shown` is the figure that stands in the table of peers, with its unit; more of it is better where `more` is set.
    """

    name: str
    command: Sequence[str]
    smoke: Sequence[str]
    bars: Sequence[Bar] = ()
    peers: Sequence[str] = ()
    shown: Sequence[tuple[str, str, str]] = ()
    more: bool = False


_TURN_BARS = (
    Bar(name="turn 1,000 over turn 10", ratio=lambda f: f["late_computed_ms"] / f["early_computed_ms"], most=1.2),
)
_WHOLE_BARS = (
    Bar(
        name="growth from turn 10 to turn 1,000 over fetch and decode",
        ratio=lambda f: (f["late_computed_ms"] - f["early_computed_ms"]) / f["floor_ms"],
        most=1.5,
    ),
)
_TURNS_SHOWN = (
    ("early_ms", "early_ms", "ms at turn 10"),
    ("at_75_ms", "late_ms", "ms at turn 75"),
    ("mean_of_100_ms", "mean_ms", "ms, mean of 100"),
)
_READING_BARS = (
    Bar(name="over plain fetch and typed decode", ratio=lambda f: f["actum_ms"] / f["plain_ms"], most=2.0),
    Bar(name="file over all payload bytes", ratio=lambda f: f["file_bytes"] / f["payload_bytes"], most=1.4),
)

WORKLOADS: Sequence[Workload] = (
    Workload(
        name="durable appends, one run",
        command=("bench.workloads.appends", "--count", "10000"),
        smoke=("bench.workloads.appends", "--count", "200"),
        bars=(
            Bar(
                name="over raw one-row commits",
                ratio=lambda f: f["raw_us"] / f["actum_us"],
                least=0.65,
            ),
            Bar(
                name="at message 10,000 over at 100",
                ratio=lambda f: f["at_last_us"] / f["at_100_us"],
                most=1.2,
            ),
        ),
        peers=("appends", "--count", "1000"),
        shown=(("actum_us", "us", "µs"),),
    ),
    Workload(
        name="64 runs at once",
        command=("bench.workloads.many", "--runs", "64", "--each", "100"),
        smoke=("bench.workloads.many", "--runs", "8", "--each", "5"),
        bars=(
            Bar(
                name="over a bare group writer",
                ratio=lambda f: f["actum_rows_s"] / f["group_rows_s"],
                least=0.35,
            ),
            Bar(
                name="over raw one-row commits",
                ratio=lambda f: f["actum_rows_s"] / f["raw_rows_s"],
                least=3.0,
            ),
            Bar(name="errors that reached a caller", ratio=lambda f: f["errors"], most=0),
        ),
        peers=("many", "--runs", "64", "--each", "20"),
        shown=(("actum_rows_s", "rows_s", "rows/s"),),
        more=True,
    ),
    Workload(
        name="reading, 1 run of 10,000",
        command=("bench.workloads.reading", "--runs", "1"),
        smoke=("bench.workloads.reading", "--runs", "1", "--messages", "100", "--repeats", "1"),
        bars=_READING_BARS,
    ),
    Workload(
        name="reading, 1,000 runs of 10 by history",
        command=("bench.workloads.reading", "--runs", "1000"),
        smoke=("bench.workloads.reading", "--runs", "10", "--messages", "100", "--repeats", "1"),
        bars=_READING_BARS,
    ),
    Workload(
        name="turns, history of 20 turns",
        command=("bench.workloads.turns", "--turns", "1000", "--window", "20"),
        smoke=("bench.workloads.turns", "--turns", "12", "--window", "3"),
        bars=_TURN_BARS,
        peers=("turns", "--turns", "100", "--window", "20"),
        shown=_TURNS_SHOWN,
    ),
    Workload(
        name="turns, whole history",
        command=("bench.workloads.turns", "--turns", "1000"),
        smoke=("bench.workloads.turns", "--turns", "12"),
        bars=_WHOLE_BARS,
        peers=("turns", "--turns", "100"),
        shown=_TURNS_SHOWN,
    ),
    Workload(
        name="start",
        command=("bench.workloads.start",),
        smoke=("bench.workloads.start",),
        bars=(
            Bar(name="`import actum`, ms over a bare interpreter", ratio=lambda f: f["import_computed_ms"], most=150),
            Bar(
                name="import and a first run, ms over a bare interpreter",
                ratio=lambda f: f["first_run_computed_ms"],
                most=150,
            ),
            Bar(name="the same, MiB over a bare interpreter", ratio=lambda f: f["rss_mb"] - f["bare_rss_mb"], most=40),
        ),
        peers=("start",),
        shown=(("first_run_ms", "first_run_ms", "ms"), ("rss_mb", "rss_mb", "MiB")),
    ),
    Workload(
        name="paging, 100,000 records",
        command=("bench.workloads.paging",),
        smoke=("bench.workloads.paging", "--records", "1000", "--repeats", "1"),
        bars=(
            Bar(name="over plain fetch", ratio=lambda f: f["actum_ms"] / f["plain_ms"], most=1.5),
            Bar(name="MiB of growth", ratio=lambda f: f["grown_mb"], most=8),
        ),
    ),
    # Beside other memories stands bench/memory_peers.py: what they do is too unlike for one figure of this table.
    Workload(
        name="memory, 10,000 entries",
        command=("bench.memory_latency", "--entries", "10000"),
        smoke=("bench.memory_latency", "--entries", "1000"),
        bars=(
            Bar(
                name="search of 1,000 entries by words over a page of 100",
                ratio=lambda f: f["search_ms"] / f["page_of_100_ms"],
                most=5,
            ),
            Bar(name="bytes of the file per entry of 12 words", ratio=lambda f: f["bytes_per_entry"], most=400),
        ),
    ),
)

# A peer's program, and the variants of it that are measured; DBOS keeps no transcript, so it has turns and a start.
PEERS: Mapping[str, Sequence[str]] = {
    "openai_agents": ("sqlite", "sqlalchemy"),
    "agno": ("step",),
    "pydantic_ai": ("rows",),
    "langgraph": ("sqlite",),
    "adk": ("database",),
    "dbos": ("sqlite",),
}
# Stores that a round can have beside those, each where this variable of the environment says how it is reached.
ELSEWHERE: Mapping[str, tuple[str, str]] = {"langgraph": ("postgres", "BENCH_POSTGRES")}
LACKS: Mapping[str, Sequence[str]] = {"dbos": ("durable appends, one run", "64 runs at once")}
