"""A conversation goes on: a new turn follows the session's head and takes its transcript by reference; a fork by value.

The host reads the head and claims to follow what it read; the store judges the claim in the same write that starts the
run. So of two turns that were asked at once, one is refused, and none is answered without the other's words.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from actum.base.checks import refuse
from actum.base.clock import Ids
from actum.base.errors import HeadMoved, RunCorrupt, SessionEnded
from actum.base.value import conform, replace
from actum.lifecycle.heads import may_follow
from actum.lifecycle.states import SESSION_ENDED, Run, RunStatus, Session, SessionStatus
from actum.messages.message import Message, user
from actum.planning.policy import RunPolicy, ToolRestriction
from actum.records.record import Follows, HistoryRef
from actum.runtime.agent import Agent
from actum.runtime.begin import stored_digest
from actum.runtime.runtime import Ask, Runtime
from actum.storage.contract import OwnedStore


def asked(
    agents: Mapping[str, Agent],
    ids: Ids,
    *,
    agent: object,
    messages: object,
    session_id: str | None,
    follows: Follows | None,
    turn_id: str | None,
    labels: object,
    policy: RunPolicy | None = None,
    restrict: ToolRestriction | None = None,
    supersede: bool = False,
) -> Ask:
    """What a caller asks of one of these agents, checked. A turn id is made where none is given."""
    if labels is not None and not isinstance(labels, Mapping):
        raise refuse("labels", labels, "is a mapping of text to text")
    return conform(
        Ask(
            agent_id=_agent_id(agents, agent),
            session_id=session_id,
            messages=_messages(messages),
            follows=follows,
            turn_id=ids.new("turn") if turn_id is None else turn_id,
            labels=dict(labels or {}),
            policy=policy,
            restrict=restrict,
            supersede=supersede,
            filled=("turn_id",) if turn_id is None else (),
        )
    )


async def next_turn(store: OwnedStore, ask: Ask, run_id: str | None) -> Ask:
    """`ask` as the next turn of its session: it follows the head and goes on from its transcript.

    What is filled in is named in `filled`, so that an exact retry is the same request though the head has moved on.
    Raises SessionEnded, SessionNotFound, SessionPurged, HeadMoved, SessionBusy.
    """
    if ask.session_id is None or (run_id is not None and await stored_digest(store, run_id) is not None):
        return ask
    session = await store.load_session(ask.session_id)
    if session.status is SessionStatus.ENDED:
        raise SessionEnded(session_id=session.session_id)
    head_id = session.head_run_id
    if ask.follows is not None and ask.follows.run_id != head_id:
        raise HeadMoved(session_id=session.session_id, head_run_id=head_id, given=ask.follows.run_id)
    if head_id is None or head_id == run_id:
        # Its own head: the same request was stored a moment ago, and is found there.
        return _filled(ask, Follows(run_id=None), None)
    head = await store.load_run(head_id)
    # Of a head that does not wait any more there is nothing to give up.
    waits = head.status is RunStatus.SUSPENDED
    supersede = waits and (ask.supersede or (ask.follows is not None and ask.follows.supersede))
    return _filled(ask, Follows(run_id=head_id, supersede=supersede), _history(session, head, supersede=supersede))


async def end(store: OwnedStore, runtime: Runtime, session_id: str, ended_at: datetime) -> Session:
    """Ends the session, and tells the loops that run in it here; those elsewhere hear of it from the store."""
    session = await store.end_session(session_id, ended_at)
    cursor: str | None = None
    while True:
        page = await store.list_runs(session_id, statuses=[RunStatus.RUNNING], cursor=cursor)
        for run in page.items:
            await runtime.engine.cancel(run.run_id, SESSION_ENDED)
        if not page.more:
            return session
        cursor = page.cursor


def _agent_id(agents: Mapping[str, Agent], agent: object) -> str:
    agent_id = agent.agent_id if isinstance(agent, Agent) else agent
    known = agents.get(agent_id) if isinstance(agent_id, str) else None
    if known is None or (isinstance(agent, Agent) and known is not agent):
        raise refuse("agent", agent_id, f"is one of this host's agents: {', '.join(agents) or 'it has none'}")
    return known.agent_id


def _messages(given: object) -> tuple[Message, ...]:
    """The new input as messages: a text is the user's, a message stands for itself."""
    match given:
        case str():
            if not given:
                raise refuse("messages", given, "say something: the text is empty")
            return (user(given),)
        case Message():
            return (given,)
        case Sequence():
            return tuple(given)
        case _:
            raise refuse("messages", given, "is a text, a message, or a list of messages")


def _history(session: Session, head: Run, *, supersede: bool) -> HistoryRef:
    # Judged here and not only by the store: a head that ends between this look and the start would be followed without
    # its words.
    may_follow(session, head, supersede=supersede)
    if head.end_record_id is None:
        raise RunCorrupt(run_id=head.run_id, reason=f"it is {head.status} and has no end record")
    return HistoryRef(run_id=head.run_id, through=head.end_record_id)


def _filled(ask: Ask, follows: Follows, history: HistoryRef | None) -> Ask:
    found = {"history"} if ask.follows is not None else {"history", "follows"}
    return replace(ask, history=history, follows=ask.follows or follows, filled=(*ask.filled, *sorted(found)))
