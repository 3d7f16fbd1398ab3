"""The event history in dictionaries, gone with the process. Each call runs to its end before another one begins."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from actum.base.checks import identifier, optional_identifier
from actum.base.errors import RecordConflict
from actum.base.value import dump
from actum.memory.arguments import EventSearch, RunKey, checked_events, forgotten, group_digest, run_digest, same_run
from actum.memory.contract import FOUND_DEFAULT, MemoryStore
from actum.memory.events import FoundEvent, MemoryEvent, Snapshot, messages_of
from actum.memory.search import ranked_by_words
from actum.memory.terms import asked_terms, terms
from actum.messages.message import Message


@dataclass
class _Run:
    key: RunKey
    history_run_id: str | None = None
    events: dict[str, MemoryEvent] = field(default_factory=dict)
    messages: dict[str, Message] = field(default_factory=dict)


class InMemoryMemoryStore(MemoryStore):
    """The event history of a process."""

    def __init__(self) -> None:
        self._runs: dict[bytes, _Run] = {}
        self._forgotten: set[bytes] = set()

    async def append_events(
        self,
        session_id: str | None,
        agent_id: str,
        run_id: str,
        events: Sequence[MemoryEvent],
        *,
        root_run_id: str | None = None,
        history_run_id: str | None = None,
        tenant: str | None = None,
    ) -> int:
        """Adds the events that are new."""
        key = RunKey.checked(session_id, agent_id, run_id, root_run_id, history_run_id, tenant)
        given = checked_events(events)
        if key.group in self._forgotten:
            raise forgotten(key)
        run = self._runs.get(key.digest) or _Run(key)
        history = same_run(run.key, key, run.history_run_id)
        new: dict[str, MemoryEvent] = {}
        messages = dict(run.messages)
        for event in given:
            stored = run.events.get(event.event_id)
            if stored is not None and dump(stored) != dump(event):
                raise RecordConflict(run_id=run_id, event_key=event.event_id, field="event")
            message = event.message
            if message is not None and dump(messages.setdefault(event.message_id or "", message)) != dump(message):
                raise RecordConflict(run_id=run_id, event_key=event.event_id, field="message")
            if stored is None:
                new[event.event_id] = event
        run.history_run_id, run.messages = history, messages
        run.events.update(new)
        self._runs[key.digest] = run
        return len(new)

    async def load_run(
        self, agent_id: str, run_id: str, *, history: bool = True, tenant: str | None = None
    ) -> Snapshot:
        """The run's events."""
        agent, of = identifier("agent_id", agent_id), optional_identifier("tenant", tenant)
        run = self._runs.get(run_digest(of, identifier("run_id", run_id)))
        if run is None or run.key.agent_id != agent:
            return Snapshot(agent_id=agent, run_id=run_id, before=() if history else None)
        return Snapshot(
            agent_id=agent,
            run_id=run_id,
            session_id=run.key.session_id,
            events=tuple(run.events.values()),
            before=self._before(run) if history else None,
        )

    async def search(
        self,
        text: str,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        agent_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = FOUND_DEFAULT,
        tenant: str | None = None,
    ) -> tuple[FoundEvent, ...]:
        """The messages that hold every word."""
        asked = EventSearch.checked(
            text,
            session_id=session_id,
            run_id=run_id,
            agent_id=agent_id,
            since=since,
            until=until,
            limit=limit,
            tenant=tenant,
        )
        wanted = asked_terms(asked.text)
        if not wanted:
            return ()
        spoken = {
            (digest, event.event_id): Counter(terms(event.text))
            for digest, run in self._runs.items()
            if run.key.tenant == asked.tenant
            for event in run.events.values()
            if event.text and not event.seeded
        }
        found = []
        for (digest, event_id), score in ranked_by_words(wanted, spoken):
            run = self._runs[digest]
            event = run.events[event_id]
            if _fits(asked, run.key, event) and all(term in spoken[digest, event_id] for term in wanted):
                found.append(
                    FoundEvent(
                        session_id=run.key.session_id,
                        agent_id=run.key.agent_id,
                        run_id=run.key.run_id,
                        event=event,
                        score=score,
                    )
                )
        return tuple(found[: asked.limit])

    async def forget(self, session_id: str, *, tenant: str | None = None) -> None:
        """Erases the session's events."""
        of = optional_identifier("tenant", tenant)
        self._forget(group_digest(of, session_id=identifier("session_id", session_id)))

    async def forget_one_shot(self, root_run_id: str, *, tenant: str | None = None) -> None:
        """Erases the tree's events."""
        of = optional_identifier("tenant", tenant)
        self._forget(group_digest(of, root_run_id=identifier("root_run_id", root_run_id)))

    def _forget(self, group: bytes) -> None:
        self._forgotten.add(group)
        for digest in [digest for digest, run in self._runs.items() if run.key.group == group]:
            del self._runs[digest]

    def _before(self, run: _Run) -> tuple[Message, ...]:
        chain: list[tuple[Message, ...]] = []
        seen: set[bytes] = set()
        here: _Run | None = run
        while here is not None and here.history_run_id is not None:
            digest = run_digest(run.key.tenant, here.history_run_id)
            if digest in seen:
                break  # what events name need not be true; a ring has no beginning
            seen.add(digest)
            here = self._runs.get(digest)
            if here is not None:
                chain.append(messages_of(here.events.values()))
        return tuple(message for messages in reversed(chain) for message in messages)


def _fits(asked: EventSearch, run: RunKey, event: MemoryEvent) -> bool:
    return (
        asked.session_id in (None, run.session_id)
        and asked.run_id in (None, run.run_id)
        and asked.agent_id in (None, run.agent_id)
        and (asked.since is None or event.at >= asked.since)
        and (asked.until is None or event.at < asked.until)
    )
