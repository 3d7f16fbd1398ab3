"""One door to everything that an application owns: sessions, conversations, streams, erasure."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from types import TracebackType
from typing import Self

from actum.base.checks import identifier, refuse, several
from actum.base.clock import Clock, Ids, SystemClock, SystemIds, wait
from actum.base.limits import PAGE_ITEMS_DEFAULT
from actum.engines.contract import Engine
from actum.engines.local import LocalEngine
from actum.host.conversations import asked, end, next_turn
from actum.host.erasure import purge_one_shot, purge_session
from actum.host.forks import fork
from actum.host.memories import AfterPurge, placed, required, view_of_session
from actum.host.opened import Opened, Wiring
from actum.host.streams import Wait, run_source, run_stream, session_source, session_stream
from actum.lifecycle.states import Run, RunStatus, Session, SessionStatus
from actum.memory.delivery import Delivered
from actum.memory.entries import MemoryEntry, StoredEntry
from actum.memory.opening import Memory
from actum.memory.search import Embedder
from actum.memory.view import MemoryView
from actum.messages.message import Message
from actum.planning.policy import PolicyHook, RunPolicy, ToolRestriction
from actum.planning.prompt import PromptRegistry
from actum.records.record import Follows, Page
from actum.runtime.agent import Agent
from actum.runtime.consent import ConfirmRule
from actum.runtime.given import PendingInput, PreparedRun
from actum.runtime.output import RunOutput
from actum.runtime.runtime import Ask, RunHandle, Runtime
from actum.runtime.transcripts import build_messages_from_run_log
from actum.storage.contract import OwnedStore
from actum.stream.follow import Event
from actum.tools.spec import ToolContext


class Host:
    """An application's own desk over one store: `async with Host.open(url, agents=[...]) as host`.

    Entering opens the store, goes on with the runs whose process is gone, and takes work; leaving parks what still
    runs, for recovery. `run_sync` also works on a host that was not entered.
    """

    def __init__(self, wiring: Wiring) -> None:
        self._agents = {agent.agent_id: agent for agent in wiring.agents}
        self._clock, self._ids, self._wait = wiring.clock, wiring.ids, wiring.wait
        self._wiring = wiring
        self._opened: Opened | None = None
        self._holding = AsyncExitStack()

    @classmethod
    def open(  # noqa: PLR0913 - what a host is made of, each by its keyword
        cls,
        url_or_store: str | OwnedStore,
        *,
        agents: Iterable[Agent] = (),
        engine: Callable[[], Engine] | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        wait: Wait = wait,
        memory: Memory | None = None,
        embedder: Embedder | None = None,
        event_history: bool = False,
        prompts: PromptRegistry | None = None,
        policy: RunPolicy | None = None,
        policy_hook: PolicyHook | None = None,
        confirm: ConfirmRule | None = None,
    ) -> "Host":
        """A host over the store at this URL, or over a store that its caller opened and will close.

        `engine` makes the engine for each opening; loops run in this process unless given. `memory` is the product's
        memory; a host that opens a URL has one in the same place, with `embedder` found by meaning too. With
        `event_history` what happens in runs is kept there as well. `prompts`, `policy` and `policy_hook` are the
        runtime's: templates for instructions, bounds of every run, and who may tighten them for one; `confirm` is its
        rule for calls that a person must confirm. Raises InvalidValue for two agents of one id.
        """
        if not isinstance(url_or_store, str | OwnedStore):
            raise refuse("url_or_store", url_or_store, "is a URL or a store of this process")
        timed = clock or SystemClock()
        wiring = Wiring(
            url_or_store,
            _distinct(agents),
            engine or (lambda: LocalEngine(clock=timed, wait=wait)),
            timed,
            ids or SystemIds(),
            wait,
            memory=memory,
            embedder=embedder,
            event_history=event_history,
            prompts=prompts,
            policy=policy,
            policy_hook=policy_hook,
            confirm=confirm,
        )
        return cls(wiring)

    async def __aenter__(self) -> Self:
        if self._opened is not None:
            raise RuntimeError("this host is open already")
        self._opened = await self._holding.enter_async_context(self._wiring.opened())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened = None
        await self._holding.aclose()

    @property
    def store(self) -> OwnedStore:
        """The store of an open host."""
        return self._here.store

    @property
    def runtime(self) -> Runtime:
        """The runtime of an open host."""
        return self._here.runtime

    @property
    def _here(self) -> Opened:
        if self._opened is None:
            raise RuntimeError("this host is not open; enter it with `async with`, or use run_sync")
        return self._opened

    # Sessions

    async def create_session(
        self,
        session_id: str | None = None,
        *,
        metadata: Mapping[str, str] | None = None,
        tenant: str | None = None,
    ) -> Session:
        """A new session; with an id that exists, that session as it is now. Raises SessionConflict, SessionEnded."""
        name = self._ids.new("session") if session_id is None else session_id
        return await self.store.create_session(name, self._clock.now(), metadata=metadata, tenant=tenant)

    async def session(self, session_id: str) -> Session:
        """The session as it is now. Raises SessionNotFound, SessionPurged."""
        return await self.store.load_session(session_id)

    async def sessions(
        self,
        *,
        status: SessionStatus | None = None,
        metadata: Mapping[str, str] | None = None,
        tenant: str | None = None,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
    ) -> Page[Session]:
        """A page of sessions by creation time; every given filter must hold."""
        return await self.store.list_sessions(
            status=status, metadata=metadata, tenant=tenant, cursor=cursor, limit=limit
        )

    async def end_session(self, session_id: str) -> Session:
        """Ends the session: it takes no new work, and what runs in it comes to its end, canceled by `session_ended`."""
        here = self._here
        session = await end(here.store, here.runtime, session_id, self._clock.now())
        here.hub.wake_session(session_id)
        return session

    async def purge_session(self, session_id: str, *, memory: AfterPurge = "erase") -> None:
        """Erases an ended session for ever, and with `erase` first what the product remembers of it.

        With `keep` the event history is brought up before, where this host keeps one. Repeat it when it broke off.
        Raises SessionActive, and SessionBusy while a run of it is running.
        """
        await purge_session(self._here, session_id, memory)

    async def purge_one_shot(self, run_id: str, *, memory: AfterPurge = "erase") -> None:
        """Erases a run without a session, with its children, for ever; `run_id` is the root of the tree.

        Repeat it when it broke off. Raises RunNotFound, RunBusy while a run of it is running, InvalidValue for no root.
        """
        await purge_one_shot(self._here, run_id, memory)

    # Memory

    @property
    def memory(self) -> Memory:
        """The product's memory: event history and entries. Raises InvalidValue where the host has none."""
        return required(self._here.memory)

    async def store_memory(self, entry: MemoryEntry, *, expected: int | None = None) -> StoredEntry:
        """Stores an entry of long-term memory. One of a session gets the session's tenant.

        Raises what `EntryStore.store` raises, and SessionNotFound for the scope of a session that is not here.
        """
        entries = self.memory.entries
        return await entries.store(await placed(self.store, entry), expected=expected)

    async def get_memory(
        self, key: str, session_id: str, *, user_id: str | None = None, agent_id: str | None = None
    ) -> StoredEntry | None:
        """The entry under `key` in the narrowest scope that has one: session, user, agent, shared.

        The user is the session's `user_id` unless given. A null or false value is found. Raises SessionNotFound.
        """
        view = await view_of_session(self.store, self.memory, session_id, user_id, agent_id)
        return await view.get(key)

    async def memory_view(self, context: ToolContext) -> MemoryView:
        """The entries that a tool's call may see; for `memory_tools(lambda context: host.memory_view(context))`."""
        return await self.runtime.memory_view(context)

    async def deliver_memory(self) -> Delivered:
        """Brings the event history up to the run log now. Raises InvalidValue where the host keeps none."""
        projection = self._here.projection
        if projection is None:
            raise refuse("event_history", False, "is switched on for a host that keeps one")  # noqa: FBT003 - the value shown
        return await projection.deliver()

    # Runs

    async def run(
        self,
        agent: Agent | str,
        messages: str | Message | Sequence[Message],
        *,
        session_id: str | None = None,
        follows: Follows | None = None,
        turn_id: str | None = None,
        run_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        policy: RunPolicy | None = None,
        restrict: ToolRestriction | None = None,
        supersede: bool = False,
    ) -> RunOutput:
        """The session's next turn, to its end. Without a session it is a one-shot run.

        `messages` is only what is new: the run follows the session's head and goes on from its transcript. With a
        `run_id` an exact repeat gives the first output, also when the conversation has moved on. `follows` names the
        head that the caller saw. `policy` bounds the run and `restrict` its tools, beside what agent and host say.
        A last turn that waits for a person is answered first, or given up with `supersede`. Cancelling the waiting task
        leaves the run alone.

        Raises InvalidValue, TranscriptError, SessionNotFound, SessionEnded, SessionPurged, SessionBusy while the last
        turn runs or waits, HeadMoved when another turn was quicker, RunConflict for another request under a known id.
        """
        ask = self._ask(agent, messages, session_id, follows, turn_id, labels, policy, restrict, supersede)
        return await (await self._start(ask, run_id, run_id)).wait()

    def run_sync(
        self,
        agent: Agent | str,
        messages: str | Message | Sequence[Message],
        *,
        session_id: str | None = None,
        follows: Follows | None = None,
        turn_id: str | None = None,
        run_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        policy: RunPolicy | None = None,
        restrict: ToolRestriction | None = None,
        supersede: bool = False,
    ) -> RunOutput:
        """`run` for code without an event loop.

        On a host that is not open it opens, runs and closes; on an open one it may be called from any other thread.
        Raises RuntimeError where it would stop the event loop that it waits for.
        """

        async def run() -> RunOutput:
            return await self.run(
                agent,
                messages,
                session_id=session_id,
                follows=follows,
                turn_id=turn_id,
                run_id=run_id,
                labels=labels,
                policy=policy,
                restrict=restrict,
                supersede=supersede,
            )

        async def once() -> RunOutput:
            async with self:
                return await run()

        opened, running = self._opened, _running_loop()
        if running is not None and (opened is None or opened.loop is running):
            raise RuntimeError("run_sync would stop the event loop of this thread; use `await host.run(...)` here")
        if opened is None:
            return asyncio.run(once())
        return asyncio.run_coroutine_threadsafe(run(), opened.loop).result()

    async def stream(
        self,
        agent: Agent | str,
        messages: str | Message | Sequence[Message],
        *,
        session_id: str | None = None,
        follows: Follows | None = None,
        turn_id: str | None = None,
        run_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        policy: RunPolicy | None = None,
        restrict: ToolRestriction | None = None,
        supersede: bool = False,
    ) -> AsyncGenerator[Event, None]:
        """The same turn as `run`, as events from its beginning to `run_stream_end`, with deltas in between.

        The run starts when the iteration does. Leaving the iteration detaches and never cancels the run; `events` goes
        on where it was left. Raises what `run` raises, and what stopped the run's loop when it could not be ended.
        """
        ask = self._ask(agent, messages, session_id, follows, turn_id, labels, policy, restrict, supersede)
        here = self._here
        name = self._ids.new("run") if run_id is None else identifier("run_id", run_id)
        source = run_source(here.store, here.runtime, self._wait, name)
        async with aclosing(
            run_stream(
                source,
                here.hub,
                name,
                end=lambda: here.runtime.engine.wait(name),
                start=lambda: self._start(ask, name, run_id),
            )
        ) as events:
            async for event in events:
                yield event

    async def events(
        self, run_id: str | None = None, *, session_id: str | None = None, after: str | None = None
    ) -> AsyncGenerator[Event, None]:
        """The events of one run to its end, or of a session until it has ended; after the event of the id `after`.

        Whoever reconnects with the last id that it got misses no event and gets none twice; deltas are not repeated.
        Raises InvalidCursor for an id of no event of this session or run, RunNotFound, SessionNotFound, SessionPurged;
        and, behind all events that are stored, what keeps the one run from its end, as `output` does.
        """
        here = self._here
        if (run_id is None) == (session_id is None):
            raise refuse("run_id", run_id, "is given exactly when session_id is not")
        if run_id is not None:
            name = identifier("run_id", run_id)
            source = run_source(here.store, here.runtime, self._wait, name)
            stream = run_stream(source, here.hub, name, end=lambda: here.runtime.engine.wait(name), after=after)
        else:
            name = identifier("session_id", session_id)
            stream = session_stream(session_source(here.store, self._wait, name), here.hub, name, after)
        async with aclosing(stream) as events:
            async for event in events:
                yield event

    async def runs(
        self,
        session_id: str,
        *,
        statuses: Sequence[RunStatus] | None = None,
        cursor: str | None = None,
        limit: int = PAGE_ITEMS_DEFAULT,
    ) -> Page[Run]:
        """A page of the session's runs by start time."""
        return await self.store.list_runs(session_id, statuses=statuses, cursor=cursor, limit=limit)

    async def output(self, run_id: str) -> RunOutput:
        """What a run came to; waits for its end, whichever process drives it.

        Raises RunNotReady for a run whose process is gone and whose agent is not one of this host's, and what stopped
        its loop here.
        """
        return await self.runtime.output(run_id)

    async def transcript(self, run_id: str) -> tuple[Message, ...]:
        """The messages of a run and of everything that it goes on from."""
        return await build_messages_from_run_log(self.store, run_id)

    async def cancel_run(self, run_id: str, reason: str = "user_requested", *, by: str | None = None) -> None:
        """Asks for the run's cancellation, wherever it runs. The same reason again is a success."""
        await self.runtime.cancel_run(run_id, reason, by=by)

    # What runs wait for

    async def pending(self, session_id: str | None = None, *, run_id: str | None = None) -> tuple[PendingInput, ...]:
        """What a session, or the chain of a run, waits for; children's items with those of their root run."""
        return await self.runtime.pending(session_id, run_id=run_id)

    async def continue_run(
        self, run_id: str, answers: Mapping[str, object], *, by: str | None = None, turn_id: str | None = None
    ) -> RunOutput:
        """Goes on with these answers, by item id, to the end of the run that does; see `Runtime.continue_run`."""
        return await self.runtime.continue_run(run_id, answers, by=by, turn_id=turn_id)

    async def prepare_continuation(
        self, run_id: str, answers: Mapping[str, object], *, by: str | None = None, turn_id: str | None = None
    ) -> PreparedRun:
        """Judges the answers and writes nothing: for an application that stores them itself."""
        return await self.runtime.prepare_continuation(run_id, answers, by=by, turn_id=turn_id)

    async def start_prepared(self, prepared: PreparedRun) -> RunHandle:
        """Starts a prepared run, after judging its answers, its agent and its tools once more."""
        return await self.runtime.start_prepared(prepared)

    async def withdraw(self, run_id: str, reason: str = "withdrawn") -> RunOutput:
        """Gives up what the run's chain waits for: its calls are closed, and it ends canceled for this reason."""
        return await self.runtime.withdraw(run_id, reason)

    async def fork(
        self,
        run_id: str,
        through: str | None = None,
        *,
        session_id: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Session:
        """A new session that goes on from a run's transcript, up to and including the record `through` where given.

        The next turn there simply goes on. The transcript is copied: it is the new session's first run, complete
        and labelled `forked_from` and `forked_through`. Metadata is the old session's unless given. A fork cuts only
        where no tool use waits for its result. Raises InvalidValue, InvalidCursor, RunNotFound, RunPurged, RunConflict.
        """
        name = self._ids.new("session") if session_id is None else session_id
        return await fork(self.store, self._clock, run_id, through, session_id=name, metadata=metadata)

    def _ask(
        self,
        agent: Agent | str,
        messages: object,
        session_id: str | None,
        follows: Follows | None,
        turn_id: str | None,
        labels: object,
        policy: RunPolicy | None,
        restrict: ToolRestriction | None,
        supersede: bool,  # noqa: FBT001 - passed on from a keyword
    ) -> Ask:
        return asked(
            self._agents,
            self._ids,
            agent=agent,
            messages=messages,
            session_id=session_id,
            follows=follows,
            turn_id=turn_id,
            labels=labels,
            policy=policy,
            restrict=restrict,
            supersede=supersede,
        )

    async def _start(self, ask: Ask, name: str | None, repeated: str | None) -> RunHandle:
        ask = await next_turn(self.store, ask, repeated)
        return await self.runtime.start(ask, name)


def _distinct(agents: Iterable[Agent]) -> tuple[Agent, ...]:
    """These agents, each with an id of its own."""
    known: dict[str, Agent] = {}
    for agent in several("agents", agents, Agent, "agents"):
        if agent.agent_id in known:
            raise refuse("agents", agent.agent_id, "have ids of their own")
        known[agent.agent_id] = agent
    return tuple(known.values())


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
