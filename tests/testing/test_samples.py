"""Samples are commands in their exact form: a store that refuses one refuses its situation, not its spelling."""

import pytest

from actum.lifecycle import commands as c
from actum.lifecycle.shape import checked
from actum.lifecycle.states import Run, RunStatus, StartOutcome
from actum.testing import samples

START = samples.root("r1", labels={"kind": "chat"}, seconds=5)
ALONE = samples.one_shot("o1")
WAITING = Run(
    run_id="w1",
    agent_id=samples.AGENT,
    session_id="s1",
    chain_id="w1",
    status=RunStatus.SUSPENDED,
    start_outcome=StartOutcome.PROCEED,
    started_at=samples.T0,
    updated_at=samples.T0,
    end_record_id="0123456789abcdef-2",
)

COMMANDS: dict[str, c.Command] = {
    "root": START,
    "one-shot": ALONE,
    "child": samples.child("c1", START),
    "one-shot child": samples.one_shot_child("o2", ALONE),
    "first follower": samples.following("h1", None),
    "follower": samples.following("h2", WAITING, supersede=True),
    "continuation": samples.continuation("w2", WAITING),
    "append": c.AppendRunRecords(
        records=(*samples.notes(START, "a", "b"), samples.said(START, "c", "hi"), samples.tool_started(START))
    ),
    "cancellation": samples.cancellation(START, by="somebody"),
    "suspension": samples.suspension(START, kinds=("questions", "confirmation")),
    "completed": samples.completed(START, records=samples.notes(START, "a")),
    "failed": samples.failed(START),
    "canceled": samples.canceled(START),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_sample_is_in_its_exact_form(name: str) -> None:
    assert checked(COMMANDS[name]) == COMMANDS[name]


def test_a_change_comes_after_its_start_unless_a_test_says_when() -> None:
    assert samples.completed(START).record.timestamp == samples.at(7)
    assert samples.completed(START, seconds=1).record.timestamp == samples.at(1)


def test_a_run_is_told_by_its_start_its_answer_or_itself() -> None:
    appended = c.Appended(id="0123456789abcdef-1", inserted=True)
    for told in (WAITING, c.Changed(run=WAITING, record=appended)):
        assert samples.note(told, "k").run_id == "w1"
    assert samples.note(START, "k").run_id == samples.note(START.run, "k").run_id == "r1"
