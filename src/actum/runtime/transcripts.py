"""Transcripts out of a store: whole by pages, or the newest turns read backwards."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from actum.base.checks import refuse
from actum.base.limits import PAGE_ITEMS
from actum.messages.message import Message, Role
from actum.records.kinds import HistoryCompressed, messages_of, payload_of
from actum.records.record import HistoryRef
from actum.records.types import RecordType
from actum.storage.contract import Store
from actum.transcript.replay import Replay
from actum.transcript.turns import begins_turn, leading
from actum.transcript.validate import scan

_BACKWARDS = 100
# Half of the largest page: what was fetched is then still warm when it is decoded.
_BUILT_FROM = 500
_REMEMBERED = 4096
# Payload bytes of whole transcripts that are kept decoded; one larger than that is read anew each time.
_KEPT_BYTES = 8 * 1024 * 1024


async def build_messages_from_run_log(
    store: Store, run_id: str, *, page_size: int = _BUILT_FROM
) -> tuple[Message, ...]:
    """The transcript of a run with its history, rebuilt from records. The size of a page never changes the answer.

    Raises RunNotFound, RunPurged, and DurableDataError for a record that cannot be read.
    """
    messages: list[Message] = []
    cursor, more = None, True
    while more:
        page = await store.read_messages(run_id, cursor=cursor, limit=page_size)
        messages += page.items
        cursor, more = page.cursor, page.more
    return tuple(messages)


@dataclass
class Placed:
    """Messages with the records that carry them: each record's id and how many of the messages are its own."""

    places: list[tuple[str, int]] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    def add(self, places: Iterable[tuple[str, int]], messages: Iterable[Message]) -> None:
        """More records and their messages, behind the others."""
        self.places += places
        self.messages += messages

    def copied(self) -> "Placed":
        """The same in lists of its own."""
        return Placed([*self.places], [*self.messages])

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


@dataclass(frozen=True)
class Kept:
    """The newest messages of a run's transcript up to the record `through`, and their size in bytes of payload.

    `whole` says that none is missing before them; the first `lawful` are known to obey the law of transcripts.
    """

    messages: tuple[Message, ...]
    through: str | None
    size: int
    whole: bool = True
    lawful: int = 0


_NOTHING = Kept((), None, 0)


