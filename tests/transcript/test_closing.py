import pytest

from actum.base.errors import InvalidValue, TranscriptError
from actum.messages.message import Message, assistant, tool_results, user
from actum.messages.parts import Part, ToolResultPart, ToolUsePart, tool_use
from actum.records.failures import ToolFailure, ToolFailureKind
from actum.transcript.closing import close_open_calls, failed_result
from actum.transcript.validate import validate_planner_transcript


def call(name: str) -> Part:
    return tool_use(name, "fs.edit", {})


def canceled(use: ToolUsePart) -> ToolFailure:
    return ToolFailure(kind=ToolFailureKind.CANCELED, message=f"{use.name} was canceled.")


OPEN = (user("edit three files"), assistant("Editing.", call("c1")), assistant(call("c2"), call("c3")))
CLOSED = ToolResultPart(
    tool_use_id="c3", content={"error": "canceled", "message": "fs.edit was canceled."}, is_error=True
)


def test_every_open_call_gets_a_typed_failure_in_one_message() -> None:
    message = close_open_calls(OPEN, canceled)
    assert message is not None
    assert [result.tool_use_id for result in message.tool_results] == ["c1", "c2", "c3"]
    assert message.tool_results[2] == CLOSED
    validate_planner_transcript((*OPEN, message))


def test_results_that_are_there_are_kept() -> None:
    done = [ToolResultPart(tool_use_id=name, content="edited") for name in ("c2", "c1")]
    message = close_open_calls(OPEN, canceled, results=done)
    assert message == tool_results(done[1], done[0], CLOSED)
    validate_planner_transcript((*OPEN, message))


@pytest.mark.parametrize("messages", [(), OPEN[:1], (user("hi"), assistant("hello"))])
def test_nothing_is_closed_where_nothing_is_open(messages: tuple[Message, ...]) -> None:
    assert close_open_calls(messages, canceled) is None


@pytest.mark.parametrize(
    "behind", [user("are you there?"), tool_results(ToolResultPart(tool_use_id="c1")), tool_results()]
)
def test_a_group_with_a_message_behind_it_cannot_be_closed(behind: Message) -> None:
    with pytest.raises(TranscriptError) as refused:
        close_open_calls((*OPEN, behind), canceled)
    assert "c3" in {finding.tool_use_id for finding in refused.value.findings}


def test_a_transcript_that_breaks_the_law_elsewhere_is_refused() -> None:
    with pytest.raises(TranscriptError):
        close_open_calls((tool_results(ToolResultPart(tool_use_id="x")), *OPEN), canceled)
    with pytest.raises(TranscriptError):
        close_open_calls((user("q"), assistant(call("c1"), call("c1"))), canceled)


@pytest.mark.parametrize("names", [["c4"], ["c1", "c1"]])
def test_a_result_of_a_call_that_is_not_open_is_refused(names: list[str]) -> None:
    with pytest.raises(InvalidValue):
        close_open_calls(OPEN, canceled, results=[ToolResultPart(tool_use_id=name) for name in names])
    with pytest.raises(InvalidValue):
        close_open_calls(OPEN[:1], canceled, results=[ToolResultPart(tool_use_id="c1")])


def test_a_failed_result_is_what_the_model_reads() -> None:
    use = ToolUsePart(id="c3", name="fs.edit", input_text="{")
    assert failed_result(use, canceled(use)) == CLOSED
