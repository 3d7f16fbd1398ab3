"""Values and the one encoder: strict, frozen, deterministic. With `plans`, the only importer of msgspec.

`dump` writes a value that `conform` accepts; `load` reads a value that `dump` could have written, also in another
spelling. Equality of payloads is equality of their bytes, so nothing here sorts, rounds or repairs.
"""

import functools
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias, TypeVar, dataclass_transform

import msgspec

from actum.base import plans
from actum.base.clock import from_millis
from actum.base.errors import InvalidValue, shortened
from actum.base.json_values import (
    json_value,
    lowest_or_float,
    lowest_shown,
    not_too_deep,
    shows_lowest,
    spelling,
    too_deep,
)
from actum.base.limits import JSON_DEPTH

# Any value of JSON: None, bool, int, float, str, lists, and dictionaries with text keys.
Json: TypeAlias = Any
# Bytes of one JSON value, kept exactly as somebody else spelled them; empty means absent. A decoder takes them over
# without a look at their text, so every value that holds some refuses in `__post_init__` what is not `in_utf8`.
Verbatim: TypeAlias = msgspec.Raw
# The one spelling of "no verbatim value": msgspec leaves a field out only when it holds the default's own object.
ABSENT: Final[Verbatim] = plans.ABSENT

# Seconds as a float are nearer to their own microsecond than to any other from 1833 to 2106.
_EXACT_MILLIS: Final = 2**32 * 1000
# So many values are read in one go: few enough that their bytes are still close to the processor when they are proved.
_TOGETHER: Final = 64

T = TypeVar("T")


class _Values(msgspec.StructMeta):
    """Gives every kind of value keyword-only fields, which msgspec does not hand down."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> "_Values":  # noqa: ANN401 - msgspec's own options
        return super().__new__(mcls, name, bases, namespace, **{"kw_only": True, **config})


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Value(msgspec.Struct, metaclass=_Values, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An immutable value. Constructors trust their caller; `conform`, `dump` and every command do not.

    A value holds only what was there before it, so none is ever part of a cycle, and the collector need not look.
    Defaults are left out of the bytes; unknown fields, wrong types and trailing bytes are refused on the way in.
    """


class Fact(msgspec.Struct, frozen=True, gc=False):
    """An immutable value that never leaves the process: positional, quickly made, and checked by nobody."""


V = TypeVar("V", bound=Value)

# What `dump` made lately. The bytes are held, so that no others can have their id.
_REMEMBERED: Final = 256
_REMEMBERED_BYTES: Final = 4096
_spelled_here: OrderedDict[int, tuple[bytes, type[Value]]] = OrderedDict()

replace = msgspec.structs.replace
_encode = msgspec.json.Encoder().encode
_encode_into = msgspec.json.Encoder().encode_into


@functools.cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:  # noqa: ANN401 - a type form such as `A | B` has no type of its own
    return msgspec.json.Decoder(kind)


def conform(value: V, path: str = "") -> V:
    """`value` in its exact form: every field of its declared type, within its bounds, instants in UTC.

    The same object comes back when nothing had to be put into form (a list given for a tuple, another UTC offset,
    labels, which are copied). Raises InvalidValue with the path of the field, or TooLarge.
    """
    try:
        exact: V = plans.conform((type(value),), path, value)
    except RecursionError:
        raise _refused(path or "value", value, f"nests deeper than {JSON_DEPTH} levels") from None
    return exact


def exact(value: V) -> V:
    """As `conform`, for a long value that is looked at once: several times as quick, and always another object.

    Nesting is bounded by the decoder, not by the bound of stored values; texts and numbers of a subclass, where they
    stand inside JSON, come back plain. Raises what `conform` raises for all else.
    """
    try:
        data = _encode(value)
        data.decode("utf-8")
        read: V = _decoder(type(value)).decode(data)
        if read == value:
            return plans.conform_decoded("", read)  # type: ignore[no-any-return]  # the same type comes back
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        # What is wrong, and where, only the slow look can say.
        return conform(value)
    return conform(value)


def dump(value: Value) -> bytes:
    """The JSON bytes of `value`, the same for the same value, after `conform`."""
    data = _encode(conform(value))
    if len(data) <= _REMEMBERED_BYTES:
        _spelled_here[id(data)] = data, type(value)
        if len(_spelled_here) > _REMEMBERED:
            _spelled_here.popitem(last=False)
    return data


def spelled_here(kind: type[Value], data: bytes) -> bool:
    """Whether these very bytes, the same object, were made by `dump` of a `kind` a short while ago.

    Then `load` would find nothing wrong with them, and whoever wants no more than that need not ask it.
    """
    found = _spelled_here.get(id(data))
    return found is not None and found[0] is data and found[1] is kind


def dump_json(value: Json) -> bytes:
    """The JSON bytes of a plain JSON value; refused with its path when it is not one."""
    json_value("value", value)
    return _encode(value)


def spelled(value: Json) -> bytes:
    """The JSON bytes of plain JSON in which verbatim values, and bytes (as base64), may stand; trusts its caller."""
    return _encode(value)


def load(kind: type[V], data: bytes) -> V:
    """The one value of type `kind` that these JSON bytes spell, in its exact form.

    Raises InvalidValue, with the path as its field, for anything but one complete value: unknown fields, wrong types,
    `null` in a declared field, duplicate keys, trailing bytes, invalid UTF-8, nesting beyond the bound, base64 that
    is not canonical, an instant finer than milliseconds. Raises TooLarge for a field beyond its bound.
    """
    value: V = _decoded(kind, data)
    exact: V = plans.conform_decoded("", value)
    return exact


