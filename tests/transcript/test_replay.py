from typing import Any

import pytest

from actum.base.errors import DurableDataError, InvalidCursor, InvalidValue
from actum.base.value import replace
from actum.messages.message import Message, assistant, tool_results, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.records import makers
from actum.records.kinds import Cancellation
from actum.records.record import HistoryRef, Record
from actum.transcript.replay import Replay, replay_run_log_events
from tests.support.strategies import record

ULM = (
    user("weather in Ulm?"),
    assistant(tool_use("call_1", "wx.get", {"city": "Ulm"})),
    tool_results(ToolResultPart(tool_use_id="call_1", content={"c": 7})),
    assistant("7 degrees."),
)
PLAIN_START = record("run_started", makers.run_started(), position=1)
NAMED = HistoryRef(run_id="run-0", through="0123456789abcdef-9")
START_WITH_HISTORY = record("run_started", makers.run_started(history=NAMED), position=1)


def appended(position: int, *messages: Message, run_id: str = "run-1") -> Record:
    payload = makers.transcript_messages_appended(messages=messages)
    return record("transcript_messages_appended", payload, position=position, run_id=run_id)


LOG = (
    PLAIN_START,
    record("transcript_messages_seeded", makers.transcript_messages_seeded(messages=ULM[:1]), position=2),
    appended(3, ULM[1]),
    record("tool_call_started", makers.tool_call_started(tool_call_id="call_1", attempt="a"), position=4),
    appended(6, ULM[2]),
    record("planner_note", makers.planner_note(note="never a message"), position=7),
    appended(8, ULM[3]),
    record("run_completed", makers.run_completed(status="completed"), position=9),
)


def test_only_transcript_records_speak() -> None:
    assert replay_run_log_events(LOG) == ULM
    assert replay_run_log_events(iter(LOG)) == ULM
    assert replay_run_log_events([]) == ()


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_size_of_a_page_never_changes_the_answer(size: int) -> None:
    replay = Replay()
    for begin in range(0, len(LOG), size):
        assert replay.read(LOG[begin : begin + size]) is replay
    assert replay.messages == ULM


def test_the_history_stands_in_front() -> None:
    log = (START_WITH_HISTORY, appended(2, user("next")))
    assert replay_run_log_events(log, list(ULM)) == (*ULM, user("next"))
    assert replay_run_log_events(log, ()) == (user("next"),)


def test_a_history_that_is_named_and_not_given_is_refused() -> None:
    with pytest.raises(InvalidValue) as refused:
        replay_run_log_events((START_WITH_HISTORY, appended(2, user("next"))))
    assert refused.value.field == "history"
    assert "run-0" in refused.value.rule


def test_a_run_that_was_stopped_at_its_start_gives_its_history() -> None:
    stopped = makers.run_completed(status="canceled", cancellation=Cancellation(reason="session_ended"))
    end = record("run_completed", stopped, position=2)
    assert replay_run_log_events((START_WITH_HISTORY, end), ULM) == ULM
    assert replay_run_log_events((PLAIN_START, end)) == ()


@pytest.mark.parametrize(
    "records",
    [
        (appended(2, ULM[1]), appended(1, ULM[0])),
        (appended(2, ULM[0]), appended(2, ULM[0])),
        (appended(10, ULM[0]), appended(9, ULM[1])),
        (appended(1, ULM[0]), replace(appended(2, ULM[1]), id="0123456789abcdef-2")),
        (appended(1, ULM[0]), appended(2, ULM[1], run_id="run-2")),
        (PLAIN_START, record("x.note", b"{}", position=2, run_id="run-2")),
    ],
    ids=["falling", "twice", "falling as numbers", "another scope", "another run", "another run's other record"],
)
def test_records_that_do_not_belong_together_are_refused(records: tuple[Record, ...]) -> None:
    with pytest.raises(InvalidValue) as refused:
        replay_run_log_events(records)
    assert refused.value.field == "records"
    replay = Replay().read(records[:1])
    with pytest.raises(InvalidValue):
        replay.read(records[1:])


