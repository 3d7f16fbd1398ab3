"""What a verification found: damages by name, and how much was looked at."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from actum.records.record import Record

# So many damages are kept; the rest is counted. A store that is broken throughout must not fill the memory.
DAMAGES_KEPT: Final = 1000


class Check(StrEnum):
    """What a damage is a breach of."""

    POSITIONS = "positions"  # each scope's records are numbered from 1 without gaps
    READING = "reading"  # every row can be read
    PAYLOAD = "payload"  # every payload is what its record's type prescribes
    START = "start"  # a run is proved by its `run_started`
    END = "end"  # a status is proved by its end record, and nothing follows that
    CANCELLATION = "cancellation"  # one of the three lawful cancellation histories
    CHECKPOINT = "checkpoint"  # a suspended run holds the checkpoint that its record names
    CHAIN = "chain"  # predecessor, successor and chain agree
    LINK = "link"  # a child is linked by the record right before its start
    HISTORY = "history"  # a history is an ended run of the same scope, named to its end
    SESSION = "session"  # a session's status and head agree with its records
    TRANSCRIPT = "transcript"  # a transcript obeys the law at every prefix, and is closed at the run's end
    TOOL_CALL = "tool_call"  # a scheduled call is the tool use of its message
    TOOL_RESULT = "tool_result"  # a tool's result is the part that the transcript shows


@dataclass(frozen=True, kw_only=True)
class Damage:
    """One thing that is wrong, and where: the session (None for one-shot runs), the run, the record."""

    check: Check
    says: str
    session_id: str | None = None
    run_id: str | None = None
    record_id: str | None = None
    event_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How much was looked at so far. `expected_runs` is the number of runs when the verification began."""

    sessions: int
    runs: int
    records: int
    expected_runs: int


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was looked at, and the damages: the first 1,000 of them, and how many there are in all."""

    sessions: int
    runs: int
    records: int
    damages: tuple[Damage, ...]
    found: int

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.found == 0


Listener: TypeAlias = Callable[[Progress], None]
# Says what is wrong, and by which record it shows; None for the run or the scope as a whole.
Say: TypeAlias = Callable[[Check, str, Record | None], None]


@dataclass
class Findings:
    """The damages and counts of a verification that goes on."""

    expected_runs: int = 0
    sessions: int = 0
    runs: int = 0
    records: int = 0
    found: int = 0
    damages: list[Damage] = field(default_factory=list)
    # Runs that were verified, some of whose records cannot be read.
    partial: set[str] = field(default_factory=set)

    def add(self, damage: Damage) -> None:
        """One more."""
        self.found += 1
        if len(self.damages) < DAMAGES_KEPT:
            self.damages.append(damage)

    def progress(self) -> Progress:
        """The counts as they are now."""
        return Progress(sessions=self.sessions, runs=self.runs, records=self.records, expected_runs=self.expected_runs)

    def report(self) -> Report:
        """The counts and damages as they are now."""
        return Report(
            sessions=self.sessions,
            runs=self.runs,
            records=self.records,
            damages=tuple(self.damages),
            found=self.found,
        )
