import copy
from typing import Any

import pytest

from actum.base.errors import Finding, InvalidValue, TranscriptError
from actum.messages.message import Message, assistant, system, tool_results, user
from actum.messages.parts import ImagePart, Part, TextPart, ThinkingPart, ToolResultPart, tool_use
from actum.transcript.validate import open_calls, validate_bedrock, validate_planner_transcript


def call(name: str) -> Part:
    return tool_use(name, "a.x", {"n": 1})


def result(name: str) -> ToolResultPart:
    return ToolResultPart(tool_use_id=name, content=f"r-{name}")


def findings(*messages: Message) -> tuple[Finding, ...]:
    with pytest.raises(TranscriptError) as refused:
        validate_planner_transcript(messages)
    return refused.value.findings


def told(*messages: Message) -> list[tuple[int, int | None, str | None]]:
    return [(found.message_index, found.part_index, found.tool_use_id) for found in findings(*messages)]


ASKED = (user("two things"), assistant(call("t1"), call("t2")))


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (system("Rule A."), system("Rule B.")),
        (user("hi"),),
        (user(),),
        (user("one"), user("two", ImagePart(uri="u"))),
        (assistant("welcome"), user("hi")),
        (system("s"), assistant("welcome"), assistant("again")),
        (*ASKED, user(result("t1"), result("t2"))),
        (*ASKED, user(result("t2"), result("t1"))),
        (*ASKED, user("and Rome?", result("t1"), "note", result("t2"), "end")),
        (user("q"), assistant(call("t1")), assistant("hm"), assistant(call("t2")), user(result("t1"), result("t2"))),
        (*ASKED, user(result("t1"), result("t2")), assistant(call("t1")), user(result("t1")), assistant("done")),
        (user("q"), assistant("")),
        (user("q"), assistant(ThinkingPart(text="", signature="c2ln"))),
    ],
)
def test_a_lawful_transcript_passes(messages: tuple[Message, ...]) -> None:
    validate_planner_transcript(messages)
    validate_planner_transcript(list(messages))


def test_one_open_call_of_three_is_named_and_only_that_one() -> None:
    messages = [
        user("Add a licence header to a.txt, b.txt, c.txt"),
        assistant("Editing the three files.", call("c1"), call("c2"), call("c3")),
        user(result("c1"), result("c2")),
    ]
    before = copy.deepcopy(messages)
    assert told(*messages) == [(1, 3, "c3")]
    assert messages == before
    with pytest.raises(TranscriptError, match=r"message 1, part 3, tool use 'c3'"):
        validate_planner_transcript(messages)


class TestCutTranscripts:
    WHOLE = (
        user("weather in Ulm?"),
        assistant(call("call_1")),
        tool_results(result("call_1")),
        assistant("7 degrees."),
    )

    def test_the_whole_passes(self) -> None:
        validate_planner_transcript(self.WHOLE)

    def test_a_result_without_its_call_is_an_orphan(self) -> None:
        assert told(*self.WHOLE[2:]) == [(0, 0, "call_1")]
        assert told(user("Summary: weather was asked."), *self.WHOLE[2:]) == [(1, 0, "call_1")]


def test_results_in_two_messages_are_two_findings() -> None:
    assert told(*ASKED, user(result("t1")), user(result("t2"))) == [(1, 1, "t2"), (3, 0, "t2")]


@pytest.mark.parametrize(
    "after",
    [(user("are you there?"),), (user("hm"), assistant("Sorry."), user("again")), ()],
    ids=["tail", "middle", "end"],
)
def test_a_call_that_nobody_answered_is_named_where_it_stands(after: tuple[Message, ...]) -> None:
    assert told(user("report"), assistant(call("t1")), *after) == [(1, 0, "t1")]


