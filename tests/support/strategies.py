"""Strategies for the words of the contract: any value that conforms, and any transcript that obeys the law.

`values_of(kind)` reads the type's own fields, so a new field is drawn without a line here; only values with a rule
across fields have their own strategy.
"""

import itertools
import json
import types
import typing
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Annotated, Any

from hypothesis import strategies as st

from actum.base.checks import Count, Identifier, Instant, Labels, Reason
from actum.base.limits import COUNT_MAX, INTEGER_DIGITS
from actum.base.value import Value, Verbatim
from actum.messages.message import Message, Role, assistant, system, user
from actum.messages.parts import (
    CacheCheckpointPart,
    CharRange,
    ChunkRange,
    CitationsPart,
    DocumentPart,
    ImagePart,
    PageRange,
    Part,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
    tool_use,
)
from actum.records.failures import Failure, FailureKind, Issue, Recovery, ToolFailure, ToolFailureKind
from actum.records.kinds import (
    PAYLOADS,
    Cancellation,
    MessagesAppended,
    MessagesSeeded,
    RunCompleted,
    ToolResultReceived,
)
from actum.records.makers import transcript_messages_appended, transcript_messages_seeded
from actum.records.record import Record, payload_bytes, record_id, record_type, scope_digest
from actum.records.types import RecordType

T0 = datetime(2025, 1, 1, tzinfo=UTC)
# What breaks encoders: quotes, escapes, NUL, line separators, the byte order mark, characters beyond 16 bits.
ODD_TEXTS = (
    "",
    "\0",
    '"\\/\b\f\n\r\t',
    "\u2028\u2029\x7f\x85",
    "\ufeff\uffff",
    "🔥👩‍👩‍👧",
    "é",
    "e\u0301",
    "null",
    "{",
    "]",
)


def texts() -> st.SearchStrategy[str]:
    """Any text that Unicode can spell."""
    return st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(ODD_TEXTS)


def identifiers() -> st.SearchStrategy[str]:
    """Identities as strange as they may be."""
    letters = st.characters(codec="utf-8", exclude_characters="\0")
    return st.text(letters, min_size=1, max_size=40).filter(lambda text: not text.isspace())


def labels() -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(identifiers(), texts().filter(lambda text: "\0" not in text), max_size=3)


def instants() -> st.SearchStrategy[datetime]:
    """Instants of whole milliseconds, in UTC."""
    seconds = st.integers(-62_135_596_800, 253_402_300_799)
    return st.builds(
        lambda s, ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=s, milliseconds=ms),
        seconds,
        st.integers(0, 999),
    )


def biggest() -> st.SearchStrategy[int]:
    """The integers of the greatest length."""
    return st.sampled_from("+-").map(lambda sign: int(sign + "9" * INTEGER_DIGITS))


def json_values(max_leaves: int = 8) -> st.SearchStrategy[Any]:
    """Any JSON value."""
    leaves = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.sampled_from((2**63, -(2**63) - 1, 2**64, -0.0, 1e308, 5e-324))
        | st.floats(allow_nan=False, allow_infinity=False)
        | texts()
        | biggest()
    )
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | json_objects(inner), max_leaves=max_leaves)


