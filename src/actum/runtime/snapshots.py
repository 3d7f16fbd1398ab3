"""Where a run stands, told from records only: its calls, children, chain, prompts and what all of it cost.

Nothing here is stored, so nothing here can disagree with the log. A chain is the runs in which one turn was suspended
and continued; a tree is a run with its children and theirs. Each run is counted once, wherever it is reached.
"""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

from actum.base.checks import identifier
from actum.base.limits import PAGE_ITEMS
from actum.lifecycle.states import Run, RunStatus
from actum.messages.message import Message, Role
from actum.model.response import Usage
from actum.records import kinds
from actum.records.failures import Failure
from actum.records.record import Record
from actum.runtime.output import usage_of
from actum.storage.contract import Store


@dataclass(kw_only=True)
class CallSnapshot:
    """One tool call: how often it was begun, and its result once there is one. `child_run_id` is who answers it."""

    tool_call_id: str
    tool_name: str
    attempts: int = 0
    child_run_id: str | None = None
    result: kinds.ToolResultReceived | None = None


@dataclass(frozen=True, kw_only=True)
class TurnSnapshot:
    """The calls that one run of the chain decided; each run of a chain is a turn of its own."""

    run_id: str
    turn_id: str | None
    calls: tuple[CallSnapshot, ...]


@dataclass(frozen=True, kw_only=True)
class PromptRef:
    """A prompt template that a run rendered, by its immutable version."""

    run_id: str
    prompt_id: str
    version: str
    scope: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunSnapshot:
    """A run at one moment.

    `turns` are the calls of its chain up to itself, `children` the runs that it started, `pending` what it still waits
    for. `usage` counts its own model calls; `total_usage` those of its whole chain and all children. `last_answer` is
    the newest text of the agent in the chain, "" where there is none.
    """

    run_id: str
    agent_id: str
    session_id: str | None
    status: RunStatus
    phase: kinds.Phase | None
    predecessor_run_id: str | None
    successor_run_id: str | None
    turns: tuple[TurnSnapshot, ...]
    children: tuple["RunSnapshot", ...]
    pending: tuple[kinds.PendingItem, ...]
    usage: Usage
    total_usage: Usage
    last_answer: str
    failure: Failure | None = None
    cancellation: str | None = None


@dataclass
class _Log:
    """What the snapshot needs of one run's records."""

    run: Run
    turn_id: str | None = None
    phase: kinds.Phase | None = None
    scheduled: list[kinds.ToolCallScheduled] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    results: list[kinds.ToolResultReceived] = field(default_factory=list)
    links: list[kinds.ChildRunLinked] = field(default_factory=list)
    prompts: list[kinds.PromptRendered] = field(default_factory=list)
    usage: list[kinds.UsageCounted] = field(default_factory=list)
    answer: str = ""
    suspended: kinds.RunSuspended | None = None
    ended: kinds.RunCompleted | None = None

    def read(self, record: Record) -> None:
        """Takes one record in."""
        match kinds.payload_of(record):
            case kinds.RunStarted():
                self.turn_id = record.turn_id
            case kinds.RunPhaseChanged(phase=phase):
                self.phase = phase
            case kinds.ToolCallScheduled() as scheduled:
                self.scheduled.append(scheduled)
            case kinds.ToolCallStarted(tool_call_id=call_id):
                self.started.append(call_id)
            case kinds.ToolResultReceived() as result:
                self.results.append(result)
            case kinds.ChildRunLinked() as linked:
                self.links.append(linked)
            case kinds.PromptRendered() as rendered:
                self.prompts.append(rendered)
            case kinds.UsageCounted() as counted:
                self.usage.append(counted)
            case kinds.MessagesAppended(messages=messages):
                self.answer = _answer(messages) or self.answer
            case kinds.RunSuspended() as suspended:
                self.suspended = suspended
            case kinds.RunCompleted() as ended:
                self.ended = ended
            case _:
                pass


