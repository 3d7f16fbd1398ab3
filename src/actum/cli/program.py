"""How the program takes its words: wrong ones are told as every other error, and a reader who leaves is no error.

Every command goes through here, the help too, so that no command needs to know of it.
"""

import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any, Final

import typer
from typer.core import TyperGroup

from actum.cli.exits import ABANDONED, REFUSED, UNWRITTEN, USAGE, say_error

# Typer gives its class of all wrong words no public name; that of wrong values is made of it.
_WrongUsage: Final[type[Any]] = typer.BadParameter.__bases__[0]


class Program(TyperGroup):
    """The commands, as one program that always ends with a code of the table of exit codes."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:  # noqa: ANN401 - as typer has it
        """Does what the words say and ends the process with its exit code."""
        # What the library logs is for programs that run agents; a command says by itself what there is to say.
        logging.getLogger("actum").addHandler(logging.NullHandler())
        words = sys.argv[1:] if args is None else list(args)
        try:
            code = self._done(words, args, *rest, **{**options, "standalone_mode": False})
        except (BrokenPipeError, SystemExit):
            # Typer's own answer to a broken pipe is the exit code 1, which says that problems were found.
            code = ABANDONED
            _let_go()
        except OSError as error:
            if error.filename is not None:
                raise  # of a file of ours; the output has no name
            _let_go()
            says = f"the output could not be written: {error.strerror}"
            say_error("output_error", says, as_json=_as_json(words))
            code = UNWRITTEN
        sys.exit(code)

    def _done(self, words: Sequence[str], *given: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on
        try:
            return super().main(*given, **options)
        except _WrongUsage as error:
            if _as_json(words):
                say_error("usage_error", error.format_message(), as_json=True)
            else:
                error.show()
            return USAGE
        except typer.Abort:
            return REFUSED


def _as_json(words: Sequence[str]) -> bool:
    """Whether JSON is asked for, as far as words tell that could not be read as options."""
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options


def _let_go() -> None:
    """What cannot be written goes nowhere: else the interpreter would complain about it at its end."""
    given: tuple[IO[str] | None, ...] = (sys.stdout, sys.stderr)
    for stream in given:
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)
