"""Child runs: linked on a parent that may still start something, both records or none."""

import asyncio

from actum.base.errors import (
    CancellationRequested,
    Conflict,
    ContractError,
    InvalidValue,
    OwnerMismatch,
    RecordConflict,
    RunNotFound,
    RunNotRunning,
    RunPurged,
)
from actum.base.value import replace
from actum.lifecycle import commands as c
from actum.lifecycle.states import Run, RunStatus, StartOutcome
from actum.records import makers
from actum.storage.contract import OwnedStore
from actum.testing import samples
from actum.testing.contract import scenes
from actum.testing.contract.scenes import refused, unchanged
from actum.testing.history import findings, outcome, read_everything

ENDS = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED, RunStatus.SUSPENDED)


class ChildPromises:
    """A child exists exactly when its parent's link does."""

    async def test_a_child_is_linked_and_started_in_one_step(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p")
        started = await store.start_child_run(samples.child("c1", parent, call="call-7"))
        assert started.linked is not None
        assert started.linked.inserted
        child = started.run
        assert (child.parent_run_id, child.tool_call_id, child.session_id) == ("p", "call-7", "s1")
        assert child.chain_id == "c1"
        assert await scenes.kept_keys(store, parent) == ["start", "link:c1"]
        assert await scenes.kept_keys(store, child) == ["start"]
        assert (await store.load_run("p")) == parent
        await scenes.sound(store)

    async def test_the_link_stands_before_the_childs_start_in_the_scope(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p")
        start = samples.child("c1", parent)
        await store.start_child_run(replace(start, records=samples.notes(start, "a", "b")))
        page = await store.list_session_run_records("s1")
        shown = [(each.run_id, each.event_key) for each in page.items]
        assert shown == [("p", "start"), ("p", "link:c1"), ("c1", "start"), ("c1", "a"), ("c1", "b")]

    async def test_a_child_may_be_repeated_after_its_parent_ended(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p")
        start = samples.child("c1", parent)
        first = await store.start_child_run(start)
        await store.record_run_terminal(samples.completed(parent))
        async with unchanged(store):
            again = await store.start_child_run(start)
        assert scenes.same_answer(first, again)
        async with refused(store, Conflict):
            await store.start_child_run(samples.child("c1", parent, seconds=2))
        async with refused(store, RunNotRunning):
            await store.start_child_run(samples.child("c2", parent))

    async def test_only_a_running_parent_takes_a_new_child(self, store: OwnedStore) -> None:
        for status in ENDS:
            parent = await scenes.ended(store, f"p-{status}", status=status)
            async with refused(store, RunNotRunning) as caught:
                await store.start_child_run(samples.child(f"c-{status}", parent))
            assert (caught.value.run_id, caught.value.status) == (parent.run_id, status)

    async def test_a_parent_whose_cancellation_is_recorded_takes_no_new_child(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p")
        start = samples.child("c1", parent)
        first = await store.start_child_run(start)
        await store.record_run_cancellation(samples.cancellation(parent, "enough"))
        async with refused(store, CancellationRequested) as caught:
            await store.start_child_run(samples.child("c2", parent))
        assert (caught.value.run_id, caught.value.reason) == ("p", "enough")
        async with unchanged(store):
            assert scenes.same_answer(first, await store.start_child_run(start))

    async def test_a_parent_that_is_not_there_takes_no_child(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p")
        async with refused(store, RunNotFound) as caught:
            await store.start_child_run(samples.child("c1", replace(parent, run_id="nobody")))
        assert caught.value.run_id == "nobody"

    async def test_a_parent_of_another_session_takes_no_child(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p", "s1")
        await scenes.session(store, "s2")
        astray = samples.child("c1", replace(parent, session_id="s2"))
        async with refused(store, OwnerMismatch, InvalidValue, RunNotFound):
            await store.start_child_run(astray)
        assert await scenes.kept_keys(store, parent) == ["start"]

    async def test_parent_and_child_are_both_of_a_session_or_both_of_none(self, store: OwnedStore) -> None:
        single = await scenes.one_shot(store, "o1")
        parent = await scenes.running(store, "p")
        async with refused(store, OwnerMismatch, InvalidValue, RunNotFound):
            await store.start_child_run(samples.child("c1", replace(single, session_id="s1")))
        async with refused(store, OwnerMismatch, InvalidValue, RunNotFound):
            await store.start_one_shot_child_run(samples.one_shot_child("c2", replace(parent, session_id=None)))

    async def test_the_link_says_what_the_command_says(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p")
        start = samples.child("c1", parent)
        link = start.parent_linked
        says_otherwise = (
            makers.child_run_linked(
                tool_name="ask", tool_call_id="call-1", child_run_id="c9", child_agent_id="specialist"
            ),
            makers.child_run_linked(tool_name="ask", tool_call_id="call-1", child_run_id="c1", child_agent_id="x"),
            b"{}",
        )
        broken = (
            *(replace(link, payload=payload) for payload in says_otherwise),
            replace(link, run_id="c1"),
            replace(link, agent_id="somebody"),
            replace(link, session_id="s2"),
            replace(link, type=samples.NOTE),
        )
        for record in broken:
            async with refused(store, InvalidValue, OwnerMismatch):
                await store.start_child_run(replace(start, parent_linked=record))

    async def test_a_link_under_a_key_that_another_record_holds_conflicts(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p")
        await store.append_run_record(samples.note(parent, "taken"))
        start = samples.child("c1", parent)
        async with refused(store, RecordConflict):
            await store.start_child_run(replace(start, parent_linked=samples.linked_record(parent, start.run, "taken")))

    async def test_another_link_record_for_the_same_child_conflicts(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p")
        start = samples.child("c1", parent)
        await store.start_child_run(start)
        other = samples.linked_record(parent, start.run, "another-link")
        async with refused(store, Conflict):
            await store.start_child_run(replace(start, parent_linked=other))

    async def test_a_child_in_an_ended_session_is_linked_and_stopped(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p")
        await store.end_session("s1", samples.at(60))
        start = samples.child("c1", parent)
        stopped = await store.start_child_run(start)
        assert stopped.outcome is StartOutcome.STOP
        assert stopped.canceled is not None
        page = await store.list_session_run_records("s1")
        shown = [(each.run_id, each.event_key) for each in page.items]
        assert shown == [("p", "start"), ("p", "link:c1"), ("c1", "start"), ("c1", "stop")]
        async with unchanged(store):
            assert scenes.same_answer(stopped, await store.start_child_run(start))
        await scenes.sound(store)

    async def test_rule_four_holds_in_an_ended_session_too(self, store: OwnedStore) -> None:
        done, asked = await scenes.ended(store, "p1"), await scenes.canceling(store, "p2")
        await store.end_session("s1", samples.at(60))
        async with refused(store, RunNotRunning):
            await store.start_child_run(samples.child("c1", done))
        async with refused(store, CancellationRequested):
            await store.start_child_run(samples.child("c2", asked))

    async def test_a_childs_end_leaves_its_parent_as_it_was(self, store: OwnedStore) -> None:
        parent = await scenes.running(store, "p")
        child = await store.start_child_run(samples.child("c1", parent))
        await store.record_run_terminal(samples.failed(child))
        assert (await store.load_run("p")) == parent

    async def test_a_start_races_with_its_parents_end(self, store: OwnedStore) -> None:
        for n in range(200):
            parent = await scenes.running(store, f"p{n}")
            start, end = samples.child(f"c{n}", parent), samples.completed(parent)
            calls = (outcome(store.start_child_run(start)), outcome(store.record_run_terminal(end)))
            began, ended = await asyncio.gather(*(calls if n % 2 else reversed(calls)))
            if not n % 2:
                began, ended = ended, began
            assert isinstance(ended, c.Changed)
            keys = await scenes.kept_keys(store, parent)
            if isinstance(began, ContractError):
                assert isinstance(began, RunNotRunning)
                assert keys == ["start", "end"]
            else:
                assert keys == ["start", f"link:c{n}", "end"]
        await scenes.sound(store)


class OneShotChildPromises:
    """The tree of a one-shot run is one scope."""

    async def test_a_one_shot_child_joins_its_roots_scope(self, store: OwnedStore) -> None:
        root = await scenes.one_shot(store, "o1")
        child = await store.start_one_shot_child_run(samples.one_shot_child("o2", root))
        grandchild = await store.start_one_shot_child_run(samples.one_shot_child("o3", child))
        page = await store.list_scope_records("o1")
        shown = [(each.run_id, each.event_key) for each in page.items]
        assert shown == [("o1", "start"), ("o1", "link:o2"), ("o2", "start"), ("o2", "link:o3"), ("o3", "start")]
        assert (grandchild.run.session_id, grandchild.run.parent_run_id) == (None, "o2")
        await scenes.sound(store)

    async def test_the_same_rules_hold_for_its_parent(self, store: OwnedStore) -> None:
        root = await scenes.one_shot(store, "o1")
        start = samples.one_shot_child("o2", root)
        first = await store.start_one_shot_child_run(start)
        await store.record_run_terminal(samples.completed(root))
        async with unchanged(store):
            assert scenes.same_answer(first, await store.start_one_shot_child_run(start))
        async with refused(store, RunNotRunning):
            await store.start_one_shot_child_run(samples.one_shot_child("o3", root))
        async with refused(store, Conflict):
            await store.start_one_shot_child_run(samples.one_shot_child("o2", root, seconds=9))
        async with refused(store, RunNotFound):
            await store.start_one_shot_child_run(samples.one_shot_child("o4", replace(root, run_id="nobody")))
        asked = await _asked(store, "o5")
        async with refused(store, CancellationRequested):
            await store.start_one_shot_child_run(samples.one_shot_child("o6", asked))

    async def test_a_child_names_no_tenant_of_its_own(self, store: OwnedStore) -> None:
        root = await scenes.one_shot(store, "o1", tenant="acme")
        start = samples.one_shot_child("o2", root)
        assert (await store.start_one_shot_child_run(start)).run.tenant == "acme"
        given = samples.one_shot_child("o3", root)
        async with refused(store, InvalidValue):
            await store.start_one_shot_child_run(replace(given, run=replace(given.run, tenant="other")))

    async def test_a_purged_parent_takes_no_child(self, store: OwnedStore) -> None:
        root = await scenes.one_shot(store, "o1")
        await store.record_run_terminal(samples.completed(root))
        await store.purge_one_shot("o1")
        async with refused(store, RunPurged):
            await store.start_one_shot_child_run(samples.one_shot_child("o2", root))

    async def test_a_tree_is_sound_after_racing_starts(self, store: OwnedStore) -> None:
        root = await scenes.one_shot(store, "o1")
        starts = [samples.one_shot_child(f"c{n}", root, call=f"call-{n}") for n in range(20)]
        await asyncio.gather(*(store.start_one_shot_child_run(start) for start in starts))
        kept = await read_everything(store)
        assert len(kept.records["run o1"]) == 41
        assert findings(kept) == []


async def _asked(store: OwnedStore, run_id: str) -> Run:
    run = await scenes.one_shot(store, run_id)
    return (await store.record_run_cancellation(samples.cancellation(run))).run
