from typing import Any

import pytest

from actum.base.errors import InvalidValue
from actum.base.value import conform, dump, fingerprint, load
from actum.messages.message import system, user
from actum.model.request import ModelRequest, ModelSettings, ToolChoice, ToolDefinition


def test_a_request_is_a_value() -> None:
    request = ModelRequest(
        model="m",
        messages=(system("s"), user("hi")),
        tools=(ToolDefinition(name="a.b", input_schema={"type": "object"}),),
        tool_choice=ToolChoice(mode="tool", name="a.b"),
        settings=ModelSettings(
            temperature=1, top_p=0.5, max_output_tokens=5, stop_sequences=("x",), extra={"user": "u"}
        ),
    )
    assert load(ModelRequest, dump(request)) == request
    assert fingerprint(request) == fingerprint(conform(request))
    assert dump(ModelRequest(model="m", messages=())) == b'{"model":"m","messages":[]}'


@pytest.mark.parametrize("mode, name", [("tool", None), ("auto", "x"), ("none", "x")])
def test_a_named_tool_stands_with_its_mode(mode: Any, name: str | None) -> None:
    with pytest.raises(InvalidValue):
        ToolChoice(mode=mode, name=name)


@pytest.mark.parametrize("field", ["temperature", "top_p"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), True, "1"])
def test_a_setting_is_a_finite_number(field: str, value: object) -> None:
    fields: dict[str, Any] = {field: value}
    with pytest.raises(InvalidValue, match=field):
        conform(ModelSettings(**fields))
