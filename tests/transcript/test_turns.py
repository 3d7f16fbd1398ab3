from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.base.errors import InvalidValue, TranscriptError
from actum.messages.message import Message, assistant, system, tool_results, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.transcript.turns import begins_turn, is_newest_part, keep_newest_turns, leading, newest_turns, turns
from actum.transcript.validate import scan
from tests.support.strategies import transcripts

RULES = (system("Rule A."), system("Rule B."))
ULM = (
    user("weather in Ulm?"),
    assistant(tool_use("call_1", "wx.get", {"city": "Ulm"})),
    user(ToolResultPart(tool_use_id="call_1", content={"c": 7}), "and hurry"),
    assistant("7 degrees."),
)
GRAZ = (user("and in Graz?"), assistant("I cannot tell."))


def test_a_transcript_is_cut_at_its_inputs() -> None:
    assert turns((*RULES, *ULM, *GRAZ)) == (ULM, GRAZ)
    assert turns(()) == turns(RULES) == ()
    assert turns((user("a"), user("b"))) == ((user("a"),), (user("b"),))


def test_what_comes_before_the_first_input_is_a_turn_of_its_own() -> None:
    assert turns((assistant("welcome"), *GRAZ)) == ((assistant("welcome"),), GRAZ)


def test_the_system_messages_at_the_beginning_lead() -> None:
    assert leading((*RULES, *ULM)) == RULES
    assert leading(ULM) == leading(()) == ()
    assert leading(RULES) == RULES


def test_an_answer_to_tool_uses_begins_no_turn() -> None:
    assert [begins_turn(message) for message in ULM] == [True, False, False, False]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_one_turn_is_kept_whole_or_not_at_all(count: int) -> None:
    assert keep_newest_turns(ULM, count) == ULM


def test_the_newest_turns_are_kept_behind_the_system_messages() -> None:
    assert keep_newest_turns((*RULES, *ULM, *GRAZ), 1) == (*RULES, *GRAZ)
    assert keep_newest_turns((*RULES, *ULM, *GRAZ), 2) == (*RULES, *ULM, *GRAZ)
    assert keep_newest_turns([*RULES, assistant("welcome"), *GRAZ], 5) == (*RULES, *GRAZ)
    assert keep_newest_turns(RULES, 1) == RULES
    assert keep_newest_turns((), 1) == ()


@pytest.mark.parametrize("messages", [ULM[1:], (*RULES, assistant("welcome"))])
def test_a_transcript_without_an_input_cannot_be_trimmed(messages: tuple[Message, ...]) -> None:
    for count in (2, 3):
        with pytest.raises(TranscriptError, match="cannot be trimmed"):
            keep_newest_turns(messages, count)


@pytest.mark.parametrize("messages", [ULM[2:], (user("Summary: weather was asked."), *ULM[2:]), ULM[:2]])
def test_a_transcript_that_breaks_the_law_is_not_trimmed(messages: tuple[Message, ...]) -> None:
    with pytest.raises(TranscriptError, match="call_1"):
        keep_newest_turns(messages, 2)


@pytest.mark.parametrize("count", [0, -1, True, 1.0, None])
def test_at_least_one_turn_is_kept(count: int) -> None:
    with pytest.raises(InvalidValue):
        keep_newest_turns(ULM, count)


def test_results_alone_make_no_turn_and_no_message_is_changed() -> None:
    messages = [*ULM]
    keep_newest_turns(messages, 1)
    assert messages == [*ULM]
    assert not begins_turn(tool_results(ToolResultPart(tool_use_id="t")))


@pytest.mark.parametrize("wrong", [None, 5, "hi", ["hi"], [user("hi"), None]])
def test_only_messages_are_cut(wrong: Any) -> None:
    with pytest.raises(InvalidValue, match="messages"):
        turns(wrong)
    with pytest.raises(InvalidValue, match="messages"):
        keep_newest_turns(wrong, 1)


@given(transcripts(), st.integers(1, 6))
def test_of_a_lawful_transcript_the_same_turns_are_the_newest(messages: tuple[Message, ...], count: int) -> None:
    if not any(begins_turn(message) for message in messages):
        return
    kept = newest_turns(messages, count)
    assert kept == keep_newest_turns(messages, count)
    assert is_newest_part(kept, messages)


@given(transcripts(), st.data())
def test_a_newest_part_of_a_lawful_transcript_is_lawful(messages: tuple[Message, ...], data: st.DataObject) -> None:
    indexes = range(len(messages))
    kept = data.draw(st.lists(st.sampled_from(indexes), unique=True) if indexes else st.just([]))
    view = tuple(messages[i] for i in sorted(kept))
    lead, begin = len(leading(messages)), len(messages) - max(len(view) - len(leading(messages)), 0)
    for chosen in (view, (*messages[:lead], *messages[begin:]), messages[data.draw(st.integers(0, len(messages))) :]):
        if is_newest_part(chosen, messages):
            assert scan(chosen) == []


def test_a_part_that_leaves_out_what_leads_or_splits_a_turn_is_no_newest_part() -> None:
    messages = (system("s"), user("a"), assistant("b"), user("c"), assistant("d"))
    assert is_newest_part((system("s"), user("c"), assistant("d")), messages)
    assert is_newest_part(messages, messages)
    assert is_newest_part((system("s"),), messages)
    assert not is_newest_part((user("c"), assistant("d")), messages)
    assert not is_newest_part((system("s"), assistant("d")), messages)
    assert not is_newest_part((system("s"), user("a"), assistant("b")), messages)
    assert not is_newest_part((), messages)
