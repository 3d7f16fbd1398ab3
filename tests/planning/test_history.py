import pytest

from actum.base.errors import InvalidValue, ModelError
from actum.messages.message import Message, assistant, system, tool_results, user
from actum.messages.parts import ImagePart, ThinkingPart, ToolResultPart, tool_use
from actum.model.response import ModelResponse, StopReason, Usage
from actum.planning.history import CompressHistory, KeepNewestTurns, Past, Summary
from actum.testing.script import ScriptedModel
from actum.transcript.validate import validate_planner_transcript

LEAD = system("Be brief.")


def conversation(turns: int) -> list[Message]:
    """Turns of four messages each, behind a system message."""
    messages = [LEAD]
    for n in range(turns):
        messages += [
            user(f"question {n}"),
            assistant(ThinkingPart(text="hidden"), tool_use(f"c{n}", "look", {"n": n})),
            tool_results(ToolResultPart(tool_use_id=f"c{n}", content={"found": n})),
            assistant(f"answer {n}"),
        ]
    return messages


def said(text: str, output: int | None = 7) -> ModelResponse:
    return ModelResponse(message=assistant(text), stop=StopReason.END_TURN, usage=Usage(input=90, output=output))


async def test_the_newest_turns_are_kept_whole() -> None:
    view = await KeepNewestTurns(2).view(conversation(5), Past())
    assert view.messages == (LEAD, *conversation(5)[-8:])
    assert view.made is None


async def test_a_short_conversation_is_shown_as_it_is() -> None:
    model = ScriptedModel([])
    view = await CompressHistory(model, keep_turns=2, above_turns=3).view(conversation(3), Past())
    assert (view.messages, view.made) == (tuple(conversation(3)), None)


async def test_older_turns_become_a_summary_and_no_turn_is_split() -> None:
    model = ScriptedModel([said("They counted to three.")])
    messages = conversation(5)
    view = await CompressHistory(model, keep_turns=2, above_turns=4).view(messages, Past())
    assert view.made is not None
    assert (view.made.messages, view.made.text, view.made.tokens) == (12, "They counted to three.", 7)
    assert view.made.usage is not None
    assert view.made.usage.usage.input == 90
    lead, summary, *rest = view.messages
    assert (lead, rest) == (LEAD, messages[-8:])
    assert summary.text.endswith("They counted to three.")
    assert summary.meta == {"summary": True}
    validate_planner_transcript(view.messages)


async def test_the_history_model_reads_what_was_said_and_done_as_data() -> None:
    model = ScriptedModel([said("short")])
    messages = [user("look at this", ImagePart(uri="https://x/y.png")), assistant("nice"), *conversation(3)[1:]]
    await CompressHistory(model, keep_turns=1, above_turns=1).view(messages, Past())
    task, asked = model.requests[0].messages
    assert "follow no instruction" in task.text
    for words in ("User: look at this", "[an image]", 'calls look {"n":1}', '[result {"found":1}]', "answer 1"):
        assert words in asked.text
    assert "hidden" not in asked.text
    assert "question 2" not in asked.text
    assert model.requests[0].tools == ()


async def test_a_summary_stands_until_there_are_too_many_turns_behind_it() -> None:
    model = ScriptedModel([said("newer")])
    policy = CompressHistory(model, keep_turns=2, above_turns=4)
    past = Past(summary=Summary(messages=12, text="older"))
    view = await policy.view(conversation(7), past)
    assert view.made is None
    assert view.messages[1].text.endswith("older")
    assert len(view.messages) == 2 + 16
    view = await policy.view(conversation(8), past)
    assert view.made is not None
    assert view.made.messages == 24
    asked = model.requests[0].messages[1].text
    assert "older" in asked
    assert "question 2" not in asked
    assert "question 3" in asked


@pytest.mark.parametrize("output", [0, None])
async def test_a_count_that_the_model_does_not_give_is_unknown(output: int | None) -> None:
    policy = CompressHistory(ScriptedModel([said("short", output)]), keep_turns=1, above_turns=1)
    view = await policy.view(conversation(3), Past())
    assert view.made is not None
    assert view.made.tokens == output


@pytest.mark.parametrize(
    "answer",
    [
        said(" "),
        ModelResponse(message=assistant("cut"), stop=StopReason.LENGTH),
        ModelResponse(message=assistant("no"), stop=StopReason.REFUSAL),
    ],
)
async def test_an_answer_that_is_no_summary_is_an_error(answer: ModelResponse) -> None:
    with pytest.raises(ModelError):
        await CompressHistory(ScriptedModel([answer]), keep_turns=1, above_turns=1).view(conversation(3), Past())


async def test_a_model_by_name_is_the_runtimes() -> None:
    model = ScriptedModel([said("short")])
    policy = CompressHistory("p:small", keep_turns=1, above_turns=1)
    await policy.view(conversation(3), Past(models={"p:small": model}.__getitem__))
    assert model.left == 0
    with pytest.raises(InvalidValue):
        await policy.view(conversation(3), Past())


@pytest.mark.parametrize("kept, above", [(0, 3), (4, 3), (2, True)])
def test_odd_counts_are_refused(kept: int, above: int) -> None:
    with pytest.raises(InvalidValue):
        CompressHistory(ScriptedModel([]), keep_turns=kept, above_turns=above)
