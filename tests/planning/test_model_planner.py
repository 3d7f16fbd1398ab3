from dataclasses import replace
from typing import Any

import pytest

from actum.base.errors import ProviderError, TranscriptError
from actum.messages.message import Message, assistant, system, tool_results, user
from actum.messages.parts import ThinkingPart, ToolResultPart, ToolUsePart, tool_use
from actum.model.request import ModelSettings, ToolChoice
from actum.model.response import (
    Chunk,
    ModelResponse,
    ResponseStarted,
    StopChunk,
    StopReason,
    TextDelta,
    ToolUseDelta,
    Usage,
    UsageChunk,
)
from actum.planning.model_planner import ModelPlanner
from actum.planning.planner import ModelUsage, PlanInput, PlanResult, PlanResumeInput, RunInfo
from actum.testing.script import ModelStep, ScriptedModel
from actum.tools.spec import ToolDefinition

USE = tool_use("t1", "wx.get", {"city": "Ulm"})
TOOLS = (ToolDefinition(name="wx.get", input_schema={"type": "object"}),)
RESET = ProviderError(kind="connection", message="reset", provider="p", operation="stream", retryable=True)


def planned(messages: tuple[Message, ...], model: ScriptedModel, **more: Any) -> PlanInput:
    async def prepare() -> tuple[Message, ...]:
        return messages

    return PlanInput(run=RunInfo(run_id="r", agent_id="a"), prepare=prepare, models=lambda _: model, **more)


async def plan(step: ModelStep, **more: Any) -> PlanResult:
    model = ScriptedModel([step])
    return await ModelPlanner(model).plan_start(planned((user("hi"),), model, **more))


async def test_the_request_is_the_transcript_led_by_the_instructions() -> None:
    model = ScriptedModel(["7 degrees."], model="m")
    planner = ModelPlanner("any", "Be brief.", settings=ModelSettings(temperature=0))
    result = await planner.plan_start(planned((user("hi"),), model, tools=TOOLS))
    assert result == PlanResult.final("7 degrees.", usage=(ModelUsage(model="m"),))
    request = model.requests[0]
    assert (request.model, request.tools, request.settings.temperature) == ("m", TOOLS, 0)
    assert request.messages == (system("Be brief."), user("hi"))


async def test_a_transcript_with_system_messages_keeps_its_own() -> None:
    model = ScriptedModel(["ok"])
    await ModelPlanner(model, "Be brief.").plan_start(planned((system("Be long."), user("hi")), model))
    assert model.requests[0].messages == (system("Be long."), user("hi"))


async def test_a_transcript_that_is_refused_asks_no_model() -> None:
    model = ScriptedModel(["never"])

    async def refused() -> tuple[Message, ...]:
        raise TranscriptError(findings=())

    with pytest.raises(TranscriptError):
        await ModelPlanner(model).plan_start(replace(planned((), model), prepare=refused))
    assert model.requests == []


@pytest.mark.parametrize("listened_to", [False, True])
async def test_tool_uses_are_the_models_message_verbatim(*, listened_to: bool) -> None:
    message = assistant(ThinkingPart(text="hm", signature="s"), "Let me check", USE)
    response = ModelResponse(
        message=message, stop=StopReason.TOOL_USE, usage=Usage(input=5, output=7), response_id="resp-1", model="m-2025"
    )
    heard: list[Chunk] = []
    result = await plan(response, **({"sink": heard.append} if listened_to else {}))
    assert result.tool_calls == message
    assert result.usage == (ModelUsage(model="m-2025", usage=Usage(input=5, output=7)),)
    assert result.response_id == "resp-1"
    assert bool(heard) is listened_to


async def test_a_call_that_cannot_be_read_is_still_the_loops_to_answer() -> None:
    broken = ToolUsePart(id="t1", name="wx.get", input_text='{"city"')
    assert (await plan(broken)).tool_calls == assistant(broken)


@pytest.mark.parametrize(
    "stop, kind",
    [
        (StopReason.REFUSAL, "refusal"),
        (StopReason.CONTENT_FILTER, "content_filter"),
        (StopReason.LENGTH, "length"),
        (StopReason.UNKNOWN, "provider"),
    ],
)
@pytest.mark.parametrize("message", [assistant(), assistant("I started"), assistant("I started", USE), assistant(USE)])
@pytest.mark.parametrize("listened_to", [False, True])
async def test_an_answer_that_is_no_answer_fails_the_run_and_calls_nothing(
    stop: StopReason, kind: str, message: Message, *, listened_to: bool
) -> None:
    response = ModelResponse(message=message, stop=stop, provider_stop="some_new_reason", usage=Usage(input=1))
    heard: list[Chunk] = []
    result = await plan(response, **({"sink": heard.append} if listened_to else {}))
    assert result.failure is not None
    assert (result.failure.kind, result.failure.code) == (kind, "some_new_reason")
    assert result.message == (assistant("I started", meta={"partial": True}) if message.text else None)
    assert result.usage == (ModelUsage(model="scripted", usage=Usage(input=1)),)
    if stop is StopReason.UNKNOWN:
        assert "some_new_reason" in result.failure.message


