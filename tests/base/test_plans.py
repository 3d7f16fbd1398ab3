import contextlib
from enum import Enum
from typing import Annotated, Any, Literal

import pytest

from actum.base import plans
from actum.base.checks import Identifier
from actum.base.errors import InvalidValue
from actum.base.value import Value, conform, dump, load


class Colour(Enum):
    RED = "red"


class Inner(Value):
    name: Identifier


class Outer(Value):
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    ratio: float = 0.5
    size: int = 0
    on: bool = False
    colour: Colour = Colour.RED
    choice: Literal["a", "b"] = "a"
    data: dict[str, Any] = {}
    maybe: Literal["x"] | None = None


@pytest.mark.parametrize(
    "given, field",
    [
        ({"inner": "a"}, "inner"),
        ({"inner": Inner(name="")}, "inner.name"),
        ({"many": (Inner(name="a"), Inner(name=" "))}, "many[1].name"),
        ({"many": {"a": 1}}, "many"),
        ({"many": "a"}, "many"),
        ({"ratio": float("nan")}, "ratio"),
        ({"ratio": "1"}, "ratio"),
        ({"ratio": True}, "ratio"),
        ({"size": 1.0}, "size"),
        ({"size": True}, "size"),
        ({"size": 10**4300}, "size"),
        ({"on": 1}, "on"),
        ({"on": None}, "on"),
        ({"colour": "blue"}, "colour"),
        ({"colour": []}, "colour"),
        ({"choice": "c"}, "choice"),
        ({"choice": ["a"]}, "choice"),
        ({"data": []}, "data"),
        ({"data": {"a": {1: 2}}}, "data.a key"),
        ({"maybe": "y"}, "maybe"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, str) else None,
)
def test_a_field_of_another_type_is_refused_with_its_path(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        conform(Outer(**given))
    assert refused.value.field == field
    with pytest.raises(InvalidValue) as refused:
        plans.conform((Outer,), "records[2]", Outer(**given))
    assert refused.value.field == f"records[2].{field}"


def test_a_value_in_form_is_given_back_itself() -> None:
    outer = Outer(inner=Inner(name="é"), many=(Inner(name="b"),), ratio=2, data={"a": [1]}, maybe="x")
    assert conform(outer) is outer


def test_only_what_is_out_of_form_is_made_anew() -> None:
    inner = Inner(name="a")
    exact = conform(Outer(inner=inner, many=[inner], colour="red"))  # type: ignore[arg-type]  # a caller without types
    assert exact == Outer(inner=inner, many=(inner,))
    assert exact.inner is inner


def test_decoded_values_are_held_against_the_rules_that_the_decoder_does_not_know() -> None:
    for data, field in (
        (b'{"inner":{"name":" "}}', "inner.name"),
        (b'{"many":[{"name":"a"},{"name":""}]}', "many[1].name"),
    ):
        with pytest.raises(InvalidValue) as refused:
            load(Outer, data)
        assert refused.value.field == field
    assert load(Outer, dump(Outer(many=(Inner(name="a"),)))).many == (Inner(name="a"),)


@pytest.mark.parametrize("hint", [set[str], complex, str | int, Annotated[complex, "note"]])
def test_a_type_without_a_durable_form_is_a_mistake_of_ours(hint: Any) -> None:
    kind = type("Odd", (Value,), {"__annotations__": {"field": hint}, "__module__": __name__})
    with pytest.raises(TypeError, match="no plan for a field"):
        conform(kind(field=None))


def test_a_note_beside_a_type_is_no_rule() -> None:
    class Noted(Value):
        name: Annotated[str, "a note"]

    assert conform(Noted(name="a")).name == "a"
    with contextlib.suppress(InvalidValue):
        conform(Noted(name=1))  # type: ignore[arg-type]  # the wrong type is the point
        pytest.fail("a number is no text")


class TestWhatHasPassed:
    """The very text that a field passed last passes unseen; nothing else does."""

    def test_a_text_is_looked_at_until_another_passes(self) -> None:
        looked: list[object] = []

        def rule(_: str, value: object) -> object:
            looked.append(value)
            return value

        class Named(Value):
            name: Annotated[str, rule]
            nick: Annotated[str, rule] | None = None

        long = "x" * 513
        for name in ("a", "a", "b", "b", "a", long, long):
            conform(Named(name=name))
        assert looked == ["a", "b", "a", long, long]
        for nick in ("a", None, "a", "a"):
            conform(Named(name=long, nick=nick))
        assert looked[5:] == [long, "a", long, long, long]

    def test_what_passed_does_not_vouch_for_its_equal(self) -> None:
        class Loud(str):
            __slots__ = ()

        conform(Inner(name="a"))
        exact = conform(Inner(name=Loud("a"))).name
        assert type(exact) is str

    def test_a_name_does_not_pass_for_another_field_or_kind(self) -> None:
        blank = " "
        outer = Outer(many=(Inner(name="a"),), data={"a": blank})
        assert conform(outer) is outer
        with pytest.raises(InvalidValue):
            conform(Inner(name=blank))

    def test_what_can_change_is_looked_at_each_time(self) -> None:
        data: dict[str, Any] = {"a": [1]}
        outer = Outer(data=data)
        assert conform(outer) is outer
        data["a"].append(float("nan"))
        with pytest.raises(InvalidValue):
            conform(outer)

    def test_none_passes_only_where_it_may(self) -> None:
        assert conform(Outer(inner=None, maybe=None)) == Outer()
        with pytest.raises(InvalidValue):
            conform(Inner(name=None))  # type: ignore[arg-type]  # the wrong type is the point
