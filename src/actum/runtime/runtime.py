"""The pieces put together: a store, an engine, agents; runs started, waited for and canceled by id."""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from actum.base.checks import Labels, identifier, refuse
from actum.base.checks import reason as checked_reason
from actum.base.clock import Clock, Ids, SystemClock, SystemIds, wait
from actum.base.errors import RegistrationClosed, RunConflict, SessionEnded
from actum.base.value import Value, conform, fingerprint, replace
from actum.engines.context import Wait
from actum.engines.contract import Engine, RecoveryPolicy
from actum.engines.local import LocalEngine
from actum.lifecycle.states import ENGINE_CANCELED, SESSION_ENDED, Run, RunStatus, SessionStatus
from actum.loop.limits import terms_option
from actum.loop.world import Opening, RunRequest
from actum.memory.contract import EntryStore
from actum.memory.entries import EntrySource
from actum.memory.view import MemoryView, user_of
from actum.messages.message import Message, Role
from actum.model.client import ModelClient
from actum.planning.policy import PolicyHook, RunPolicy, ToolRestriction
from actum.planning.prompt import PromptRegistry
from actum.providers.pick import pick
from actum.records.record import Follows, HistoryRef, Record
from actum.runtime.agent import Agent
from actum.runtime.ask import Asking, Sink
from actum.runtime.begin import stored_digest
from actum.runtime.call import Calling
from actum.runtime.children import Children
from actum.runtime.consent import ConfirmRule
from actum.runtime.ensuring import Ensuring
from actum.runtime.given import PendingInput, PreparedRun
from actum.runtime.inputs import Inputs
from actum.runtime.judge import Judge
from actum.runtime.ledger import Ledger, OpenRun
from actum.runtime.openings import Openings
from actum.runtime.output import RunOutput, output_of, read_journal
from actum.runtime.plan import Planning
from actum.runtime.policies import Policies
from actum.runtime.snapshots import PromptRef, RunSnapshot, Snapshots
from actum.runtime.transcripts import Histories
from actum.runtime.views import Views
from actum.runtime.world import RuntimeWorld
from actum.storage.contract import Store
from actum.tools.spec import ToolContext
from actum.transcript.turns import begins_turn
from actum.transcript.validate import validate_planner_transcript


class Ask(Value):
    """What a caller asks of an agent: everything that a repeat must repeat.

    `filled` are fields that a host found out for the caller; they do not make another request.
    """

    agent_id: str
    session_id: str | None = None
    messages: tuple[Message, ...]
    history: HistoryRef | None = None
    follows: Follows | None = None
    turn_id: str | None = None
    labels: Labels = {}
    policy: RunPolicy | None = None
    restrict: ToolRestriction | None = None
    supersede: bool = False
    filled: tuple[str, ...] = ()

    def digest(self) -> str:
        """The digest of what the caller gave."""
        given = dict.fromkeys(self.filled)
        return fingerprint(
            Ask(**{**{name: getattr(self, name) for name in self.__struct_fields__}, **given, "filled": ()})
        )


