from collections.abc import Callable
from typing import Any

import pytest

from actum.base.errors import ModelError
from actum.model import reading


def test_what_is_there_is_read_and_what_is_absent_is_none_of_it() -> None:
    assert (reading.text("x", "a"), reading.text("", "a"), reading.text(None, "a")) == ("x", "", None)
    assert (reading.items([7], "a"), reading.items(None, "a")) == ([7], [])
    assert (reading.objects([{}], "a"), reading.objects(None, "a")) == ([{}], [])
    assert reading.words("x", "a") == "x"
    assert reading.mapping({"b": 1}, "a") == {"b": 1}


@pytest.mark.parametrize(
    "given, read", [(7, 7), (0, 0), (-1, None), (True, None), (1.0, None), ("7", None), (None, None)]
)
def test_a_count_that_is_none_is_unknown(given: object, read: int | None) -> None:
    assert reading.count(given) == read


@pytest.mark.parametrize(
    "read, given",
    [
        (reading.text, 7),
        (reading.words, None),
        (reading.items, {}),
        (reading.objects, [7]),
        (reading.mapping, []),
        (reading.mapping, None),
    ],
)
def test_what_is_something_else_is_malformed(read: Callable[[Any, str], object], given: Any) -> None:
    with pytest.raises(ModelError, match="the thing") as raised:
        read(given, "the thing")
    assert raised.value.kind == "malformed_response"
