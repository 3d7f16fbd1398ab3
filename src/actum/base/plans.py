"""How a value is put into its exact form: one plan a type, compiled from its annotations.

msgspec checks what it decodes; these plans check what Python code constructs, and refuse what msgspec would let pass:
NaN, tuples and other types in JSON positions, non-text keys, duplicate keys, nulls in declared fields, deep nesting.

A type has two plans. The full one trusts nothing. The one for decoded values looks only at what msgspec lets pass, so
that a transcript of ten thousand messages is read at msgspec's speed.
"""

import base64
import functools
import math
import operator
import re
import types
import typing
from collections.abc import Callable
from datetime import datetime
from enum import Enum
from typing import Any

import msgspec

from actum.base.checks import instant, refuse, text
from actum.base.errors import InvalidValue, TooLarge
from actum.base.json_values import TEN_TO_BOUND, Pairs, json_value, lowest_hidden, not_too_deep
from actum.base.limits import CONTENT_DEPTH, IDENTIFIER_BYTES, INTEGER_DIGITS

Plan = Callable[[str, Any], Any]

ABSENT = msgspec.Raw()
# No field's value.
_NOTHING = object()

_values = msgspec.structs.astuple
_FINER = re.compile(r"\.[0-9]{3}[0-9]*[1-9]")


def conform(kinds: tuple[type[msgspec.Struct], ...], path: str, value: Any) -> Any:  # noqa: ANN401 - works on every Value alike
    """`value`, one of these structs, with every field put through its plan; the same object when nothing changed.

    It is exactly one of them: a subclass has fields that the durable form of its base does not know.
    A plan judges a field by the value alone. So the very name that a field of this type passed last, such as the id of
    a run whose records come one after the other, passes again unseen.
    """
    kind: type[msgspec.Struct] = type(value)
    if kind not in kinds:
        raise refuse(path, value, "is one of " + ", ".join(k.__name__ for k in kinds))
    changed: dict[str, Any] = {}
    fields, passed = _fields(kind)
    try:
        for i, before in enumerate(_values(value)):
            if before is passed[i]:
                continue
            name, plan, is_name = fields[i]
            after = plan(name, before)
            if after is not before:
                changed[name] = after
            elif is_name and type(before) is str and len(before) <= IDENTIFIER_BYTES:
                passed[i] = before
    except (InvalidValue, TooLarge) as error:
        _place(path, error)
        raise
    return msgspec.structs.replace(value, **changed) if changed else value


def conform_decoded(path: str, value: Any) -> Any:  # noqa: ANN401 - see conform
    """As `conform`, for a value from msgspec's decoder; only the rules that it does not know are looked at."""
    changed: dict[str, Any] = {}
    kind: type[msgspec.Struct] = type(value)
    try:
        for name, plan in _fields_to_look_at(kind):
            before = getattr(value, name)
            # A decoder gives None only where the field takes it.
            after = None if before is None else plan(name, before)
            if after is not before:
                changed[name] = after
    except (InvalidValue, TooLarge) as error:
        _place(path, error)
        raise
    return msgspec.structs.replace(value, **changed) if changed else value


def _place(path: str, error: InvalidValue | TooLarge) -> None:
    # A path is spelled out only for a refusal: on its way up, each value puts the name of its own place before it.
    if path:
        error.field = f"{path}.{error.field}"


def conform_all(values: list[Any]) -> list[Any]:
    """What `conform_decoded` gives for each of these, which were decoded as one type and are at least one.

    Most fields that are looked at need not be there, and are not: then their plans have nothing to say.
    """
    kind: type[msgspec.Struct] = type(values[0])
    for name, _ in _fields_to_look_at(kind):
        if [*map(operator.attrgetter(name), values)].count(None) < len(values):
            return [conform_decoded("", value) for value in values]
    return values


