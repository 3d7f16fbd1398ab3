"""Options and arguments that several commands share."""

from typing import Annotated, Final, TypeAlias

import typer

DEFAULT_STORE: Final = "sqlite:///actum.db"

StoreOption: TypeAlias = Annotated[
    str | None, typer.Option("--store", metavar="URL", help=f"The store; {DEFAULT_STORE} in this folder by default.")
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="JSON instead of text.")]
LimitOption: TypeAlias = Annotated[int, typer.Option(min=1, help="At most so many.")]
LabelOption: TypeAlias = Annotated[list[str] | None, typer.Option(help="Only with this label, as key=value.")]
TypeOption: TypeAlias = Annotated[list[str] | None, typer.Option("--type", help="Only records of this type.")]
AfterOption: TypeAlias = Annotated[str | None, typer.Option(help="Only what follows the record of this id.")]
RunArgument: TypeAlias = Annotated[str, typer.Argument(metavar="RUN_ID", help="The run's id.")]
SessionArgument: TypeAlias = Annotated[str, typer.Argument(metavar="SESSION_ID", help="The session's id.")]


def pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """`key=value` options as a mapping. Raises typer.BadParameter for anything else."""
    found = {}
    for each in given or ():
        key, equals, value = each.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{each!r} is not key=value", param_hint=option)
        found[key] = value
    return found
