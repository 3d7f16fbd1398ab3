"""A random walk over a store: one seed, one sequence of commands and reads.

The walk knows what a host and its workers would know: the answers to its own calls. It asks for lawful things most of
the time, for repeats and changed repeats of earlier ones, and now and then for what is plainly refused.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random  # noqa: TID251 - a seeded generator is what a walk is made of
from typing import Final

from actum.base.value import Json, replace
from actum.lifecycle import commands as c
from actum.lifecycle.states import Run, RunStatus, Session, SessionStatus
from actum.records.record import Follows, HistoryRef, NewRecord
from actum.testing import samples
from actum.testing.changes import Proved, changed_in_one_field, under_key
from actum.testing.faults import Fault

AGENTS: Final = ("assistant", "specialist")
TENANTS: Final = ("acme", "other")
PROOFS: Final = ("start", "stop", "end", "suspend", "cancel")
NOTES: Final = tuple(f"k{n}" for n in range(16))
REASONS: Final = ("user_requested", "user_requested", "timeout", "session_ended", "engine_canceled")
TYPES: Final = ("x.note", "run_started", "run_completed", "transcript_messages_appended", "tool_call_started")
LISTS: Final = (
    "list_run_records",
    "list_session_run_records",
    "list_scope_records",
    "read_transcript",
    "read_messages",
)


@dataclass(frozen=True, slots=True)
class Read:
    """A list or load operation by its name, with JSON values as arguments."""

    name: str
    given: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Step:
    """One call: by which tenant's bound store (None is the host's own), and which fault meets it, if any."""

    call: c.Command | Read
    tenant: str | None = None
    fault: Fault | None = None


@dataclass(slots=True)
class Walk:
    """The walk of one seed. `step` gives the next call, `learn` tells it what came of that call."""

    random: Random
    faults: bool = False
    seconds: float = 0.0
    sessions: dict[str, Session] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    said: list[c.Command] = field(default_factory=list)
    cursors: list[str] = field(default_factory=lambda: ["", "nonsense", "0123456789abcdef-3"])

    def step(self) -> Step:
        """The next call."""
        self._pass_time()
        if not self.said:
            # Without a session there is little to do, and a short walk would spend half its steps on that.
            return self._asked(self._create())
        makers: tuple[tuple[int, Callable[[], c.Command | Read]], ...] = (
            (7, self._create),
            (3, self._end_session),
            (2, self._describe),
            (3, self._purge),
            (12, self._root),
            (10, self._follower),
            (8, self._continuation),
            (8, self._child),
            (4, self._one_shot),
            (20, self._append),
            (6, self._cancellation),
            (10, self._suspension),
            (14, self._ending),
            (3, self._take),
            (3, self._advance),
            (12, self._repeat),
            (10, self._changed),
            (6, self._collision),
            (25, self._read),
        )
        weights = [weight for weight, _ in makers]
        make = self.random.choices([maker for _, maker in makers], weights)[0]
        return self._asked(make())

    def _asked(self, call: c.Command | Read) -> Step:
        tenant = self.random.choice(TENANTS) if self._chance(0.12) else None
        if isinstance(call, Read):
            return Step(call, tenant)
        self.said.append(call)
        fault = self.random.choice(list(Fault)) if self.faults and self._chance(0.15) else None
        return Step(call, tenant, fault)

    def learn(self, answer: object) -> None:
        """Takes in the answer of a call: a value, or the error in its place."""
        match answer:
            case Session():
                self.sessions[answer.session_id] = answer
            case c.Started() | c.Changed() | c.Repaired():
                self._meet(answer.run)
            case Run():
                self.runs[answer.run_id] = answer
        cursor = getattr(answer, "cursor", None)
        if isinstance(cursor, str):
            self.cursors.append(cursor)

    def _meet(self, run: Run) -> None:
        self.runs[run.run_id] = run
        session = self.sessions.get(run.session_id or "")
        start = next(
            (said for said in self.said if isinstance(said, c.RootRunStart) and said.run.run_id == run.run_id), None
        )
        if session is not None and start is not None and start.run.follows is not None:
            self.sessions[session.session_id] = replace(session, head_run_id=run.run_id)

    def _pass_time(self) -> None:
        """Seconds mostly pass; sometimes the clock jumps, also back."""
        jump = self.random.random() < 0.05
        self.seconds += (
            self.random.choice([-86_400.0, -60.0, 3_600.0]) if jump else self.random.choice([0.0, 0.001, 1.0])
        )

    # What the walk speaks of

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _session_id(self) -> str:
        known = list(self.sessions)
        active = [name for name, session in self.sessions.items() if session.status is SessionStatus.ACTIVE]
        if active and self._chance(0.8):
            return self.random.choice(active)
        return self.random.choice(known) if known and self._chance(0.95) else f"s{self.random.randrange(5)}"

    def _run_id(self) -> str:
        known = list(self.runs)
        return self.random.choice(known) if known and self._chance(0.05) else f"r{len(self.said)}"

    def _run(self, *statuses: RunStatus) -> Run:
        """A known run, mostly of these statuses; one that nobody knows when there is none."""
        known = list(self.runs.values())
        wanted = [run for run in known if run.status in statuses]
        if wanted and not self._chance(0.1):
            return self.random.choice(wanted)
        if known and not self._chance(0.05):
            return self.random.choice(known)
        return Run(
            run_id="nobody",
            agent_id=AGENTS[0],
            session_id=self._session_id(),
            chain_id="nobody",
            status=RunStatus.RUNNING,
            start_outcome="proceed",  # type: ignore[arg-type]  # a run that nobody knows is only ever named
            started_at=samples.T0,
            updated_at=samples.T0,
        )

    def _key(self) -> str:
        return self.random.choice(NOTES if self._chance(0.5) else PROOFS)

    def _notes(self, run: samples.AnyRun, most: int) -> tuple[NewRecord, ...]:
        keys = self.random.sample(NOTES, self.random.randint(0, most))
        return tuple(self._record(run, key) for key in keys)

    def _record(self, run: samples.AnyRun, key: str) -> NewRecord:
        kind = self.random.random()
        if kind < 0.6:
            return samples.note(
                run, key, self.random.choice(["a", "b"]), seconds=self.random.choice([1.0, self.seconds])
            )
        return samples.said(run, key, key) if kind < 0.9 else samples.tool_started(run, key)

    def _labels(self) -> dict[str, str]:
        return {"kind": self.random.choice("ab")} if self._chance(0.5) else {}

    def _history(self) -> HistoryRef | None:
        if not self._chance(0.3):
            return None
        past = self._run(RunStatus.COMPLETED, RunStatus.FAILED)
        return samples.through(past) if past.end_record_id else None

    # Sessions

    def _create(self) -> c.Command:
        return c.CreateSession(
            session_id=f"s{self.random.randrange(5)}",
            created_at=samples.at(self.seconds),
            metadata=self._labels(),
            tenant=self.random.choice(TENANTS) if self._chance(0.1) else None,
        )

    def _describe(self) -> c.Command:
        return c.SetSessionMetadata(session_id=self._session_id(), metadata=self._labels())

    def _end_session(self) -> c.Command:
        return c.EndSession(session_id=self._session_id(), ended_at=samples.at(self.seconds))

    def _purge(self) -> c.Command:
        alone = [run.run_id for run in self.runs.values() if run.session_id is None]
        if alone and self._chance(0.5):
            return c.PurgeOneShot(run_id=self.random.choice(alone))
        ended = [name for name, session in self.sessions.items() if session.status is SessionStatus.ENDED]
        return c.PurgeSession(session_id=self.random.choice(ended) if ended else self._session_id())

    def _advance(self) -> c.Command:
        alone = [run.run_id for run in self.runs.values() if run.session_id is None]
        position = self.random.randrange(8)
        if alone and self._chance(0.3):
            return c.Advance(consumer="mail", root_run_id=self.random.choice(alone), position=position)
        return c.Advance(consumer="mail", session_id=self._session_id(), position=position)

    # Starts

    def _carrying(self, start: c.RootRunStart) -> c.Command:
        return replace(start, records=self._notes(start, 2))

    def _root(self) -> c.Command:
        start = samples.root(
            self._run_id(),
            self._session_id(),
            agent=self.random.choice(AGENTS),
            history=self._history(),
            labels=self._labels(),
            seconds=self.seconds,
        )
        return self._carrying(start)

    def _follower(self) -> c.Command:
        session_id = self._session_id()
        session = self.sessions.get(session_id)
        head = self.runs.get(session.head_run_id or "") if session else None
        follows = Follows(run_id=head.run_id if head else None, supersede=bool(head) and self._chance(0.5))
        history = samples.through(head) if head and head.end_record_id else None
        start = samples.root(self._run_id(), session_id, history=history, follows=follows, seconds=self.seconds)
        return self._carrying(start)

    def _continuation(self) -> c.Command:
        before = self._run(RunStatus.SUSPENDED)
        if before.parent_run_id is None:
            return self._carrying(samples.continuation(self._run_id(), before, seconds=self.seconds))
        return samples.child(
            self._run_id(),
            self._parent_for(before),
            agent=before.agent_id,
            predecessor=before.run_id,
            history=samples.through(before) if before.end_record_id else None,
            call=before.tool_call_id or "call-1",
            seconds=self.seconds,
        )

    def _parent_for(self, before: Run) -> Run:
        parent = self.runs.get(before.parent_run_id or "")
        chain = [run for run in self.runs.values() if parent and run.chain_id == parent.chain_id]
        return self.random.choice(chain) if chain else self._run(RunStatus.RUNNING)

    def _child(self) -> c.Command:
        parent = self._run(RunStatus.RUNNING)
        call = self.random.choice(["call-1", "call-2"])
        if parent.session_id is None:
            return samples.one_shot_child(self._run_id(), parent, call=call, seconds=self.seconds)
        return samples.child(self._run_id(), parent, labels=self._labels(), call=call, seconds=self.seconds)

    def _one_shot(self) -> c.Command:
        start = samples.one_shot(self._run_id(), labels=self._labels(), seconds=self.seconds)
        return replace(start, records=self._notes(start, 2))

    # What happens to a run

    def _append(self) -> c.Command:
        run = self._run(RunStatus.RUNNING)
        return c.AppendRunRecords(records=self._notes(run, 4) or (self._record(run, self._key()),))

    def _cancellation(self) -> c.Command:
        reason = self.random.choice(REASONS)
        return samples.cancellation(self._run(RunStatus.RUNNING), reason, seconds=self.seconds)

    def _suspension(self) -> c.Command:
        # A run without a session cannot suspend, which need not be asked often.
        run = self._run(RunStatus.RUNNING)
        run = run if run.session_id is not None or self._chance(0.1) else self._run(RunStatus.RUNNING)
        kinds = self.random.sample(["confirmation", "questions", "clarification"], self.random.randint(0, 2))
        stop = samples.suspension(run, kinds=kinds, seconds=self._after(run), records=self._notes(run, 2))
        return c.RepairRunSuspension(suspension=stop) if self._chance(0.3) else stop

    def _ending(self) -> c.Command:
        run = self._run(RunStatus.RUNNING)
        status = self.random.choice([RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED])
        lawful = run.cancellation_reason or "engine_canceled"
        reason = lawful if self._chance(0.8) else self.random.choice(REASONS)
        stop = samples.ending(
            run,
            status,
            reason=reason if status is RunStatus.CANCELED else None,
            seconds=self._after(run),
            records=self._notes(run, 2),
        )
        return c.RepairRunTerminal(terminal=stop) if self._chance(0.3) else stop

    def _after(self, run: Run) -> float:
        """Mostly a moment at which the run may end, whatever the clock says."""
        begun = (run.started_at - samples.T0).total_seconds()
        return self.seconds if self._chance(0.1) else max(self.seconds, begun)

    def _take(self) -> c.Command:
        owners = ("owner-1", "owner-2")
        expected = self.random.choice([None, *owners])
        return c.TakeRun(
            run_id=self._run(RunStatus.RUNNING).run_id, owner=self.random.choice(owners), expected=expected
        )

    # What was said before

    def _earlier(self) -> c.Command | None:
        return self.random.choice(self.said) if self.said else None

    def _repeat(self) -> c.Command:
        return self._earlier() or self._create()

    def _changed(self) -> c.Command:
        earlier = self._earlier()
        changes = list(changed_in_one_field(earlier)) if earlier is not None else []
        return self.random.choice(changes)[1] if changes else self._create()

    def _collision(self) -> c.Command:
        proved = [said for said in self.said if isinstance(said, Proved)]
        return under_key(self.random.choice(proved), self._key()) if proved else self._create()

    # Reads

    def _read(self) -> Read:
        kind = self.random.random()
        if kind < 0.6:
            return Read(*self._records())
        if kind < 0.75:
            return Read(*self._found())
        run_id = self._run().run_id
        loads: Sequence[tuple[str, dict[str, Json]]] = (
            ("load_run", {"run_id": run_id}),
            ("load_run_suspension", {"run_id": run_id}),
            ("load_run_record", {"run_id": run_id, "event_key": self._key()}),
            ("load_session", {"session_id": self._session_id()}),
            ("count_runs", {"by": self.random.choice(["status", "agent_id", "session_id", "tenant"])}),
            ("scopes_behind", {"consumer": "mail", "limit": self.random.choice([1, 3, 100])}),
        )
        return Read(*self.random.choice(loads))

    def _paging(self) -> dict[str, Json]:
        cursor = self.random.choice(self.cursors[-9:]) if self._chance(0.3) else None
        return {"limit": self.random.choice([1, 2, 3, 5, 7, 100, 1000, 0]), "cursor": cursor}

    def _records(self) -> tuple[str, dict[str, Json]]:
        name = self.random.choice(LISTS)
        given = self._paging()
        if name == "list_session_run_records":
            given["session_id"] = self._session_id()
        elif name == "list_scope_records":
            alone = [run.run_id for run in self.runs.values() if run.session_id is None]
            given["root_run_id"] = self.random.choice(alone) if alone else self._run().run_id
        else:
            given["run_id"] = self._run().run_id
        if name == "read_transcript":
            given["backwards"] = self._chance(0.5)
        elif name != "read_messages" and self._chance(0.4):
            given["types"] = self.random.sample(TYPES, self.random.randint(0, 3))
        return name, given

    def _found(self) -> tuple[str, dict[str, Json]]:
        given = self._paging()
        if self._chance(0.3):
            given["labels"] = {"kind": "a"}
        kind = self.random.random()
        if kind < 0.4:
            given["status"] = self.random.choice([None, "running", "suspended", "completed"])
            given["awaiting"] = self.random.choice([None, None, "questions", "confirmation"])
            given["agent"] = self.random.choice([None, *AGENTS])
            return "find_runs", given
        if kind < 0.7:
            given["session_id"] = self._session_id()
            given["statuses"] = self.random.choice([None, ["running"], ["failed", "canceled"]])
            return "list_runs", given
        given["metadata"] = given.pop("labels", None)
        given["status"] = self.random.choice([None, "active", "ended"])
        return "list_sessions", given