class Snapshots:
    """Reads runs of one store; each run's records once, as long as this reader is kept."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._logs: dict[str, _Log] = {}

    async def snapshot(self, run_id: str) -> RunSnapshot:
        """The run as its records tell it now. Raises RunNotFound, RunPurged, DurableDataError."""
        log = await self._log(run_id)
        chain = await self.chain(run_id)
        before = [await self._log(each.run_id) for each in chain]
        before = before[: [each.run.run_id for each in before].index(run_id) + 1]
        counted = [used async for each in self._walk(run.run_id for run in chain) for used in each.usage]
        waits = log.suspended is not None and log.run.successor_run_id is None
        ended = log.ended
        return RunSnapshot(
            run_id=run_id,
            agent_id=log.run.agent_id,
            session_id=log.run.session_id,
            status=log.run.status,
            phase=log.phase,
            predecessor_run_id=log.run.predecessor_run_id,
            successor_run_id=log.run.successor_run_id,
            turns=_turns(before),
            children=tuple([await self.snapshot(linked.child_run_id) for linked in log.links]),
            pending=log.suspended.pending if waits and log.suspended is not None else (),
            usage=usage_of(log.usage),
            total_usage=usage_of(counted),
            last_answer=next((each.answer for each in reversed(before) if each.answer), ""),
            failure=ended.failure if ended is not None else None,
            cancellation=ended.cancellation.reason if ended is not None and ended.cancellation is not None else None,
        )

    async def chain(self, run_id: str) -> tuple[Run, ...]:
        """The runs of one chain, from the first on: each one continues the one before it."""
        run = (await self._log(run_id)).run
        found = [(await self._log(run.chain_id)).run]
        while found[-1].successor_run_id is not None:
            after = (await self._log(found[-1].successor_run_id)).run
            if after.chain_id != run.chain_id:
                break  # a new turn has taken the place of a suspended one; its chain is its own
            found.append(after)
        return tuple(found)

    async def prompt_refs(self, run_id: str) -> tuple[PromptRef, ...]:
        """The prompts that the run's chain rendered, and all children of it; each once for a run, in order."""
        refs: dict[PromptRef, None] = {}
        async for log in self._walk([run.run_id for run in await self.chain(run_id)]):
            for each in log.prompts:
                ref = PromptRef(run_id=log.run.run_id, prompt_id=each.prompt_id, version=each.version, scope=each.scope)
                refs.setdefault(ref)
        return tuple(refs)

    async def _walk(self, run_ids: Iterable[str]) -> AsyncIterator[_Log]:
        """The logs of these runs and of all runs below them, parents first, each once."""
        seen: set[str] = set()
        left = list(run_ids)
        while left:
            run_id = left.pop(0)
            if run_id not in seen:
                seen.add(run_id)
                log = await self._log(run_id)
                left += [linked.child_run_id for linked in log.links]
                yield log

    async def _log(self, run_id: str) -> _Log:
        known = self._logs.get(identifier("run_id", run_id))
        if known is not None:
            return known
        log = _Log(await self._store.load_run(run_id))
        cursor: str | None = None
        more = True
        while more:
            page = await self._store.list_run_records(run_id, cursor=cursor, limit=PAGE_ITEMS)
            for record in page.items:
                log.read(record)
            cursor, more = page.cursor, page.more
        # Read before the row: a run that ended in between is told by its records, and its row by the newer look.
        log.run = await self._store.load_run(run_id)
        self._logs[run_id] = log
        return log


def _turns(logs: list[_Log]) -> tuple[TurnSnapshot, ...]:
    """The calls of a chain by the run that decided them; a later run may have begun or answered them."""
    calls: dict[str, CallSnapshot] = {}
    turns = []
    for log in logs:
        own = [CallSnapshot(tool_call_id=each.tool_call_id, tool_name=each.tool_name) for each in log.scheduled]
        calls |= {each.tool_call_id: each for each in own}
        for call_id in log.started:
            calls[call_id].attempts += 1
        for linked in log.links:
            calls[linked.tool_call_id].child_run_id = linked.child_run_id
        for result in log.results:
            if result.tool_call_id in calls:  # a superseding run answers calls of a chain that is not its own
                calls[result.tool_call_id].result = result
        turns.append(TurnSnapshot(run_id=log.run.run_id, turn_id=log.turn_id, calls=tuple(own)))
    return tuple(turns)


def _answer(messages: Iterable[Message]) -> str:
    said = [message.text for message in messages if message.role is Role.ASSISTANT and message.text]
    return said[-1] if said else ""
