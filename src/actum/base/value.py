"""Values and the one encoder: strict, frozen, deterministic. With `plans`, the only importer of msgspec.

`dump` writes a value that `conform` accepts; `load` reads only what `dump` could have meant. Equality of payloads is
equality of these bytes, so nothing here sorts, rounds or repairs.
"""

import functools
import hashlib
import json
from typing import Any, TypeAlias, TypeVar, dataclass_transform

import msgspec

from actum.base import plans
from actum.base.errors import InvalidValue, shortened
from actum.base.limits import JSON_DEPTH

# Any value of JSON: None, bool, int, float, str, lists, and dictionaries with text keys.
Json: TypeAlias = Any
# Bytes of one JSON value, kept exactly as somebody else spelled them; empty means absent.
Verbatim: TypeAlias = msgspec.Raw

T = TypeVar("T")


class _Values(msgspec.StructMeta):
    """Gives every kind of value keyword-only fields, which msgspec does not hand down."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> "_Values":  # noqa: ANN401 - msgspec's own options
        return super().__new__(mcls, name, bases, namespace, **{"kw_only": True, **config})


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Value(msgspec.Struct, metaclass=_Values, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An immutable value. Constructors trust their caller; `conform`, `dump` and every command do not.

    Defaults are left out of the bytes; unknown fields, wrong types and trailing bytes are refused on the way in.
    """


V = TypeVar("V", bound=Value)

replace = msgspec.structs.replace
_encode = msgspec.json.Encoder().encode


@functools.cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:  # noqa: ANN401 - a type form such as `A | B` has no type of its own
    return msgspec.json.Decoder(kind)


def conform(value: V, path: str = "") -> V:
    """`value` in its exact form: every field of its declared type, within its bounds, instants in UTC.

    The same object comes back when nothing had to be put into form (a list given for a tuple, another UTC offset).
    Raises InvalidValue with the path of the field, or TooLarge.
    """
    try:
        exact: V = plans.conform(value, path)
    except RecursionError:
        raise _refused(path or "value", value, f"nests deeper than {JSON_DEPTH} levels") from None
    return exact


def dump(value: Value) -> bytes:
    """The JSON bytes of `value`, the same for the same value, after `conform`."""
    return _encode(conform(value))


def dump_json(value: Json) -> bytes:
    """The JSON bytes of a plain JSON value; refused with its path when it is not one."""
    plans.json_value("value", value)
    return _encode(value)


def load(kind: type[V], data: bytes) -> V:
    """The one value of type `kind` that these JSON bytes spell.

    Raises InvalidValue, with the path as its field, for anything but one complete value: unknown fields, wrong types,
    `null` in a declared field, duplicate keys, trailing bytes, invalid UTF-8, nesting beyond the bound.
    """
    value: V = _decoded(kind, data)
    # What our own encoder wrote is proved by writing it again; only foreign spellings need the slow look.
    if _encode(value) != data:
        plans.no_surprise("", json.loads(data, object_pairs_hook=plans.Pairs), value)
    return value


def load_json(data: bytes) -> Json:
    """The one JSON value that these bytes spell; as strict as `load`."""
    value = _decoded(Any, data)
    if _encode(value) != data:
        plans.no_surprise("", json.loads(data, object_pairs_hook=plans.Pairs), value)
    return value


def verbatim(data: bytes) -> Verbatim:
    """`data` as somebody else's JSON, kept as it is; only syntax, depth and UTF-8 are checked."""
    raw = msgspec.Raw(data)
    plans.verbatim_value("value", raw)
    return raw


def fingerprint(value: Value) -> str:
    """The SHA-256 of the value's bytes, in hexadecimal."""
    return hashlib.sha256(dump(value)).hexdigest()


def _decoded(kind: Any, data: bytes) -> Any:  # noqa: ANN401 - see _decoder
    if not isinstance(data, bytes):
        raise _refused("payload", data, "is bytes")
    try:
        # msgspec does not look into the text of values that it skips or keeps raw.
        data.decode("utf-8")
        plans.not_too_deep("payload", data)
        return _decoder(kind).decode(data)
    except UnicodeDecodeError as error:
        raise _refused("payload", data, f"is UTF-8 ({error.reason} at byte {error.start})") from None
    except msgspec.ValidationError as error:
        says, _, where = str(error).partition(" - at `")
        raise InvalidValue(field=where.rstrip("`").removeprefix("$.") or "payload", value=shortened(data), rule=says) from None
    except msgspec.DecodeError as error:
        raise _refused("payload", data, f"is one JSON value ({error})") from None
    except RecursionError:
        raise _refused("payload", data, f"nests at most {JSON_DEPTH} levels") from None


def _refused(path: str, value: object, rule: str) -> InvalidValue:
    return InvalidValue(field=path, value=shortened(value), rule=rule)
