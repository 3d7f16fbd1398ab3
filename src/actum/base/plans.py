"""How a value is put into its exact form: one plan a type, compiled from its annotations.

msgspec checks what it decodes; these plans check what Python code constructs, and refuse what msgspec would let pass:
NaN, tuples and other types in JSON positions, non-text keys, duplicate keys, nulls in declared fields, deep nesting.
"""

import functools
import json
import math
import re
import types
import typing
from collections.abc import Callable
from datetime import datetime
from enum import Enum
from typing import Any

import msgspec

from actum.base.checks import instant, refuse, text, utf8
from actum.base.limits import INTEGER_DIGITS, JSON_DEPTH

Plan = Callable[[str, Any], Any]

_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_TEN_TO_BOUND = 10**INTEGER_DIGITS


class Pairs(list[tuple[str, Any]]):
    """A JSON object as it was spelled: its pairs in order, duplicates included."""


def conform(value: Any, path: str) -> Any:  # noqa: ANN401 - works on every Value alike
    """`value`, a struct, with every field put through its plan; the same object when nothing changed."""
    changed: dict[str, Any] = {}
    prefix = f"{path}." if path else ""
    kind: type[msgspec.Struct] = type(value)
    for name, plan in _fields(kind):
        before = getattr(value, name)
        after = plan(prefix + name, before)
        if after is not before:
            changed[name] = after
    return msgspec.structs.replace(value, **changed) if changed else value


@functools.cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, Plan], ...]:
    hints = typing.get_type_hints(kind, include_extras=True)
    plans = ((name, _plan(hints[name])) for name in kind.__struct_fields__)
    return tuple((name, plan) for name, plan in plans)


def _plan(hint: Any) -> Plan:  # noqa: ANN401, PLR0911 - a type form has no type of its own; one return a kind of form
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return next((extra for extra in inside[1:] if callable(extra)), None) or _plan(inside[0])
    if origin in (typing.Union, types.UnionType):
        return _either(inside)
    if origin is tuple:
        return functools.partial(_items, _plan(inside[0]))
    if origin is typing.Literal:
        return functools.partial(_one_of, inside)
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if origin is dict:
        return _json_object
    if isinstance(hint, type) and issubclass(hint, Enum):
        return functools.partial(_member, hint)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return functools.partial(_struct, (hint,))
    raise TypeError(f"no plan for a field of type {hint!r}")


def _either(hints: tuple[Any, ...]) -> Plan:
    given = tuple(h for h in hints if h is not type(None))
    if all(isinstance(h, type) and issubclass(h, msgspec.Struct) for h in given):
        plan: Plan = functools.partial(_struct, given)
    elif len(given) == 1:
        plan = _plan(given[0])
    else:
        raise TypeError(f"no plan for a field of type {hints!r}")
    if len(given) == len(hints):
        return plan
    return lambda path, value: None if value is None else plan(path, value)


def _struct(kinds: tuple[type[msgspec.Struct], ...], path: str, value: Any) -> Any:  # noqa: ANN401 - see conform
    if not isinstance(value, kinds):
        raise refuse(path, value, "is one of " + ", ".join(k.__name__ for k in kinds))
    return conform(value, path)


def _items(plan: Plan, path: str, value: Any) -> Any:  # noqa: ANN401 - see conform
    if not isinstance(value, tuple | list):
        raise refuse(path, value, "is a list or tuple")
    after = tuple([plan(f"{path}[{i}]", item) for i, item in enumerate(value)])
    same = type(value) is tuple and all(a is b for a, b in zip(after, value, strict=True))
    return value if same else after


def _one_of(choices: tuple[Any, ...], path: str, value: Any) -> Any:  # noqa: ANN401 - see conform
    if value not in choices or type(value) is not type(choices[0]):
        raise refuse(path, value, "is one of " + ", ".join(map(str, choices)))
    return value


def _member(kind: type[Enum], path: str, value: Any) -> Any:  # noqa: ANN401 - see conform
    try:
        return kind(value)
    except ValueError:
        raise refuse(path, value, "is one of " + ", ".join(str(m.value) for m in kind)) from None


def _exactly(kind: type) -> Plan:
    def plan(path: str, value: Any) -> Any:  # noqa: ANN401 - see conform
        if type(value) is not kind:
            raise refuse(path, value, f"is of type {kind.__name__}")
        return value

    return plan