class Runtime:
    """Runs agents over a store. `engine` is where their loops run; in this process unless given.

    `entries` is the product's long-term memory: planners see the scopes of their run in it. `prompts` are the templates
    that instructions and planners may use. `policy` bounds every run, and `policy_hook` is asked before each plan: it
    sees labels and session metadata, and can only tighten. `confirm` is the rule for calls that a person must confirm,
    beside the tools that ask for it by themselves.

    `listener` gives a sink for the deltas of a step, or None when nobody looks; `stored` hears of each write that was
    made here, with its run and session. A host sets both.
    """

    def __init__(
        self,
        store: Store,
        engine: Engine | None = None,
        *,
        entries: EntryStore | None = None,
        prompts: PromptRegistry | None = None,
        policy: RunPolicy | None = None,
        policy_hook: PolicyHook | None = None,
        confirm: ConfirmRule | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        wait: Wait = wait,
        listener: Callable[[OpenRun, int], Sink | None] | None = None,
        stored: Callable[[str, str | None], None] | None = None,
    ) -> None:
        self.store = store
        self.entries = entries
        self.engine: Engine = engine or LocalEngine(clock=clock, wait=wait)
        self._clock = clock or SystemClock()
        self._ids = ids or SystemIds()
        self._agents: dict[str, Agent] = {}
        self._models: dict[str, ModelClient] = {}
        self._open = True
        self._ledger = Ledger(store, self._clock, stored or (lambda _run, _session: None))
        self._histories = Histories(store)
        self._policies = Policies(self._clock, conform(policy, "policy") if policy is not None else None, policy_hook)
        views = Views(self._ledger, self._histories, self._model)
        asking = Asking(views, self._model, listener or (lambda _run, _step: None), self._memory, prompts)
        children = Children(self._agents, self._ledger, self._clock, self._policies)
        rule = confirm or ConfirmRule()
        planning = Planning(self._ledger, asking, self._policies, rule)
        calling = Calling(self._ledger, self._clock, wait, children, self._policies, rule)
        self._openings = Openings(store, self._agents)
        judge = Judge(store, self._agents, rule)
        self._ensuring = Ensuring(self._ledger, self.engine, self._clock)
        self._inputs = Inputs(store, self.engine, self._clock, self._ids, judge, self._openings)
        self.engine.attach(store, RuntimeWorld(store, self._agents, self._ledger, planning, calling))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Parks what still runs: it stays `running` in the store, for recovery."""
        await self.engine.close()

    def register(self, agent: Agent) -> None:
        """Makes an agent known. Raises RegistrationClosed after the first run.

        Raises InvalidValue for a second agent of one id, and for one that cannot keep the runtime's policy.
        """
        if not isinstance(agent, Agent):
            raise refuse("agent", agent, "is an Agent")
        if not self._open:
            raise RegistrationClosed(name=agent.agent_id)
        if agent.agent_id in self._agents:
            raise refuse("agent_id", agent.agent_id, "names one agent; it is registered already")
        self._policies.terms(agent)
        self._agents[agent.agent_id] = agent

    def client(self, agent_id: str) -> "AgentClient":
        """The client of a registered agent. Raises InvalidValue for an unknown one."""
        if identifier("agent_id", agent_id) not in self._agents:
            raise refuse(
                "agent_id", agent_id, f"names a registered agent: {', '.join(self._agents) or 'there is none'}"
            )
        return AgentClient(self, agent_id)

    async def recover(self, policy: RecoveryPolicy = "continue") -> tuple[str, ...]:
        """Takes up the running runs whose process is gone; their ids. No agent can be registered after it.

        They go on from their records, which takes their agents, or, under the policy `fail`, end failed, which takes
        none. Those that are to stop, by a stored cancellation or their session's end, end canceled under both.
        """
        self._open = False
        return await self.engine.recover(policy)

    async def start(self, ask: Ask, run_id: str | None = None) -> "RunHandle":
        """Starts what is asked, or finds the run that was started by the same request under this id before."""
        self._open = False
        ask = conform(ask)
        if ask.agent_id not in self._agents:
            raise refuse("agent_id", ask.agent_id, "names a registered agent")
        digest = ask.digest()
        name = identifier("run_id", run_id) if run_id is not None else self._ids.new("run")
        if run_id is not None and await self._known(name, digest):
            # Whoever sends a turn again wants its answer, also when the process that drove it is gone.
            await self.engine.take_up(name)
            return RunHandle(self, name)
        session = ask.session_id
        # Who filled in the turn's history has looked just now; whatever happened since then, the start tells.
        looked = "history" in ask.filled
        if session is not None and not looked and await self.store.load_session_status(session) is SessionStatus.ENDED:
            raise SessionEnded(session_id=session)
        await self.engine.accept(replace(self._request(ask, name, digest), opening=await self._superseding(ask, name)))
        return RunHandle(self, name)

    async def cancel_run(self, run_id: str, reason: str = "user_requested", *, by: str | None = None) -> None:
        """Stores the reason, also on all that runs below, then tells the loops. The same reason again is a success.

        Raises CancellationConflict when another reason is stored, RunNotRunning when the run ended without one.
        """
        reason = _own_reason(reason)
        await self._ensuring.cancel(run_id, reason, by)

    async def ensure_run_completion(self, run_id: str, *, recovery: RecoveryPolicy = "continue") -> RunOutput:
        """The run's end: told again when it is stored, brought about when nobody drives the run any more.

        To go on with it takes its agent; under `fail`, or when it is to stop, none. Raises RunNotReady while a living
        process drives it, or when its agent is missing; RunCorrupt when its records allow no valid end.
        """
        self._open = False
        return await self._ensuring.completion(identifier("run_id", run_id), recovery)

    async def ensure_child_run_link(self, run_id: str) -> Record:
        """The parent's record of this child, told again. Raises RunCorrupt when that log names no such child."""
        return await self._ensuring.child_link(run_id)

    async def settle(self, session_id: str, *, recovery: RecoveryPolicy = "continue") -> tuple[RunOutput, ...]:
        """Ensures every run of the session that has no end, as `ensure_run_completion` does.

        Raises RunNotReady, at last, for those that are driven, or whose agents are missing.
        """
        self._open = False
        return await self._ensuring.settle(session_id, recovery)

    async def snapshot(self, run_id: str) -> RunSnapshot:
        """Where the run stands, with its children, its chain and what all of it cost."""
        return await Snapshots(self.store).snapshot(run_id)

    async def continuations(self, run_id: str) -> tuple[Run, ...]:
        """The chain of a run, from its first run on: each one continues the suspended one before it."""
        return await Snapshots(self.store).chain(run_id)

    async def prompt_refs(self, run_id: str) -> tuple[PromptRef, ...]:
        """The prompts that the run's chain and all children of it rendered, by their versions."""
        return await Snapshots(self.store).prompt_refs(run_id)

    async def pending(self, session_id: str | None = None, *, run_id: str | None = None) -> tuple[PendingInput, ...]:
        """What a session, or the chain of a run, waits for; children's items with those of their root run."""
        return await self._inputs.pending(session_id, run_id)

    async def continue_run(
        self, run_id: str, answers: Mapping[str, object], *, by: str | None = None, turn_id: str | None = None
    ) -> RunOutput:
        """Goes on with these answers, by item id, and waits for the end of the run that does.

        `run_id` is any run of the chain; the newest is answered, and waited for while it runs. What is not answered
        stays pending. The same answers again are the same run. An approval names in `by` who gives it. Raises
        UnknownItem, AlreadyAnswered, AnswerRefused, ApprovalExpired, InvalidValue, SessionEnded, RunNotFound.
        """
        return await (await self.start_continuation(run_id, answers, by=by, turn_id=turn_id)).wait()

    async def start_continuation(
        self, run_id: str, answers: Mapping[str, object], *, by: str | None = None, turn_id: str | None = None
    ) -> "RunHandle":
        """Goes on as `continue_run` does; returns once the start of the run that does is durable."""
        return await self.start_prepared(await self.prepare_continuation(run_id, answers, by=by, turn_id=turn_id))

    async def prepare_continuation(
        self, run_id: str, answers: Mapping[str, object], *, by: str | None = None, turn_id: str | None = None
    ) -> PreparedRun:
        """Judges the answers as `continue_run` does and writes nothing: for an application that stores them itself."""
        return await self._inputs.prepare(run_id, answers, by, turn_id)

    async def start_prepared(self, prepared: PreparedRun) -> "RunHandle":
        """Starts a prepared run, after judging its answers, its agent and its tools once more."""
        if not isinstance(prepared, PreparedRun):
            raise refuse("prepared", prepared, "is a PreparedRun")
        self._open = False
        return RunHandle(self, await self._inputs.start(conform(prepared)))

    async def withdraw(self, run_id: str, reason: str = "withdrawn") -> RunOutput:
        """Gives up what the run's chain waits for: its calls are closed, and it ends canceled for this reason.

        This takes no agent. Raises ContinuationRefused when it waits for nothing, SessionEnded.
        """
        self._open = False
        return await self.output(await self._inputs.withdraw(run_id, _own_reason(reason)))

    async def output(self, run_id: str) -> RunOutput:
        """What a run came to, once it has ended.

        Raises RunNotReady when its process is gone and its agent is not registered here, and what stopped its loop
        here.
        """
        ended = await self.engine.wait(identifier("run_id", run_id))
        return output_of(run_id, ended.status, await read_journal(self.store, run_id))

    def drives(self, run_id: str) -> bool:
        """Whether a loop of this runtime works on the run now, so that `stored` hears of all that happens to it."""
        return self._ledger.is_open(run_id)

    def forget_histories(self) -> None:
        """Forgets what was kept in memory of stored transcripts; after an erasure nothing of them may stay."""
        self._histories.forget()

    async def _known(self, run_id: str, digest: str) -> bool:
        stored = await stored_digest(self.store, run_id)
        if stored is not None and stored != digest:
            raise RunConflict(run_id=run_id, field="request")
        return stored is not None

    async def _superseding(self, ask: Ask, run_id: str) -> Opening | None:
        """What a new turn says when it takes the place of a suspended head."""
        follows = ask.follows
        if follows is None or not follows.supersede or follows.run_id is None:
            return None
        head = await self.store.load_run(follows.run_id)
        if head.status is not RunStatus.SUSPENDED:
            return None
        return await self._openings.superseding(head, run_id, closes=ask.history is not None)

    def _request(self, ask: Ask, run_id: str, digest: str) -> RunRequest:
        _lawful(ask)
        whole = ask.history is None
        terms = self._policies.terms(self._agents[ask.agent_id], ask.policy, ask.restrict)
        return RunRequest(
            run_id=run_id,
            agent_id=ask.agent_id,
            agent_version=self._agents[ask.agent_id].version,
            session_id=ask.session_id,
            turn_id=ask.turn_id,
            history=ask.history,
            follows=ask.follows,
            labels=ask.labels,
            seeded=ask.messages[:-1] if whole else (),
            messages=ask.messages[-1:] if whole else ask.messages,
            requested_at=self._clock.now(),
            request_digest=digest,
            options={"engine": self.engine.name, **terms_option(terms)},
        )

    async def memory_view(self, context: ToolContext) -> MemoryView:
        """The entries that a tool's call may see, narrowest scope first; what it writes names its run as the source.

        The user is the session's `user_id`. Raises InvalidValue where the runtime was given no entries.
        """
        view = self._memory(await self.store.load_run(context.run_id), context.session_metadata)
        if view is None:
            raise refuse("entries", None, "are given to a runtime whose tools remember")
        return view

    def _memory(self, run: Run, metadata: Mapping[str, str]) -> MemoryView | None:
        if self.entries is None:
            return None
        return MemoryView.of(
            self.entries,
            session_id=run.session_id,
            user_id=user_of(metadata),
            agent_id=run.agent_id,
            tenant=run.tenant,
            source=EntrySource(run_id=run.run_id),
        )

    def _model(self, name: str) -> ModelClient:
        if name not in self._models:
            self._models[name] = pick(name)
        return self._models[name]


