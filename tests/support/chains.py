"""Chains of runs: what a suspended run, and the runs that go on from it, prove together."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from actum.host.verify import verify
from actum.lifecycle.states import RunStatus
from actum.messages.message import Message, user
from actum.messages.parts import ToolResultPart
from actum.records.kinds import ToolResultReceived, payload_of
from actum.records.record import Follows
from actum.records.types import RecordType
from actum.runtime.output import RunOutput
from actum.storage.contract import OwnedStore
from actum.testing.history import findings, read_everything
from actum.transcript.validate import open_calls, validate_planner_transcript
from tests.support.runlogs import RunLog, log_of, never_poisoned
from tests.support.scenario import RUN, SESSION, Worker


@dataclass(frozen=True)
class Chain:
    """The runs of a chain, the oldest first."""

    logs: tuple[RunLog, ...]

    @property
    def statuses(self) -> list[RunStatus]:
        """How each run stands."""
        return [log.run.status for log in self.logs]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The transcript of the newest run."""
        return self.logs[-1].messages

    @property
    def results(self) -> dict[str, ToolResultPart]:
        """The results in that transcript, by tool use id."""
        return self.logs[-1].results

    @property
    def received(self) -> Counter[str]:
        """How many results were recorded for each call, over all runs."""
        found = Counter[str]()
        for log in self.logs:
            for record in log.records:
                payload = payload_of(record)
                if isinstance(payload, ToolResultReceived):
                    found[payload.tool_call_id] += 1
        return found

    def types(self, kind: str) -> list[int]:
        """How many records of a type each run has."""
        return [log.types[kind] for log in self.logs]


async def chain_of(store: OwnedStore, run_id: str) -> Chain:
    """The chain that begins with this run, after every law was tried on it.

    The store shows nothing that cannot be, `verify` proves it all, no prefix of any log is poisoned, each run has one
    start and at most one end, and a run that has ended for good has an answer for every call.
    """
    assert findings(await read_everything(store)) == []
    report = await verify(store)
    assert report.damages == (), report.damages
    logs = []
    at: str | None = run_id
    while at is not None:
        log = await log_of(store, at)
        never_poisoned(log)
        ends = log.types[RecordType.RUN_COMPLETED] + log.types[RecordType.RUN_SUSPENDED]
        assert ends == (log.run.status is not RunStatus.RUNNING)
        if log.run.status not in (RunStatus.RUNNING, RunStatus.SUSPENDED):
            validate_planner_transcript(log.messages)
            assert open_calls(log.messages) == ()
        logs.append(log)
        at = log.run.successor_run_id
        if at is not None and (await store.load_run(at)).chain_id != log.run.chain_id:
            at = None
    chain = Chain(tuple(logs))
    assert all(count == 1 for count in chain.received.values())
    return chain


async def first_turn(worker: Worker, **options: Any) -> RunOutput:
    """The story's run as the session's head, until it waits."""
    out = await worker.client.run(SESSION, [user("go")], run_id=RUN, follows=Follows(), **options)
    assert out.status is RunStatus.SUSPENDED
    return out
