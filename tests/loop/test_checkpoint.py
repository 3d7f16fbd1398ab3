"""The checkpoint: known by its bytes, of one run, of one version; and ids of items that never change."""

import pytest

from actum.base.errors import DurableDataError
from actum.base.value import dump, replace
from actum.lifecycle.states import Suspension
from actum.loop.checkpoint import (
    VERSION,
    AskedItem,
    Checkpoint,
    LeftCall,
    item_id,
    read_checkpoint,
    suspension_id,
    suspension_of,
)
from actum.planning.policy import RunPolicy, Terms
from actum.records.kinds import PendingItem, PendingKind

ITEM = AskedItem(item_id="i1", kind=PendingKind.CONFIRMATION, run_id="r1", tool_call_id="c2", arguments_digest="d")
POINT = Checkpoint(
    run_id="r1",
    kind="tools",
    planned_by="r0",
    step=3,
    calls=(LeftCall(tool_call_id="c1", result_run_id="r0"), LeftCall(tool_call_id="c2")),
    items=(ITEM,),
    terms=Terms(policy=RunPolicy(max_tool_calls=2)),
)


def test_a_checkpoint_is_read_back_as_it_was_made() -> None:
    held = suspension_of(POINT)
    assert read_checkpoint("r1", held) == POINT
    assert held.suspension_id == suspension_id(held.data)
    assert held.suspension_id.startswith("sha256:")
    assert POINT.item("i1") is POINT.items[0]
    assert POINT.item("i2") is None
    assert POINT.pending() == (PendingItem(item_id="i1", kind=PendingKind.CONFIRMATION),)


def _sealed(data: bytes) -> Suspension:
    return Suspension(suspension_id=suspension_id(data), data=data)


DAMAGED: dict[str, Suspension] = {
    "other bytes under the id": replace(suspension_of(POINT), data=dump(replace(POINT, step=4))),
    "another run's": _sealed(dump(replace(POINT, run_id="r2"))),
    "a later version": _sealed(dump(replace(POINT, version=VERSION + 1))),
    "a field that nobody knows": _sealed(dump(POINT)[:-1] + b',"more":1}'),
    "no JSON": _sealed(b"{"),
}


@pytest.mark.parametrize("held", DAMAGED.values(), ids=DAMAGED)
def test_bytes_that_are_no_checkpoint_of_this_run_are_refused(held: Suspension) -> None:
    with pytest.raises(DurableDataError) as caught:
        read_checkpoint("r1", held)
    assert caught.value.run_id == "r1"


def test_items_are_named_by_the_run_that_asked_and_by_what_it_asked() -> None:
    assert item_id("r1", "call:c1") == item_id("r1", "call:c1")
    assert len({item_id(run, what) for run in ("r1", "r2") for what in ("call:c1", "call:c2", "input:0:0")}) == 6
    assert item_id("a", "b\x00c") != item_id("a\x00b", "d")
    assert len(item_id("r" * 512, "x" * 1000)) < 64
