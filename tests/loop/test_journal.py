"""The journal: what a run has done, folded from its own records; and the ids of its calls."""

import pytest

from actum.base.errors import DurableDataError, RunCorrupt
from actum.base.limits import IDENTIFIER_BYTES
from actum.loop import keys
from actum.loop.journal import Journal, call_ids, recovery_of
from actum.messages.message import Message, assistant
from actum.messages.parts import tool_use
from actum.records import makers
from actum.records.failures import Recovery, ToolFailure, ToolFailureKind
from actum.records.record import Record
from actum.records.types import RecordType
from actum.storage.memory import MemoryBackend
from actum.testing.samples import T0
from tests.support.runlogs import log_of
from tests.support.scenario import RUN, Cast, begun, playing, uses


def _record(position: int, key: str, kind: str, payload: bytes) -> Record:
    return Record(id=f"{position}", event_key=key, run_id="r1", agent_id="a", type=kind, payload=payload, timestamp=T0)


def _asked(*parts: str) -> Message:
    return assistant(*[tool_use(part, "t", {}) for part in parts])


def _planned(*ids: str, step: int = 0, message: Message | None = None) -> list[Record]:
    said = makers.transcript_messages_appended(messages=(message or _asked(*ids),))
    decided = makers.plan_decided(step=step, kind="tool_calls", call_ids=ids)
    return [
        _record(1, keys.message(step), RecordType.TRANSCRIPT_MESSAGES_APPENDED, said),
        _record(2, keys.plan(step), RecordType.PLAN_DECIDED, decided),
    ]


async def test_a_journal_reads_the_same_by_any_pages() -> None:
    store = await begun(MemoryBackend())
    cast = Cast(uses("a", "b"), uses("c"), "done").returns("a").returns("b", ValueError("no")).returns("c")
    async with playing(store, cast) as worker:
        await worker.play(turn_id="turn-1")
    records = (await log_of(store, RUN)).records
    whole = Journal(RUN).read(records, "end")
    for size in (1, 2, 3, 7):
        paged = Journal(RUN)
        for first in range(0, len(records), size):
            paged.read(records[first : first + size], "end")
        assert paged == whole
    assert [plan.decided.kind for plan in whole.plans] == ["tool_calls", "tool_calls", "final_response"]
    assert whole.open_group is None
    assert whole.turn_id == "turn-1"
    assert sorted(whole.calls) == ["a", "b", "c"]
    assert all(len(call.attempts) == 1 and call.result is not None for call in whole.calls.values())


def test_a_plan_is_open_until_its_results_are_stored() -> None:
    journal = Journal("r1").read(_planned("a"), "2")
    assert journal.last_plan is not None
    assert journal.open_group is journal.last_plan.group
    answered = makers.transcript_messages_appended(messages=(_asked("x"),))
    journal.read([_record(3, keys.results(0), RecordType.TRANSCRIPT_MESSAGES_APPENDED, answered)], "3")
    assert journal.open_group is None


@pytest.mark.parametrize(
    "records",
    [
        _planned("a", step=1),
        _planned("a", "b", message=_asked("a")),
        [_record(1, "k", RecordType.TOOL_CALL_STARTED, makers.tool_call_started(tool_call_id="x", attempt="1"))],
    ],
    ids=["a plan out of order", "a plan with other calls than its message", "an unknown call"],
)
def test_records_that_cannot_be_are_told(records: list[Record]) -> None:
    with pytest.raises(RunCorrupt):
        Journal("r1").read(records, "1")


def test_a_payload_that_does_not_fit_is_named() -> None:
    with pytest.raises(DurableDataError) as caught:
        Journal("r1").read([_record(1, "plan:0", RecordType.PLAN_DECIDED, b'{"step":0}')], "1")
    assert caught.value.event_key == "plan:0"


def test_ids_of_calls_are_the_models_own_while_they_can_be() -> None:
    journal = Journal("r1").read(_planned("a", "b"), "2")
    assert call_ids(journal, _asked("c", "a", "a#2")) == ("c", "a#2", "a#2#2")


@pytest.mark.parametrize("given", ["", " ", "\0", "x" * 449, "ж" * 300, "\ud800"])
def test_an_id_that_names_no_record_gets_a_name_of_its_own(given: str) -> None:
    journal = Journal("r1").read(_planned("call"), "2")
    assert call_ids(journal, assistant(tool_use(given, "t", {}))) == ("call#2",)


def test_every_key_of_a_call_is_an_identifier() -> None:
    longest = "x" * (IDENTIFIER_BYTES - 64)
    (name,) = call_ids(Journal("r1").read(_planned(longest), "2"), _asked(longest))
    assert name != longest
    for key in (keys.scheduled(name), keys.started(name, 10_000), keys.result(name)):
        assert len(key.encode()) <= IDENTIFIER_BYTES


@pytest.mark.parametrize(
    "asked, strongest",
    [
        ([None, None], None),
        ([Recovery.REPLAN, None], Recovery.REPLAN),
        ([Recovery.REPLAN, Recovery.CORRECT_CALL], Recovery.CORRECT_CALL),
        ([Recovery.CORRECT_CALL, Recovery.FINISH], Recovery.FINISH),
    ],
)
def test_finish_beats_correct_call_beats_replan(asked: list[Recovery | None], strongest: Recovery | None) -> None:
    journal = Journal("r1").read(_planned("a", "b"), "2")
    for position, (call_id, recovery) in enumerate(zip("ab", asked, strict=True), 3):
        failure = ToolFailure(kind=ToolFailureKind.INTERNAL, message="no", recovery=recovery) if recovery else None
        payload = makers.tool_result_received(tool_call_id=call_id, call_run_id="r1", failure=failure)
        journal.read([_record(position, keys.result(call_id), RecordType.TOOL_RESULT_RECEIVED, payload)], "9")
    assert recovery_of(journal, ["a", "b"]) is strongest
