"""What `--json` prints: the contract's values by their own field names, every field there, text never cut."""

from collections.abc import Iterable
from datetime import datetime
from enum import Enum

import typer

from actum.base.errors import InvalidValue
from actum.base.value import Json, Value, dump, dump_json, load_json
from actum.cli.text import instant
from actum.messages.message import Message
from actum.records.record import Record
from actum.runtime.given import PendingInput


def document(value: Value) -> dict[str, Json]:
    """A session or run with all its fields; what is absent is null."""
    return {name: _json(getattr(value, name)) for name in value.__struct_fields__}


def record_line(record: Record) -> bytes:
    """A record on one line. Its payload stands in it as it is stored.

    A payload that is no JSON is `null`, with what is wrong as `payload_error`.
    """
    fields = document(record)
    del fields["payload"]
    try:
        load_json(record.payload)
    except InvalidValue as error:
        return dump_json({**fields, "payload": None, "payload_error": str(error)})
    # Blanks between the tokens of a foreign spelling may be line breaks; inside a JSON text there are none.
    one_line = record.payload.replace(b"\r", b" ").replace(b"\n", b" ")
    return dump_json(fields)[:-1] + b',"payload":' + one_line + b"}"


def transcript_document(run_id: str, messages: Iterable[Message], pending: Iterable[PendingInput]) -> bytes:
    """A transcript as one document, each message byte for byte as its record spells it; and what its run waits for."""
    said, waits = b",".join(dump(each) for each in messages), dump_json([document(each) for each in pending])
    return b'{"run_id":' + dump_json(run_id) + b',"messages":[' + said + b'],"pending":' + waits + b"}"


def say(data: bytes | Json) -> None:
    """Prints one document on a line of its own."""
    typer.echo(data if isinstance(data, bytes) else dump_json(data))


def _json(value: object) -> Json:
    match value:
        case datetime():
            return instant(value)
        case Enum():
            return str(value)
        case Value():
            return document(value)
        case _:
            return value
