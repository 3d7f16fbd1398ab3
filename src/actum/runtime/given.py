"""Answers as a person, or an application, gives them; and what there is to answer."""

import hashlib
from collections.abc import Mapping
from datetime import datetime

from actum.base.checks import Count, Identifier, Instant, identifier, refuse
from actum.base.value import Json, Value, conform, dump, dump_json, fingerprint, load, load_json, replace
from actum.records.failures import ToolFailure
from actum.records.kinds import PendingKind
from actum.tools.call import ToolOutcome

VERSION = 1


class Approval(Value):
    """A person's word about one call. `True` and `False` are approvals without more to say.

    `arguments_digest` is that of the call which the person saw; another one is refused. `expires_at` is until when the
    call may begin. `reason` is for the model, when the call is denied.
    """

    approved: bool
    reason: str | None = None
    arguments_digest: str | None = None
    expires_at: Instant | None = None


class GivenAnswer(Value):
    """One answer: plain JSON, or the `outcome` of an external tool; who gave it, and when."""

    item_id: Identifier
    answer: Json = None
    outcome: ToolOutcome | None = None
    by: Identifier | None = None
    at: Instant

    @property
    def digest(self) -> str:
        """The SHA-256 of what was said, whoever said it."""
        said = dump(self.outcome) if self.outcome is not None else dump_json(self.answer)
        return hashlib.sha256(said).hexdigest()


class PendingInput(Value):
    """One thing that a session, or a run, waits for.

    `run_id` is the suspended root run, through which it is answered; `asked_by` the run that asked, which may be an
    earlier one or a child. `prompt` and `data` are the planner's; an item about a call has the call's tool, its
    `arguments` and their digest. `expires_at` is when an approval comes too late.
    """

    item_id: Identifier
    kind: PendingKind
    run_id: Identifier
    asked_by: Identifier
    agent_id: Identifier
    asked_at: Instant
    prompt: str | None = None
    data: dict[str, Json] = {}
    tool_call_id: Identifier | None = None
    tool_name: str | None = None
    arguments: dict[str, Json] | None = None
    arguments_digest: str | None = None
    tool_version: str | None = None
    expires_at: Instant | None = None


class PreparedRun(Value):
    """Accepted answers, ready to start the run that goes on with them; for an application that stores them itself.

    The bytes carry a digest of the rest. Starting judges everything again, so a prepared run is a wish, not a right.
    """

    version: Count = VERSION
    run_id: Identifier
    chain_id: Identifier
    session_id: Identifier
    agent_id: Identifier
    turn_id: Identifier | None = None
    answers: tuple[GivenAnswer, ...]
    request_digest: str
    digest: str = ""

    def to_bytes(self) -> bytes:
        """The prepared run as bytes, to keep and to start later, here or elsewhere."""
        return dump(replace(self, digest=self.own_digest))

    @classmethod
    def from_bytes(cls, data: bytes) -> "PreparedRun":
        """The prepared run that these bytes hold. Raises InvalidValue for bytes that were changed or are no such."""
        prepared = load(PreparedRun, data)
        if prepared.version != VERSION:
            raise refuse("prepared.version", prepared.version, f"is {VERSION}")
        if prepared.digest != prepared.own_digest:
            raise refuse("prepared.digest", prepared.digest, "is that of the prepared run: the bytes were changed")
        return prepared

    @property
    def own_digest(self) -> str:
        """The digest of everything else in it."""
        return fingerprint(replace(self, digest=""))


class SaidAnswer(Value):
    """One answer without its time."""

    item_id: str
    digest: str
    by: str | None = None


class Said(Value):
    """What a continuation's request is known by: the chain, and every answer without its time."""

    chain_id: Identifier
    answers: tuple[SaidAnswer, ...]
    turn_id: Identifier | None = None


def given_answers(answers: object, by: str | None, at: datetime) -> tuple[GivenAnswer, ...]:
    """The answers in their exact form, by item id. Raises InvalidValue for none, and for what is no JSON."""
    if not isinstance(answers, Mapping) or not answers:
        raise refuse("answers", answers, "hold at least one answer, by item id")
    who = None if by is None else identifier("by", by)
    return tuple(_given(item_id, answers[item_id], who, at) for item_id in sorted(answers))


def said_digest(chain_id: str, answers: tuple[GivenAnswer, ...], turn_id: str | None) -> str:
    """The digest of a request to go on with these answers: the same whoever repeats it, and whenever."""
    said = tuple(SaidAnswer(item_id=each.item_id, digest=each.digest, by=each.by) for each in answers)
    return fingerprint(Said(chain_id=chain_id, answers=said, turn_id=turn_id))


def _given(item_id: str, value: object, by: str | None, at: datetime) -> GivenAnswer:
    name = identifier("answers key", item_id)
    match value:
        case ToolOutcome():
            made = GivenAnswer(item_id=name, outcome=value, by=by, at=at)
        case ToolFailure():
            made = GivenAnswer(item_id=name, outcome=ToolOutcome(failure=value), by=by, at=at)
        case Value():
            made = GivenAnswer(item_id=name, answer=load_json(dump(value)), by=by, at=at)
        case _:
            made = GivenAnswer(item_id=name, answer=value, by=by, at=at)
    return conform(made, f"answers[{name!r}]")
