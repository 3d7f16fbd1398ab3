"""The stock planner: take the prepared transcript, ask the model, read its answer. It repairs nothing.

A refusal, a filter, a cut answer, an interrupted stream, an unknown stop: each ends the run with its own kind of
failure, and none runs a tool. The text that was answered until then is kept as the plan's remainder.
"""

from asyncio import CancelledError
from contextlib import aclosing

from actum.base.checks import identifier
from actum.base.errors import InvalidValue, ModelError
from actum.messages.message import Message, Role, system
from actum.model.client import ModelClient
from actum.model.fold import ResponseFold, remainder_of
from actum.model.request import ModelRequest, ModelSettings, ToolChoice
from actum.model.response import ModelResponse, StopReason
from actum.planning.failures import failure_of
from actum.planning.planner import ModelUsage, PlanInput, PlanResult, PlanResumeInput, Unfinished
from actum.planning.prompt import PromptUse
from actum.records.failures import FailureKind

_FAILED = {
    StopReason.REFUSAL: (FailureKind.REFUSAL, "The model declined to answer."),
    StopReason.CONTENT_FILTER: (FailureKind.CONTENT_FILTER, "The provider's filter stopped the answer."),
    StopReason.LENGTH: (
        FailureKind.LENGTH,
        "The answer reached its longest length; what it was about to call did not run.",
    ),
    StopReason.INTERRUPTED: (FailureKind.PROVIDER, "The answer broke off before its end."),
    StopReason.UNKNOWN: (FailureKind.PROVIDER, "The model stopped for a reason that is not known here"),
}


class ModelPlanner:
    """Plans by one model call a step.

    `model` is a client, or a name that the runtime knows (`PlanInput.model`). `instructions` lead the request as a
    system message unless the transcript brings its own; a PromptUse is rendered for each plan. `tool_choice` holds for
    the first step; after tools have answered the model is free, so that a forced tool is not forced for ever.
    """

    def __init__(
        self,
        model: ModelClient | str,
        instructions: str | PromptUse | None = None,
        *,
        settings: ModelSettings = ModelSettings(),  # noqa: B008 - a frozen value
        tool_choice: ToolChoice | None = None,
    ) -> None:
        self._model = model
        self._instructions = instructions
        self._settings = settings
        self._tool_choice = tool_choice

    async def plan_start(self, plan_input: PlanInput, /) -> PlanResult:
        """Ask the model for the first step."""
        return await self._plan(plan_input, self._tool_choice)

    async def plan_resume(self, plan_input: PlanResumeInput, /) -> PlanResult:
        """Ask the model for the next step."""
        return await self._plan(plan_input, None)

    async def _plan(self, plan_input: PlanInput, choice: ToolChoice | None) -> PlanResult:
        messages = await plan_input.prepare_messages()
        client = plan_input.model(self._model) if isinstance(self._model, str) else self._model
        request = ModelRequest(
            model=client.model,
            messages=self._led(plan_input, messages),
            tools=plan_input.tools,
            tool_choice=_choice(plan_input, choice),
            settings=self._settings,
        )
        folding = ResponseFold()
        try:
            if plan_input.listened_to:
                response = await _streamed(client, request, plan_input, folding)
            else:
                response = await client.complete(request)
        except ModelError as error:
            return _broken(request, error, folding)
        return plan_of(response, request, finalize=plan_input.finalize)

    def _led(self, plan_input: PlanInput, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        if not self._instructions or (messages and messages[0].role is Role.SYSTEM):
            return messages
        given = self._instructions
        if isinstance(given, PromptUse):
            given = plan_input.prompt(given.prompt_id, given.of(plan_input.run))
        return (system(given), *messages) if given else messages


def plan_of(response: ModelResponse, request: ModelRequest, *, finalize: bool = False) -> PlanResult:
    """What a model's answer decides. With `finalize` a tool use is a breach of the run's limit."""
    usage = (ModelUsage(model=response.model or request.model, usage=response.usage),)
    response_id = _identifier(response.response_id)
    message = response.message
    kind, says, code = _flaw(response, finalize=finalize)
    if kind is not None:
        return PlanResult.failed(
            kind, says, code=code, remainder=remainder_of(message), usage=usage, response_id=response_id
        )
    if message.tool_uses:
        return PlanResult.calls(message, usage=usage, response_id=response_id)
    return PlanResult.final(message, usage=usage, response_id=response_id)


def _flaw(response: ModelResponse, *, finalize: bool) -> tuple[FailureKind | None, str, str | None]:
    """Why an answer ends the run failed; the kind is None when it does not."""
    ids = [part.id for part in response.message.tool_uses]
    if response.stop in _FAILED:
        kind, says = _FAILED[response.stop]
        if response.stop is StopReason.UNKNOWN:
            says = f"{says}: {response.provider_stop!r}."
        return kind, response.refusal or says, response.provider_stop or str(response.stop)
    if len(set(ids)) != len(ids) or not all(ids):
        return FailureKind.PROVIDER, f"The model's tool uses have no ids of their own: {ids}.", "malformed_response"
    if ids and finalize:
        return FailureKind.LIMIT, "The model called a tool where only a final answer was asked for.", None
    if not response.message.parts:
        return FailureKind.PROVIDER, "The model's answer is empty.", "empty_response"
    return None, "", None


async def _streamed(
    client: ModelClient, request: ModelRequest, plan_input: PlanInput, folding: ResponseFold
) -> ModelResponse:
    try:
        async with aclosing(client.stream(request)) as chunks:
            async for chunk in chunks:
                folding.add(chunk)
                plan_input.emit(chunk)
    except CancelledError:
        # Whoever watched has read this text; it must not be gone from the transcript.
        if folding.began:
            plan_input.keep(_begun(request, folding))
        raise
    return folding.response()


def _broken(request: ModelRequest, error: ModelError, folding: ResponseFold) -> PlanResult:
    """A call that failed. Where an answer had begun, its text is kept, and its tokens are unknown rather than none."""
    failure = failure_of(error)
    if not folding.began:
        return PlanResult(failure=failure)
    begun = _begun(request, folding)
    return PlanResult(failure=failure, remainder=begun.remainder, usage=begun.usage, response_id=begun.response_id)


def _begun(request: ModelRequest, folding: ResponseFold) -> Unfinished:
    answered = folding.partial()
    return Unfinished(
        remainder=remainder_of(answered.message),
        usage=(ModelUsage(model=answered.model or request.model, usage=answered.usage),),
        response_id=_identifier(answered.response_id),
    )


def _choice(plan_input: PlanInput, choice: ToolChoice | None) -> ToolChoice | None:
    if not plan_input.tools:
        return None
    return ToolChoice(mode="none") if plan_input.finalize else choice


def _identifier(given: str | None) -> str | None:
    """A provider's id where it can stand in a record; an id that cannot is not needed for anything."""
    try:
        return None if given is None else identifier("response_id", given)
    except InvalidValue:
        return None
