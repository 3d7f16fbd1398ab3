"""What the first write of a run says about the run before it, which was suspended.

A continuation brings the answers: items that were answered, authorizations, results of external tools, and the words of
a person as messages. A run that supersedes one closes its calls. Everything is made of the checkpoint and of what the
log holds, so two who make it from the same answers make the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from actum.base.checks import refuse
from actum.base.errors import ContinuationRefused
from actum.base.value import Json, dump, dump_json, load, load_json
from actum.lifecycle.states import Run
from actum.loop import keys
from actum.loop.checkpoint import AskedItem, Checkpoint
from actum.loop.limits import TERMS, terms_option
from actum.loop.world import Opening, ParentCall, RunRequest
from actum.messages.message import Message, tool_results, user
from actum.records.failures import ToolFailure, ToolFailureKind, cut_message
from actum.records.kinds import (
    InputAnswered,
    InputRequested,
    PendingKind,
    RunRequested,
    ToolAuthorization,
    ToolResultReceived,
    TurnSuperseded,
    payload_of,
)
from actum.records.record import HistoryRef
from actum.runtime.agent import Agent
from actum.runtime.given import Approval, GivenAnswer
from actum.runtime.inherit import left_calls, left_results, load_checkpoint
from actum.storage.contract import Store
from actum.tools.call import ToolOutcome
from actum.tools.failures import ToolError
from actum.tools.spec import ToolSpec

# The options of a continuation: answers that are for its children, and the reason of a withdrawal.
ANSWERS: Final = "answers"
WITHDRAWN: Final = "withdrawn"


@dataclass(frozen=True)
class Openings:
    """What openings are made with."""

    store: Store
    agents: Mapping[str, Agent]

    async def continued(
        self,
        before: Run,
        answers: Sequence[GivenAnswer],
        *,
        run_id: str,
        request_digest: str,
        requested_at: datetime,
        turn_id: str | None = None,
        parent: ParentCall | None = None,
        withdrawn: str | None = None,
    ) -> RunRequest:
        """The request of the run that continues `before` with these answers, or withdraws it.

        The answers are known to fit. Raises ContinuationRefused when `before` is not suspended, InvalidValue when its
        agent is not registered here, unless it is withdrawn.
        """
        if before.end_record_id is None:
            raise ContinuationRefused(run_id=before.run_id, rule="the predecessor is suspended")
        checkpoint = await load_checkpoint(self.store, before.run_id)
        by_id = {each.item_id: each for each in answers}
        own: list[tuple[AskedItem, GivenAnswer]] = []
        below: list[tuple[AskedItem, GivenAnswer]] = []
        for item in checkpoint.items:
            if item.item_id in by_id:
                (own if item.through is None else below).append((item, by_id[item.item_id]))
        opening, messages = await self._opening(before, run_id, own)
        requested = await self._requested(before)
        answered = tuple(
            InputAnswered(item_id=given.item_id, answer_digest=given.digest, by=given.by) for _, given in [*own, *below]
        )
        return RunRequest(
            run_id=run_id,
            agent_id=before.agent_id,
            agent_version=self._version(before, requested, withdrawn),
            session_id=before.session_id,
            turn_id=turn_id,
            parent=parent,
            predecessor_run_id=before.run_id,
            opening=Opening(answered=answered, authorizations=opening.authorizations, results=opening.results),
            history=HistoryRef(run_id=before.run_id, through=before.end_record_id),
            labels=before.labels,
            messages=messages,
            requested_at=requested_at,
            request_digest=request_digest,
            options=_options(requested, checkpoint, [given for _, given in below], withdrawn),
        )

    async def superseding(self, head: Run, run_id: str, *, closes: bool) -> Opening:
        """What a new turn says when it takes the place of a suspended one: every open call gets a typed end.

        A turn that does not go on from the head's transcript (`closes` is false) has nothing to close.
        """
        checkpoint = await load_checkpoint(self.store, head.run_id)
        superseded = TurnSuperseded(run_id=head.run_id, call_ids=tuple(each.tool_call_id for each in checkpoint.calls))
        if not checkpoint.calls or not closes:
            return Opening(superseded=superseded)
        results, parts, made = await left_results(self.store, checkpoint), [], []
        for left, use in zip(checkpoint.calls, await left_calls(self.store, checkpoint), strict=True):
            result = results.get(left.tool_call_id)
            if result is None:
                says = cut_message(f"{use.name} was not run: a new turn has taken the place of this one")
                failure = ToolFailure(kind=ToolFailureKind.CANCELED, message=says)
                result = ToolResultReceived(tool_call_id=left.tool_call_id, call_run_id=run_id, failure=failure)
                made.append(result)
            parts.append(result.part(use.id))
        return Opening(superseded=superseded, results=tuple(made), closing=tool_results(*parts))

    async def _opening(
        self, before: Run, run_id: str, own: list[tuple[AskedItem, GivenAnswer]]
    ) -> tuple[Opening, tuple[Message, ...]]:
        authorizations, results, messages = [], [], []
        for item, given in own:
            match item.kind:
                case PendingKind.CONFIRMATION:
                    approval = approval_of(given)
                    authorizations.append(_authorization(item, given, approval))
                    if not approval.approved:
                        results.append(_result(item, run_id, ToolOutcome(failure=_denied(given, approval))))
                case PendingKind.EXTERNAL_TOOLS:
                    outcome = external_outcome(await self._spec(before, item), given)
                    results.append(_result(item, run_id, outcome))
                case _:
                    asked = payload_of(await self.store.load_run_record(item.run_id, keys.asked(item.item_id)))
                    messages.append(_words(asked, given))
        return Opening(authorizations=tuple(authorizations), results=tuple(results)), tuple(messages)

    async def _spec(self, before: Run, item: AskedItem) -> ToolSpec | None:
        scheduled = payload_of(await self.store.load_run_record(item.run_id, keys.scheduled(str(item.tool_call_id))))
        spec = self.agents[before.agent_id].tools.find(getattr(scheduled, "tool_name", ""))
        return spec if isinstance(spec, ToolSpec) else None

    async def _requested(self, before: Run) -> RunRequested | None:
        requested = payload_of(await self.store.load_run_record(before.run_id, keys.REQUESTED))
        return requested if isinstance(requested, RunRequested) else None

    def _version(self, before: Run, requested: RunRequested | None, withdrawn: str | None) -> str:
        """The agent as it is now. To withdraw takes no agent: where that is gone, it is the one that was asked."""
        agent = self.agents.get(before.agent_id)
        if agent is not None:
            return agent.version
        if withdrawn is None or requested is None:
            raise refuse("agent_id", before.agent_id, "names a registered agent, for the run goes on")
        return requested.agent_version


def _options(
    requested: RunRequested | None, checkpoint: Checkpoint, below: list[GivenAnswer], withdrawn: str | None
) -> dict[str, Json]:
    """The options go on from run to run: what bounds the run, which engine runs it."""
    old = requested.options if requested is not None else {}
    kept = {name: value for name, value in old.items() if name not in (ANSWERS, WITHDRAWN, TERMS)}
    options = {**kept, **terms_option(checkpoint.terms)}
    if below:
        options[ANSWERS] = [load_json(dump(given)) for given in below]
    if withdrawn is not None:
        options[WITHDRAWN] = withdrawn
    return options


def answers_below(options: Mapping[str, Json]) -> tuple[GivenAnswer, ...]:
    """The answers that a continuation passes on to its children."""
    return tuple(load(GivenAnswer, dump_json(each)) for each in options.get(ANSWERS, ()))


def approval_of(given: GivenAnswer) -> Approval:
    """The answer about a call as an approval. Raises InvalidValue when it is none."""
    if isinstance(given.answer, bool):
        return Approval(approved=given.answer)
    return load(Approval, dump_json(given.answer))


def external_outcome(spec: ToolSpec | None, given: GivenAnswer) -> ToolOutcome:
    """What an external tool came to, held to the tool's own result type."""
    if given.outcome is not None or spec is None:
        return given.outcome or ToolOutcome(content=given.answer)
    try:
        output = spec.encode(given.answer)
    except ToolError as error:
        return ToolOutcome(failure=error.failure)
    return ToolOutcome(content=output.content, attachments=output.attachments)