def test_all_findings_are_told_in_order() -> None:
    messages = (
        user(call("u1"), ThinkingPart(text="hm")),
        assistant(result("a1"), call(""), call("t1"), call("t1")),
        system("late", result("s1"), call("s2")),
        user(result("t1"), result("t1"), result("other"), result("")),
        assistant(),
    )
    assert told(*messages) == [
        (0, 0, "u1"),
        (0, 1, None),
        (1, 0, "a1"),
        (1, 1, ""),
        (1, 3, "t1"),
        (2, None, None),
        (2, 1, "s1"),
        (2, 2, "s2"),
        (3, 1, "t1"),
        (3, 2, "other"),
        (4, None, None),
    ]


def test_a_group_goes_over_messages_and_its_ids_are_unique_in_it() -> None:
    assert told(user("q"), assistant(call("t1")), assistant(call("t1")), user(result("t1"))) == [(2, 0, "t1")]
    assert told(user("q"), assistant(call("t1")), assistant("done")) == [(1, 0, "t1")]


def test_a_result_of_an_older_group_is_an_orphan() -> None:
    answered = (*ASKED, user(result("t1"), result("t2")), assistant("done"))
    assert told(*answered, user(result("t1"))) == [(4, 0, "t1")]


def test_a_system_message_in_the_middle_is_one_finding() -> None:
    assert told(user("hi"), assistant("yes"), system("Be brief."), user("go")) == [(2, None, None)]
    assert told(*ASKED, system("Be brief."), user(result("t1"), result("t2"))) == [(2, None, None)]


class TestBedrock:
    REDACTED = (user("go"), assistant(ThinkingPart(redacted=b"x"), call("t1")), tool_results(result("t1")))

    def test_redacted_thinking_is_thinking(self) -> None:
        validate_bedrock(self.REDACTED, thinking_enabled=True)

    def test_every_assistant_message_with_a_tool_use_begins_with_thinking(self) -> None:
        messages = (
            user("go"),
            assistant(ThinkingPart(text="a"), call("t1")),
            assistant(call("t2"), ThinkingPart(text="b")),
            assistant("no call"),
            assistant(TextPart(text=""), ThinkingPart(text="c"), call("t3"), call("t4")),
            user(result("t1"), result("t2"), result("t3"), result("t4")),
            assistant("done"),
        )
        with pytest.raises(TranscriptError) as refused:
            validate_bedrock(messages, thinking_enabled=True)
        assert [(f.message_index, f.part_index, f.tool_use_id) for f in refused.value.findings] == [
            (2, 0, "t2"),
            (4, 0, "t3"),
        ]
        validate_bedrock(messages, thinking_enabled=False)

    @pytest.mark.parametrize("thinking", [True, False])
    def test_the_planners_law_holds_too(self, *, thinking: bool) -> None:
        with pytest.raises(TranscriptError) as refused:
            validate_bedrock((user("go"), assistant(call("t1")), user("hm")), thinking)
        assert {finding.message_index for finding in refused.value.findings} == {1}
        assert len(refused.value.findings) == 1 + thinking


class TestOpenCalls:
    def test_the_calls_of_the_group_at_the_end_are_open(self) -> None:
        messages = (user("q"), assistant("a", call("t1")), assistant(call("t2"), call("t3")))
        assert [use.id for use in open_calls(messages)] == ["t1", "t2", "t3"]

    @pytest.mark.parametrize(
        "messages",
        [
            (),
            (user("q"),),
            (user("q"), assistant("a")),
            (*ASKED, user(result("t1"), result("t2"))),
            (*ASKED, user(result("t1"))),
            (*ASKED, user("hm")),
        ],
    )
    def test_a_group_with_anything_behind_it_is_not_open(self, messages: tuple[Message, ...]) -> None:
        assert open_calls(messages) == ()


@pytest.mark.parametrize("wrong", [None, 5, "hi", [None], ["hi"], [user("hi"), {"role": "user"}], user("hi")])
def test_what_are_no_messages_is_an_error_and_no_finding(wrong: Any) -> None:
    for judge in (validate_planner_transcript, open_calls):
        with pytest.raises(InvalidValue, match="messages"):
            judge(wrong)
    with pytest.raises(InvalidValue, match="messages"):
        validate_bedrock(wrong, thinking_enabled=True)
