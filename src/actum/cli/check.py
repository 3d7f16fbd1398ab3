"""`actum check`: would a provider take this transcript? Answered offline, by the encoder that a call would use."""

import sys
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from actum.base.checks import refuse
from actum.base.value import Json, Value, load
from actum.cli.documents import say
from actum.cli.exits import REFUSED
from actum.cli.text import cell, console
from actum.messages.message import Message
from actum.model.projection import Fate, ProjectionReport
from actum.providers.accept import would_accept

_STYLES: Final = {Fate.MAPPED: "dim", Fate.ALIASED: "dim", Fate.LEFT_OUT: "yellow", Fate.REFUSED: "bold red"}


class _Transcript(Value):
    """What `actum transcript --json` prints."""

    messages: tuple[Message, ...]
    run_id: str | None = None
    pending: Json = None


async def check_transcript(file: str, provider: str, model: str | None, *, as_json: bool) -> int | None:
    """Prints what becomes of the transcript in `file` (`-` is standard input); the exit code when it is refused.

    Raises InvalidValue for a file that cannot be read or holds no messages, and for an unknown provider.
    """
    report = would_accept(_messages(_read(file)), provider, model)
    if as_json:
        say(_document(report))
    else:
        print_report(console(), report)
    return None if report.accepted else REFUSED


def print_report(out: Console, report: ProjectionReport) -> None:
    """What becomes of each part that does not go as it is, then the verdict."""
    for each in report.projections:
        fate = str(each.fate).replace("_", " ")
        out.print(cell(f"{fate}: ", _STYLES[each.fate]) + cell(each.told), soft_wrap=True)
    refused = len(report.of(Fate.REFUSED))
    where = report.provider if report.model is None else f"{report.provider}:{report.model}"
    if report.accepted:
        out.print(Text("accepted by ", style="green") + cell(where), soft_wrap=True)
    else:
        count = "1 refusal" if refused == 1 else f"{refused} refusals"
        out.print(Text("not accepted by ", style="bold red") + cell(f"{where}: {count}"), soft_wrap=True)


def _read(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise refuse("FILE", file, f"is a file that can be read ({error.strerror})") from None


def _messages(data: bytes) -> tuple[Message, ...]:
    whole = data.strip()
    # A list of messages is a transcript as well.
    found = load(_Transcript, b'{"messages":' + whole + b"}" if whole.startswith(b"[") else whole).messages
    if not found:
        raise refuse("FILE.messages", found, "holds at least one message")
    return found


def _document(report: ProjectionReport) -> dict[str, Json]:
    told = [
        {
            "fate": str(each.fate),
            "rule": each.rule,
            "message_index": each.message_index,
            "part_index": each.part_index,
        }
        for each in report.projections
    ]
    return {"provider": report.provider, "model": report.model, "accepted": report.accepted, "projections": told}