def json_objects(values: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(texts(), json_values(3) if values is None else values, max_size=3)


def verbatim_objects() -> st.SearchStrategy[Verbatim]:
    """A JSON object in somebody else's spelling: blanks, escapes, keys given twice."""

    def spell(value: dict[str, Any], indent: int | None, *, ascii_only: bool, twice: bool) -> Verbatim:
        text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
        return Verbatim((f'{{"twice": 1, "twice" :{text}}}' if twice else text).encode())

    return st.builds(
        spell, json_objects(), st.none() | st.integers(0, 2), ascii_only=st.booleans(), twice=st.booleans()
    )


def tool_uses(ids: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[ToolUsePart]:
    """Tool uses, well formed or malformed."""
    shared: dict[str, st.SearchStrategy[Any]] = {
        "id": identifiers() if ids is None else ids,
        "name": identifiers(),
        "signature": st.none() | texts(),
        "provider": st.none() | texts(),
    }
    return st.builds(ToolUsePart, input=verbatim_objects(), **shared) | st.builds(
        ToolUsePart, input_text=texts(), **shared
    )


def _either(kind: type[Value], one_of: dict[str, st.SearchStrategy[Any]], **rest: st.SearchStrategy[Any]) -> Any:
    return st.one_of(*(st.builds(kind, **{name: values}, **rest) for name, values in one_of.items()))


def _ranges(kind: type[Value]) -> st.SearchStrategy[Value]:
    return st.builds(lambda start, size: kind(start=start, end=start + size), st.integers(0, 2**40), st.integers(0, 99))


_IMAGE_FORMATS = st.sampled_from(("png", "jpeg", "gif", "webp"))

_OWN: dict[Any, Callable[[], st.SearchStrategy[Any]]] = {
    Identifier: identifiers,
    Instant: instants,
    Labels: labels,
    Reason: identifiers,
    Count: lambda: st.integers(0, COUNT_MAX),
    Any: json_values,
    str: texts,
    bool: st.booleans,
    int: lambda: st.integers() | biggest(),
    bytes: lambda: st.binary(max_size=20),
    Annotated[str, record_type]: lambda: st.sampled_from(RecordType).map(str) | st.just("x.own-type"),
    Annotated[bytes, payload_bytes]: lambda: st.binary(max_size=20),
    CharRange: lambda: _ranges(CharRange),
    ChunkRange: lambda: _ranges(ChunkRange),
    PageRange: lambda: _ranges(PageRange),
    ThinkingPart: lambda: (
        st.builds(ThinkingPart, text=texts(), signature=st.none() | texts(), provider=st.none() | texts())
        | st.builds(ThinkingPart, redacted=st.binary(max_size=20), provider=st.none() | texts())
    ),
    ImagePart: lambda: (
        st.builds(ImagePart, bytes=st.binary(max_size=20), format=_IMAGE_FORMATS, metadata=st.none() | json_objects())
        | st.builds(ImagePart, uri=texts(), format=st.none() | _IMAGE_FORMATS)
    ),
    DocumentPart: lambda: _either(
        DocumentPart,
        {
            "bytes": st.binary(max_size=20),
            "text": texts(),
            "chunks": st.lists(texts(), max_size=3).map(tuple),
            "uri": texts(),
        },
        format=st.sampled_from(("pdf", "txt", "md")),
        name=st.none() | texts(),
        context=st.none() | texts(),
        cite=st.booleans(),
    ),
    ToolUsePart: tool_uses,
    Failure: lambda: st.builds(Failure, kind=st.sampled_from(FailureKind), message=texts(), code=st.none() | texts()),
    ToolFailure: lambda: st.builds(
        ToolFailure,
        kind=st.sampled_from(ToolFailureKind),
        message=texts(),
        recovery=st.sampled_from(Recovery),
        issues=st.lists(values_of(Issue), max_size=2).map(tuple),
    ),
    RunCompleted: lambda: (
        st.builds(RunCompleted, status=st.just("completed"), labels=labels())
        | st.builds(RunCompleted, status=st.just("failed"), failure=values_of(Failure), labels=labels())
        | st.builds(RunCompleted, status=st.just("canceled"), cancellation=values_of(Cancellation), labels=labels())
    ),
    ToolResultReceived: lambda: (
        st.builds(
            ToolResultReceived,
            tool_call_id=identifiers(),
            call_run_id=identifiers(),
            content=json_values(),
            attachments=st.lists(_of(ImagePart | DocumentPart), max_size=1).map(tuple),
            duration_ms=st.integers(0, COUNT_MAX),
        )
        | st.builds(
            ToolResultReceived, tool_call_id=identifiers(), call_run_id=identifiers(), failure=values_of(ToolFailure)
        )
    ),
}


def _of(hint: Any) -> st.SearchStrategy[Any]:  # noqa: PLR0911 - one return a kind of type form
    if hint in _OWN:
        return _OWN[hint]()
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*(_of(each) for each in inside))
    if hint is type(None):
        return st.none()
    if origin is tuple:
        return st.lists(_of(inside[0]), max_size=3).map(tuple)
    if origin is typing.Literal:
        return st.sampled_from(inside)
    if origin is dict:
        return json_objects()
    if hint is Verbatim:
        return verbatim_objects()
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    return values_of(hint)


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of this kind that conforms."""
    if kind in _OWN:
        return _OWN[kind]()
    hints = typing.get_type_hints(kind, include_extras=True)
    return st.builds(kind, **{name: _of(hint) for name, hint in hints.items()})


def parts() -> st.SearchStrategy[Part]:
    """Any part, wherever the law would want it."""
    return st.deferred(lambda: _of(Part))


def messages(role: Role | None = None) -> st.SearchStrategy[Message]:
    """Any message that conforms, lawful or not."""
    roles = st.sampled_from(Role) if role is None else st.just(role)
    return st.builds(
        Message, role=roles, parts=st.lists(parts(), max_size=4).map(tuple), meta=st.none() | json_objects()
    )


def payloads(record_type: RecordType) -> st.SearchStrategy[Value]:
    """Any payload of this record type."""
    return values_of(PAYLOADS[record_type])


# Lawful transcripts. Their parts are plain on purpose: what is inside a part is the business of the value laws.

_WORDS = st.text("abc ", max_size=5)


def _said() -> st.SearchStrategy[Part]:
    return st.builds(TextPart, text=_WORDS) | st.just(CacheCheckpointPart())


def _thought() -> st.SearchStrategy[Part]:
    return _said() | st.builds(ThinkingPart, text=_WORDS) | st.builds(CitationsPart, text=_WORDS)


@st.composite
def _groups(draw: st.DrawFn, *, min_calls: int = 0) -> list[Message]:
    """A group of assistant messages and, when it has tool uses, the one user message that answers them."""
    # Ids are unique in the group only: another group of the transcript often has the same ones.
    ids = draw(st.lists(st.sampled_from(("t1", "t2", "t3", "t4")), unique=True, min_size=min_calls, max_size=4))
    split = draw(st.integers(0, len(ids)))
    group = []
    for chosen in (ids[:split], ids[split:]):
        inside = [*draw(st.lists(_thought(), max_size=2)), *(tool_use(id, "a.x", {}) for id in chosen)]
        if inside:
            group.append(assistant(*draw(st.permutations(inside))))
    if not ids:
        return group
    results = [
        ToolResultPart(tool_use_id=id, content=draw(_WORDS), is_error=draw(st.booleans()))
        for id in draw(st.permutations(ids))
    ]
    return [*group, user(*results, *draw(st.lists(_said(), max_size=1)))]


@st.composite
def transcripts(draw: st.DrawFn, *, min_calls: int = 0, welcome: bool = True) -> tuple[Message, ...]:
    """A transcript that obeys the planner's law. With `min_calls` its last turn has a group of so many tool uses."""
    found = [system(text) for text in draw(st.lists(_WORDS, max_size=2))]
    if welcome and draw(st.booleans()):
        found.append(assistant("welcome"))
    for _ in range(draw(st.integers(0, 3))):
        found.append(user(*draw(st.lists(_said(), max_size=2))))
        for group in draw(st.lists(_groups(), max_size=2)):
            found += group
    if min_calls:
        found.append(user("more"))
        found += draw(_groups(min_calls=min_calls))
    return tuple(found)


def records_of(
    transcript: Sequence[Message],
    cuts: Sequence[int] = (),
    *,
    seeded: bool = False,
    run_id: str = "run-1",
    begin: int = 1,
) -> tuple[Record, ...]:
    """The records of a run that stored this transcript, cut at these indexes into one record each."""
    edges = [0, *sorted(cuts), len(transcript)]
    pieces = [tuple(transcript[a:b]) for a, b in itertools.pairwise(edges) if a < b]
    found = []
    for i, piece in enumerate(pieces):
        seed = seeded and i == 0
        make = transcript_messages_seeded if seed else transcript_messages_appended
        kind = MessagesSeeded if seed else MessagesAppended
        names = {value: key for key, value in PAYLOADS.items()}
        found.append(record(names[kind], make(messages=piece), position=begin + i, run_id=run_id))
    return tuple(found)


def record(type: str, payload: bytes, *, position: int, run_id: str = "run-1", session_id: str = "s-1") -> Record:
    """A stored record at this position of its session."""
    return Record(
        id=record_id(scope_digest(session_id=session_id, root_run_id=None), position),
        event_key=f"k-{position}",
        run_id=run_id,
        agent_id="a",
        session_id=session_id,
        type=str(type),
        payload=payload,
        timestamp=T0,
    )
