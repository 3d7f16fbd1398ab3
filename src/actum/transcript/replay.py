"""Messages out of records. Only transcript records count; every other type is passed over.

What is read must be whole: records of one run in their order, with the transcript that the run goes on from. Where a
part is missing in a way that the records can tell, replay refuses; it never gives a part of a transcript. A run that
was stopped at its start has no transcript record of its own, so replay gives its history.
"""

from collections.abc import Iterable, Sequence

from actum.base.checks import refuse, several
from actum.messages.message import Message
from actum.records.kinds import RunStarted, messages_of, payload_of
from actum.records.record import SCOPE_DIGITS, Record, position_of
from actum.records.types import TRANSCRIPT_TYPES, RecordType


class Replay:
    """The transcript of one run, folded from its records, page after page.

    With `chain=True` the pages come from a store that has walked the history for the reader (`read_transcript`): whole
    runs, one after the other, the oldest first. Give no `history` then; it is among the records.
    """

    def __init__(self, history: Sequence[Message] | None = None, *, chain: bool = False) -> None:
        self._messages: list[Message] = list(history or ())
        self._has_history = history is not None or chain
        self._chain = chain
        self._runs: list[str] = []
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
        for record in records:
            self._follow(record)
            if record.type in TRANSCRIPT_TYPES:
                self._messages += messages_of(record)
            elif record.type == RecordType.RUN_STARTED and not self._has_history:
                payload = payload_of(record)
                if isinstance(payload, RunStarted) and payload.history is not None:
                    named = payload.history.run_id
                    raise refuse("history", None, f"is given: run {record.run_id!r} goes on from run {named!r}")
        return self

    def _follow(self, record: Record) -> None:
        if self._scope and not record.id.startswith(self._scope):
            raise refuse("records", record.id, "are of one scope")
        if not self._scope:
            self._scope = record.id[: SCOPE_DIGITS + 1]
        position = position_of(record.id, self._scope[:SCOPE_DIGITS])
        if position <= self._position:
            raise refuse("records", record.id, "stand in the order of their ids, each once")
        self._position = position
        if self._runs and record.run_id == self._runs[-1]:
            return
        if self._runs and not self._chain:
            raise refuse("records", record.run_id, f"are all of one run, here {self._runs[-1]!r}")
        if record.run_id in self._runs:
            raise refuse("records", record.run_id, "are run after run; this run was read before")
        self._runs.append(record.run_id)


def replay_run_log_events(records: Iterable[Record], history: Sequence[Message] | None = None) -> tuple[Message, ...]:
    """The transcript of one run: the messages of its history, then those that its records carry.

    `records` is the run's whole log in order; other types than transcript records are passed over. `history` is the
    transcript of the run that this one goes on from. Raises InvalidValue when the log names a history and none is
    given, when it mixes runs or stands out of order; DurableDataError for a record that cannot be read.
    """
    if history is not None:
        history = several("history", history, Message, "messages")
    return Replay(history).read(several("records", records, Record, "records")).messages
