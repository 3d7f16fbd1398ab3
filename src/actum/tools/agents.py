"""An agent as a tool of another: a spec that names the agent whose child run answers the calls."""

from collections.abc import Iterable, Mapping
from typing import Final

from actum.base.value import Json
from actum.tools.failures import Issue, Recovery, ToolError, ToolFailureKind
from actum.tools.spec import ToolOutput, ToolSpec

# The one argument of such a tool: the new input of the child run.
MESSAGE: Final = "message"

_SCHEMA: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {
        MESSAGE: {
            "type": "string",
            "minLength": 1,
            "description": "The whole task in words; the agent sees nothing else of this conversation.",
        }
    },
    "required": [MESSAGE],
    "additionalProperties": False,
}


def agent_tool(
    agent_id: str,
    *,
    name: str | None = None,
    description: str | None = None,
    tags: Iterable[str] = (),
    confirm: bool = False,
) -> ToolSpec:
    """A tool whose every call is answered by a child run of the agent; its result is what the child came to.

    Raises InvalidValue for a name that no tool may have; the agent's id is the name unless given.
    """

    def answered(message: str) -> object:
        raise RuntimeError(f"a child run of {agent_id} answers this tool, no function: {message!r}")

    return ToolSpec(
        name=name or agent_id,
        description=description or f"Ask the agent {agent_id}. It works on its own and answers once.",
        input_schema=_SCHEMA,
        tags=tuple(tags),
        confirm=confirm,
        agent_id=agent_id,
        function=answered,
        decode=_decoded,
        encode=_encoded,
    )


def _decoded(arguments: Mapping[str, Json]) -> Mapping[str, object]:
    issues = [Issue(path=key, rule="is not an argument of this tool") for key in arguments if key != MESSAGE]
    message = arguments.get(MESSAGE)
    if not isinstance(message, str) or not message:
        issues.append(Issue(path=MESSAGE, rule="is the task in words"))
    if issues:
        says = f"The call has one argument, {MESSAGE}: the task in words."
        raise ToolError(ToolFailureKind.INVALID_CALL, says, Recovery.CORRECT_CALL, issues)
    return {MESSAGE: message}


def _encoded(result: object) -> ToolOutput:
    raise TypeError(f"a child run's answer is no function's: {result!r}")
