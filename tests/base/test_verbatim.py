"""Every value that keeps somebody else's bytes has looked at their text."""

from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages
from typing import get_type_hints

import pytest

import actum
from actum.base.errors import InvalidValue, MissingExtra
from actum.base.value import Value, Verbatim, load
from actum.messages.parts import ToolUsePart
from actum.records.kinds import ToolCallScheduled
from actum.stream.events import ToolStart

# One of every kind of value that holds a verbatim one, with a place for it.
WITH_VERBATIM = {
    ToolUsePart: b'{"type":"tool_use","id":"t","name":"n","input":%s}',
    ToolCallScheduled: b'{"tool_call_id":"t","tool_name":"n","input":%s,"step":1}',
    ToolStart: b'{"type":"tool_start","id":"1.1","session_id":"s","run_id":"r","agent_id":"a",'
    b'"timestamp":"2025-06-05T13:00:00.123Z","tool_call_id":"t","tool_name":"n","input":%s}',
}


def kinds_of_values(kind: type[Value] = Value) -> set[type[Value]]:
    found = {kind}
    for each in kind.__subclasses__():
        found |= kinds_of_values(each)
    return found


def test_every_kind_of_value_that_holds_one_is_known() -> None:
    for module in walk_packages(actum.__path__, "actum."):
        with suppress(ImportError, MissingExtra):
            import_module(module.name)
    holding = {
        kind
        for kind in kinds_of_values()
        if kind.__module__.startswith("actum.") and Verbatim in get_type_hints(kind).values()
    }
    assert holding == set(WITH_VERBATIM)


@pytest.mark.parametrize("kind", WITH_VERBATIM)
def test_every_kind_refuses_what_is_no_text_inside_it(kind: type[Value]) -> None:
    assert isinstance(load(kind, WITH_VERBATIM[kind] % '{"a":"ж"}'.encode()), kind)
    with pytest.raises(InvalidValue) as refused:
        load(kind, WITH_VERBATIM[kind] % b'{"a":"\xff"}')
    assert (refused.value.field, refused.value.rule) == ("input", "is UTF-8 (invalid start byte at byte 6)")


def test_no_part_is_made_of_what_is_no_text() -> None:
    with pytest.raises(InvalidValue, match="UTF-8"):
        ToolUsePart(id="t", name="n", input=Verbatim(b'{"a":"\xff"}'))
