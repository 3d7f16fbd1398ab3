"""Which calls need a person, and what a person's word is bound to.

An approval is evidence for one call: the digest of its input, the version of its tool, and the version of the rule that
asked. It is judged when it is given, and again when the call is about to run. Whatever does not fit any more, or was
not given for exactly this call, runs nothing.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from actum.base.checks import Identifier, Instant, Labels, identifier, refuse
from actum.base.value import Json, Value, dump, dump_json, load, load_json
from actum.lifecycle.states import Run
from actum.loop.checkpoint import AskedItem, item_id
from actum.loop.journal import Call, Journal
from actum.messages.parts import ToolUsePart
from actum.records.failures import ToolFailure, ToolFailureKind
from actum.records.kinds import InputRequested, PendingKind
from actum.runtime.agent import Agent
from actum.tools.call import invalid_call
from actum.tools.spec import ToolSpec

# The version of the rule that is no rule: only tools that ask by themselves are confirmed.
NO_RULE: Final = "tools"


class CallInQuestion(Value):
    """A call that a rule may want confirmed."""

    agent_id: Identifier
    session_id: Identifier | None = None
    tool_name: str
    tags: tuple[str, ...] = ()
    arguments: Json = None
    labels: Labels = {}
    session_metadata: Labels = {}


@dataclass(frozen=True)
class ConfirmRule:
    """A host's rule for calls that a person must confirm, beside the tools that ask for it by themselves.

    `asks` says whether a call needs a person; one that raises needs one. `version` names the rule: approvals that were
    asked for under another version are not taken any more, so change it with the rule. `answer_within` is how long an
    approval may take after it was asked for, None without a bound.
    """

    version: str = NO_RULE
    asks: Callable[[CallInQuestion], bool] | None = None
    answer_within: timedelta | None = None

    def __post_init__(self) -> None:
        identifier("confirm.version", self.version)
        if self.asks is not None and self.version == NO_RULE:
            raise refuse("confirm.version", self.version, "names the rule; give it a version of its own")
        if self.answer_within is not None and self.answer_within <= timedelta():
            raise refuse("confirm.answer_within", self.answer_within, "is a time above 0")


class Binding(Value):
    """What an answer about a call is bound to; it stands in the `data` of the record that asks."""

    tool_name: str
    arguments_digest: str
    tool_version: str
    policy_version: str
    expires_at: Instant | None = None

    @property
    def data(self) -> dict[str, Json]:
        """The binding as plain JSON."""
        plain: dict[str, Json] = load_json(dump(self))
        return plain


def arguments_digest(data: bytes) -> str:
    """The SHA-256 of a call's input, byte for byte as the model spelled it."""
    return hashlib.sha256(data).hexdigest()


def question_about(
    rule: ConfirmRule, agent: Agent, run: Run, metadata: dict[str, str], part: ToolUsePart, call_id: str, now: datetime
) -> InputRequested | ToolFailure | None:
    """What must be asked before the call may have an answer; the failure that answers it where nobody can be asked.

    None for a call that needs nobody, and for one that is wrong in itself and therefore never runs.
    """
    spec = agent.tools.find(part.name)
    if isinstance(spec, ToolFailure) or invalid_call(spec, part) is not None:
        return None
    kind = _kind(rule, agent, run, metadata, spec, part)
    if kind is None:
        return None
    if run.session_id is None:
        says = f"{spec.name} waits for a person, and a run without a session cannot wait"
        return ToolFailure(kind=ToolFailureKind.DENIED, message=says)
    within = rule.answer_within if kind is PendingKind.CONFIRMATION else None
    binding = Binding(
        tool_name=spec.name,
        arguments_digest=arguments_digest(bytes(part.input)),
        tool_version=spec.version,
        policy_version=rule.version,
        expires_at=now + within if within is not None else None,
    )
    return InputRequested(
        item_id=item_id(run.run_id, f"call:{call_id}"), kind=kind, tool_call_id=call_id, data=binding.data
    )


def asked_item(run_id: str, asked: InputRequested) -> AskedItem:
    """What a run asked, as its checkpoint keeps it."""
    if asked.tool_call_id is None:
        return AskedItem(item_id=asked.item_id, kind=asked.kind, run_id=run_id)
    binding = load(Binding, dump_json(asked.data))
    return AskedItem(
        item_id=asked.item_id,
        kind=asked.kind,
        run_id=run_id,
        tool_call_id=asked.tool_call_id,
        arguments_digest=binding.arguments_digest,
        tool_version=binding.tool_version,
        policy_version=binding.policy_version,
        expires_at=binding.expires_at,
    )


def refusal(rule: ConfirmRule, spec: ToolSpec, journal: Journal, call: Call, now: datetime) -> ToolFailure | None:
    """Why the call may not run although it is about to; None when nobody had to be asked, or the approval holds."""
    item = journal.item_of(call.call_id)
    if item is None:
        if spec.external:
            return _denied(spec, "it is answered from outside, and nobody was asked for its answer")
        return _denied(spec, "nobody was asked to confirm it") if spec.confirm else None
    why = _breach(rule, spec, journal, call, item, now)
    return _denied(spec, why) if why is not None else None


def stale(rule: ConfirmRule, spec: ToolSpec, item: AskedItem, digest: str) -> str | None:
    """How the call differs by now from the one that was shown to the person; None when it is the same."""
    if item.arguments_digest != digest:
        return "the approval was asked for other arguments"
    if item.tool_version != spec.version:
        return "the tool has changed since the approval was asked for"
    if item.policy_version != rule.version:
        return "the rule for approvals has changed since this one was asked for"
    return None


def _breach(
    rule: ConfirmRule, spec: ToolSpec, journal: Journal, call: Call, item: AskedItem, now: datetime
) -> str | None:
    given = journal.authorizations.get(call.call_id)
    if item.kind is not PendingKind.CONFIRMATION:
        return "its answer comes from outside"
    if given is None or item.item_id not in journal.answers:
        return "nobody has approved it"
    if given.decision != "approved":
        return f"{given.by} has denied it"
    bound_to = (given.arguments_digest, given.tool_version, given.policy_version)
    if bound_to != (item.arguments_digest, item.tool_version, item.policy_version):
        return "the approval was given for another call"
    changed = stale(rule, spec, item, arguments_digest(bytes(call.part.input)))
    if changed is not None:
        return changed
    if given.expires_at is not None and now >= given.expires_at:
        return f"the approval of {given.by} has expired"
    return None


def _kind(
    rule: ConfirmRule, agent: Agent, run: Run, metadata: dict[str, str], spec: ToolSpec, part: ToolUsePart
) -> PendingKind | None:
    if spec.external:
        return PendingKind.EXTERNAL_TOOLS
    asks = spec.confirm or _asks(rule, agent, run, metadata, spec, part)
    return PendingKind.CONFIRMATION if asks else None


def _asks(
    rule: ConfirmRule, agent: Agent, run: Run, metadata: dict[str, str], spec: ToolSpec, part: ToolUsePart
) -> bool:
    if rule.asks is None:
        return False
    call = CallInQuestion(
        agent_id=agent.agent_id,
        session_id=run.session_id,
        tool_name=spec.name,
        tags=spec.tags,
        arguments=part.arguments,
        labels=run.labels,
        session_metadata=metadata,
    )
    try:
        return bool(rule.asks(call))
    except Exception:  # noqa: BLE001 - a rule that cannot tell is answered by a person
        return True


def _denied(spec: ToolSpec, why: str) -> ToolFailure:
    return ToolFailure(kind=ToolFailureKind.DENIED, message=f"{spec.name} was not run: {why}")
