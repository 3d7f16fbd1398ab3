"""`@tool`: a plain function with type hints and a docstring becomes a `ToolSpec`."""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

from actum.base.checks import refuse
from actum.base.value import Json
from actum.tools.docstrings import described
from actum.tools.failures import ToolError
from actum.tools.schemas import ABSENT, Decode, input_of, output_of
from actum.tools.spec import ToolContext, ToolSpec

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@overload
def tool(function: Callable[..., object], /) -> ToolSpec: ...


@overload
def tool(
    *,
    name: str | None = None,
    title: str | None = None,
    tags: Iterable[str] = (),
    confirm: bool = False,
    timeout: float | None = None,
    idempotent: bool = False,
    terminal: bool = False,
    bookkeeping: bool = False,
    external: bool = False,
    examples: Iterable[Mapping[str, Json]] = (),
) -> Callable[[Callable[..., object]], ToolSpec]: ...


def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    tags: Iterable[str] = (),
    confirm: bool = False,
    timeout: float | None = None,
    idempotent: bool = False,
    terminal: bool = False,
    bookkeeping: bool = False,
    external: bool = False,
    examples: Iterable[Mapping[str, Json]] = (),
) -> ToolSpec | Callable[[Callable[..., object]], ToolSpec]:
    """Make a tool of a plain sync or async function: `@tool`, or `@tool(name="fs.read", timeout=5)`.

    The description is the docstring's first paragraph, the input schema comes from the type hints and an `Args:`
    section, the result is held to the return type. A parameter annotated `ToolContext` is filled in and never shown to
    a model. A sync function runs in a thread of its own. `examples` are inputs, checked here and shown to the model;
    the other options are fields of `ToolSpec`.

    Raises InvalidValue for a function that cannot be a tool: `*args`, positional-only or unannotated parameters, a
    generator, types that JSON cannot spell, an example that does not fit.
    """

    def make(made_of: Callable[..., object]) -> ToolSpec:
        called = name or str(getattr(made_of, "__name__", type(made_of).__name__))
        signature, hints, waits = _look_at(called, made_of)
        description, told = described(inspect.getdoc(made_of))
        context = _context_parameter(called, signature, hints)
        shown = [each for each in signature.parameters.values() if each.name != context]
        input_schema, decode = input_of(called, shown, hints, told)
        output_schema, encode = output_of(called, hints.get("return", ABSENT))
        given_examples = tuple(dict(each) for each in examples)
        _check_examples(called, decode, given_examples)
        return ToolSpec(
            name=called,
            description=description,
            input_schema=input_schema,
            output_schema=output_schema,
            title=title,
            tags=tuple(tags),
            confirm=confirm,
            timeout=timeout,
            idempotent=idempotent,
            terminal=terminal,
            bookkeeping=bookkeeping,
            external=external,
            examples=given_examples,
            function=made_of,
            decode=decode,
            encode=encode,
            context_parameter=context,
            waits=waits,
        )

    return make if function is None else make(function)


def _look_at(name: str, function: object) -> tuple[inspect.Signature, dict[str, Any], bool]:
    """The function's signature, its hints with forward names resolved, and whether it is async."""
    if isinstance(function, type | ToolSpec) or not callable(function):
        raise refuse(f"tool {name}", function, "is made of a function")
    # An object with __call__ keeps its code, and its hints, on its class.
    code: Any = function
    if not inspect.isroutine(code):
        code = getattr(code, "func", type(code).__call__)
    if inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code):
        raise refuse(f"tool {name}", "a generator", "is a function that returns its result")
    signature = inspect.signature(function)
    try:
        hints = typing.get_type_hints(code, include_extras=True)
    except NameError as error:
        raise refuse(
            f"tool {name}: type hints", str(error), "name types that can be found where it is defined"
        ) from None
    for parameter in signature.parameters.values():
        if parameter.kind not in _NAMED:
            raise refuse(f"tool {name}: parameter {parameter.name}", str(parameter.kind), "can be given by name")
        if parameter.name not in hints:
            raise refuse(f"tool {name}: parameter {parameter.name}", None, "has a type hint")
    return signature, hints, inspect.iscoroutinefunction(inspect.unwrap(code))


def _context_parameter(name: str, signature: inspect.Signature, hints: Mapping[str, Any]) -> str | None:
    asking = [
        each
        for each in signature.parameters
        if hints[each] is ToolContext or ToolContext in typing.get_args(hints[each])
    ]
    if len(asking) > 1:
        raise refuse(f"tool {name}: parameters {', '.join(asking)}", "ToolContext", "ask for the context once")
    return asking[0] if asking else None


def _check_examples(name: str, decode: Decode, examples: tuple[dict[str, Json], ...]) -> None:
    for position, example in enumerate(examples):
        try:
            decode(example)
        except ToolError as error:
            raise refuse(f"tool {name}: example {position}", example, f"fits its input ({error})") from None