def _authorization(item: AskedItem, given: GivenAnswer, approval: Approval) -> ToolAuthorization:
    return ToolAuthorization(
        tool_call_id=item.tool_call_id or "",
        arguments_digest=item.arguments_digest or "",
        tool_version=item.tool_version or "",
        policy_version=item.policy_version or "",
        decision="approved" if approval.approved else "denied",
        by=given.by or "",
        at=given.at,
        expires_at=approval.expires_at,
    )


def _result(item: AskedItem, run_id: str, outcome: ToolOutcome) -> ToolResultReceived:
    return ToolResultReceived(
        tool_call_id=item.tool_call_id or "",
        call_run_id=run_id,
        content=outcome.content,
        attachments=outcome.attachments,
        failure=outcome.failure,
    )


def _denied(given: GivenAnswer, approval: Approval) -> ToolFailure:
    why = f": {approval.reason}" if approval.reason else ""
    return ToolFailure(kind=ToolFailureKind.DENIED, message=cut_message(f"{given.by} has denied this call{why}"))


def _words(asked: object, given: GivenAnswer) -> Message:
    """A person's answer as a message: texts as they are, choices under their questions, anything else as JSON."""
    answer = given.answer
    meta: dict[str, Json] = {"item_id": given.item_id}
    if isinstance(answer, str) and answer:
        return user(answer, meta=meta)
    data = asked.data if isinstance(asked, InputRequested) else None
    questions = (data or {}).get("questions", [])
    if not questions or not isinstance(answer, dict):
        return user(dump_json(answer).decode(), meta=meta)
    lines = [f"{each['text']}\n{_choice(answer[each['id']])}" for each in questions]
    return user("\n\n".join(lines), meta=meta)


def _choice(chosen: Json) -> str:
    return chosen if isinstance(chosen, str) else dump_json(chosen).decode()
