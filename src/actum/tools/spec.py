"""What a tool is: its name, its schemas, its rules of use, and the function behind it.

A `ToolSpec` is made once, from a function, by `tools.define.tool`; nothing changes it afterwards. `ToolDefinition` is
the part of it that a model sees.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

from actum.base.checks import Identifier, Labels, refuse
from actum.base.value import Json, Value, dump_json
from actum.messages.parts import DocumentPart, ImagePart

_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*", re.ASCII)
_NAME_CHARS = 128


def tool_name(path: str, value: object) -> str:
    """A tool's name: letters, digits, `_` and `-` in one or more parts joined by dots, at most 128 characters."""
    if not isinstance(value, str) or len(value) > _NAME_CHARS or _NAME.fullmatch(value) is None:
        raise refuse(
            path, value, f"is letters, digits, '_', '-' in parts joined by dots, at most {_NAME_CHARS} characters"
        )
    return value


class ToolDefinition(Value):
    """A tool as a model sees it. `input_schema` is the JSON Schema of an object."""

    name: Annotated[str, tool_name]
    description: str = ""
    input_schema: dict[str, Json]


class ToolContext(Value):
    """Where a call belongs. A tool that asks for a parameter of this type gets it; the model never sees it.

    `attempt` names this try; `idempotency_key` stays the same over all tries of one call: it is for services behind
    the tool.
    """

    run_id: Identifier
    session_id: Identifier | None = None
    tool_call_id: Identifier
    attempt: Identifier
    idempotency_key: str
    labels: Labels = {}
    session_metadata: Labels = {}


@dataclass(frozen=True)
class ToolOutput:
    """A result with images or documents beside its JSON `content`."""

    content: Json = None
    attachments: tuple[ImagePart | DocumentPart, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class ToolSpec:
    """A tool: what the model sees of it, the rules of its use, and how it is called.

    The rules are the runtime's to keep: `confirm` asks a person before each call; `timeout` bounds a call, in seconds;
    `idempotent` lets a call run again after a crash; `terminal` ends the run with the tool's result; `bookkeeping`
    keeps the tool out of the run's limits; `external` says that the application answers each call from outside, so the
    function itself is never called: its hints are the schemas of input and answer. `agent_id` names the agent whose
    child run answers the calls; None for a function.

    `decode` makes keyword arguments of a model's arguments and raises `ToolError`, kind `invalid_call`; `encode` makes
    JSON and attachments of what the function returned and raises `ToolError`, kind `malformed_result`.
    """

    name: str
    description: str
    input_schema: Mapping[str, Json]
    output_schema: Mapping[str, Json] | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    confirm: bool = False
    timeout: float | None = None
    idempotent: bool = False
    terminal: bool = False
    bookkeeping: bool = False
    external: bool = False
    examples: tuple[Mapping[str, Json], ...] = ()
    agent_id: str | None = None
    function: Callable[..., object] = field(repr=False)
    decode: Callable[[Mapping[str, Json]], Mapping[str, object]] = field(repr=False)
    encode: Callable[[object], ToolOutput] = field(repr=False)
    context_parameter: str | None = field(default=None, repr=False)
    waits: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        tool_name("tool.name", self.name)
        if self.external and (self.confirm or self.agent_id is not None):
            raise refuse(f"tool {self.name}: external", True, "is answered from outside, which is its confirmation")  # noqa: FBT003 - the value shown
        if self.timeout is not None and not self.timeout > 0:
            raise refuse(f"tool {self.name}: timeout", self.timeout, "is a number of seconds above 0")

    def __call__(self, *args: object, **kwargs: object) -> object:
        """The function itself, as if it had never been made a tool."""
        return self.function(*args, **kwargs)

    @cached_property
    def version(self) -> str:
        """The digest of the tool's name and schemas: what an approval of a call was given for."""
        schemas = {
            "name": self.name,
            "input": dict(self.input_schema),
            "output": self.output_schema and dict(self.output_schema),
        }
        return hashlib.sha256(dump_json(schemas)).hexdigest()

    @cached_property
    def definition(self) -> ToolDefinition:
        """What a model sees of the tool; its examples stand in the description."""
        shown = [self.description, *(f"Example input: {dump_json(dict(each)).decode()}" for each in self.examples)]
        return ToolDefinition(
            name=self.name, description="\n".join(line for line in shown if line), input_schema=dict(self.input_schema)
        )
