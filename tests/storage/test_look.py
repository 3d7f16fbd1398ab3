"""Which look-ups a command causes. What rows look like is a matter of the backends, whose tests are test_backend.py."""

from collections.abc import Mapping

from actum.lifecycle.change import Found, FoundRun, Keys, Scope, Tombstone
from actum.lifecycle.states import Suspension
from actum.records.record import Record
from actum.storage.look import look
from tests.support.rows import run_row, session_row


class Told:
    """Rows from dictionaries, and the list of what was asked for."""

    def __init__(self, runs: Mapping[str, FoundRun], sessions: Mapping[str, Found]) -> None:
        self._runs, self._sessions = runs, sessions
        self.asked: list[str] = []

    def run(self, run_id: str) -> FoundRun | None:
        self.asked.append(f"run {run_id}")
        return self._runs.get(run_id)

    def session(self, session_id: str) -> Found | None:
        self.asked.append(f"session {session_id}")
        return self._sessions.get(session_id)

    def position(self, scope: Scope) -> int:
        return 7

    def record(self, run_id: str, event_key: str) -> Record | None:
        self.asked.append(f"record {run_id} {event_key}")
        return None

    def suspension(self, run_id: str) -> Suspension | None:
        raise AssertionError(run_id)

    def running(self, scope: Scope) -> str | None:
        raise AssertionError(scope)

    def advanced(self, consumer: str, scope: Scope) -> int:
        return 3


def test_an_append_to_the_head_asks_for_three_rows() -> None:
    told = Told({"r1": run_row()}, {"s1": session_row(head="r1")})
    seen = look(told, Keys(scope_of="r1", runs=("r1",), records=(("r1", "k"),)))
    assert told.asked == ["run r1", "session s1", "record r1 k"]
    assert (seen.scope, seen.position, seen.records) == (Scope("s1"), 7, {})


def test_the_scope_that_a_command_names_goes_before_that_of_a_run() -> None:
    told = Told({"r1": run_row()}, {})
    assert look(told, Keys(scope=Scope("s2"), scope_of="r1")).scope == Scope("s2")
    assert told.asked == ["session s2"]


def test_a_purged_run_has_no_scope() -> None:
    told = Told({"r1": Tombstone(None)}, {})
    seen = look(told, Keys(scope_of="r1", running=True, consumer="c"))
    assert (seen.scope, seen.runs, seen.position, seen.advanced) == (None, {"r1": Tombstone(None)}, 0, 0)
    assert seen.running_run_id is None


def test_a_purged_session_has_no_head() -> None:
    told = Told({}, {"s1": Tombstone("x")})
    seen = look(told, Keys(scope=Scope("s1"), consumer="c"))
    assert (seen.sessions, seen.advanced) == ({"s1": Tombstone("x")}, 3)


def test_a_plain_look_at_runs_touches_no_scope() -> None:
    told = Told({"r1": run_row(parent="p"), "p": run_row("p")}, {})
    seen = look(told, Keys(runs=("r1",), parents_of=("r1", "gone")))
    assert (seen.scope, set(seen.runs), seen.position) == (None, {"r1", "p"}, 0)