def _number(path: str, value: Any) -> Any:  # noqa: ANN401 - see conform
    if type(value) is int:
        return value
    if type(value) is not float or not math.isfinite(value):
        raise refuse(path, value, "is a finite number")
    return value


def json_value(path: str, value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - the JSON edge
    """Any JSON value, unchanged; refused with the path of what is none."""
    kind = type(value)
    if kind is str:
        utf8(path, value)
    elif value is None or kind is bool:
        pass
    elif kind is int:
        if not -_TEN_TO_BOUND < value < _TEN_TO_BOUND:
            raise refuse(path, "an integer", f"has at most {INTEGER_DIGITS} digits")
    elif kind is float:
        _number(path, value)
    elif depth >= JSON_DEPTH and kind in (list, dict):
        raise refuse(path, kind.__name__, f"nests at most {JSON_DEPTH} levels")
    elif kind is list:
        for i, item in enumerate(value):
            json_value(f"{path}[{i}]", item, depth + 1)
    elif kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise refuse(f"{path} key", key, "is text")
            utf8(f"{path} key", key)
            json_value(f"{path}.{key}", item, depth + 1)
    else:
        raise refuse(path, value, "is a JSON value: null, true, false, a number, text, a list or an object")
    return value


def _json_object(path: str, value: Any) -> Any:  # noqa: ANN401 - the JSON edge
    if type(value) is not dict:
        raise refuse(path, value, "is a JSON object")
    return json_value(path, value)


def verbatim_value(path: str, value: Any) -> Any:  # noqa: ANN401 - see conform
    """Somebody else's JSON bytes: syntax, depth and UTF-8 are checked, the spelling is kept. Empty means absent."""
    if isinstance(value, bytes):
        value = msgspec.Raw(value)
    if not isinstance(value, msgspec.Raw):
        raise refuse(path, value, "is JSON bytes")
    data = bytes(value)
    if not data:
        return value
    try:
        data.decode("utf-8")
        not_too_deep(path, data)
        msgspec.json.decode(data, type=msgspec.Raw)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        raise refuse(path, data, f"is one JSON value in UTF-8 ({error})") from None
    return value


def not_too_deep(path: str, data: bytes) -> None:
    """Refuses JSON bytes that nest beyond the bound, before any decoder recurses into them."""
    if data.count(b"[") + data.count(b"{") <= JSON_DEPTH:
        return
    depth = 0
    for mark in re.findall(rb"[\[\]{}]", _STRINGS.sub(b"", data)):
        depth += 1 if mark in b"[{" else -1
        if depth > JSON_DEPTH:
            raise refuse(path, data, f"nests at most {JSON_DEPTH} levels")


def no_surprise(path: str, spelled: Any, value: Any) -> None:  # noqa: ANN401 - see conform
    """Refuses duplicate keys, and `null` in a declared field, in JSON that was spelled by somebody else.

    `spelled` is the JSON with `Pairs` for objects, `value` what it was decoded to. Verbatim values are not looked into.
    """
    if isinstance(value, msgspec.Raw):
        return
    if isinstance(spelled, Pairs):
        seen = set()
        for key, item in spelled:
            where = f"{path}.{key}" if path else key
            if key in seen:
                raise refuse(where, key, "is given once, not twice")
            seen.add(key)
            if not isinstance(value, msgspec.Struct):
                no_surprise(where, item, value[key])
            elif key in value.__struct_fields__:
                inside = getattr(value, key)
                if item is None and not _takes_null(type(value), key):
                    raise refuse(where, None, "is left out when it has no value, never null")
                no_surprise(where, item, inside)
    elif isinstance(spelled, list):
        for i, (item, inside) in enumerate(zip(spelled, value, strict=True)):
            no_surprise(f"{path}[{i}]", item, inside)


def _takes_null(kind: type[msgspec.Struct], name: str) -> bool:
    return typing.get_type_hints(kind)[name] is Any


_SIMPLE: dict[Any, Plan] = {
    Any: json_value,
    str: text,
    int: _exactly(int),
    bool: _exactly(bool),
    bytes: _exactly(bytes),
    float: _number,
    datetime: instant,
    msgspec.Raw: verbatim_value,
    dict: _json_object,
}
