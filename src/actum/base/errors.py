"""Every error that Actum raises, as one tree.

    ActumError
    ├── ContractError                permanent: the same call can never succeed, so nothing retries it
    │   ├── NotFound                 SessionNotFound · RunNotFound · SuspensionNotFound · RecordNotFound
    │   ├── Conflict                 SessionConflict · RunConflict · RecordConflict · CancellationConflict
    │   │                            SuspensionConflict · TerminalConflict · SuccessorConflict · EntryConflict
    │   ├── SessionEnded · SessionPurged · RunPurged · SessionActive · SessionBusy · SessionArchived
    │   ├── HeadMoved · RunNotRunning · RunBusy · CancellationRequested · OwnerMismatch
    │   ├── ContinuationRefused · HistoryRefused · AccessDenied
    │   └── InvalidValue · InvalidCursor · TooLarge · VersionMismatch
    ├── StoreUnavailable             of the machine: nothing is half done; mend the reason or wait, then try again
    ├── SchemaTooNew · NotAStore · MissingExtra · DurableDataError · TranscriptError
    ├── RegistrationClosed · RunNotReady · RunCorrupt · StreamNotConfigured
    ├── AnswerError                  UnknownItem · AlreadyAnswered · AnswerRefused · ApprovalExpired
    └── ModelError                   ProviderError

An error is data: its fields are plain values, its `code` never changes, and its text is the first line of its
docstring followed by its fields. So a log line, a problem document and an `except` clause read the same facts.
"""

import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import ClassVar, Self, dataclass_transform

from actum.base.limits import SHOWN_CHARS

_SHORT = reprlib.Repr()
_OWN_WORDS = frozenset({"field", "location", "message", "path", "reason", "rule"})
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = SHOWN_CHARS * 2


def shortened(value: object) -> str:
    """`value` as a message shows it: its repr, at most `SHOWN_CHARS` characters long, whatever the value is."""
    try:
        text = repr(value[: SHOWN_CHARS * 2]) if isinstance(value, str | bytes) else _SHORT.repr(value)
    except Exception:  # noqa: BLE001 - a foreign repr may raise anything; the error that is being made must not be lost
        text = f"<{type(value).__name__}>"
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"


def _shown(name: str, value: object) -> str:
    # What Actum itself says is never cut; what it was given is.
    return repr(value) if name in _OWN_WORDS else shortened(value)


def _revive(cls: type["ActumError"], values: Mapping[str, object]) -> "ActumError":
    return cls(**values)


@dataclass_transform(kw_only_default=True, eq_default=False)
@dataclass(kw_only=True, eq=False, repr=False)
class ActumError(Exception):
    """Something that Actum says no to."""

    code: ClassVar[str] = "actum_error"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __reduce__(self) -> tuple[object, tuple[type[Self], dict[str, object]]]:
        # Exceptions pickle by positional arguments, which these do not have.
        return _revive, (type(self), self.fields())

    def fields(self) -> dict[str, object]:
        """The error's data by field name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __str__(self) -> str:
        says = (type(self).__doc__ or type(self).__name__).strip().splitlines()[0].rstrip(".")
        shown = ", ".join(f"{name}={_shown(name, value)}" for name, value in self.fields().items() if value is not None)
        return f"{says} ({shown})" if shown else says

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={shortened(value)}" for name, value in self.fields().items())
        return f"{type(self).__name__}({inside})"


class ContractError(ActumError):
    """The call breaks the contract; repeating it cannot help."""


# What is not there


class NotFound(ContractError):
    """Nothing has this id."""


class SessionNotFound(NotFound):
    """No session has this id; create it first, or check the id."""

    session_id: str


class RunNotFound(NotFound):
    """No run has this id; check the id, or list the session's runs."""

    run_id: str


class SuspensionNotFound(NotFound):
    """This run holds no checkpoint; only a suspended run does."""

    run_id: str


class RecordNotFound(NotFound):
    """This run has no record under this event key."""

    run_id: str
    event_key: str


# What is over, or not yet


class SessionEnded(ContractError):
    """The session has ended and takes no new work; create another session."""

    session_id: str


class SessionPurged(ContractError):
    """The session was purged; its id is never used again."""

    session_id: str


class RunPurged(ContractError):
    """The run was purged; its id is never used again."""

    run_id: str


class SessionActive(ContractError):
    """The session is still active; end it first."""

    session_id: str


class SessionBusy(ContractError):
    """A run holds the conversation; wait for a running one or cancel it, answer a suspended one or supersede it."""

    session_id: str
    run_id: str
    status: str = "running"


class SessionArchived(ContractError):
    """The session is archived; restore it first."""

    session_id: str


class HeadMoved(ContractError):
    """The conversation has gone on from another run; read the session's head again and decide anew."""

    session_id: str
    head_run_id: str | None
    given: str | None


class RunNotRunning(ContractError):
    """The run has ended and takes nothing new."""

    run_id: str
    status: str


class RunBusy(ContractError):
    """A run of this tree is still running; wait for it or cancel it."""

    run_id: str


class CancellationRequested(ContractError):
    """The run's cancellation is recorded; it may only come to its end."""

    run_id: str
    reason: str


# What is there already, and different


class Conflict(ContractError):
    """Another fact is stored already; the first one stays."""


