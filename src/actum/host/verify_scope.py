"""Proofs of one scope, record by record in its order: positions, links of children, and the session's head."""

from typing import Final

from actum.base.errors import DurableDataError, InvalidCursor
from actum.base.value import Value
from actum.host.verify_reading import Reading, other_run
from actum.host.verify_report import Check, Say
from actum.lifecycle.states import SESSION_ENDED, Run
from actum.records import kinds
from actum.records.record import Record, position_of, record_id
from actum.records.types import END_TYPES, RecordType
from actum.storage.contract import Store

_KNOWN_ENDS: Final = 1000


class ScopeProof:
    """One scope. `say` names a damage of the scope as a whole; each record brings the one of its run."""

    def __init__(self, store: Store, digest: str, reading: Reading, say: Say) -> None:
        self._store = store
        self.digest = digest
        self.reading = reading
        self._say = say
        self._position = 0
        self._last: tuple[Record, Value | None] | None = None
        self._head: str | None = None
        self._candidate: str | None = None
        self._named = 0
        # Where the runs that were met lately end; None for one that goes on, or cannot be read.
        self._ends: dict[str, int | None] = {}

    @property
    def head(self) -> str | None:
        """The head to which the records read so far lead."""
        return self._candidate or self._head

    async def read(self, record: Record, say: Say) -> None:
        """The scope's next record."""
        named = self._named
        position = self._placed(record, say)
        if position is not None:
            await self._within_its_run(record, position, say)
        payload = _payload(record)
        self._settle(record, payload)
        if self._named == named:  # else what stands right before this record cannot be read
            await self._linked(record, payload, say)
        if isinstance(payload, kinds.RunStarted):
            self._moves(record.run_id, payload)
        self._last = record, payload

    def finish(self) -> None:
        """The end of the list: the last position that was given must be the last record's."""
        named = self._named
        self._missing(self.reading.position + 1)
        self._position = max(self._position, self.reading.position)
        last, link = self._last if self._last is not None else (None, None)
        if isinstance(link, kinds.ChildRunLinked) and self._named == named:
            self._say(Check.LINK, f"the child {link.child_run_id!r} was linked, but its start does not follow", last)

    def _placed(self, record: Record, say: Say) -> int | None:
        try:
            position = position_of(record.id, self.digest)
        except InvalidCursor:
            say(Check.POSITIONS, "the record's id names no position of its scope", record)
            return None
        if position <= self._position:
            say(Check.POSITIONS, "the record stands out of order", record)
        self._missing(position)
        self._position = max(position, self._position)
        return position

    async def _within_its_run(self, record: Record, position: int, say: Say) -> None:
        """No record stands behind its run's end, where nobody who reads the run would look for it."""
        if record.run_id not in self._ends:
            run = await other_run(self._store, record.run_id, Check.END, "the run", _silent)
            if len(self._ends) >= _KNOWN_ENDS:
                self._ends.clear()
            self._ends[record.run_id] = self._end_of(run)
        ends = self._ends[record.run_id]
        if ends is not None and position > ends:
            say(Check.END, f"a record stands behind the run's end ({record_id(self.digest, ends)})", record)
        if record.type in END_TYPES:
            # Nothing should follow. What does asks anew, for the run may have gone on when it was first met.
            del self._ends[record.run_id]

    def _end_of(self, run: Run | None) -> int | None:
        if run is None or run.end_record_id is None:
            return None
        try:
            return position_of(run.end_record_id, self.digest)
        except InvalidCursor:
            return None  # named when the run itself is verified

    def _missing(self, position: int) -> None:
        """Names the positions between the last record and `position` that hold nothing, or what cannot be read."""
        first = self._position + 1
        for passed in self.reading.passed[self._named :]:
            self._say(Check.READING, f"{passed.which(self.digest)} cannot be read: {passed.says}", None)
            if passed.covers(first):
                first = position if passed.last is None else passed.last + 1
        self._named = len(self.reading.passed)
        if first >= position:
            return
        which = f"record {record_id(self.digest, first)} is"
        if position - 1 > first:
            which = f"records {record_id(self.digest, first)} to {record_id(self.digest, position - 1)} are"
        before = self._last[0] if self._last is not None else None
        after = f", behind {before.event_key!r} of run {before.run_id!r}" if before is not None else ""
        self._say(Check.POSITIONS, f"{which} missing{after}", None)

    def _settle(self, record: Record, payload: Value | None) -> None:
        """A start moved the head unless the very next record says that it was stopped: its session had ended."""
        if self._candidate is None:
            return
        stopped = (
            record.run_id == self._candidate
            and isinstance(payload, kinds.RunCompleted)
            and payload.cancellation is not None
            and payload.cancellation.reason == SESSION_ENDED
        )
        if not stopped:
            self._head = self._candidate
        self._candidate = None

    def _moves(self, run_id: str, started: kinds.RunStarted) -> None:
        continues = started.predecessor_run_id is not None and started.predecessor_run_id == self._head
        if started.follows is not None or continues:
            self._candidate = run_id

    async def _linked(self, record: Record, payload: Value | None, say: Say) -> None:
        """A child's start stands right behind the link on its parent, and nowhere else."""
        before, link = self._last if self._last is not None else (None, None)
        child = payload.parent_run_id if isinstance(payload, kinds.RunStarted) else None
        if isinstance(link, kinds.ChildRunLinked):
            begins = record.type == RecordType.RUN_STARTED and record.run_id == link.child_run_id
            if not begins:
                say(Check.LINK, f"the child {link.child_run_id!r} was linked, but its start does not follow", before)
                return
            if before is not None and child != before.run_id:
                say(Check.LINK, f"the run is linked by {before.run_id!r}, but names another parent", record)
            if record.agent_id != link.child_agent_id:
                say(Check.LINK, "the link names another agent than the run's", before)
            await self._call(record, link, say)
        elif child is not None:
            say(Check.LINK, f"the run's parent {child!r} has no link to it right before its start", record)

    async def _call(self, record: Record, link: kinds.ChildRunLinked, say: Say) -> None:
        run = await other_run(self._store, record.run_id, Check.LINK, "the child", _silent)
        if run is not None and run.tool_call_id != link.tool_call_id:
            say(Check.LINK, f"the run answers call {run.tool_call_id!r}, its link says {link.tool_call_id!r}", record)


def _payload(record: Record) -> Value | None:
    """The payload of a record on which order depends; None for others, and for one that its own run will name."""
    if record.type not in (RecordType.RUN_STARTED, RecordType.RUN_COMPLETED, RecordType.CHILD_RUN_LINKED):
        return None
    try:
        payload = kinds.payload_of(record)
    except DurableDataError:
        return None
    return payload if isinstance(payload, Value) else None


def _silent(*_: object) -> None:
    """A row that cannot be read is named when the run itself is verified."""
