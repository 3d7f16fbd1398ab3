import pytest

from actum.base.errors import TranscriptError
from actum.messages.message import Message, assistant, system, tool_results, user
from actum.messages.parts import ToolResultPart, tool_use
from actum.transcript.delta import check_prefix, extends

CALL = assistant(tool_use("t1", "a.x", {}))
RESULT = tool_results(ToolResultPart(tool_use_id="t1", content="ok"))


@pytest.mark.parametrize(
    "transcript, delta",
    [
        ((), (user("q"),)),
        ((), (system("s"), user("q"))),
        ((system("s"),), (system("s"), user("q"))),
        ((user("q"),), (CALL,)),
        ((user("q"), CALL), (RESULT,)),
        ((user("q"), CALL), (RESULT, assistant("done"))),
        ((user("q"), CALL), (assistant("and"),)),
        ((user("q"), CALL), (assistant(tool_use("t2", "a.x", {})),)),
        ((user("q"), CALL, RESULT), (user("next"),)),
        ((user("q"), CALL), ()),
    ],
)
def test_a_delta_that_keeps_the_law_is_taken(transcript: tuple[Message, ...], delta: tuple[Message, ...]) -> None:
    extends(transcript, delta)
    check_prefix((*transcript, *delta))


@pytest.mark.parametrize(
    "transcript, delta, where",
    [
        ((user("q"), CALL), (user("are you there?"),), {(1, 0, "t1")}),
        ((user("q"), CALL), (user("hm"), RESULT), {(1, 0, "t1"), (3, 0, "t1")}),
        ((user("q"), CALL), (CALL,), {(2, 0, "t1")}),
        ((user("q"), CALL, RESULT), (RESULT,), {(3, 0, "t1")}),
        ((user("q"), assistant("a")), (system("late"),), {(2, None, None)}),
        ((user("q"),), (system("late"),), {(1, None, None)}),
        ((assistant("a"),), (system("late"),), {(1, None, None)}),
        ((), (RESULT,), {(0, 0, "t1")}),
        ((system("s"),), (RESULT,), {(1, 0, "t1")}),
        ((user("q"),), (assistant(),), {(1, None, None)}),
    ],
)
def test_a_delta_that_would_poison_the_transcript_is_refused(
    transcript: tuple[Message, ...], delta: tuple[Message, ...], where: set[tuple[int, int | None, str | None]]
) -> None:
    with pytest.raises(TranscriptError) as refused:
        extends(transcript, delta)
    assert {(f.message_index, f.part_index, f.tool_use_id) for f in refused.value.findings} == where
    with pytest.raises(TranscriptError) as whole:
        check_prefix((*transcript, *delta))
    assert whole.value.findings == refused.value.findings
