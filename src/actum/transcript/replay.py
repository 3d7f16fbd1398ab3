"""Messages out of records. Only transcript records count; every other type is passed over.

What is read must be whole: records of one run in their order, with the transcript that the run goes on from. Where a
part is missing in a way that the records can tell, replay refuses; it never gives a part of a transcript. A run that
was stopped at its start has no transcript record of its own, so replay gives its history.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter, lt

from actum.base.checks import refuse, several
from actum.base.errors import InvalidCursor
from actum.messages.message import Message
from actum.records.kinds import RunStarted, messages_in, payload_of
from actum.records.record import SCOPE_DIGITS, Record, positions_of
from actum.records.types import RecordType


class Replay:
    """The transcript of one run, folded from its records, page after page.

    With `chain=True` the pages come from a store that has walked the history for the reader (`read_transcript`): whole
    runs, one after the other, the oldest first. Give no `history` then; it is among the records.
    """

    def __init__(self, history: Sequence[Message] | None = None, *, chain: bool = False) -> None:
        self._messages: list[Message] = list(history or ())
        self._has_history = history is not None or chain
        self._chain = chain
        self._run: str | None = None
        self._runs: set[str] = set()
        self._scope = ""
        self._position = 0

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history and the messages of all records that were read, in order."""
        return tuple(self._messages)

    def read(self, records: Iterable[Record]) -> "Replay":
        """Read on with these records, which follow all that were read before; gives itself back.

        Raises InvalidValue for records of another run, for records out of order (the same one twice included) and for
        a run that names a history when none was given; InvalidCursor for an id that no store gave; DurableDataError,
        naming the record, for bytes that do not fit. After an error this replay is of no use.
        """
        records = tuple(records)
        self._in_order([record.id for record in records])
        for run_id, _ in groupby(records, attrgetter("run_id")):
            self._run_after_run(run_id)
        if not self._has_history:
            for record in records:
                _requires_no_history(record)
        self._messages += messages_in(records)
        return self

    def _in_order(self, ids: Sequence[str]) -> None:
        if not ids:
            return
        if not self._scope:
            self._scope = ids[0][:SCOPE_DIGITS]
        try:
            positions = positions_of(ids, self._scope)
        except InvalidCursor:
            for each in ids:
                if not each.startswith(self._scope):
                    raise refuse("records", each, "are of one scope") from None
            raise
        before = (self._position, *positions[:-1])
        if not all(map(lt, before, positions)):
            wrong = next(each for each, a, b in zip(ids, before, positions, strict=True) if a >= b)
            raise refuse("records", wrong, "stand in the order of their ids, each once")
        self._position = positions[-1]

    def _run_after_run(self, run_id: str) -> None:
        if run_id == self._run:
            return
        if self._run is not None and not self._chain:
            raise refuse("records", run_id, f"are all of one run, here {self._run!r}")
        if run_id in self._runs:
            raise refuse("records", run_id, "are run after run; this run was read before")
        self._run = run_id
        self._runs.add(run_id)


def _requires_no_history(record: Record) -> None:
    if record.type == RecordType.RUN_STARTED:
        payload = payload_of(record)
        if isinstance(payload, RunStarted) and payload.history is not None:
            named = payload.history.run_id
            raise refuse("history", None, f"is given: run {record.run_id!r} goes on from run {named!r}")


def replay_run_log_events(records: Iterable[Record], history: Sequence[Message] | None = None) -> tuple[Message, ...]:
    """The transcript of one run: the messages of its history, then those that its records carry.

    `records` is the run's whole log in order; other types than transcript records are passed over. `history` is the
    transcript of the run that this one goes on from. Raises InvalidValue when the log names a history and none is
    given, when it mixes runs or stands out of order; DurableDataError for a record that cannot be read.
    """
    if history is not None:
        history = several("history", history, Message, "messages")
    return Replay(history).read(several("records", records, Record, "records")).messages