class SessionConflict(Conflict):
    """A session with this id exists and differs in the named field."""

    session_id: str
    field: str


class RunConflict(Conflict):
    """A run with this id was started by another start."""

    run_id: str
    field: str


class RecordConflict(Conflict):
    """Another record is stored under this event key."""

    run_id: str
    event_key: str
    field: str


class CancellationConflict(Conflict):
    """The run's cancellation says otherwise; the first reason stays."""

    run_id: str
    stored: str | None
    given: str | None


class SuspensionConflict(Conflict):
    """The run is suspended already, by another record or with another checkpoint."""

    run_id: str
    field: str


class TerminalConflict(Conflict):
    """The run has ended already, by another record or with another status."""

    run_id: str
    status: str
    field: str


class SuccessorConflict(Conflict):
    """The suspended run has its successor already."""

    run_id: str
    successor_run_id: str


class EntryConflict(Conflict):
    """The memory entry is at another version than expected; read it again and decide anew."""

    scope: str
    scope_id: str
    key: str
    stored: int | None
    given: int | None


# What does not belong, or has no right form


class OwnerMismatch(ContractError):
    """The named owner is not the owner of this run."""

    run_id: str
    field: str
    stored: str | None
    given: str | None


class ContinuationRefused(ContractError):
    """This run cannot be continued so."""

    run_id: str
    rule: str


class HistoryRefused(ContractError):
    """This run cannot be the history of the new one."""

    run_id: str
    rule: str


class AccessDenied(ContractError):
    """The caller may not do this."""

    action: str


class InvalidValue(ContractError, ValueError):
    """A value breaks a rule; give one that keeps it."""

    field: str
    value: str
    rule: str


class InvalidCursor(ContractError):
    """The cursor is not one of this list; begin again without a cursor."""

    cursor: str
    rule: str


class TooLarge(ContractError):
    """A value is larger than its bound; give a smaller one."""

    field: str
    size: int
    limit: int
    unit: str = "bytes"


class VersionMismatch(ContractError):
    """The two sides speak different versions of the contract."""

    expected: str
    given: str


# Beside the contract


class StoreUnavailable(ActumError):
    """The store could not be used and nothing is half done; see to the reason, then try again."""

    reason: str


class SchemaTooNew(ActumError):
    """The store was written by a newer Actum; update this one."""

    found: int
    supported: int


class NotAStore(ActumError):
    """This is no Actum store; nothing was changed."""

    location: str
    reason: str


class MissingExtra(ActumError):
    """An optional part is not installed.

    Its text ends in the command that installs it: `command`, or pip's with the extra's own name.
    """

    extra: str
    needed_for: str
    command: str | None = None

    def __str__(self) -> str:
        command = self.command or f"pip install 'actum[{self.extra}]'"
        return f"An optional part is not installed, needed for {self.needed_for}: `{command}` installs it"


class DurableDataError(ActumError):
    """Stored bytes do not fit their type; the record is kept as it is."""

    run_id: str | None = None
    event_key: str | None = None
    record_id: str | None = None
    record_type: str | None = None
    path: str
    rule: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One breach of the transcript's law: where it is, which tool use it concerns, and what is wrong."""

    rule: str
    message_index: int
    part_index: int | None = None
    tool_use_id: str | None = None


class TranscriptError(ActumError):
    """The transcript breaks the law of its shape; it was not changed."""

    findings: tuple[Finding, ...] = field(default_factory=tuple)

    def __str__(self) -> str:
        lines = [
            f"  message {f.message_index}"
            + (f", part {f.part_index}" if f.part_index is not None else "")
            + (f", tool use {shortened(f.tool_use_id)}" if f.tool_use_id is not None else "")
            + f": {f.rule}"
            for f in self.findings
        ]
        return "\n".join(["The transcript breaks the law of its shape:", *lines])


class RegistrationClosed(ActumError):
    """Agents and tools are registered before the first run."""

    name: str


class RunNotReady(ActumError):
    """The run has not come to its end; wait for it, or recover it where its process is gone."""

    run_id: str
    reason: str | None = None


class RunCorrupt(ActumError):
    """The run's records cannot be brought to one valid end."""

    run_id: str
    reason: str


class StreamNotConfigured(ActumError):
    """This runtime requires a stream sink and the session has none."""

    session_id: str


class AnswerError(ActumError):
    """An answer to a pending item was refused."""


class UnknownItem(AnswerError):
    """No pending item has this id."""

    run_id: str
    item_id: str


class AlreadyAnswered(AnswerError):
    """This item was answered before."""

    run_id: str
    item_id: str


class AnswerRefused(AnswerError):
    """This answer does not fit the item."""

    run_id: str
    item_id: str
    rule: str


class ApprovalExpired(AnswerError):
    """The approval came too late, or is no longer valid."""

    run_id: str
    item_id: str


class ModelError(ActumError):
    """The model's answer cannot be used."""

    kind: str
    message: str


class ProviderError(ModelError):
    """The provider refused or failed the call."""

    provider: str
    operation: str
    # The code of the provider's own answer; `code` is this error's own name.
    provider_code: str | None = None
    http_status: int | None = None
    request_id: str | None = None
    retryable: bool = False
    retry_after: float | None = None