@functools.cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[tuple[str, Plan, bool], ...], list[object]]:
    """The fields in their order, and the value that each has passed last: at first None where that may stand.

    With each field stands whether it holds a name: a text with a rule of its own. Only names are remembered; what
    people write is not kept alive, and what can be changed is looked at anew.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = tuple((name, plan, _holds_a_name(hints[name])) for name, plan in _planned(kind, decoded=False))
    return fields, [None if _takes_none(plan) else _NOTHING for _, plan, _ in fields]


@functools.cache
def _fields_to_look_at(kind: type[msgspec.Struct]) -> tuple[tuple[str, Plan], ...]:
    return _planned(kind, decoded=True)


def _planned(kind: type[msgspec.Struct], *, decoded: bool) -> tuple[tuple[str, Plan], ...]:
    hints = typing.get_type_hints(kind, include_extras=True)
    plans = ((name, _plan(hints[name], decoded=decoded)) for name in kind.__struct_fields__)
    return tuple((name, plan) for name, plan in plans if plan is not None)


def _holds_a_name(hint: Any) -> bool:  # noqa: ANN401 - see _plan
    either = hint if typing.get_origin(hint) is typing.Annotated else next(iter(typing.get_args(hint)), None)
    return typing.get_origin(either) is typing.Annotated and typing.get_args(either)[0] is str


def _takes_none(plan: Plan) -> bool:
    return isinstance(plan, functools.partial) and plan.func is _unless_none


def _plan(hint: Any, *, decoded: bool) -> Plan | None:  # noqa: ANN401 - a type form has no type of its own
    """The plan of one type form; None when msgspec has looked at everything."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return next((extra for extra in inside[1:] if callable(extra)), None) or _plan(inside[0], decoded=decoded)
    if origin in (typing.Union, types.UnionType):
        return _either(inside, decoded=decoded)
    if origin is tuple:
        item = _plan(inside[0], decoded=decoded)
        return None if item is None else functools.partial(_items, item)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _struct_plan((hint,), decoded=decoded)
    if hint is datetime:
        return instant
    return None if decoded else _leaf(hint)


def _leaf(hint: Any) -> Plan:  # noqa: ANN401 - see _plan
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return functools.partial(_one_of, typing.get_args(hint))
    if origin is dict or hint is dict:
        return _json_object
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return functools.partial(_member, hint)
    raise TypeError(f"no plan for a field of type {hint!r}")


def _either(hints: tuple[Any, ...], *, decoded: bool) -> Plan | None:
    given = tuple(h for h in hints if h is not type(None))
    if all(isinstance(h, type) and issubclass(h, msgspec.Struct) for h in given):
        plan = _struct_plan(given, decoded=decoded)
    elif len(given) == 1:
        plan = _plan(given[0], decoded=decoded)
    else:
        raise TypeError(f"no plan for a field of type {hints!r}")
    if plan is None or len(given) == len(hints):
        return plan
    return functools.partial(_unless_none, plan)


def _unless_none(plan: Plan, path: str, value: Any) -> Any:  # noqa: ANN401 - see conform
    return None if value is None else plan(path, value)


def _struct_plan(kinds: tuple[type[msgspec.Struct], ...], *, decoded: bool) -> Plan | None:
    if decoded:
        known = any(_fields_to_look_at(kind) for kind in kinds)
        return conform_decoded if known else None
    return functools.partial(conform, kinds)


def _items(plan: Plan, path: str, value: Any) -> Any:  # noqa: ANN401 - see conform
    if type(value) is not tuple and not isinstance(value, tuple | list):
        raise refuse(path, value, "is a list or tuple")
    same = type(value) is tuple
    after = []
    for i, item in enumerate(value):
        exact = plan(f"{path}[{i}]", item)
        same = same and exact is item
        after.append(exact)
    return value if same else tuple(after)


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


def _whole(path: str, value: Any) -> Any:  # noqa: ANN401 - see conform
    if type(value) is not int or not -TEN_TO_BOUND < value < TEN_TO_BOUND:
        raise refuse(path, value, f"is a whole number of at most {INTEGER_DIGITS} digits")
    return value