def load_all(kind: type[V], spelled: Sequence[bytes]) -> list[V]:
    """What `load` gives for each of these, in half the time. Raises what it raises, for the first that does not fit."""
    values: list[V] = []
    for begin in range(0, len(spelled), _TOGETHER):
        some = spelled[begin : begin + _TOGETHER]
        values += _together(kind, some) or [load(kind, data) for data in some]
    return values


def load_json(data: bytes) -> Json:
    """The one JSON value that these bytes spell; as strict as `load`."""
    return _decoded(Any, data)


def members(data: bytes | Verbatim) -> dict[str, Verbatim]:
    """The members of somebody else's JSON object, each in its own spelling; of a key given twice the last one.

    Checks bytes as `verbatim` does; a verbatim value was checked when it was taken. Raises InvalidValue, also for what
    is no object.
    """
    found: dict[str, Verbatim] = _pieces(dict[str, Verbatim], data, "is one JSON object")
    return found


def items(data: bytes | Verbatim) -> list[Verbatim]:
    """The items of somebody else's JSON list, each in its own spelling; checked as `members` are."""
    found: list[Verbatim] = _pieces(list[Verbatim], data, "is one JSON list")
    return found


def instants(millis: Sequence[int]) -> list[datetime]:
    """The instants, in UTC, of whole milliseconds since 1970: `from_millis` of each, several times as quick."""
    if millis and min(millis) > -_EXACT_MILLIS and max(millis) < _EXACT_MILLIS:
        exact: list[datetime] = msgspec.convert([each / 1000 for each in millis], list[datetime], strict=False)
        return exact
    return [from_millis(each) for each in millis]


def verbatim(data: bytes) -> Verbatim:
    """`data` as somebody else's JSON value, kept as it is; only syntax, depth and UTF-8 are checked.

    Blanks around the value are no part of it. Raises InvalidValue; also for no value at all.
    """
    if not data:
        raise _refused("value", data, "is one JSON value")
    raw: Verbatim = plans.verbatim_value("value", data)
    return raw


def fingerprint(value: Value) -> str:
    """The SHA-256 of the value's bytes, in hexadecimal."""
    return hashlib.sha256(dump(value)).hexdigest()


def in_utf8(path: str, value: Verbatim) -> bytes:
    """The bytes of a verbatim value, all of them UTF-8. Raises InvalidValue."""
    data = bytes(value)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused(path, data, f"is UTF-8 ({error.reason} at byte {error.start})") from None
    return data


def _pieces(kind: Any, data: bytes | Verbatim, rule: str) -> Any:  # noqa: ANN401 - see _decoder
    try:
        if isinstance(data, bytes):
            data.decode("utf-8")
            not_too_deep("value", data)
        return _decoder(kind).decode(data)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        raise _refused("value", bytes(data), rule) from None


def _decoded(kind: Any, data: bytes) -> Any:  # noqa: ANN401 - see _decoder
    if not isinstance(data, bytes):
        raise _refused("payload", data, "is bytes")
    try:
        not_too_deep("payload", data)
        value = _read(kind, data)
        # What our own encoder wrote is proved by writing it again; only foreign spellings need the slow look.
        if _encode(value) != data:
            plans.no_surprise("", spelling(data), value)
    except msgspec.ValidationError as error:
        raise _placed(error, data) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        # Of text that is not UTF-8 a decoder tells in either way, by its version.
        raise _refused("payload", data, f"is one JSON value ({error})") from None
    except RecursionError:
        raise _refused("payload", data, f"nests at most {JSON_DEPTH} levels") from None
    return value


def _together(kind: type[V], spelled: Sequence[bytes]) -> list[V] | None:
    """The values, when all are spelled as our encoder spells them; None when each must be looked at alone."""
    if {*map(type, spelled)} != {bytes}:
        return None
    try:
        values: list[V] = list(map(_decoder(kind).decode, spelled))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    again = bytearray()
    for value, data in zip(values, spelled, strict=True):
        if too_deep(data):
            return None
        _encode_into(value, again)
        if again != data:
            return None
    return plans.conform_all(values)


def _read(kind: Any, data: bytes) -> Any:  # noqa: ANN401 - see _decoder
    try:
        return _decoder(kind).decode(data)
    except msgspec.ValidationError:
        shown = lowest_shown(data)
        if shown == data or shows_lowest(data):
            raise
    return plans.with_lowest_hidden(msgspec.json.Decoder(kind, float_hook=lowest_or_float).decode(shown))


def _placed(error: msgspec.ValidationError, data: bytes) -> InvalidValue:
    """Tell msgspec's refusal, or the one of a value's own rule that it wraps, with the path from the top."""
    says, _, where = str(error).rpartition(" - at `$")
    path = where.rstrip("`").removeprefix(".") if says else ""
    own = error.__cause__
    if isinstance(own, InvalidValue):
        return InvalidValue(field=f"{path}.{own.field}" if path else own.field, value=own.value, rule=own.rule)
    return _refused(path or "payload", data, says or str(error))


def _refused(path: str, value: object, rule: str) -> InvalidValue:
    return InvalidValue(field=path, value=shortened(value), rule=rule)
