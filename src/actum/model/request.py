"""What is asked of a model, in no provider's words."""

import re
from typing import Annotated, Final, Literal

from actum.base.checks import Count, refuse
from actum.base.value import Json, Value
from actum.messages.message import Message
from actum.tools.spec import ToolDefinition

__all__ = ["ModelRequest", "ModelSettings", "OutputSchema", "ToolChoice", "ToolDefinition"]

_SCHEMA_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


def _not_negative(path: str, value: object) -> float:
    if type(value) not in (int, float) or not 0 <= value < float("inf"):  # type: ignore[operator]  # a number by now
        raise refuse(path, value, "is a finite number from 0")
    return value  # type: ignore[return-value]  # the line above has looked


class ToolChoice(Value):
    """Whether the model uses a tool: as it likes, not at all, some tool, or the one with this `name`."""

    mode: Literal["auto", "none", "any", "tool"] = "auto"
    name: str | None = None

    def __post_init__(self) -> None:
        if (self.mode == "tool") != (self.name is not None):
            raise refuse("tool_choice.name", self.name, "is given exactly with mode 'tool'")


class ModelSettings(Value):
    """How a model shall answer. None leaves a setting to the provider.

    `extra` are fields of one provider's own request, passed through as they are; a field that Actum sets itself is
    refused.
    """

    temperature: Annotated[float, _not_negative] | None = None
    top_p: Annotated[float, _not_negative] | None = None
    max_output_tokens: Count | None = None
    stop_sequences: tuple[str, ...] = ()
    seed: int | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: str | None = None
    extra: dict[str, Json] = {}


def _schema_name(path: str, value: object) -> str:
    if not isinstance(value, str) or _SCHEMA_NAME.fullmatch(value) is None:
        raise refuse(path, value, "is 1 to 64 letters, digits, '_' and '-'")
    return value


class OutputSchema(Value):
    """The form of the answer: JSON that keeps to `json_schema`, the schema of an object, enforced by the provider.

    The schema goes as it is given, so it keeps to what the provider enforces (as a rule every property required, and
    `additionalProperties` false); the answer is text, which the caller decodes.
    """

    json_schema: dict[str, Json]
    name: Annotated[str, _schema_name] = "answer"
    description: str | None = None


class ModelRequest(Value):
    """One model call. `messages` is the whole transcript, system messages first."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: ToolChoice | None = None
    settings: ModelSettings = ModelSettings()
    output: OutputSchema | None = None
