"""What holds for every transcript: a lawful one passes, one fault is found where it is, and every prefix can go on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from actum.base.errors import Finding, TranscriptError
from actum.messages.message import Message, Role, assistant, system, tool_results, user
from actum.messages.parts import ThinkingPart, ToolResultPart, tool_use
from actum.transcript.delta import check_prefix, extends
from actum.transcript.replay import Replay, replay_run_log_events
from actum.transcript.turns import begins_turn, keep_newest_turns, leading, turns
from actum.transcript.validate import open_calls, validate_bedrock, validate_planner_transcript
from tests.support.strategies import messages, record, records_of, transcripts

Transcript = tuple[Message, ...]


def findings_of(transcript: Transcript) -> tuple[Finding, ...]:
    with pytest.raises(TranscriptError) as refused:
        validate_planner_transcript(transcript)
    return refused.value.findings


@given(transcripts())
def test_a_lawful_transcript_passes(transcript: Transcript) -> None:
    validate_planner_transcript(transcript)
    validate_bedrock(transcript, thinking_enabled=False)
    assert open_calls(transcript) == ()


# One fault at a time


@dataclass(frozen=True)
class Place:
    """A result of a lawful transcript, and the tool use that it answers."""

    message: int
    part: int
    result: ToolResultPart
    call: tuple[int, int]


def places(transcript: Transcript) -> list[Place]:
    found = []
    calls: dict[str, tuple[int, int]] = {}
    for index, message in enumerate(transcript):
        for at, part in enumerate(message.parts):
            if isinstance(part, ToolResultPart):
                found.append(Place(index, at, part, calls[part.tool_use_id]))
        if message.role is Role.USER:
            calls = {}
        calls |= {part.id: (index, at) for at, part in enumerate(message.parts) if part in message.tool_uses}
    return found


def changed(transcript: Transcript, index: int, parts: Sequence[object]) -> Transcript:
    message = Message(role=transcript[index].role, parts=tuple(parts))  # type: ignore[arg-type]  # parts, by construction
    return (*transcript[:index], message, *transcript[index + 1 :])


@st.composite
def answered(draw: st.DrawFn, *, at_least: int = 1) -> tuple[Transcript, Place]:
    """A lawful transcript and one result in it, among `at_least` results of its group."""
    transcript = draw(transcripts(min_calls=at_least))
    groups = [place for place in places(transcript) if len(transcript[place.message].tool_results) >= at_least]
    return transcript, draw(st.sampled_from(groups))


def where(findings: tuple[Finding, ...]) -> set[tuple[int, int | None, str | None]]:
    return {(finding.message_index, finding.part_index, finding.tool_use_id) for finding in findings}


@given(answered())
def test_a_missing_result_is_told_at_its_call(case: tuple[Transcript, Place]) -> None:
    transcript, place = case
    parts = [part for at, part in enumerate(transcript[place.message].parts) if at != place.part]
    found = findings_of(changed(transcript, place.message, parts))
    assert where(found) == {(*place.call, place.result.tool_use_id)}


@given(answered())
def test_a_second_result_is_told_where_it_stands(case: tuple[Transcript, Place]) -> None:
    transcript, place = case
    parts = [*transcript[place.message].parts, place.result]
    found = findings_of(changed(transcript, place.message, parts))
    assert where(found) == {(place.message, len(parts) - 1, place.result.tool_use_id)}


@given(answered())
def test_a_result_at_the_end_is_told_at_its_call_and_where_it_stands(case: tuple[Transcript, Place]) -> None:
    transcript, place = case
    parts = [part for at, part in enumerate(transcript[place.message].parts) if at != place.part]
    moved = (*changed(transcript, place.message, parts), tool_results(place.result))
    name = place.result.tool_use_id
    assert where(findings_of(moved)) == {(*place.call, name), (len(moved) - 1, 0, name)}


@given(answered(at_least=2))
def test_results_in_two_messages_are_told_at_the_call_and_at_the_second(case: tuple[Transcript, Place]) -> None:
    transcript, place = case
    results = list(transcript[place.message].tool_results)
    last = results[-1]
    uses = [use for use in places(transcript) if use.message == place.message and use.result is last]
    split = (
        *transcript[: place.message],
        tool_results(*results[:-1]),
        tool_results(last),
        *transcript[place.message + 1 :],
    )
    assert where(findings_of(split)) == {
        (*uses[0].call, last.tool_use_id),
        (place.message + 1, 0, last.tool_use_id),
    }


@given(answered(), st.sampled_from((user("hm"), tool_results())))
def test_a_message_between_a_group_and_its_results_is_told(case: tuple[Transcript, Place], between: Message) -> None:
    transcript, place = case
    parted = (*transcript[: place.message], between, *transcript[place.message :])
    named = {use.result.tool_use_id for use in places(transcript) if use.message == place.message}
    assert {finding.tool_use_id for finding in findings_of(parted)} == named


@given(answered(), st.sampled_from(("", "t1", "other")))
def test_a_call_that_takes_another_id_is_told(case: tuple[Transcript, Place], name: str) -> None:
    transcript, place = case
    assume(name != place.result.tool_use_id)
    index, at = place.call
    parts: list[object] = list(transcript[index].parts)
    parts[at] = tool_use(name, "a.x", {})
    found = where(findings_of(changed(transcript, index, parts)))
    assert (place.message, place.part, place.result.tool_use_id) in found
    assert all(told[2] in {name, place.result.tool_use_id} for told in found)


@given(answered())
def test_a_tool_use_or_result_or_thought_of_the_wrong_speaker_is_told(case: tuple[Transcript, Place]) -> None:
    transcript, place = case
    speaker = transcript[place.message]
    added = changed(transcript, place.message, [*speaker.parts, tool_use("u", "a.x", {}), ThinkingPart(text="hm")])
    assert [(f.message_index, f.part_index) for f in findings_of(added)] == [
        (place.message, len(speaker.parts)),
        (place.message, len(speaker.parts) + 1),
    ]
    index = place.call[0]
    answers = changed(transcript, index, [*transcript[index].parts, place.result])
    assert where(findings_of(answers)) == {(index, len(transcript[index].parts), place.result.tool_use_id)}


@given(transcripts(), st.data())
def test_a_system_message_behind_the_lead_is_one_finding(transcript: Transcript, data: st.DataObject) -> None:
    lead = len(leading(transcript))
    assume(len(transcript) > lead)
    at = data.draw(st.integers(lead + 1, len(transcript)))
    found = findings_of((*transcript[:at], system("Be brief."), *transcript[at:]))
    assert where(found) == {(at, None, None)}


@given(transcripts(), st.data())
def test_an_assistant_message_without_parts_is_told(transcript: Transcript, data: st.DataObject) -> None:
    index = data.draw(st.sampled_from(range(len(transcript)))) if transcript else 0
    assume(transcript and transcript[index].role is not Role.SYSTEM)
    assume(not transcript[index].tool_results)
    # Behind the message that answers a group: there an assistant message begins or joins a group without harm.
    found = findings_of((*transcript[: index + 1], assistant(), *transcript[index + 1 :]))
    assert (index + 1, None, None) in where(found)


# Prefixes, deltas, closing


@given(transcripts(min_calls=1), st.data())
def test_every_prefix_is_lawful_or_ends_in_one_open_group(transcript: Transcript, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(transcript)))
    prefix, rest = transcript[:cut], transcript[cut:]
    check_prefix(prefix)
    extends(prefix, rest)
    open_ones = open_calls(prefix)
    answer = tool_results(*(ToolResultPart(tool_use_id=call.id, is_error=True) for call in open_ones))
    validate_planner_transcript((*prefix, answer) if open_ones else prefix)


@given(transcripts(), st.data(), st.lists(messages(), max_size=2) | transcripts())
def test_a_delta_is_judged_as_the_whole_would_be(
    transcript: Transcript, data: st.DataObject, delta: list[Message] | Transcript
) -> None:
    prefix = transcript[: data.draw(st.integers(0, len(transcript)))]
    assert told(lambda: check_prefix((*prefix, *delta))) == told(lambda: extends(prefix, delta))


def told(judge: Callable[[], None]) -> tuple[Finding, ...]:
    try:
        judge()
    except TranscriptError as error:
        return error.findings
    return ()


# Turns


@given(transcripts())
def test_the_turns_put_together_are_the_transcript(transcript: Transcript) -> None:
    cut = turns(transcript)
    assert (*leading(transcript), *(message for turn in cut for message in turn)) == transcript
    for turn in cut:
        validate_planner_transcript(turn)
        assert not any(begins_turn(message) for message in turn[1:])


@given(transcripts(), st.integers(1, 5))
def test_the_newest_turns_are_lawful_and_begin_with_an_input(transcript: Transcript, count: int) -> None:
    try:
        kept = keep_newest_turns(transcript, count)
    except TranscriptError as error:
        assert not any(begins_turn(message) for message in transcript)
        assert "cannot be trimmed" in str(error)  # noqa: PT017 - whether it is raised depends on the example
        return
    validate_planner_transcript(kept)
    said = kept[len(leading(transcript)) :]
    assert kept == (*leading(transcript), *said)
    assert said == transcript[len(transcript) - len(said) :]
    assert not said or begins_turn(said[0])
    assert sum(map(begins_turn, said)) == min(count, sum(map(begins_turn, transcript)))


# Replay


@given(transcripts(), transcripts(), st.lists(st.integers(0, 9), max_size=4), st.booleans())
def test_replay_gives_back_what_was_stored_for_every_page_size(
    history: Transcript,
    own: Transcript,
    cuts: list[int],
    seeded: bool,  # noqa: FBT001 - hypothesis gives it by position
) -> None:
    records = records_of(own, cuts, seeded=seeded, begin=3)
    noise = record("x.note", b"{}", position=1)
    expected = (*history, *own)
    assert replay_run_log_events((noise, *records), history) == expected
    for size in (1, 2, 3, 100):
        replay = Replay(history)
        for begin in range(0, len(records), size):
            replay.read(records[begin : begin + size])
        assert replay.messages == expected


@given(transcripts(), transcripts(), st.sampled_from((1, 2, 3, 100)))
def test_a_chain_is_read_run_after_run(history: Transcript, own: Transcript, size: int) -> None:
    first = records_of(history, (1, 2), run_id="old")
    records = (*first, *records_of(own, (1,), begin=1 + len(first)))
    replay = Replay(chain=True)
    for begin in range(0, len(records), size):
        replay.read(records[begin : begin + size])
    assert replay.messages == (*history, *own)
