from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from actum.base.errors import InvalidValue, ModelError
from actum.messages.message import assistant, system, user
from actum.model.request import ModelRequest, ModelSettings
from actum.model.response import ModelResponse, StopReason
from actum.providers.accept import PROVIDERS, words_of
from actum.runtime.typed import complete


class Mood(BaseModel):
    word: Literal["good", "bad"]
    strength: Annotated[int, Field(ge=0, le=10)] = 5


class Tree(BaseModel):
    name: str
    children: list["Tree"] = []


@dataclass
class Town:
    """A town."""

    name: str
    mood: Mood | None = None


class Answering:
    """A model that answers with one text and keeps what it was asked."""

    model = "m"

    def __init__(self, text: str, **more: Any) -> None:
        fields: dict[str, Any] = {"message": assistant(text), "stop": StopReason.END_TURN, **more}
        self._response = ModelResponse(**fields)
        self.asked: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelResponse:
        self.asked.append(request)
        return self._response

    def stream(self, request: ModelRequest) -> Any:
        raise AssertionError(request)


def shown(model: Answering) -> dict[str, Any]:
    assert model.asked[0].output is not None
    return model.asked[0].output.json_schema


@pytest.mark.parametrize(
    "kind, text, value",
    [
        (Mood, '{"word":"good","strength":7}', Mood(word="good", strength=7)),
        (Town, '{"name":"Ulm","mood":{"word":"bad","strength":1}}', Town("Ulm", Mood(word="bad", strength=1))),
        (Town, '{"name":"Ulm","mood":null}', Town("Ulm")),
        (Tree, '{"name":"a","children":[{"name":"b","children":[]}]}', Tree(name="a", children=[Tree(name="b")])),
        (int, '{"value":7}', 7),
        (list[Mood], '{"value":[{"word":"bad","strength":0}]}', [Mood(word="bad", strength=0)]),
        (Literal["a", "b"], '{"value":"b"}', "b"),
    ],
)
async def test_an_answer_becomes_a_value(kind: Any, text: str, value: Any) -> None:
    model = Answering(text)
    assert await complete(model, kind, "How is it?") == value
    schema = shown(model)
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert schema["required"] == list(schema["properties"])


async def test_every_provider_takes_the_shape_of_a_type() -> None:
    model = Answering('{"name":"a","children":[]}')
    await complete(model, Tree, [system("Be brief."), user("x")], settings=ModelSettings(max_output_tokens=100))
    assert model.asked[0].settings.max_output_tokens == 100
    for provider in PROVIDERS:
        made = words_of(provider).project(model.asked[0])
        assert made.report.accepted
        assert b"additionalProperties" in made.data


async def test_a_provider_is_shown_the_shape_and_pydantic_keeps_the_bounds() -> None:
    model = Answering('{"word":"good","strength":11}')
    with pytest.raises(ModelError, match="strength") as refused:
        await complete(model, Mood, "x")
    assert refused.value.kind == "malformed_response"
    assert shown(model)["properties"]["strength"] == {"type": "integer"}
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"word":"good"} and more', '{"word":"so"}', '{"word":"good","word":"bad"}', "[]", '{"strength":"7"}'],
)
async def test_an_answer_that_does_not_fit_is_not_repaired(text: str) -> None:
    with pytest.raises(ModelError) as refused:
        await complete(Answering(text), Mood, "x")
    assert refused.value.kind == "malformed_response"


@pytest.mark.parametrize("text", ["{}", '{"value":"7"}', "7", '{"value":7.5}'])
async def test_a_wrapped_value_is_held_to_its_type(text: str) -> None:
    with pytest.raises(ModelError):
        await complete(Answering(text), int, "x")


@pytest.mark.parametrize(
    "stop",
    [StopReason.REFUSAL, StopReason.CONTENT_FILTER, StopReason.LENGTH, StopReason.INTERRUPTED, StopReason.UNKNOWN],
)
async def test_an_answer_that_stopped_early_is_an_error_of_that_kind(stop: StopReason) -> None:
    model = Answering('{"word":"good","strength":7}', stop=stop, provider_stop="its own word")
    with pytest.raises(ModelError, match="its own word") as refused:
        await complete(model, Mood, "x")
    assert refused.value.kind == str(stop)


@pytest.mark.parametrize("kind", [dict, dict[str, int], list, Any, tuple[int, str], object])
async def test_a_type_of_any_fields_is_refused_before_the_call(kind: Any) -> None:
    model = Answering("{}")
    with pytest.raises(InvalidValue):
        await complete(model, kind, "x")
    assert model.asked == []
