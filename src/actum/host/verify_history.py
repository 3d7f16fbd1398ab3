"""What a run goes on from, as far as its own transcript needs it: the group that stands open, and its calls."""

from collections.abc import Sequence
from dataclasses import dataclass

from actum.base.errors import DurableDataError, InvalidCursor
from actum.base.value import Value
from actum.host.verify_reading import Reading, first_record, other_run
from actum.host.verify_report import Check, Say
from actum.host.verify_transcript import TOLD_TYPES, Calls, TranscriptProof
from actum.lifecycle.states import Run, RunStatus, StartOutcome
from actum.messages.message import Message, Role
from actum.records import kinds
from actum.records.record import HistoryRef, Record, position_of
from actum.records.types import TRANSCRIPT_TYPES
from actum.storage.contract import Store


@dataclass(frozen=True)
class Standing:
    """How a history ends: its last group with the message before it, and the calls of that group."""

    tail: tuple[Message, ...]
    calls: Calls


async def standing(store: Store, run: Run, digest: str, say: Say) -> Standing | None:
    """How the history of `run` ends; None, with the damage named, when it cannot be a history."""
    history = run.history
    if history is None:
        return Standing((), Calls())
    before = await _lawful(store, run, history, digest, say)
    if before is None:
        return None
    chain = [before]
    proof = await _folded(store, chain, digest)
    while proof is not None and not _whole(proof):
        earlier = await _earlier(store, chain[0], digest)
        if earlier is None:
            break
        chain.insert(0, earlier)
        proof = await _folded(store, chain, digest)
    if proof is None:
        return None  # the damage is named at the run that has it
    return Standing(proof.tail, proof.calls if before.status is RunStatus.SUSPENDED else Calls())


def _whole(proof: TranscriptProof) -> bool:
    """Whether no older run is needed: a tail that begins with an assistant's message goes on before it.

    So does a group that was answered here under the names of calls that were scheduled before.
    """
    known = set(proof.calls.received) <= set(proof.calls.scheduled.values())
    return known and bool(proof.tail) and proof.tail[0].role is not Role.ASSISTANT


async def _lawful(store: Store, run: Run, history: HistoryRef, digest: str, say: Say) -> Run | None:
    """The history's run, when it ended before `run` began, in the same scope, exactly where `run` says."""
    before = await other_run(store, history.run_id, Check.HISTORY, "the run's history", say)
    if before is None:
        return None
    first = await first_record(store, run.run_id, digest)
    rule = _breach(run, before, history, first, digest)
    if rule is not None:
        say(Check.HISTORY, f"the run's history {history.run_id!r} {rule}", first)
        return None
    return before


def _breach(run: Run, before: Run, history: HistoryRef, first: Record | None, digest: str) -> str | None:
    """Why `before` cannot be the history of `run`, whose first record is `first`."""
    if before.session_id != run.session_id:
        return "belongs to another session"
    if before.status is RunStatus.RUNNING or before.end_record_id is None:
        return "has not ended"
    if before.end_record_id != history.through:
        return f"ended at {before.end_record_id!r}, not at {history.through!r}"
    try:
        ended = position_of(history.through, digest)
        if first is not None and ended >= position_of(first.id, digest):
            return "did not end before the run began"
    except InvalidCursor:
        return "ended in another scope"
    stopped = run.start_outcome is StartOutcome.STOP
    if before.status is RunStatus.SUSPENDED and before.successor_run_id != run.run_id and not stopped:
        return "is suspended, and another run took its place"
    return None


async def _earlier(store: Store, run: Run, digest: str) -> Run | None:
    """The run that `run` goes on from; None at the beginning, and where a damaged chain would lead in a circle."""
    if run.history is None or run.end_record_id is None:
        return None
    before = await other_run(store, run.history.run_id, Check.HISTORY, "the run's history", _silent)
    try:
        ended = position_of((before and before.end_record_id) or "", digest)
    except InvalidCursor:
        return None  # named when that run itself was verified
    return before if ended < position_of(run.end_record_id, digest) else None


async def _folded(store: Store, runs: Sequence[Run], digest: str) -> TranscriptProof | None:
    """The transcripts of these runs, one after the other; None when one of their messages cannot be read."""
    proof = TranscriptProof(_silent)
    for run in runs:
        run_id = run.run_id
        reading = Reading(
            lambda cursor, limit, run_id=run_id: store.list_run_records(
                run_id, cursor=cursor, limit=limit, types=TOLD_TYPES
            ),  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            digest,
        )
        async for record in reading.records():
            try:
                payload = kinds.payload_of(record)
            except DurableDataError:
                if record.type in TRANSCRIPT_TYPES:
                    return None
                proof.undecoded(record)
                continue
            if isinstance(payload, Value):
                proof.read(payload, record)
        if reading.passed:
            return None
    return proof


def _silent(check: Check, says: str, record: Record | None) -> None:
    """Damages of a history are named when its own run is verified."""
