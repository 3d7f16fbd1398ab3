"""What a suspended run leaves to the run after it, read by the pointers of its checkpoint."""

from actum.base.errors import RunCorrupt
from actum.loop import keys
from actum.loop.checkpoint import Checkpoint, read_checkpoint
from actum.loop.journal import Journal
from actum.messages.parts import ToolUsePart
from actum.records.kinds import MessagesAppended, ToolResultReceived, payload_of
from actum.storage.contract import Store


async def load_checkpoint(store: Store, run_id: str) -> Checkpoint:
    """The checkpoint of a suspended run. Raises SuspensionNotFound, and DurableDataError for damaged bytes."""
    return read_checkpoint(run_id, await store.load_run_suspension(run_id))


async def inherit(store: Store, journal: Journal, predecessor_run_id: str) -> None:
    """Tells a continuation's journal what its predecessor left open. Raises RunCorrupt when the log does not fit."""
    checkpoint = await load_checkpoint(store, predecessor_run_id)
    journal.inherit(checkpoint, await left_calls(store, checkpoint), await left_results(store, checkpoint))


async def left_calls(store: Store, checkpoint: Checkpoint) -> tuple[ToolUsePart, ...]:
    """The tool uses that the checkpoint leaves open, in the order of its calls."""
    if not checkpoint.calls:
        return ()
    record = await store.load_run_record(checkpoint.planned_by, keys.message(checkpoint.step))
    payload = payload_of(record)
    uses = payload.messages[-1].tool_uses if isinstance(payload, MessagesAppended) else ()
    if len(uses) != len(checkpoint.calls):
        raise RunCorrupt(run_id=checkpoint.run_id, reason="the checkpoint names other calls than the plan's message")
    return uses


async def left_results(store: Store, checkpoint: Checkpoint) -> dict[str, ToolResultReceived]:
    """The results that the checkpoint points to, by call."""
    found = {}
    for left in checkpoint.calls:
        if left.result_run_id is None:
            continue
        payload = payload_of(await store.load_run_record(left.result_run_id, keys.result(left.tool_call_id)))
        if not isinstance(payload, ToolResultReceived):
            raise RunCorrupt(run_id=checkpoint.run_id, reason=f"no result of call {left.tool_call_id!r} is stored")
        found[left.tool_call_id] = payload
    return found