def _number(path: str, value: Any) -> Any:  # noqa: ANN401 - see conform
    if type(value) is int:
        return _whole(path, value)
    if type(value) is not float or not math.isfinite(value):
        raise refuse(path, value, "is a finite number")
    return value


def _json_content(path: str, value: Any) -> Any:  # noqa: ANN401 - the JSON edge
    return json_value(path, value, CONTENT_DEPTH)


def _json_object(path: str, value: Any) -> Any:  # noqa: ANN401 - the JSON edge
    if type(value) is not dict:
        raise refuse(path, value, "is a JSON object")
    return _json_content(path, value)


def verbatim_value(path: str, value: Any) -> Any:  # noqa: ANN401 - see conform
    """Somebody else's JSON bytes: syntax, depth and UTF-8 are checked, the spelling is kept. Empty means absent.

    Blanks around the value are not kept: a decoder gives the value without them.
    """
    if not isinstance(value, msgspec.Raw | bytes):
        raise refuse(path, value, "is JSON bytes")
    data = bytes(value)
    if not data:
        return ABSENT
    try:
        data.decode("utf-8")
        not_too_deep(path, data, CONTENT_DEPTH)
        msgspec.json.decode(data, type=msgspec.Raw)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        raise refuse(path, data, f"is one JSON value in UTF-8 ({error})") from None
    exact = data.strip(b" \t\r\n")
    return value if isinstance(value, msgspec.Raw) and exact == data else msgspec.Raw(exact)


def with_lowest_hidden(value: Any) -> Any:  # noqa: ANN401 - see conform
    """`value`, decoded from what `lowest_shown` gave, with its verbatim values in their first spelling."""
    if isinstance(value, msgspec.Raw):
        return msgspec.Raw(lowest_hidden(bytes(value))) if bytes(value) else value
    if isinstance(value, tuple):
        return tuple(with_lowest_hidden(item) for item in value)
    if isinstance(value, msgspec.Struct):
        inside = {name: with_lowest_hidden(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **inside)
    return value


def no_surprise(path: str, spelled: Any, value: Any) -> None:  # noqa: ANN401 - see conform
    """Refuses what a decoder lets pass in JSON that was spelled by somebody else.

    That is: duplicate keys, `null` in a declared field, base64 that is not canonical, an instant that the decoder
    rounded. `spelled` is the `spelling`, `value` what it was decoded to. Verbatim values are not looked into.
    """
    if isinstance(value, msgspec.Raw):
        return
    if isinstance(spelled, Pairs):
        _no_surprise_in_object(path, spelled, value)
    elif isinstance(spelled, list):
        for i, (item, inside) in enumerate(zip(spelled, value, strict=True)):
            no_surprise(f"{path}[{i}]", item, inside)
    elif isinstance(value, bytes):
        if base64.b64encode(value).decode() != spelled:
            raise refuse(path, spelled, "is canonical base64")
    elif isinstance(value, datetime) and _FINER.search(spelled):
        raise refuse(path, spelled, "has whole milliseconds")


def _no_surprise_in_object(path: str, spelled: Pairs, value: Any) -> None:  # noqa: ANN401 - see conform
    seen = set()
    for key, item in spelled:
        where = f"{path}.{key}" if path else key
        if key in seen:
            raise refuse(where, key, "is given once, not twice")
        seen.add(key)
        if not isinstance(value, msgspec.Struct):
            no_surprise(where, item, value[key])
        elif key in value.__struct_fields__:
            if item is None and not _takes_null(type(value), key):
                raise refuse(where, None, "is left out when it has no value, never null")
            no_surprise(where, item, getattr(value, key))


def _takes_null(kind: type[msgspec.Struct], name: str) -> bool:
    return typing.get_type_hints(kind)[name] is Any


_SIMPLE: dict[Any, Plan] = {
    Any: _json_content,
    str: text,
    int: _whole,
    bool: _exactly(bool),
    bytes: _exactly(bytes),
    float: _number,
    msgspec.Raw: verbatim_value,
}
