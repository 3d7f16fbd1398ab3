"""Transcripts out of a store: whole by pages, or the newest turns read backwards."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from actum.base.checks import refuse
from actum.base.limits import PAGE_ITEMS
from actum.messages.message import Message
from actum.records.kinds import HistoryCompressed, MessagesAppended, MessagesSeeded, payload_of
from actum.records.record import HistoryRef, Record
from actum.records.types import RecordType
from actum.storage.contract import Store
from actum.transcript.replay import Replay
from actum.transcript.turns import begins_turn, leading

_BACKWARDS = 100
_REMEMBERED = 4096


async def build_messages_from_run_log(store: Store, run_id: str, *, page_size: int = PAGE_ITEMS) -> tuple[Message, ...]:
    """The transcript of a run with its history, rebuilt from records. The size of a page never changes the answer.

    Raises RunNotFound, RunPurged, and DurableDataError for a record that cannot be read.
    """
    replay = Replay(chain=True)
    cursor: str | None = None
    while True:
        page = await store.read_transcript(run_id, cursor=cursor, limit=page_size)
        replay.read(page.items)
        if not page.more:
            return replay.messages
        cursor = page.cursor


@dataclass
class Placed:
    """Messages with the records that carry them: each record's id and how many of the messages are its own."""

    places: list[tuple[str, int]] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    def add(self, places: Iterable[tuple[str, int]], messages: Iterable[Message]) -> None:
        """More records and their messages, behind the others."""
        self.places += places
        self.messages += messages

    def through(self, count: int) -> str:
        """The place behind the first `count` messages: a record's id, and `.n` where only its first n are meant."""
        for record_id, own in self.places:
            if count <= own:
                return record_id if count == own else f"{record_id}.{count}"
            count -= own
        raise refuse("messages", count, "are no more than the transcript has")

    def count_through(self, through: str) -> int:
        """How many messages stand up to this place; 0 when it is none of these records'."""
        wanted, _, part = through.partition(".")
        count = 0
        for record_id, own in self.places:
            if record_id == wanted:
                return count + (int(part) if part.isdecimal() else own)
            count += own
        return 0


class Histories:
    """What runs go on from, read as far as a planner is shown it.

    The system messages that lead a conversation are the same for every run of its history chain, so they are remembered
    by run; nothing else is.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._leading: dict[str, tuple[Message, ...]] = {}

    async def read(self, history: HistoryRef | None, turns: int | None) -> tuple[Message, ...]:
        """The transcript of `history`: the leading system messages and at least the newest `turns`; None is all."""
        if history is None:
            return ()
        if turns is None:
            return await build_messages_from_run_log(self._store, history.run_id)
        newest, whole = await self._newest(history.run_id, turns)
        return newest if whole else (*await self._lead(history.run_id), *newest)

    async def placed(self, history: HistoryRef | None) -> Placed:
        """The whole transcript of `history`, with its places."""
        placed = Placed()
        cursor: str | None = None
        while history is not None:
            page = await self._store.read_transcript(history.run_id, cursor=cursor, limit=PAGE_ITEMS)
            for record in page.items:
                messages = _messages(record)
                placed.add([(record.id, len(messages))], messages)
            if not page.more:
                break
            cursor = page.cursor
        return placed

    async def summary(self, history: HistoryRef | None) -> HistoryCompressed | None:
        """The newest summary in the runs that `history` goes back to; None without one."""
        while history is not None:
            types = (RecordType.HISTORY_COMPRESSED,)
            cursor, newest = None, None
            while True:
                page = await self._store.list_run_records(history.run_id, cursor=cursor, limit=PAGE_ITEMS, types=types)
                newest = page.items[-1] if page.items else newest
                if not page.more:
                    break
                cursor = page.cursor
            found = payload_of(newest) if newest is not None else None
            if isinstance(found, HistoryCompressed):
                return found
            history = (await self._store.load_run(history.run_id)).history
        return None

    def goes_on(self, run_id: str, history: HistoryRef | None) -> None:
        """`run_id` goes on from `history`, so what leads one leads the other."""
        known = self._leading.get(history.run_id) if history is not None else None
        if known is not None:
            self._remember(run_id, known)

    def forget(self) -> None:
        """Forgets what is remembered; it is read again where it is needed."""
        self._leading.clear()

    async def _lead(self, run_id: str) -> tuple[Message, ...]:
        known = self._leading.get(run_id)
        if known is None:
            page = await self._store.read_transcript(run_id, limit=1)
            known = leading(_messages(page.items[0])) if page.items else ()
            self._remember(run_id, known)
        return known

    def _remember(self, run_id: str, messages: tuple[Message, ...]) -> None:
        while len(self._leading) >= _REMEMBERED:
            del self._leading[next(iter(self._leading))]
        self._leading[run_id] = messages

    async def _newest(self, run_id: str, turns: int) -> tuple[tuple[Message, ...], bool]:
        """The newest messages, from the beginning of a turn on, and whether they are the whole transcript."""
        found: list[tuple[Message, ...]] = []
        begun = 0
        cursor: str | None = None
        while True:
            page = await self._store.read_transcript(run_id, cursor=cursor, limit=_BACKWARDS, backwards=True)
            for record in page.items:
                messages = _messages(record)
                found.append(messages)
                begun += sum(begins_turn(message) for message in messages)
                if begun >= turns:
                    return _from_a_turn(found), False
            if not page.more:
                return tuple(message for part in reversed(found) for message in part), True
            cursor = page.cursor


def _from_a_turn(newest_first: list[tuple[Message, ...]]) -> tuple[Message, ...]:
    messages = [message for part in reversed(newest_first) for message in part]
    first = next(i for i, message in enumerate(messages) if begins_turn(message))
    return tuple(messages[first:])


def _messages(record: Record) -> tuple[Message, ...]:
    match payload_of(record):
        case MessagesSeeded(messages=messages) | MessagesAppended(messages=messages):
            return messages
        case _:
            return ()