class Histories:
    """What runs go on from, read as far as a planner is shown it.

    A history is over and never changes. So the system messages that lead a conversation are remembered by run, and what
    was read for the newest runs is kept within a bound: the next turn of a conversation reads what the last one added.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._leading: dict[str, tuple[Message, ...]] = {}
        # By run and number of turns. The one used last stands last; a run takes the place of the one before it.
        self._kept: dict[tuple[str, int | None], Kept] = {}
        self._size = 0
        self._before: dict[str, HistoryRef] = {}

    async def read(self, history: HistoryRef | None, turns: int | None) -> tuple[tuple[Message, ...], Kept]:
        """Of the transcript of `history` at least the newest `turns`, None is all; and what leads it, where cut off."""
        kept = await self.kept(history, turns)
        if history is None or kept.whole:
            return (), kept
        return await self._lead(history.run_id), kept

    async def kept(self, history: HistoryRef | None, turns: int | None) -> Kept:
        """At least the newest `turns` of `history`, None is all, of which only what is not kept is read."""
        if history is None:
            return _NOTHING
        kept = self._kept.get((history.run_id, turns))
        if kept is None:
            beginning = self._beginning(history.run_id, turns)
            if beginning is not None or turns is None:
                kept = _newest_of(await self._read_on(history, beginning or _NOTHING), turns)
            else:
                kept = await self._newest(history, turns)
        self._keep(history.run_id, turns, kept)
        return kept

    async def _read_on(self, history: HistoryRef, known: Kept) -> Kept:
        replay = Replay(known.messages, chain=True)
        cursor, size, more = known.through, known.size, True
        while more:
            page = await self._store.read_transcript(history.run_id, cursor=cursor, limit=PAGE_ITEMS)
            replay.read(page.items)
            size += sum(len(record.payload) for record in page.items)
            cursor, more = page.cursor, page.more
        messages = replay.messages
        return Kept(messages, history.through, size, whole=known.whole, lawful=_lawful(messages, known.lawful))

    def _beginning(self, run_id: str, turns: int | None) -> Kept | None:
        """What is kept of the history that this run itself went on from."""
        before = self._before.get(run_id)
        known = self._kept.get((before.run_id, turns)) if before is not None else None
        return known if known is not None and before is not None and known.through == before.through else None

    async def placed(self, history: HistoryRef | None) -> Placed:
        """The whole transcript of `history`, with its places."""
        placed = Placed()
        cursor, more = None, history is not None
        while history is not None and more:
            page = await self._store.read_transcript(history.run_id, cursor=cursor, limit=PAGE_ITEMS)
            for record in page.items:
                messages = messages_of(record)
                placed.add([(record.id, len(messages))], messages)
            cursor, more = page.cursor, page.more
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
        """`run_id` goes on from `history`, so what leads one leads the other, and its transcript begins with it."""
        if history is None:
            return
        while len(self._before) >= _REMEMBERED:
            del self._before[next(iter(self._before))]
        self._before[run_id] = history

    def forget(self) -> None:
        """Forgets what is remembered; it is read again where it is needed."""
        self._leading.clear()
        self._kept.clear()
        self._size = 0
        self._before.clear()

    def _keep(self, run_id: str, turns: int | None, kept: Kept) -> None:
        before = self._before.get(run_id)
        for name in {run_id, before.run_id if before is not None else run_id}:
            old = self._kept.pop((name, turns), None)
            self._size -= old.size if old is not None else 0
        self._kept[run_id, turns] = kept
        self._size += kept.size
        while self._size > _KEPT_BYTES:
            self._size -= self._kept.pop(next(iter(self._kept))).size

    async def _lead(self, run_id: str) -> tuple[Message, ...]:
        before = self._before.get(run_id)
        known = self._leading.get(run_id)
        if known is None and before is not None:
            # What leads one run leads all that go on from it.
            known = self._leading.get(before.run_id)
        if known is None:
            known = await self._lead_of(run_id)
        self._remember(run_id, known)
        return known

    async def _lead_of(self, run_id: str) -> tuple[Message, ...]:
        """Read from the beginning: nearly always all of it stands in the first two records."""
        found: list[Message] = []
        cursor: str | None = None
        while True:
            page = await self._store.read_messages(run_id, cursor=cursor, limit=2)
            found += page.items
            lead = leading(found)
            if len(lead) < len(found) or not page.more:
                return lead
            cursor = page.cursor

    def _remember(self, run_id: str, messages: tuple[Message, ...]) -> None:
        while len(self._leading) >= _REMEMBERED:
            del self._leading[next(iter(self._leading))]
        self._leading[run_id] = messages

    async def _newest(self, history: HistoryRef, turns: int) -> Kept:
        """The newest messages, from the beginning of a turn on, read backwards."""
        found: list[tuple[Message, ...]] = []
        begun = size = 0
        cursor: str | None = None
        while True:
            page = await self._store.read_transcript(history.run_id, cursor=cursor, limit=_BACKWARDS, backwards=True)
            for record in page.items:
                messages = messages_of(record)
                found.append(messages)
                size += len(record.payload)
                begun += sum(begins_turn(message) for message in messages)
                if begun >= turns:
                    return _newest_of(_read_backwards(found, history, size, whole=False), turns)
            if not page.more:
                return _read_backwards(found, history, size, whole=True)
            cursor = page.cursor


def _read_backwards(found: list[tuple[Message, ...]], history: HistoryRef, size: int, *, whole: bool) -> Kept:
    messages = tuple(message for part in reversed(found) for message in part)
    return Kept(messages, history.through, size, whole=whole, lawful=_lawful(messages, 0))


def _newest_of(kept: Kept, turns: int | None) -> Kept:
    """Of what is kept, the newest whole turns; all of it when there are no more."""
    begins = [i for i, message in enumerate(kept.messages) if begins_turn(message)] if turns is not None else []
    if turns is None or len(begins) < turns or (kept.whole and len(begins) == turns):
        return kept
    cut = begins[-turns]
    messages = kept.messages[cut:]
    size = kept.size * len(messages) // len(kept.messages)
    return Kept(messages, kept.through, size, whole=False, lawful=max(kept.lawful - cut, 0))


def _lawful(messages: tuple[Message, ...], known: int) -> int:
    """How many messages are known to be lawful: all of them, or those that were known before."""
    start = known if known < len(messages) and messages[known].role is Role.USER else 0
    return known if scan(messages, start) else len(messages)
