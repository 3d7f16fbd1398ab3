"""The tools of an agent by name: no two of one name, and a useful answer to a name that nobody has."""

import difflib
from collections.abc import Callable, Iterable, Iterator

from actum.base.checks import refuse, several
from actum.base.errors import shortened
from actum.tools.failures import Recovery, ToolFailure, ToolFailureKind, cut_message
from actum.tools.spec import ToolDefinition, ToolSpec


class ToolRegistry:
    """Tools by name, in the order given. Plain functions among them are made tools. Never changes.

    Raises InvalidValue when two tools have one name.
    """

    def __init__(self, tools: Iterable[ToolSpec | Callable[..., object]] = ()) -> None:
        self._specs: dict[str, ToolSpec] = {}
        for each in several("tools", tools, object, "tools"):
            spec = each if isinstance(each, ToolSpec) else _made(each)
            if spec.name in self._specs:
                raise refuse("tools", spec.name, "have names of their own; two tools share this one")
            self._specs[spec.name] = spec

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter(self._specs.values())

    def __len__(self) -> int:
        return len(self._specs)

    def __contains__(self, name: object) -> bool:
        return name in self._specs

    def find(self, name: str) -> ToolSpec | ToolFailure:
        """The tool with exactly this name, or the failure that answers a call of a tool that is not there."""
        spec = self._specs.get(name)
        if spec is not None:
            return spec
        return ToolFailure(
            kind=ToolFailureKind.INVALID_CALL,
            message=cut_message(f"There is no tool {shortened(name)}. {self._hint(name)}"),
            recovery=Recovery.CORRECT_CALL,
        )

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What a model sees of the tools, in order."""
        return tuple(spec.definition for spec in self)

    def _hint(self, name: str) -> str:
        if not self._specs:
            return "This agent has no tools."
        near = difflib.get_close_matches(name, self._specs, n=3, cutoff=0.5)
        return f"The nearest names are {', '.join(near)}." if near else f"The tools are {', '.join(self._specs)}."


def _made(function: object) -> ToolSpec:
    if not callable(function):
        raise refuse("tools", function, "are tools, or functions to make tools of")
    # Schemas come out of pydantic, which takes longer to load than all of Actum: only whoever gives a function waits.
    from actum.tools.define import tool  # noqa: PLC0415 - see above

    return tool(function)