class AgentClient:
    """One agent's door: its runs in sessions, and its one-shot runs."""

    def __init__(self, runtime: Runtime, agent_id: str) -> None:
        self._runtime = runtime
        self._agent_id = agent_id

    async def start(
        self,
        session_id: str,
        messages: Sequence[Message],
        *,
        history: HistoryRef | None = None,
        follows: Follows | None = None,
        turn_id: str | None = None,
        run_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        policy: RunPolicy | None = None,
        restrict: ToolRestriction | None = None,
    ) -> "RunHandle":
        """Starts a run; returns once its start is durable.

        `messages` is the whole transcript, its last message the new input; with `history` it is only what is new. With
        a `run_id` an exact repeat is the run that was started first. `policy` bounds the run, `restrict` its tools,
        beside what agent and runtime say. Raises TranscriptError, SessionEnded,
        SessionPurged, SessionNotFound, HeadMoved, SessionBusy, HistoryRefused, RunConflict.
        """
        ask = Ask(
            agent_id=self._agent_id,
            session_id=identifier("session_id", session_id),
            messages=tuple(messages),
            history=history,
            follows=follows,
            turn_id=turn_id,
            labels=dict(labels or {}),
            policy=policy,
            restrict=restrict,
        )
        return await self._runtime.start(ask, run_id)

    async def run(
        self,
        session_id: str,
        messages: Sequence[Message],
        *,
        history: HistoryRef | None = None,
        follows: Follows | None = None,
        turn_id: str | None = None,
        run_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        policy: RunPolicy | None = None,
        restrict: ToolRestriction | None = None,
    ) -> RunOutput:
        """Starts a run as `start` does, and waits for its end. Cancelling the waiting task leaves the run alone."""
        handle = await self.start(
            session_id,
            messages,
            history=history,
            follows=follows,
            turn_id=turn_id,
            run_id=run_id,
            labels=labels,
            policy=policy,
            restrict=restrict,
        )
        return await handle.wait()

    async def start_one_shot(
        self,
        messages: Sequence[Message],
        *,
        turn_id: str | None = None,
        run_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        policy: RunPolicy | None = None,
        restrict: ToolRestriction | None = None,
    ) -> "RunHandle":
        """Starts a run without a session."""
        ask = Ask(
            agent_id=self._agent_id,
            messages=tuple(messages),
            turn_id=turn_id,
            labels=dict(labels or {}),
            policy=policy,
            restrict=restrict,
        )
        return await self._runtime.start(ask, run_id)

    async def run_one_shot(
        self,
        messages: Sequence[Message],
        *,
        turn_id: str | None = None,
        run_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        policy: RunPolicy | None = None,
        restrict: ToolRestriction | None = None,
    ) -> RunOutput:
        """Starts a run without a session, and waits for its end."""
        handle = await self.start_one_shot(
            messages, turn_id=turn_id, run_id=run_id, labels=labels, policy=policy, restrict=restrict
        )
        return await handle.wait()


