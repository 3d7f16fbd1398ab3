"""A fork: a new session that goes on from the middle of a run, with a copy of what was said until there.

The copy is a run of the new session by itself, completed without a planner: its transcript is what was seeded, and it
is the session's head. So the next turn there simply goes on, and nothing that happens to the old session reaches it.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Final

from actum.base.checks import identifier, refuse
from actum.base.clock import Clock
from actum.base.limits import COMMAND_BYTES, COMMAND_RECORDS, PAGE_ITEMS
from actum.lifecycle.commands import RootRunStart, RunStart, RunTerminal
from actum.lifecycle.states import SESSION_ENDED, Run, RunStatus, Session
from actum.messages.message import Message
from actum.records import makers
from actum.records.kinds import Cancellation, MessagesAppended, MessagesSeeded, payload_of
from actum.records.record import Follows, NewRecord, Record, position_of, record_id, scope_digest
from actum.records.types import RecordType
from actum.storage.contract import OwnedStore
from actum.transcript.validate import open_calls, validate_planner_transcript

START: Final = "fork:start"
END: Final = "fork:end"
FORKED_FROM: Final = "forked_from"
FORKED_THROUGH: Final = "forked_through"


async def fork(
    store: OwnedStore,
    clock: Clock,
    run_id: str,
    through: str | None,
    *,
    session_id: str,
    metadata: Mapping[str, str] | None,
) -> Session:
    """A new session whose head is a copy of the run's transcript up to and including the record `through`.

    `metadata` is the old session's unless given. The same fork again is a success, and brings one that broke off to its
    end. Raises InvalidValue for a `through` of another run, one before the first message, and one inside an open group
    of tool uses; RunConflict when another fork made this session, HeadMoved when something else did.
    """
    run = await store.load_run(run_id)
    kept = [record async for record in _transcript(store, run, through)]
    messages = [message for record in kept for message in _messages(record)]
    if not messages:
        raise refuse("through", through, "names a record behind which there is a message to go on from")
    if open_calls(messages):
        raise refuse("through", through, "names a record behind which no tool use waits for its result")
    validate_planner_transcript(messages)
    if metadata is None and run.session_id is not None:
        metadata = (await store.load_session(run.session_id)).metadata
    session = await store.create_session(session_id, clock.now(), metadata=metadata, tenant=run.tenant)
    copy = _Copy(session, run, through or kept[-1].id)
    await store.start_root_run(copy.start())
    for batch in _batches(copy.seeds(kept)):
        await store.append_run_records(batch)
    await store.record_run_terminal(copy.end())
    return await store.load_session(session_id)


class _Copy:
    """The run that holds the copy. All it writes follows from the fork, so that a repeat writes the same bytes."""

    def __init__(self, session: Session, run: Run, through: str) -> None:
        self._session = session
        self._run = run
        self._id = f"fork-{scope_digest(session_id=session.session_id, root_run_id=None)}"
        self._labels = {FORKED_FROM: run.run_id, FORKED_THROUGH: through}

    def start(self) -> RootRunStart:
        """The copy begins as the session's first head."""
        follows = Follows(run_id=None)
        stopped = makers.run_completed(
            status="canceled", cancellation=Cancellation(reason=SESSION_ENDED), labels=self._labels
        )
        return RootRunStart(
            run=RunStart(
                run_id=self._id,
                agent_id=self._run.agent_id,
                session_id=self._session.session_id,
                follows=follows,
                started_at=self._session.created_at,
                labels=self._labels,
            ),
            started=self._record(
                START, RecordType.RUN_STARTED, makers.run_started(follows=follows, labels=self._labels)
            ),
            canceled=self._record(END, RecordType.RUN_COMPLETED, stopped),
        )

    def seeds(self, kept: list[Record]) -> Iterator[NewRecord]:
        """What was said, one seed for each record that said it, so that none grows beyond its bound."""
        for number, record in enumerate(kept):
            payload = makers.transcript_messages_seeded(messages=_messages(record))
            yield self._record(f"fork:seed:{number}", RecordType.TRANSCRIPT_MESSAGES_SEEDED, payload)

    def end(self) -> RunTerminal:
        """The copy is complete."""
        record = self._record(
            END, RecordType.RUN_COMPLETED, makers.run_completed(status="completed", labels=self._labels)
        )
        return RunTerminal(run_id=self._id, status=RunStatus.COMPLETED, record=record)

    def _record(self, key: str, kind: RecordType, payload: bytes) -> NewRecord:
        return NewRecord(
            event_key=key,
            run_id=self._id,
            agent_id=self._run.agent_id,
            session_id=self._session.session_id,
            type=kind,
            payload=payload,
            timestamp=self._session.created_at,
        )


async def _transcript(store: OwnedStore, run: Run, through: str | None) -> AsyncIterator[Record]:
    """The transcript records of the run and its history up to `through`, which is one of them, or one of the run's."""
    last = None if through is None else _place(through)
    seen, cursor = through is None, None
    while True:
        page = await store.read_transcript(run.run_id, cursor=cursor, limit=PAGE_ITEMS)
        for record in page.items:
            if last is not None and _place(record.id) > last:
                break
            seen = seen or record.id == through
            yield record
        else:
            if page.more:
                cursor = page.cursor
                continue
        break
    if not seen and through is not None:
        digest, _, _ = through.partition("-")
        found = await store.list_run_records(run.run_id, cursor=record_id(digest, _place(through) - 1), limit=1)
        if not found.items or found.items[0].id != through:
            raise refuse(
                "through", through, "is the id of a record of this run, or of the transcript that it goes on from"
            )


def _place(id: str) -> int:
    return position_of(identifier("through", id), id.partition("-")[0])


def _messages(record: Record) -> tuple[Message, ...]:
    payload = payload_of(record)
    return payload.messages if isinstance(payload, MessagesSeeded | MessagesAppended) else ()


def _batches(records: Iterable[NewRecord]) -> Iterator[list[NewRecord]]:
    """As many records at once as one command may hold."""
    batch: list[NewRecord] = []
    size = 0
    for record in records:
        if batch and (len(batch) == COMMAND_RECORDS or size + len(record.payload) > COMMAND_BYTES // 2):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += len(record.payload)
    yield batch
