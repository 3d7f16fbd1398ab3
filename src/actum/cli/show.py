"""`actum transcript`: a conversation for people, or as JSON."""

from collections.abc import Mapping, Sequence
from typing import Final, assert_never

import typer
from rich.console import Console
from rich.text import Text

from actum.base.errors import RunNotFound
from actum.base.value import dump_json
from actum.cli.documents import say, transcript_document
from actum.cli.store import opened
from actum.cli.text import cell, console, show
from actum.cli.waiting import awaited, marks, print_awaited
from actum.messages.message import Message, Role
from actum.messages.parts import (
    CacheCheckpointPart,
    CitationsPart,
    DocumentPart,
    ImagePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
)
from actum.runtime.transcripts import build_messages_from_run_log
from actum.storage.contract import OwnedStore

_ROLES: Final = {Role.SYSTEM: "bold yellow", Role.USER: "bold blue", Role.ASSISTANT: "bold green"}


async def show_transcript(url: str | None, run_id: str | None, session_id: str | None, *, as_json: bool) -> None:
    """The transcript of a run, or of a session's head."""
    one_of("RUN_ID or --session", run_id, session_id)
    async with opened(url) as store:
        name = run_id if run_id is not None else await _head(store, session_id or "")
        messages = await build_messages_from_run_log(store, name)
        run = await store.load_run(name)
        items = await awaited(store, run)
        marked = await marks(store, run, items)
    if as_json:
        say(transcript_document(name, messages, items))
        return
    out = console()
    print_messages(out, messages, open_calls=marked)
    print_awaited(out, run, items)


def one_of(what: str, *given: str | None) -> None:
    """Raises typer.BadParameter unless exactly one is given."""
    if sum(each is not None for each in given) != 1:
        raise typer.BadParameter(f"give exactly one of {what}")


def print_messages(
    out: Console,
    messages: Sequence[Message],
    *,
    indent: int = 0,
    longest: int | None = None,
    open_calls: Mapping[str, str] | None = None,
) -> None:
    """Messages one after the other; `longest` cuts a part's text at so many characters, marked.

    `open_calls` says of tool uses of the last message how they stand, by their ids.
    """
    for index, message in enumerate(messages, 1):
        answers = bool(message.tool_results) and len(message.tool_results) == len(message.parts)
        who = "tools" if answers else str(message.role)
        show(out, Text(who, style="bold cyan" if answers else _ROLES[message.role]), indent)
        for part in message.parts:
            shown = _shown(part)
            if longest is not None and len(shown) > longest:
                shown.right_crop(len(shown) - longest)
                shown.append(" …", style="dim")
            # Another turn may have used the same id; only in the last message a call can be open.
            stands = (open_calls or {}).get(part.id) if isinstance(part, ToolUsePart) else None
            if stands is not None and index == len(messages):
                shown.append_text(cell(f"  {stands}", "yellow"))
            show(out, shown, indent + 2)


async def _head(store: OwnedStore, session_id: str) -> str:
    head = (await store.load_session(session_id)).head_run_id
    if head is None:
        raise RunNotFound(run_id=f"the head of session {session_id}")
    return head


def _shown(part: Part) -> Text:
    match part:
        case TextPart(text=text):
            return cell(text)
        case CitationsPart(text=text, citations=citations):
            return cell(text) + cell(f" [{len(citations)} citations]", "dim")
        case ThinkingPart(text=text):
            return cell("(thinking, redacted)" if text is None else f"(thinking) {text}", "dim italic")
        case ToolUsePart():
            given = part.input_text if part.input_text is not None else bytes(part.input).decode()
            return cell("→ ", "cyan") + cell(part.name, "bold") + cell(f" {given}") + cell(f"  [{part.id}]", "dim")
        case ToolResultPart():
            content = part.content if isinstance(part.content, str) else dump_json(part.content).decode()
            more = f" [+{len(part.attachments)} attachments]" if part.attachments else ""
            mark = cell("✗ ", "red") if part.is_error else cell("← ", "cyan")
            return mark + cell(content) + cell(f"{more}  [{part.tool_use_id}]", "dim")
        case ImagePart():
            return cell(f"(image) {part.uri or _size(part.bytes)}", "dim")
        case DocumentPart():
            return cell(f"(document, {part.format}) {part.name or part.uri or ''}", "dim")
        case CacheCheckpointPart():
            return cell("(cache checkpoint)", "dim")
        case _:
            assert_never(part)


def _size(data: bytes | None) -> str:
    return f"{len(data or b'')} bytes"
