from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest
from pydantic import BaseModel

from actum.messages.parts import ImagePart
from actum.tools.failures import ToolError
from actum.tools.schemas import ABSENT, output_of
from actum.tools.spec import ToolOutput


class Colour(StrEnum):
    RED = "red"


class Place(BaseModel):
    name: str
    at: datetime


@dataclass
class Pair:
    left: int
    right: list[str]


ULM = Place(name="Ulm", at=datetime(2025, 1, 1, tzinfo=UTC))
ULM_JSON = {"name": "Ulm", "at": "2025-01-01T00:00:00Z"}
NESTED: list[Any] = []
NESTED.append(NESTED)


@pytest.mark.parametrize(
    "hint, result, content",
    [
        (int, 3, 3),
        (str, Colour.RED, "red"),
        (type(None), None, None),
        (float, 1, 1.0),
        (Place, ULM, ULM_JSON),
        (list[Place], [ULM], [ULM_JSON]),
        (Pair, Pair(1, ["x"]), {"left": 1, "right": ["x"]}),
        (tuple[int, str], (1, "x"), [1, "x"]),
        (set[int], {1}, [1]),
        (Decimal, Decimal("1.10"), "1.10"),
        (int | None, None, None),
        (Any, {"a": [1, None, "x"]}, {"a": [1, None, "x"]}),
        (object, "x", "x"),
        (ABSENT, ULM, ULM_JSON),
        (dict[str, Any] | Place, ULM, ULM_JSON),
        (dict[str, Any], {"a": 1}, {"a": 1}),
        (ToolOutput, ToolOutput({"a": 1}), {"a": 1}),
        (int | ToolOutput, ToolOutput(1), 1),
        (int | ToolOutput, 2, 2),
    ],
)
def test_a_result_that_keeps_its_promise_becomes_json(hint: object, result: object, content: object) -> None:
    assert output_of("t", hint)[1](result).content == content


@pytest.mark.parametrize(
    "hint, result",
    [
        (int, "3"),
        (int, None),
        (str, 3),
        (bool, 1),
        (list[int], (1, 2)),
        (Place, {"name": "Ulm"}),
        (int | ToolOutput, ToolOutput("1")),
        (float, float("nan")),
        (Any, float("inf")),
        (Any, (1, 2)),
        (Any, b"x"),
        (Any, {1: "a"}),
        (Any, {"a": {1, 2}}),
        (Any, Decimal("1.10")),
        (Any, Colour.RED),
        (Any, object()),
        (Any, NESTED),
        (Any, "\ud800"),
        (dict[str, Any], {"a": datetime(2025, 1, 1, tzinfo=UTC)}),
        (ABSENT, datetime(2025, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_result_that_does_not_fit_is_malformed(hint: object, result: object) -> None:
    with pytest.raises(ToolError) as refused:
        output_of("weather", hint)[1](result)
    assert refused.value.failure.kind == "malformed_result"
    assert "weather" in refused.value.failure.message
    assert refused.value.failure.issues


def test_attachments_go_with_the_content() -> None:
    image = ImagePart(bytes=b"png", format="png")
    assert output_of("t", ToolOutput)[1](ToolOutput("seen", (image,))).attachments == (image,)