async def test_the_words_of_a_refusal_are_kept() -> None:
    response = ModelResponse(message=assistant(), stop=StopReason.REFUSAL, refusal="I can't help with that.")
    result = await plan(response)
    assert result.failure is not None
    assert result.failure.message == "I can't help with that."


BEGUN: list[Any] = [
    ResponseStarted(response_id="resp-1"),
    UsageChunk(usage=Usage(input=25)),
    TextDelta(index=0, text="Let me check"),
    ToolUseDelta(index=1, id="t1", name="wx.get", input='{"city":"Ber'),
]


@pytest.mark.parametrize("rest", [[RESET], [], [ToolUseDelta(index=1, input='lin"}'), RESET]])
async def test_an_answer_that_breaks_off_keeps_its_text_and_calls_nothing(rest: list[Any]) -> None:
    heard: list[Chunk] = []
    result = await plan([*BEGUN, *rest], sink=heard.append)
    assert result.failure is not None
    assert result.failure.kind == "provider"
    assert result.message == assistant("Let me check", meta={"partial": True})
    assert result.usage == (ModelUsage(model="scripted", usage=Usage(input=25)),)
    assert result.response_id == "resp-1"
    assert heard[: len(BEGUN)] == BEGUN


async def test_a_call_that_never_began_counts_nothing() -> None:
    result = await plan(RESET)
    assert result.failure is not None
    assert (result.failure.kind, result.failure.code) == ("provider", "connection")
    assert (result.usage, result.message) == ((), None)


async def test_a_malformed_stream_fails_the_plan() -> None:
    result = await plan([TextDelta(index=0, text="x"), ToolUseDelta(index=0)], sink=lambda _: None)
    assert result.failure is not None
    assert result.failure.code == "malformed_response"
    assert result.message == assistant("x", meta={"partial": True})


@pytest.mark.parametrize("message", [assistant(), assistant(USE, USE), assistant(tool_use("", "a", {}))])
async def test_an_answer_without_sense_fails_the_plan(message: Message) -> None:
    stop = StopReason.TOOL_USE if message.tool_uses else StopReason.END_TURN
    result = await plan(ModelResponse(message=message, stop=stop))
    assert result.failure is not None
    assert result.failure.kind == "provider"


async def test_a_finalizing_step_asks_for_no_tool_and_takes_none() -> None:
    model = ScriptedModel(["done", USE])
    given = planned((user("hi"),), model, tools=TOOLS, finalize=True)
    planner = ModelPlanner(model, tool_choice=ToolChoice(mode="any"))
    assert (await planner.plan_start(given)).kind == "final_response"
    assert model.requests[0].tool_choice == ToolChoice(mode="none")
    result = await planner.plan_start(given)
    assert result.failure is not None
    assert result.failure.kind == "limit"


async def test_a_forced_tool_is_forced_once() -> None:
    model = ScriptedModel([USE, "done", "done"])
    planner = ModelPlanner(model, tool_choice=ToolChoice(mode="any"))
    start = planned((user("hi"),), model, tools=TOOLS)
    await planner.plan_start(start)
    answered = ToolResultPart(tool_use_id="t1", content=7)

    async def prepare() -> tuple[Message, ...]:
        return (user("hi"), assistant(USE), tool_results(answered))

    resumed = PlanResumeInput(run=start.run, tools=TOOLS, prepare=prepare, models=start.models, results=(answered,))
    await planner.plan_resume(resumed)
    await planner.plan_start(planned((user("hi"),), model))
    assert [request.tool_choice for request in model.requests] == [ToolChoice(mode="any"), None, None]


@pytest.mark.parametrize("response_id", [" ", "x" * 600, None])
async def test_a_response_id_that_no_record_takes_is_left_out(response_id: str | None) -> None:
    response = ModelResponse(message=assistant("x"), stop=StopReason.END_TURN, response_id=response_id)
    assert (await plan(response)).response_id is None


async def test_a_stop_chunk_alone_is_an_empty_answer() -> None:
    result = await plan([StopChunk(stop=StopReason.END_TURN)], sink=lambda _: None)
    assert result.failure is not None
    assert result.failure.code == "empty_response"
