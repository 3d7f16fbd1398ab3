"""The checkpoint of a suspended run: what is open, what is asked, and where the rest stands in the run log.

Small and private: it holds ids, digests and pointers, never a conversation. Its id is the digest of its bytes, so a
checkpoint that was changed is no checkpoint. No stream, log, page or command shows its bytes.
"""

import hashlib
from typing import Final, Literal

from actum.base.checks import Count, Identifier, Instant
from actum.base.errors import DurableDataError, InvalidValue, TooLarge
from actum.base.value import Value, dump, load
from actum.lifecycle.states import Suspension
from actum.planning.policy import Terms
from actum.records.kinds import PendingItem, PendingKind
from actum.records.types import RecordType

VERSION: Final = 1


class AskedItem(Value):
    """One thing that the run waits for. `run_id` is the run that asked: this one, an earlier one, or a descendant.

    `through` is this run's call whose child asks; None for an item of the run's own chain.
    A confirmation is bound to the call as it was shown: the digest of its input, the version of its tool, and the
    version of the rule that asked. `expires_at` is when an answer comes too late.
    """

    item_id: Identifier
    kind: PendingKind
    run_id: Identifier
    through: Identifier | None = None
    tool_call_id: Identifier | None = None
    arguments_digest: str | None = None
    tool_version: str | None = None
    policy_version: str | None = None
    expires_at: Instant | None = None


class LeftCall(Value):
    """One call of the group that is open. `result_run_id` is the run whose log holds its result, None without one.

    `child_run_id` is the suspended child run that answers the call.
    """

    tool_call_id: Identifier
    result_run_id: Identifier | None = None
    child_run_id: Identifier | None = None


class Checkpoint(Value):
    """Where a suspended run stands.

    `kind` is `tools` when a group of calls is open, `input` when the planner asked. The group was decided by
    `planned_by` at its own `step`; `calls` are in the group's order. `items` are those of this run and, with `through`,
    those of its suspended children. `terms` is what is left of the run's limits, and what it may use: its continuation
    goes on with them, and no budget runs while a person thinks.
    """

    version: Count = VERSION
    run_id: Identifier
    kind: Literal["tools", "input"]
    planned_by: Identifier
    step: Count
    calls: tuple[LeftCall, ...] = ()
    items: tuple[AskedItem, ...] = ()
    synthesize_after_tools: bool = False
    terms: Terms = Terms()

    def item(self, item_id: str) -> AskedItem | None:
        """The item with this id; None when this run asks for no such thing."""
        return next((each for each in self.items if each.item_id == item_id), None)

    def pending(self) -> tuple[PendingItem, ...]:
        """The items as `run_suspended` lists them."""
        return tuple(PendingItem(item_id=each.item_id, kind=each.kind) for each in self.items)


def suspension_of(checkpoint: Checkpoint) -> Suspension:
    """The checkpoint's bytes under the digest that is their id."""
    data = dump(checkpoint)
    return Suspension(suspension_id=suspension_id(data), data=data)


def suspension_id(data: bytes) -> str:
    """The id of a checkpoint with these bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def read_checkpoint(run_id: str, suspension: Suspension) -> Checkpoint:
    """The checkpoint of a run. Raises DurableDataError for bytes that are not those that were stored for this run."""

    def damaged(path: str, rule: str) -> DurableDataError:
        return DurableDataError(run_id=run_id, record_type=RecordType.RUN_SUSPENDED, path=path, rule=rule)

    if suspension.suspension_id != suspension_id(suspension.data):
        raise damaged("suspension_id", "is the digest of the checkpoint's bytes")
    try:
        checkpoint = load(Checkpoint, suspension.data)
    except (InvalidValue, TooLarge) as error:
        raise damaged(f"checkpoint.{error.field}", getattr(error, "rule", str(error))) from error
    if checkpoint.version != VERSION:
        raise damaged("checkpoint.version", f"is {VERSION}, not {checkpoint.version}")
    if checkpoint.run_id != run_id:
        raise damaged("checkpoint.run_id", "is the run that was suspended")
    return checkpoint


def item_id(run_id: str, what: str) -> str:
    """The id of what a run asks for: about the call `what`, or its question of that number. The same for ever."""
    digest = hashlib.sha256(f"{run_id}\x00{what}".encode()).hexdigest()
    return f"item-{digest[:32]}"