class RunHandle:
    """A run that was started."""

    def __init__(self, runtime: Runtime, run_id: str) -> None:
        self._runtime = runtime
        self.run_id = run_id

    async def wait(self) -> RunOutput:
        """Waits for the run's end. Cancelling the waiting task leaves the run alone."""
        return await self._runtime.output(self.run_id)

    async def cancel(self, reason: str = "user_requested") -> None:
        """Asks for the run's cancellation."""
        await self._runtime.cancel_run(self.run_id, reason)

    def __repr__(self) -> str:
        return f"RunHandle({self.run_id!r})"


def _own_reason(given: str) -> str:
    if given in (SESSION_ENDED, ENGINE_CANCELED):
        raise refuse("reason", given, "is a caller's own reason; this word is the runtime's")
    return checked_reason("reason", given)


def _lawful(ask: Ask) -> None:
    """What a caller gives must be a lawful transcript with a new input at its end."""
    if not ask.messages:
        raise refuse("messages", ask.messages, "hold at least the new input")
    validate_planner_transcript(ask.messages)
    if not begins_turn(ask.messages[-1]):
        raise refuse("messages", str(ask.messages[-1].role), "end with the new input, a user message")
    if ask.history is not None and any(message.role is Role.SYSTEM for message in ask.messages):
        raise refuse("messages", "a system message", "lead the transcript; beside a history they would not")
