"""What a suspended run waits for, as a person is told."""

from collections.abc import Iterable
from typing import Final, assert_never

from rich.console import Console
from rich.text import Text

from actum.base.value import dump_json
from actum.cli.text import cell, show
from actum.lifecycle.states import Run, RunStatus
from actum.loop import keys
from actum.planning.planner import questions_of
from actum.records.kinds import PendingKind, RunSuspended, ToolCallScheduled, payload_of
from actum.records.types import RecordType
from actum.runtime.given import PendingInput
from actum.runtime.runtime import Runtime
from actum.storage.contract import Store

KINDS: Final = {
    PendingKind.CLARIFICATION: "a clarification",
    PendingKind.QUESTIONS: "answers to questions",
    PendingKind.CONFIRMATION: "a confirmation",
    PendingKind.EXTERNAL_TOOLS: "the result of an external tool",
}


async def awaited(store: Store, run: Run) -> tuple[PendingInput, ...]:
    """What this very run waits for now: nothing when it is not suspended, or when another run took its place."""
    if run.status is not RunStatus.SUSPENDED or run.successor_run_id is not None:
        return ()
    page = await store.list_run_records(run.run_id, limit=1, types=[RecordType.RUN_SUSPENDED])
    said = [payload_of(record) for record in page.items]
    own = {each.item_id for end in said if isinstance(end, RunSuspended) for each in end.pending}
    async with Runtime(store) as runtime:
        # A child's chain is its root's: what that was answered, the child waits for no more.
        return tuple(item for item in await runtime.pending(run_id=run.run_id) if item.item_id in own)


def in_short(items: Iterable[PendingInput]) -> str | None:
    """What is waited for in one line, each thing once; None for nothing."""
    named = [KINDS[item.kind] + (f" ({item.tool_name})" if item.tool_name is not None else "") for item in items]
    return ", ".join(dict.fromkeys(named)) or None


async def marks(store: Store, run: Run, items: Iterable[PendingInput]) -> dict[str, str]:
    """What the calls of this run wait for, each by the id of its tool use in the transcript."""
    found: dict[str, list[PendingInput]] = {}
    for item in items:
        at, call_id = await store.load_run(item.asked_by), item.tool_call_id
        while at.chain_id != run.chain_id and at.parent_run_id is not None:
            # A child asks: the call that it answers waits.
            call_id = at.tool_call_id
            at = await store.load_run(at.parent_run_id)
        if call_id is not None:
            call = payload_of(await store.load_run_record(at.run_id, keys.scheduled(call_id)))
            own = call.model_tool_call_id if isinstance(call, ToolCallScheduled) else None
            found.setdefault(own or call_id, []).append(item)
    return {use_id: f"waits for {in_short(each)}" for use_id, each in found.items()}


def print_awaited(out: Console, run: Run, items: Iterable[PendingInput]) -> None:
    """What is waited for, one thing after the other, each with the id that its answer names."""
    for index, item in enumerate(items):
        if not index:
            show(out, Text("waits for", style="bold yellow"))
        asked = f", asked by {item.asked_by}" if item.asked_by != run.run_id else ""
        show(out, cell(f"{KINDS[item.kind]}: ", "yellow") + _told(item) + cell(f"  [{item.item_id}{asked}]", "dim"), 2)
        if item.kind is PendingKind.QUESTIONS:
            for each in questions_of(item.data):
                many = ", as many as you like" if each.multiple else ""
                show(out, cell(f"{each.id}: {each.text} ({' | '.join(each.options)}{many})"), 4)


def _told(item: PendingInput) -> Text:
    match item.kind:
        case PendingKind.CLARIFICATION | PendingKind.QUESTIONS:
            return cell(item.prompt or "")
        case PendingKind.CONFIRMATION | PendingKind.EXTERNAL_TOOLS:
            prompt = f"  {item.prompt}" if item.prompt else ""
            return cell(item.tool_name, "bold") + cell(f" {dump_json(item.arguments).decode()}{prompt}")
        case _:
            assert_never(item.kind)