@pytest.mark.parametrize("name", ["", "7", "0123456789abcdef", "0123456789abcdef-x"])
def test_an_id_that_no_store_gave_is_refused(name: str) -> None:
    with pytest.raises(InvalidCursor):
        replay_run_log_events([replace(appended(1, ULM[0]), id=name)])


@pytest.mark.parametrize("broken", [appended(3), LOG[1], PLAIN_START])
def test_a_record_that_cannot_be_read_is_named(broken: Record) -> None:
    with pytest.raises(DurableDataError) as refused:
        replay_run_log_events([replace(broken, payload=b'{"messages":[{"role":"robot"}]}')])
    assert refused.value.record_id == broken.id
    assert refused.value.event_key == broken.event_key


def test_the_first_record_that_cannot_be_read_is_named() -> None:
    log = [appended(position, ULM[0]) for position in range(1, 200)]
    for position in (70, 150):
        log[position] = replace(log[position], payload=b'{"messages":[{"role":"user","role":"user","parts":[]}]}')
    with pytest.raises(DurableDataError) as refused:
        replay_run_log_events(log)
    assert (refused.value.record_id, refused.value.path) == (log[70].id, "messages[0].role")


def test_another_record_that_cannot_be_read_says_nothing_in_a_transcript() -> None:
    assert replay_run_log_events((record("planner_note", b"?", position=1), appended(2, ULM[0]))) == ULM[:1]


class TestChains:
    OLD = (appended(1, *ULM[:2], run_id="run-0"), appended(2, *ULM[2:], run_id="run-0"))

    def test_run_after_run_is_one_transcript(self) -> None:
        replay = Replay(chain=True).read((*self.OLD, appended(5, user("next"))))
        assert replay.messages == (*ULM, user("next"))

    def test_a_start_that_names_a_history_is_at_home_in_a_chain(self) -> None:
        start = replace(START_WITH_HISTORY, id=appended(5).id)
        assert Replay(chain=True).read((*self.OLD, start)).messages == ULM

    @pytest.mark.parametrize("size", [1, 2, 3, 100])
    def test_many_runs_are_read_in_pages_of_any_size(self, size: int) -> None:
        records = [appended(position, user(str(position)), run_id=f"run-{position // 3}") for position in range(1, 50)]
        replay = Replay(chain=True)
        for begin in range(0, len(records), size):
            replay.read(records[begin : begin + size])
        assert [message.text for message in replay.messages] == [str(position) for position in range(1, 50)]

    def test_a_run_is_whole(self) -> None:
        with pytest.raises(InvalidValue):
            Replay(chain=True).read((*self.OLD, appended(5, user("next")), appended(6, ULM[0], run_id="run-0")))


@pytest.mark.parametrize(
    "payload",
    [
        b'{"messages":[{"role":"user","role":"assistant","parts":[{"type":"text","text":"x"}]}]}',
        b'{"messages":[{"role":"user","parts":[{"type":"text","text":"x","text":"y"}]}]}',
        b'{"messages":[],"messages":[]}',
        b'{"messages":[],"response_id":null}',
        b'{"messages":[],"colour":"red"}',
        b'{"messages":[]} {}',
        b"",
    ],
)
def test_a_damaged_transcript_is_never_replayed_in_silence(payload: bytes) -> None:
    damaged = replace(appended(2, user("hi")), payload=payload)
    with pytest.raises(DurableDataError) as caught:
        replay_run_log_events([damaged])
    assert caught.value.record_id == damaged.id


@pytest.mark.parametrize("wrong", [None, 5, "log", [None], [user("hi")]])
def test_only_records_are_replayed(wrong: Any) -> None:
    with pytest.raises(InvalidValue, match="records"):
        replay_run_log_events(wrong)


def test_only_messages_are_a_history() -> None:
    with pytest.raises(InvalidValue, match="history"):
        replay_run_log_events([START_WITH_HISTORY], history="hi")  # type: ignore[arg-type]  # a careless caller
