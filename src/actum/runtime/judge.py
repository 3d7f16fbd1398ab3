"""Whether an answer fits what was asked. Judged when it is given; nothing is written here.

Each wrong answer has an error of its own: an item that nobody asks (UnknownItem), one that was answered before
(AlreadyAnswered), one that came too late (ApprovalExpired), and an answer that does not fit (AnswerRefused).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from actum.base.errors import (
    AlreadyAnswered,
    AnswerRefused,
    ApprovalExpired,
    ContractError,
    InvalidValue,
    UnknownItem,
)
from actum.base.limits import PAGE_ITEMS
from actum.base.value import Json, dump, dump_json
from actum.lifecycle.states import Run, RunStatus
from actum.loop import keys
from actum.loop.checkpoint import AskedItem, Checkpoint
from actum.planning.planner import Question, questions_of
from actum.records.kinds import InputAnswered, InputRequested, PendingKind, ToolCallScheduled, payload_of
from actum.records.types import RecordType
from actum.runtime.agent import Agent
from actum.runtime.consent import ConfirmRule, arguments_digest, stale
from actum.runtime.given import GivenAnswer
from actum.runtime.inherit import load_checkpoint
from actum.runtime.openings import approval_of
from actum.storage.contract import Store
from actum.tools.call import RESULT_BYTES
from actum.tools.failures import ToolError
from actum.tools.spec import ToolSpec


@dataclass(frozen=True)
class Judge:
    """What answers are judged with."""

    store: Store
    agents: Mapping[str, Agent]
    rule: ConfirmRule

    async def judge(self, run: Run, answers: Sequence[GivenAnswer], now: datetime) -> None:
        """Raises the error of the first of these answers that the newest run of a chain does not take."""
        checkpoint = await load_checkpoint(self.store, run.run_id) if run.status is RunStatus.SUSPENDED else None
        succeeded = run.successor_run_id is not None
        for given in answers:
            item = checkpoint.item(given.item_id) if checkpoint is not None and not succeeded else None
            if item is None:
                raise await self._unknown(run, given.item_id)
            await self._fits(run, checkpoint, item, given, now)

    async def _unknown(self, run: Run, item_id: str) -> ContractError | UnknownItem | AlreadyAnswered:
        """Why the newest run does not wait for this item: an earlier one got its answer, or nobody ever asked."""
        at: Run | None = run
        while at is not None:
            if await self._answered(at.run_id, item_id):
                return AlreadyAnswered(run_id=at.run_id, item_id=item_id)
            at = await self.store.load_run(at.predecessor_run_id) if at.predecessor_run_id is not None else None
        return UnknownItem(run_id=run.run_id, item_id=item_id)

    async def _answered(self, run_id: str, item_id: str) -> bool:
        cursor: str | None = None
        while True:
            page = await self.store.list_run_records(
                run_id, cursor=cursor, limit=PAGE_ITEMS, types=[RecordType.INPUT_ANSWERED]
            )
            said = [payload_of(record) for record in page.items]
            if any(isinstance(each, InputAnswered) and each.item_id == item_id for each in said):
                return True
            if not page.more:
                return False
            cursor = page.cursor

    async def _fits(
        self, run: Run, checkpoint: Checkpoint | None, item: AskedItem, given: GivenAnswer, now: datetime
    ) -> None:
        match item.kind:
            case PendingKind.CONFIRMATION:
                await self._approval(run, item, given, now)
            case PendingKind.EXTERNAL_TOOLS:
                calls = len(checkpoint.calls) if checkpoint is not None else 1
                await self._result(run, item, given, RESULT_BYTES // max(calls, 1))
            case PendingKind.QUESTIONS:
                _plain(run, given)
                asked = payload_of(await self.store.load_run_record(item.run_id, keys.asked(item.item_id)))
                data = asked.data if isinstance(asked, InputRequested) else None
                wrong = _wrong_choice(questions_of(data), given.answer)
                if wrong is not None:
                    raise _refused(run, given, wrong)
            case _:
                _plain(run, given)

    async def _approval(self, run: Run, item: AskedItem, given: GivenAnswer, now: datetime) -> None:
        _plain(run, given)
        try:
            approval = approval_of(given)
        except InvalidValue as error:
            raise _refused(run, given, f"is True, False or an Approval ({error.field} {error.rule})") from None
        if given.by is None:
            raise _refused(run, given, "names who gives it: pass `by`")
        if approval.arguments_digest not in (None, item.arguments_digest):
            raise _refused(run, given, "is about the call that is asked about; this one saw other arguments")
        if not approval.approved:
            return  # a denial is never too late, and fits whatever the tool has become
        for expires_at in (item.expires_at, approval.expires_at):
            if expires_at is not None and now >= expires_at:
                raise ApprovalExpired(run_id=run.run_id, item_id=given.item_id)
        spec, call = await self._call(item)
        if spec is None:
            raise _refused(run, given, "is about a tool that the agent has; deny the call, or withdraw the run")
        changed = stale(self.rule, spec, item, arguments_digest(bytes(call.input)))
        if changed is not None:
            raise _refused(run, given, f"fits the call as it is now: {changed}; deny the call, or withdraw the run")

    async def _result(self, run: Run, item: AskedItem, given: GivenAnswer, room: int) -> None:
        spec, _ = await self._call(item)
        if spec is None or spec.version != item.tool_version:
            raise _refused(run, given, "is for a tool that has changed since it was asked for")
        size = len(dump(given))
        if size > room:
            raise _refused(run, given, f"has at most {room} bytes of JSON, not {size}")
        if given.outcome is not None:
            return
        try:
            spec.encode(given.answer)
        except ToolError as error:
            raise _refused(run, given, f"is a result of {spec.name}: {error.failure.message}") from None

    async def _call(self, item: AskedItem) -> tuple[ToolSpec | None, ToolCallScheduled]:
        """The tool of the call that an item is about, as its agent has it now, and the call itself."""
        record = await self.store.load_run_record(item.run_id, keys.scheduled(str(item.tool_call_id)))
        call = payload_of(record)
        assert isinstance(call, ToolCallScheduled)  # noqa: S101 - the key is that of no other payload
        agent = self.agents.get(record.agent_id)
        spec = agent.tools.find(call.tool_name) if agent is not None else None
        return (spec if isinstance(spec, ToolSpec) else None), call


def _plain(run: Run, given: GivenAnswer) -> None:
    if given.outcome is not None:
        raise _refused(run, given, "is plain JSON: a tool's outcome answers an external tool")
    dump_json(given.answer)


def _wrong_choice(questions: Sequence[Question], answer: Json) -> str | None:
    """What is wrong with a filled form; None when each question has a choice that it offers."""
    if not isinstance(answer, dict):
        return "gives each question's id its choice"
    known = {each.id for each in questions}
    unknown, missing = sorted(set(answer) - known), sorted(known - set(answer))
    if unknown or missing:
        return f"answers each question once; missing {missing}, unknown {unknown}"
    for question in questions:
        chosen = answer[question.id]
        many = chosen if isinstance(chosen, list) else [chosen]
        if isinstance(chosen, list) is not question.multiple:
            return f"gives {question.id!r} {'a list of choices' if question.multiple else 'one choice'}"
        if any(each not in question.options for each in many) or len(set(map(str, many))) != len(many):
            return f"chooses for {question.id!r} among {list(question.options)}, each once"
    return None


def _refused(run: Run, given: GivenAnswer, rule: str) -> AnswerRefused:
    return AnswerRefused(run_id=run.run_id, item_id=given.item_id, rule=f"the answer {rule}")
