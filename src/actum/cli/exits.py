"""How a command ends: its exit code, and what it says on standard error when it could not do its work."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import typer

from actum.base import errors
from actum.base.value import dump_json
from actum.cli.text import plain

FOUND: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
REFUSED: Final = 4
UNAVAILABLE: Final = 5
UNWRITTEN: Final = 6
INTERRUPTED: Final = 130
ABANDONED: Final = 141

# The table that `actum --help` and docs/cli.md show.
EXITS: Final = {
    0: "it is done",
    FOUND: "problems were found in what is stored",
    USAGE: "a wrong option or value",
    NOT_FOUND: "no such session, run or record, or it was purged",
    REFUSED: "the rules of the store or of a provider refuse it, or nobody confirmed it",
    UNAVAILABLE: "the store cannot be opened or read",
    UNWRITTEN: "the output could not be written",
    INTERRUPTED: "interrupted",
    ABANDONED: "whoever read the output went away before its end",
}

# The first class that fits decides.
_CODES: Final[tuple[tuple[type[errors.ActumError], int], ...]] = (
    (errors.NotFound, NOT_FOUND),
    (errors.SessionPurged, NOT_FOUND),
    (errors.RunPurged, NOT_FOUND),
    (errors.InvalidValue, USAGE),
    (errors.InvalidCursor, USAGE),
    (errors.TooLarge, USAGE),
    (errors.DurableDataError, FOUND),
    (errors.TranscriptError, FOUND),
    (errors.RunCorrupt, FOUND),
    (errors.StoreUnavailable, UNAVAILABLE),
    (errors.NotAStore, UNAVAILABLE),
    (errors.SchemaTooNew, UNAVAILABLE),
    (errors.MissingExtra, UNAVAILABLE),
)


def exit_code(error: errors.ActumError) -> int:
    """The exit code for an error; whatever the table does not know was refused."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), REFUSED)


def run(work: Callable[[], Awaitable[int | None]], *, as_json: bool = False) -> None:
    """Does a command's work and ends it with an exit code; `work` gives one when it is not 0."""

    async def done() -> int | None:
        return await work()

    try:
        code = asyncio.run(done()) or 0
    except errors.ActumError as error:
        say_error(error.code, str(error), as_json=as_json)
        code = exit_code(error)
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code:
        raise typer.Exit(code)


def say_error(code: str, message: str, *, as_json: bool) -> None:
    """Says on standard error what went wrong: in words, or as one JSON document."""
    if as_json:
        typer.echo(dump_json({"error": {"code": code, "message": plain(message)}}), err=True)
    else:
        typer.echo(f"actum: {plain(message)}", err=True)
