"""Our own JSON of a part, where another format keeps room for data of somebody else's."""

from actum.base.value import Json, Verbatim, dump, load
from actum.messages.message import Message
from actum.messages.parts import Part


def spelled_part(part: Part) -> Verbatim:
    """The part's JSON."""
    return Verbatim(dump(part))


def part_in(data: bytes) -> Part:
    """The part that these bytes spell. Raises InvalidValue for anything else."""
    return load(Message, b'{"role":"user","parts":[' + data + b"]}").parts[0]


def known(**fields: Json) -> dict[str, Json]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
